#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
The limits that ibv_query_device() reports: queues of exactly these lengths, with requests of that
many elements, can be made, and longer ones are refused; that many READs may be outstanding, and
that much device memory can be allocated. Numbers of objects are those of the whole device, which
the kernel uses as well, so the number of address handles is only approached. Argument: DEVICE,
whose two ports are ACTIVE. Ends with 1 and a line for each limit that does not hold.
"""
import sys

from pyverbs import enums as e
from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import DM, AllocDmAttr, Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, SendWR

# Address handles that the kernel's own users may have.
OF_THE_KERNEL = 64
PIECE = 8

context = Context(name=sys.argv[1])
told = context.query_device()
pd, cq = PD(context), CQ(context, 64)
untrue = []


def makes(make):
    try:
        made = make()
    except PyverbsRDMAError:
        return False
    made.close()
    return True


def judge(name, make):
    """`make` takes the value: it succeeds with the limit, and fails with the next value."""
    limit = getattr(told, name)
    if not makes(lambda: make(limit)):
        untrue.append(f'{name} {limit} is too much')
    if makes(lambda: make(limit + 1)):
        untrue.append(f'{name} {limit} is too little')


def queue_pair(send_wr=1, recv_wr=1, send_sge=1, recv_sge=1):
    cap = QPCap(max_send_wr=send_wr, max_recv_wr=recv_wr, max_send_sge=send_sge, max_recv_sge=recv_sge)
    return QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))


def shared(wr=1, sge=1):
    return SRQ(pd, SrqInitAttr(SrqAttr(max_wr=wr, max_sge=sge)))


def resized(entries):
    queue = CQ(context, 1)
    try:
        queue.resize(entries)
    except PyverbsRDMAError:
        queue.close()
        raise
    return queue


def lengths():
    sge, srq_sge = told.max_sge, told.max_srq_sge
    judge('max_qp_wr', lambda wr: queue_pair(send_wr=wr, send_sge=sge))
    judge('max_qp_wr', lambda wr: queue_pair(recv_wr=wr, recv_sge=sge))
    judge('max_sge', lambda count: queue_pair(send_sge=count))
    judge('max_sge', lambda count: queue_pair(recv_sge=count))
    judge('max_srq_wr', lambda wr: shared(wr=wr, sge=srq_sge))
    judge('max_srq_sge', lambda count: shared(sge=count))
    judge('max_cqe', lambda entries: CQ(context, entries))
    judge('max_cqe', resized)


def connected(reads, served):
    qp = queue_pair()
    attributes = QPAttr(port_num=1)
    attributes.dest_qp_num = qp.qp_num
    attributes.path_mtu = e.IBV_MTU_1024
    attributes.max_rd_atomic, attributes.max_dest_rd_atomic = reads, served
    attributes.ah_attr = AHAttr(dlid=context.query_port(1).lid, port_num=1)
    try:
        qp.to_rts(attributes)
    except PyverbsRDMAError:
        qp.close()
        raise
    return qp


def read_in_pieces(count):
    """A READ of a QP from itself, into that many elements."""
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_sge=count)))
    attributes = QPAttr(port_num=1)
    attributes.dest_qp_num = qp.qp_num
    attributes.path_mtu = e.IBV_MTU_1024
    attributes.timeout, attributes.retry_cnt, attributes.rnr_retry, attributes.min_rnr_timer = 18, 7, 7, 12
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
    attributes.qp_access_flags = e.IBV_ACCESS_REMOTE_READ
    attributes.ah_attr = AHAttr(dlid=context.query_port(1).lid, port_num=1)
    qp.to_rts(attributes)
    size = count * PIECE
    memory = MR(pd, 2 * size, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ)
    memory.write('r' * size, size, size)
    pieces = [SGE(memory.buf + at * PIECE, PIECE, memory.lkey) for at in range(count)]
    request = SendWR(num_sge=count, sg=pieces, opcode=e.IBV_WR_RDMA_READ, send_flags=e.IBV_SEND_SIGNALED)
    request.set_wr_rdma(memory.rkey, memory.buf + size)
    qp.post_send(request)
    found = []
    while not found:
        found = cq.poll(1)[1]
    if found[0].status != e.IBV_WC_SUCCESS or memory.read(size, 0) != b'r' * size:
        untrue.append(f'a READ into {count} elements ended with status {found[0].status}')
    qp.close()
    memory.close()


def handles():
    attributes = AHAttr(dlid=context.query_port(1).lid, port_num=1)
    made = []
    try:
        while len(made) <= told.max_ah:
            made.append(AH(pd, attr=attributes))
    except PyverbsRDMAError:
        pass
    if not told.max_ah - OF_THE_KERNEL <= len(made) <= told.max_ah:
        untrue.append(f'max_ah {told.max_ah}: {len(made)} are made')
    for handle in made:
        handle.close()


def device_memory():
    size = context.query_device_ex().max_dm_size
    if size > 0 and not makes(lambda: DM(context, AllocDmAttr(length=size))):
        untrue.append(f'max_dm_size {size} is too much')


lengths()
judge('max_qp_rd_atom', lambda count: connected(1, count))
judge('max_qp_init_rd_atom', lambda count: connected(count, 1))
read_in_pieces(told.max_sge_rd or told.max_sge)
if told.max_ah > 0:
    handles()
device_memory()
print(*(untrue or ['all limits are true']), sep='\n')
sys.exit(bool(untrue))
