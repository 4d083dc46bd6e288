# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Reliable connections of Debian's stock drivers with an adapter that has our front end, behind the
# same switch: SEND, RDMA WRITE and RDMA READ. The host has the other end; the program `adapter`
# asks it. Then ping-pongs between the two devices. mixed.long.ts packs this file and reads its KTAP.

import subprocess
import time

from pyverbs import enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

BYTES = 5000
DEVICES = ('mthca0', 'mlx5_0')
SERVICES = ('rc', 'uc', 'ud')
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
number = 0


def report(passed, name):
    global number
    number += 1
    print('%s %d %s' % ('ok' if passed else 'not ok', number, name), flush=True)


def ask(*words):
    words = [str(word) for word in words]
    return subprocess.run(['adapter', *words], check=True, capture_output=True, text=True).stdout.split()


def wait_active(device):
    while 'ACTIVE' not in open('/sys/class/infiniband/%s/ports/1/state' % device).read():
        time.sleep(0.1)


def connect(qp, port):
    """Returns key and address of the memory at the other end."""
    lid, remote_qpn, rkey, address = (int(word) for word in ask('connect', qp.qp_num, port.lid, port.active_mtu))
    attributes = QPAttr(port_num=1)
    attributes.qp_access_flags = ACCESS
    attributes.dest_qp_num = remote_qpn
    attributes.path_mtu = port.active_mtu
    attributes.max_rd_atomic = 1
    attributes.max_dest_rd_atomic = 1
    attributes.min_rnr_timer = 12
    attributes.timeout = 20
    attributes.retry_cnt = 7
    attributes.rnr_retry = 7
    attributes.ah_attr = AHAttr(dlid=lid, port_num=1)
    qp.to_rts(attributes)
    return rkey, address


def exchange(device):
    context = Context(name=device)
    domain = PD(context)
    memory = MR(domain, BYTES, ACCESS)
    cq = CQ(context, 16)
    qp = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=8, max_recv_wr=8)))
    rkey, address = connect(qp, context.query_port(1))
    elements = [SGE(memory.buf, BYTES, memory.lkey)]

    def completes(name):
        while True:
            count, entries = cq.poll(1)
            if count:
                report(entries[0].status == e.IBV_WC_SUCCESS, '%s: %s' % (device, name))
                return

    def post(opcode, contents):
        request = SendWR(opcode=opcode, num_sge=1, sg=elements)
        request.set_wr_rdma(rkey, address)
        memory.write(contents, BYTES)
        qp.post_send(request)

    qp.post_recv(RecvWR(num_sge=1, sg=elements))
    ask('send')
    completes('a SEND arrives')
    report(memory.read(BYTES, 0) == bytes(index % 251 for index in range(BYTES)), '%s: it is unaltered' % device)
    written = bytes(index % 241 for index in range(BYTES))
    post(e.IBV_WR_RDMA_WRITE, written)
    completes('an RDMA WRITE completes')
    report(ask('check') == ['right'], '%s: the other end has its data' % device)
    post(e.IBV_WR_RDMA_READ, bytes(BYTES))
    completes('an RDMA READ completes')
    report(memory.read(BYTES, 0) == written, '%s: it returns the same data' % device)


def listens():
    """State 0A is LISTEN."""
    return any(' 0A ' in line for table in ('tcp', 'tcp6') for line in open('/proc/net/' + table))


def ping_pong(service):
    """Between the two devices, with a check of the data."""
    program = ['ibv_%s_pingpong' % service, '-c', '-n', '100']
    server = subprocess.Popen([*program, '-d', DEVICES[0]], stdout=subprocess.DEVNULL)
    client = [*program, '-d', DEVICES[1], 'localhost']
    while not listens() and server.poll() is None:
        time.sleep(0.05)
    if subprocess.run(client, stdout=subprocess.DEVNULL).returncode != 0:
        server.kill()
    report(server.wait() == 0, 'ibv_%s_pingpong between %s and %s' % (service, *DEVICES))


print('KTAP version 1\n1..%d' % (6 * len(DEVICES) + len(SERVICES)), flush=True)
for name in DEVICES:
    wait_active(name)
    exchange(name)
for name in SERVICES:
    ping_pong(name)
