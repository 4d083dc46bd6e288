#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Attributes that a verb ignores by its manual page may have any value: ibv_create_srq(3),
ibv_create_qp(3), ibv_modify_qp(3), ibv_post_send(3). Argument: DEVICE, whose two ports are ACTIVE.
Ends with 1 and a line for each that was refused.
"""
import os
import sys

from pyverbs import enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr, SrqInitAttrEx
from pyverbs.wr import SGE, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

HUGE = 0x7fffffff
BYTES = 64

context = Context(name=sys.argv[1])
device = context.query_device()
pd, cq = PD(context), CQ(context, 16)
refused = []


def attempt(what, make):
    """Makes an object and destroys it."""
    try:
        made = make()
    except PyverbsRDMAError as error:
        refused.append(f'{what}: {error}')
        return
    made.close()


def beyond():
    """Capacities of receives that are too large in number, in length, or in both."""
    for wr, sge in ((device.max_qp_wr + 1, 1), (1, device.max_sge + 1), (HUGE, 1000)):
        yield QPCap(max_send_wr=1, max_send_sge=1, max_recv_wr=wr, max_recv_sge=sge)


def try_shared():
    attempt('limit of a new SRQ', lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1, max_sge=1, srq_limit=HUGE))))
    srq = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1, max_sge=1)))
    for kind in (e.IBV_QPT_RC, e.IBV_QPT_UD):
        for cap in beyond():
            init = QPInitAttr(qp_type=kind, scq=cq, rcq=cq, srq=srq, cap=cap)
            attempt(f'receives of a QP with an SRQ, type {kind}, {cap}', lambda: QP(pd, init))
    srq.close()


def try_xrc():
    domain = XRCD(context, XRCDInitAttr(e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, -1))
    wanted = SrqInitAttrEx(max_wr=1, max_sge=1)
    wanted.srq_type, wanted.pd, wanted.xrcd, wanted.cq = e.IBV_SRQT_XRC, pd, domain, cq
    wanted.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD |
                        e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_XRCD)
    shared = SRQ(context, wanted)
    plain = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1, max_sge=1)))
    for srq in (None, plain, shared):
        for cap in beyond():
            init = QPInitAttrEx(qp_type=e.IBV_QPT_XRC_SEND, scq=cq, rcq=cq, srq=srq, cap=cap, pd=pd,
                                comp_mask=e.IBV_QP_INIT_ATTR_PD)
            attempt(f'an XRC sender with {srq}, {cap}', lambda: QP(context, init))
    cap = QPCap(max_send_wr=HUGE, max_recv_wr=HUGE, max_send_sge=1000, max_recv_sge=1000, max_inline_data=HUGE)
    init = QPInitAttrEx(qp_type=e.IBV_QPT_XRC_RECV, cap=cap, xrcd=domain, comp_mask=e.IBV_QP_INIT_ATTR_XRCD)
    attempt('queues of an XRC receiver', lambda: QP(context, init))
    plain.close()
    shared.close()
    domain.close()


def to_init():
    """Attributes without their bit in the mask."""
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap()))
    attributes = QPAttr(qp_state=e.IBV_QPS_INIT, cur_qp_state=e.IBV_QPS_SQE, port_num=1)
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 255
    attributes.retry_cnt = attributes.rnr_retry = attributes.timeout = 255
    attributes.dest_qp_num = 0xffffffff
    attributes.alt_port_num = 99
    qp.modify(attributes, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_ACCESS_FLAGS)
    return qp


def connect(qp, port, peer, peer_port):
    attributes = QPAttr(port_num=port)
    attributes.dest_qp_num = peer.qp_num
    attributes.path_mtu = e.IBV_MTU_1024
    attributes.timeout, attributes.retry_cnt, attributes.rnr_retry, attributes.min_rnr_timer = 18, 7, 7, 12
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
    attributes.qp_access_flags = e.IBV_ACCESS_REMOTE_READ
    attributes.ah_attr = AHAttr(dlid=context.query_port(peer_port).lid, port_num=port)
    qp.to_rts(attributes)


def read_inline():
    """The flag for inline data is for sends and writes; a READ has none."""
    pair = [QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_inline_data=BYTES))) for _ in '12']
    connect(pair[0], 1, pair[1], 2)
    connect(pair[1], 2, pair[0], 1)
    memory = MR(pd, 2 * BYTES, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ)
    memory.write('r' * BYTES, BYTES, BYTES)
    request = SendWR(num_sge=1, sg=[SGE(memory.buf, BYTES, memory.lkey)], opcode=e.IBV_WR_RDMA_READ,
                     send_flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
    request.set_wr_rdma(memory.rkey, memory.buf + BYTES)
    pair[0].post_send(request)
    found = []
    while not found:
        found = cq.poll(1)[1]
    if found[0].status != e.IBV_WC_SUCCESS or memory.read(BYTES, 0) != b'r' * BYTES:
        raise PyverbsRDMAError(f'status {found[0].status}')
    for qp in pair:
        qp.close()
    return memory


try_shared()
if device.device_cap_flags & e.IBV_DEVICE_XRC:
    try_xrc()
attempt('attributes without their bit', to_init)
attempt('a READ with the flag for inline data', read_inline)
print(*(refused or ['nothing was refused']), sep='\n')
sys.exit(bool(refused))
