// SPDX-License-Identifier: Apache-2.0
/**
 * What a response must be to answer its request (IBTA 9.7.5.1, 9.7.6): its opcode, its place among
 * the responses of a READ, its length and its syndrome. The completer asks for each response that
 * is due.
 */
import { getAethSyndromeKind } from '../../../../protocol/infiniband/gen/aeth.gen.ts';
import { AethKind } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { RequestKind } from '../requester-opcodes.ts';
import type { SendRecord } from '../state/send-record.ts';

const { FIRST, LAST, ONLY, ATOMIC_ACKNOWLEDGE } = OpcodeFlag;

/** True when the packet is the next response that `record` lacks. A NAK is a packet of its own. */
export function isResponseTo(
  record: SendRecord,
  mtuBytes: number,
  view: DataView,
  { flags, psn, aethOffset, payloadLengthBytes }: Readonly<ParsedPacket>,
): boolean {
  if (aethOffset >= 0 && getAethSyndromeKind(view, aethOffset) !== AethKind.ACK) return false;
  const isAtomic = record.kind === RequestKind.ATOMIC;
  if (isAtomic || (flags & ATOMIC_ACKNOWLEDGE) !== 0) return isAtomic === ((flags & ATOMIC_ACKNOWLEDGE) !== 0);
  const { responsesReceived: received, requestedFrom, responseBytes } = record;
  const begins = (flags & (FIRST | ONLY)) !== 0;
  // An answer begins with the first response, and again where the rest was asked for; there, the
  // next packet of an earlier answer may come, too.
  if (begins ? received !== requestedFrom : received === 0) return false;
  const isLast = psn === record.lastPsn;
  const ends = (flags & (LAST | ONLY)) !== 0;
  return ends === isLast && payloadLengthBytes === (isLast ? responseBytes - received * mtuBytes : mtuBytes);
}
