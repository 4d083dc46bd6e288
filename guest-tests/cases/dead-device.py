#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
A program that polls when its device is reset or removed. Its requests cannot complete before that:
no peer answers its sends or sends to its receives. Then each of them must complete once and in
order, as flushed, and so must those that are posted afterwards; the device has reported its end,
and all objects can be freed. One queue pair has receives of its own and is polled by ibv_poll_cq(),
another one has a shared queue and is polled as an extended CQ. Argument: DEVICE. Prints `ready`
before it polls.
"""
import os
import sys
import time

from pyverbs import enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SENDS, RECEIVES = 5, 9
BYTES = 64
FIRST_SEND, FIRST_RECEIVE = 1000, 2000
# Bound of a wait that would never end.
BOUND_SECONDS = 300
NO_RETRY_LIMIT = 7


class Queue:
    """A QP that is connected to a peer without receives."""

    def __init__(self, context, domain, memory, silent, shared):
        self.element = [SGE(memory.buf, BYTES, memory.lkey)]
        self.extended = shared
        wanted = CqInitAttrEx(cqe=64, wc_flags=e.IBV_WC_EX_WITH_QP_NUM)
        self.cq = CQEX(context, wanted) if shared else CQ(context, 64)
        self.srq = SRQ(domain, SrqInitAttr(SrqAttr(max_wr=16))) if shared else None
        capacity = QPCap(max_send_wr=16, max_recv_wr=16)
        self.qp = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, srq=self.srq, cap=capacity))
        connect(context, self.qp, 1, silent, 2)
        connect(context, silent, 2, self.qp, 1)
        self.sends = self.receives = 0

    def post(self, sends, receives):
        for number in range(self.sends, self.sends + sends):
            self.qp.post_send(SendWR(FIRST_SEND + number, num_sge=1, sg=self.element))
        for number in range(self.receives, self.receives + receives):
            (self.srq or self.qp).post_recv(RecvWR(FIRST_RECEIVE + number, num_sge=1, sg=self.element))
        self.sends += sends
        self.receives += receives

    def poll(self):
        """The status, number of the request and number of the QP of the next completion, or None."""
        if not self.extended:
            count, found = self.cq.poll(1)
            return (found[0].status, found[0].wr_id, found[0].qp_num) if count else None
        if self.cq.start_poll(PollCqAttr()):
            return None
        found = self.cq.status, self.cq.wr_id, self.cq.read_qp_num()
        self.cq.end_poll()
        return found

    def expect(self, first_send, first_receive):
        """Expects all requests from these on to complete as flushed, each kind in its order."""
        wanted = {FIRST_SEND: first_send, FIRST_RECEIVE: first_receive}
        deadline = time.monotonic() + BOUND_SECONDS
        while wanted != {FIRST_SEND: self.sends, FIRST_RECEIVE: self.receives}:
            assert time.monotonic() < deadline, f'completions are missing: {wanted}'
            found = self.poll()
            if found is None:
                continue
            kind = FIRST_SEND if found[1] < FIRST_RECEIVE else FIRST_RECEIVE
            assert found == (e.IBV_WC_WR_FLUSH_ERR, kind + wanted[kind], self.qp.qp_num), (found, wanted)
            wanted[kind] += 1
        assert self.poll() is None, 'a request completes twice'


def connect(context, qp, port, peer, peer_port):
    attributes = QPAttr(port_num=port)
    attributes.dest_qp_num = peer.qp_num
    attributes.path_mtu = e.IBV_MTU_1024
    attributes.min_rnr_timer = 20
    attributes.timeout = 18
    attributes.retry_cnt = attributes.rnr_retry = NO_RETRY_LIMIT
    attributes.ah_attr = AHAttr(dlid=context.query_port(peer_port).lid, port_num=port)
    qp.to_rts(attributes)


def await_fatal_event(context):
    while True:
        event = context.get_async_event()
        event.ack()
        if event.event_type == e.IBV_EVENT_DEVICE_FATAL:
            return


def main():
    # With this, libibverbs frees objects that the kernel has destroyed already.
    os.environ['RDMAV_ALLOW_DISASSOC_DESTROY'] = '1'
    context = Context(name=sys.argv[1])
    domain = PD(context)
    memory = MR(domain, BYTES, e.IBV_ACCESS_LOCAL_WRITE)
    silent_cq = CQ(context, 16)
    initial = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=silent_cq, rcq=silent_cq, cap=QPCap())
    silent = [QP(domain, initial), QP(domain, initial)]
    queues = [Queue(context, domain, memory, qp, shared) for qp, shared in zip(silent, (False, True))]
    for queue in queues:
        queue.post(SENDS, RECEIVES)
        assert queue.poll() is None, 'a request completes before the end'
    print('ready', flush=True)
    for queue in queues:
        queue.expect(0, 0)
    await_fatal_event(context)
    for queue in queues:
        queue.post(1, 2)
        queue.expect(SENDS, RECEIVES)
    context.close()
    print('flushed', flush=True)


main()
