// SPDX-License-Identifier: Apache-2.0
/**
 * The shared receive queue that a request for an XRC target names in its XRCETH (IBTA annex A14):
 * looked up in the domain of the QP for the first packet of a message, the same in all others.
 * Called by the responder for each new request packet.
 */
import { getXrcethXrcSrqn } from '../../../../protocol/infiniband/gen/xrceth.gen.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { ReceiveSource } from '../../queues/receive-source.ts';
import { ResponderStep } from '../state/responder-state.ts';
import type { ResponderRefusals } from './responder-refusals.ts';
import type { ResponderRequest } from './responder-request.ts';

const { MIDDLE, LAST } = OpcodeFlag;

/** Makes the QP receive from the queue of the packet. No effect on a QP that is no XRC target. */
export function selectQueue(request: ResponderRequest, refusals: ResponderRefusals): ResponderStep {
  const { qp, ring, packet } = request;
  const { domain } = qp;
  if (domain === undefined) return ResponderStep.CHECK_RESOURCES;
  request.state.step = ResponderStep.CHECK_RESOURCES;
  const srqn = getXrcethXrcSrqn(ring.view, packet.xrcethOffset);
  if (packet.flags & (MIDDLE | LAST)) {
    // The queue of the message may have been destroyed: then the QP has none.
    const isSame = qp.srq !== undefined && qp.srq.number === srqn;
    return isSame ? ResponderStep.CHECK_RESOURCES : refusals.refuseQueue(FaultKind.XRC_QUEUE, srqn);
  }
  const queue = domain.find(srqn);
  if (queue?.xrc === undefined) return refusals.refuseQueue(domain.faultOf(srqn), srqn);
  qp.receiveFrom(queue, queue.xrc.cq);
  return ResponderStep.CHECK_RESOURCES;
}

/** The queue whose WQE the packet may take; undefined when it names none of the domain. */
export function receiveSourceOf(
  qp: QueuePair,
  ring: PacketRing,
  packet: Readonly<ParsedPacket>,
): ReceiveSource | undefined {
  if (qp.domain === undefined) return qp.receiveSource;
  return qp.domain.find(getXrcethXrcSrqn(ring.view, packet.xrcethOffset))?.ring;
}
