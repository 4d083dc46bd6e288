#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Habits of software that was written for RDMA over Converged Ethernet, and the ways of InfiniBand
instead (docs/verbs/ROCE-HABITS.md). Tries each way on one port of a device, which must be ACTIVE,
and prints a line `NAME|WAY|RESULT` for each, where WAY is `habit` or `instead` and RESULT begins
with `works` or tells what happened. Arguments: DEVICE PORT GID_INDEX, a GID by which the port
reaches itself.
"""
import sys

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

BYTES = 64
GRH_BYTES = 40
QKEY = 0x11111111
IPV4_MAPPED = '0000:0000:0000:0000:0000:ffff:'
# The code of a timeout of two seconds, within which even a busy machine answers.
TIMEOUT = 19
RETRIES = 2


class Port:
    """A port with the objects that the trials need."""

    def __init__(self, device, number, gid_index):
        self.context = Context(name=device)
        self.number = number
        self.gid_index = gid_index
        self.attr = self.context.query_port(number)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)

    def create(self, kind):
        cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
        return QP(self.pd, QPInitAttr(qp_type=kind, scq=self.cq, rcq=self.cq, cap=cap))

    def buffer(self, length):
        return MR(self.pd, length, e.IBV_ACCESS_LOCAL_WRITE)

    def path(self, lid=None, gid_index=None):
        """An address of the port itself: by LID, or by GID, or by both."""
        route = {}
        if gid_index is not None:
            dgid = self.context.query_gid(self.number, gid_index)
            route = {'gr': GlobalRoute(dgid=dgid, sgid_index=gid_index, hop_limit=64), 'is_global': 1}
        return AHAttr(dlid=self.attr.lid if lid is None else lid, port_num=self.number, **route)

    def wait(self):
        """The status of the next completion."""
        while True:
            count, completions = self.cq.poll(1)
            if count:
                return completions[0].status

    def send(self, sender, receiver, offset=0, post=lambda qp, wr: qp.post_send(wr)):
        """Sends a message and tells how it ended."""
        sent, received = self.buffer(BYTES), self.buffer(BYTES + offset)
        receiver.post_recv(RecvWR(num_sge=1, sg=[SGE(received.buf, BYTES + offset, received.lkey)]))
        post(sender, SendWR(num_sge=1, sg=[SGE(sent.buf, BYTES, sent.lkey)], opcode=e.IBV_WR_SEND,
                            send_flags=e.IBV_SEND_SIGNALED))
        for _ in range(2):
            status = self.wait()
            if status != e.IBV_WC_SUCCESS:
                return f'ends with {name_status(status)}'
        return 'works'

    def connect(self, path, pkey_index=0):
        """Joins two RC queue pairs by `path`, and sends a message over them."""
        ends = [self.create(e.IBV_QPT_RC) for _ in range(2)]
        for qp, peer in (ends, ends[::-1]):
            attr = QPAttr(port_num=self.number)
            attr.pkey_index = pkey_index
            qp.to_init(attr)
            attr.ah_attr, attr.dest_qp_num = path, peer.qp_num
            attr.path_mtu, attr.min_rnr_timer = e.IBV_MTU_1024, 12
            attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
            qp.to_rtr(attr)
            attr.timeout, attr.retry_cnt, attr.rnr_retry = TIMEOUT, RETRIES, 7
            qp.to_rts(attr)
        return self.send(*ends)


def name_status(status):
    names = (name for name in dir(e) if name.startswith('IBV_WC_') and name.endswith('_ERR'))
    return next((name[len('IBV_WC_'):] for name in names if getattr(e, name) == status), status)


def lid_zero(port):
    """An address with a GRH only, as on Ethernet, where LIDs are 0."""
    return port.connect(port.path(lid=0, gid_index=port.gid_index))


def lid_of_port(port):
    return port.connect(port.path(gid_index=port.gid_index))


def without_grh(port):
    """An address by LID without a GRH: enough within a subnet."""
    return port.connect(port.path())


def second_gid(port):
    """RoCE has IPv4 and IPv6 addresses at indices from 1 on."""
    gid = port.context.query_gid(port.number, 1)
    if set(str(gid)) <= set('0:'):
        return 'GID 1 is empty'
    return port.connect(port.path(gid_index=1))


def first_gid(port):
    return port.connect(port.path(gid_index=port.gid_index))


def address_in_gid(port):
    """RoCE has the IPv4 address of the interface in a GID."""
    gids = [str(port.context.query_gid(port.number, index)) for index in range(port.attr.gid_tbl_len)]
    return 'works' if any(gid.startswith(IPV4_MAPPED) for gid in gids) else 'no GID has an IPv4 address'


def prefix_in_gid(port):
    """GID 0 has the prefix of the subnet, and the GUID of the port."""
    gid = str(port.context.query_gid(port.number, port.gid_index))
    return 'works' if gid.startswith('fe80:') or gid.startswith(IPV4_MAPPED) else f'GID is {gid}'


def any_pkey(port):
    """P_Key indices do not matter on RoCE, where all entries are the same."""
    return port.connect(port.path(gid_index=port.gid_index), pkey_index=port.attr.pkey_tbl_len - 1)


def pkey_by_value(port):
    """The index is looked up by the P_Key."""
    keys = [port.context.query_pkey(port.number, index) for index in range(port.attr.pkey_tbl_len)]
    return port.connect(port.path(gid_index=port.gid_index), pkey_index=keys.index(0xFFFF))


def join_datagrams(port):
    """Two UD queue pairs, and an address of the second one."""
    ends = [port.create(e.IBV_QPT_UD) for _ in range(2)]
    for qp in ends:
        attr = QPAttr(port_num=port.number)
        attr.qkey = QKEY
        qp.to_init(attr)
        qp.to_rtr(attr)
        qp.to_rts(attr)
    return ends


def datagram(port, path):
    sender, receiver = join_datagrams(port)
    ah = AH(port.pd, attr=path)

    def post(qp, wr):
        wr.set_wr_ud(ah, receiver.qp_num, QKEY)
        qp.post_send(wr)

    return port.send(sender, receiver, GRH_BYTES, post)


def datagram_with_grh(port):
    """Datagrams on RoCE always need a GRH."""
    return datagram(port, port.path(gid_index=port.gid_index))


def datagram_by_lid(port):
    return datagram(port, port.path())


TRIALS = (
    ('destination', lid_zero, lid_of_port),
    ('route', lid_of_port, without_grh),
    ('gid-index', second_gid, first_gid),
    ('gid-content', address_in_gid, prefix_in_gid),
    ('pkey-index', any_pkey, pkey_by_value),
    ('datagram-route', datagram_with_grh, datagram_by_lid),
)


def attempt(trial, port):
    try:
        return trial(port)
    except PyverbsError as error:
        return 'refused: ' + str(error).splitlines()[0].split(', ')[-1]


def main():
    device, number, gid_index = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for name, habit, instead in TRIALS:
        for way, trial in (('habit', habit), ('instead', instead)):
            print(f'{name}|{way}|{attempt(trial, Port(device, number, gid_index))}', flush=True)


main()
