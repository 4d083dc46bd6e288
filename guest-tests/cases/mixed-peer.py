# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A reliable connection of Debian's stock driver with an adapter that has our front end, behind the
# same switch: SEND, RDMA WRITE and RDMA READ. The host has the other end; the program `adapter`
# asks it. mixed.long.ts packs this file and reads its KTAP.

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
STATE = '/sys/class/infiniband/mthca0/ports/1/state'
number = 0


def report(passed, name):
    global number
    number += 1
    print('%s %d %s' % ('ok' if passed else 'not ok', number, name), flush=True)


def ask(*words):
    words = [str(word) for word in words]
    return subprocess.run(['adapter', *words], check=True, capture_output=True, text=True).stdout.split()


def completes(name):
    while True:
        count, entries = cq.poll(1)
        if count:
            report(entries[0].status == e.IBV_WC_SUCCESS, name)
            return


print('KTAP version 1\n1..6', flush=True)
while 'ACTIVE' not in open(STATE).read():
    time.sleep(0.1)
context = Context(name='mthca0')
domain = PD(context)
access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
memory = MR(domain, BYTES, access)
cq = CQ(context, 16)
qp = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=8, max_recv_wr=8)))
lid, remote_qpn, rkey, address = (int(word) for word in ask('connect', qp.qp_num))
attributes = QPAttr(port_num=1)
attributes.qp_access_flags = access
attributes.dest_qp_num = remote_qpn
attributes.path_mtu = e.IBV_MTU_2048
attributes.max_rd_atomic = 1
attributes.max_dest_rd_atomic = 1
attributes.min_rnr_timer = 12
attributes.timeout = 20
attributes.retry_cnt = 7
attributes.rnr_retry = 7
attributes.ah_attr = AHAttr(dlid=lid, port_num=1)
qp.to_rts(attributes)
elements = [SGE(memory.buf, BYTES, memory.lkey)]

qp.post_recv(RecvWR(num_sge=1, sg=elements))
ask('send')
completes('a SEND arrives')
report(memory.read(BYTES, 0) == bytes(index % 251 for index in range(BYTES)), 'it is unaltered')

request = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=elements)
request.set_wr_rdma(rkey, address)
memory.write(bytes(index % 241 for index in range(BYTES)), BYTES)
qp.post_send(request)
completes('an RDMA WRITE completes')
report(ask('check') == ['right'], 'the other end has its data')

request = SendWR(opcode=e.IBV_WR_RDMA_READ, num_sge=1, sg=elements)
request.set_wr_rdma(rkey, address)
memory.write(bytes(BYTES), BYTES)
qp.post_send(request)
completes('an RDMA READ completes')
report(memory.read(BYTES, 0) == bytes(index % 241 for index in range(BYTES)), 'it returns the same data')
