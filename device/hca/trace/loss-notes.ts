// SPDX-License-Identifier: Apache-2.0
/**
 * Timeline steps of the packets that ports and links lose, with what their headers say of sender
 * and receiver, so that a story finds those of its message (IPCOM000010133D par. 1). The adapter
 * makes one observer for its ports while a timeline is attached.
 */
import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../protocol/infiniband/packet.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import type { LossObserver } from '../../fabric/port/packet-loss.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import { NO_FUNCTION } from '../function/timeline-values.ts';

const LID_BITS = 16;
const LID_MAX = 0xffff;

/** Lets `timeline` note what the ports of an adapter and their links lose; undefined ends it. */
export function observeLosses(ports: readonly LinkEnd[], timeline: Timeline | undefined): void {
  const observer = makeLossObserver(timeline);
  for (const port of ports) {
    port.lossObserver = observer;
    port.downObserver = timeline && (() => timeline.note(Step.LINK_DOWN, NO_FUNCTION, port.number));
  }
}

/** An observer that notes lost packets in `timeline`; undefined without one. */
function makeLossObserver(timeline: Timeline | undefined): LossObserver | undefined {
  if (timeline === undefined) return undefined;
  const packet = newParsedPacket();
  return (view, offset, lengthBytes, loss) => {
    if (parsePacket(view, offset, lengthBytes, packet, PacketCheck.NONE) !== PacketError.NONE) return;
    const { destQpn, psn, slid, dlid, dethOffset, opcode } = packet;
    const source = dethOffset < 0 ? 0 : getDethSrcQpn(view, dethOffset);
    timeline.note(Step.PACKET_LOST, NO_FUNCTION, destQpn, psn, loss, joinLids(slid, dlid), source, opcode);
  };
}

/** Both LIDs of a packet as one number of a step. */
export function joinLids(slid: number, dlid: number): number {
  return ((slid << LID_BITS) | dlid) >>> 0;
}

export function splitLids(lids: number): { slid: number; dlid: number } {
  return { slid: lids >>> LID_BITS, dlid: lids & LID_MAX };
}
