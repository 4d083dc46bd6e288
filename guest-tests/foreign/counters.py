#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Counters in sysfs (`counters` and `hw_counters`; `rdma statistic` shows the latter): each counts the
traffic that it must count, and counters of errors stay. Other users of the device send as well, so
counters of packets and of commands may rise by more. Argument: DEVICE, whose two ports are ACTIVE.
Ends with 1 and a line for each wrong counter.
"""
import ctypes
import mmap
import pathlib
import sys
import time

from pyverbs import enums as e
from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

# Bound of a wait that would never end.
BOUND_SECONDS = 300
BYTES = 256
QKEY = 0x1234
# Errors, which only the tests that name them cause.
ERRORS = ('VL15_dropped', 'excessive_buffer_overrun_errors', 'link_downed', 'link_error_recovery',
          'local_link_integrity_errors', 'port_rcv_constraint_errors', 'port_rcv_errors',
          'port_rcv_remote_physical_errors', 'port_rcv_switch_relay_errors', 'port_xmit_constraint_errors',
          'port_xmit_discards', 'symbol_error')

name = sys.argv[1]
device = pathlib.Path('/sys/class/infiniband', name)
context = Context(name=name)
pd, cq = PD(context), CQ(context, 64)
memory = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
element = [SGE(memory.buf, BYTES, memory.lkey)]
wrong = []


def read(path):
    return int((device / path).read_text())


def port(number, counter):
    return f'ports/{number}/counters/{counter}'


def hardware(counter, number=None):
    return f'hw_counters/{counter}' if number is None else f'ports/{number}/hw_counters/{counter}'


def judge(what, act, rises, stays=()):
    """`rises`: counters and their smallest increase. The kernel reads some of them rarely."""
    paths = [path for path in (*rises, *stays) if (device / path).exists()]
    before = {path: read(path) for path in paths}
    act()
    deadline = time.monotonic() + BOUND_SECONDS
    missing = [path for path in rises if path in before]
    while missing and time.monotonic() < deadline:
        missing = [path for path in missing if read(path) - before[path] < rises[path]]
    wrong.extend(f'{what}: {path} rose by {read(path) - before[path]}' for path in missing)
    wrong.extend(f'{what}: {path} is {read(path)}, was {before[path]}'
                 for path in stays if path in before and read(path) != before[path])


def complete():
    found = []
    while not found:
        found = cq.poll(1)[1]
    return found[0].status


def datagrams():
    made = []
    for number in (1, 2):
        qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=cq, rcq=cq, cap=QPCap(max_recv_wr=4)))
        attributes = QPAttr(port_num=number)
        attributes.qkey = QKEY
        qp.to_rts(attributes)
        made.append(qp)
    return made


def send(qp, target, sges=element):
    request = SendWR(num_sge=1, sg=sges, send_flags=e.IBV_SEND_SIGNALED)
    request.set_wr_ud(handle, target, QKEY)
    qp.post_send(request)


handle = AH(pd, attr=AHAttr(dlid=context.query_port(2).lid, port_num=1))
sender, receiver = datagrams()
silent = [port(number, counter) for number in (1, 2) for counter in ERRORS]


def message():
    receiver.post_recv(RecvWR(num_sge=1, sg=[SGE(memory.buf, 1024, memory.lkey)]))
    send(sender, receiver.qp_num)
    for _ in '12':
        assert complete() == e.IBV_WC_SUCCESS


WORDS = BYTES // 4
judge('a message', message, {
    port(1, 'port_xmit_data'): WORDS, port(1, 'port_xmit_packets'): 1, port(1, 'unicast_xmit_packets'): 1,
    port(2, 'port_rcv_data'): WORDS, port(2, 'port_rcv_packets'): 1, port(2, 'unicast_rcv_packets'): 1,
    hardware('transmit_packets', 1): 1, hardware('receive_packets', 2): 1,
}, silent)


def astray():
    send(sender, 0xfffffe)
    assert complete() == e.IBV_WC_SUCCESS


judge('a message to no queue pair', astray, {hardware('receive_drops', 2): 1}, silent)


def open_and_close():
    PD(context).close()


judge('a new domain', open_and_close, {hardware('commands'): 1},
      [hardware('command_refusals'), hardware('command_timeouts'), hardware('stranded_events')])


def without_right():
    send(sender, receiver.qp_num, [SGE(memory.buf, BYTES, 0xffffff)])
    assert complete() == e.IBV_WC_LOC_PROT_ERR


judge('a key that does not exist', without_right, {hardware('faults'): 1}, silent)

if context.query_device_ex().odp_caps.general_caps & e.IBV_ODP_SUPPORT:
    def on_demand():
        pages = mmap.mmap(-1, 16 * mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        region = MR(pd, len(pages), e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_ON_DEMAND, address)
        one, other = datagrams()
        other.post_recv(RecvWR(num_sge=1, sg=[SGE(memory.buf, 1024, memory.lkey)]))
        send(one, other.qp_num, [SGE(address, BYTES, region.lkey)])
        for _ in '12':
            assert complete() == e.IBV_WC_SUCCESS
        pages.madvise(mmap.MADV_DONTNEED)
        region.close()

    judge('a page that is not present, and goes', on_demand,
          {hardware('page_faults'): 1, hardware('page_invalidations'): 1}, silent)

print(*(wrong or ['all counters are right']), sep='\n')
sys.exit(bool(wrong))
