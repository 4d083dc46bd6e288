#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Memory regions on demand: a range of addresses, and the whole address space of the process (the
implicit region of ibv_reg_mr(3)). A write moves data between pages that no program has touched
before, and again after the pages have become others. Argument: DEVICE, whose two ports are ACTIVE.
Ends with 1 and a line at a fault.
"""
import ctypes
import itertools
import mmap
import sys

from pyverbs import enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

BYTES = 3 * mmap.PAGESIZE
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_ON_DEMAND

context = Context(name=sys.argv[1])
pd, cq = PD(context), CQ(context, 16)


def connected_pair():
    pair = [QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())) for _ in '12']
    for port, qp, peer in ((1, *pair), (2, *reversed(pair))):
        attributes = QPAttr(port_num=port)
        attributes.dest_qp_num = peer.qp_num
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry, attributes.min_rnr_timer = 18, 7, 7, 12
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        attributes.ah_attr = AHAttr(dlid=context.query_port(3 - port).lid, port_num=port)
        qp.to_rts(attributes)
    return pair


def fresh_pages():
    memory = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def write(qp, source, local, target, remote):
    """Writes BYTES from address `source` to address `target`, with the keys of both regions."""
    request = SendWR(num_sge=1, sg=[SGE(source, BYTES, local.lkey)], opcode=e.IBV_WR_RDMA_WRITE)
    request.set_wr_rdma(remote.rkey, target)
    qp.post_send(request)
    found = []
    while not found:
        found = cq.poll(1)[1]
    if found[0].status != e.IBV_WC_SUCCESS:
        raise PyverbsRDMAError(f'status {found[0].status}')


def renew(address):
    """Puts other pages, which are zero, at these addresses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(BYTES), mmap.MADV_DONTNEED):
        raise OSError(ctypes.get_errno(), 'madvise')


def region(implicit, address):
    if implicit:
        return MR(pd, access=ACCESS, implicit=True)
    return MR(pd, BYTES, ACCESS, address=address)


def move(qp, from_implicit, to_implicit):
    source, target = fresh_pages(), fresh_pages()
    local, remote = region(from_implicit, source[1]), region(to_implicit, target[1])
    for text in (b'1st.', b'2nd.'):
        data = text * (BYTES // len(text))
        source[0][:] = data
        write(qp, source[1], local, target[1], remote)
        if target[0][:] != data:
            raise PyverbsRDMAError(f'other data than {text}')
        renew(source[1])
        renew(target[1])
    local.close()
    remote.close()


first, second = connected_pair()
for from_implicit, to_implicit in itertools.product((False, True), repeat=2):
    names = ['implicit' if implicit else 'explicit' for implicit in (from_implicit, to_implicit)]
    try:
        move(first, from_implicit, to_implicit)
    except (PyverbsRDMAError, OSError) as error:
        # An error ends the connection too.
        print(f'from an {names[0]} region to an {names[1]} one: {error}')
        sys.exit(1)
print('all data arrived')
