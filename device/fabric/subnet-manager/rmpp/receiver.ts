// SPDX-License-Identifier: Apache-2.0
/**
 * Receives requests of several segments (IBTA 13.6.5): GetMulti with many GIDs. Every segment in
 * order is acknowledged; a repeated one is acknowledged again; anything else ends the transfer by
 * ABORT. Little is kept, and for a limited time.
 */

import {
  getRmppHeaderIsFirst,
  getRmppHeaderIsLast,
  getRmppHeaderPayloadLength,
  getRmppHeaderSegmentNumber,
  getRmppHeaderVersion,
} from '../../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { RmppStatus, RmppType } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES, RMPP_OFFSET, SA_DATA_OFFSET } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { answerAddress, type MadAddress } from '../../agents/mad-packet.ts';
import { controlPacket, SEGMENT_BYTES, SEGMENT_HEADER_BYTES, type SendMad, transferKey, WINDOW } from './rmpp.ts';

/** Transfers in all, and of one port: a flood of one leaves room for the others. */
export const RECEPTIONS_MAX = 64;
const TRANSFERS_OF_PORT = 4;
export const SEGMENTS_MAX = 64;
const LIFE_NS = 4_000_000_000;

interface Reception {
  readonly slid: number;
  readonly parts: Uint8Array[];
  endNs: number;
}

export class RmppReceiver {
  /** Transfers ended by this side, and transfers that came to no end. */
  aborted = 0;
  expired = 0;
  readonly #send: SendMad;
  readonly #receptions = new Map<string, Reception>();

  constructor(send: SendMad) {
    this.#send = send;
  }

  get nextNs(): number {
    let next = Infinity;
    for (const { endNs } of this.#receptions.values()) next = Math.min(next, endNs);
    return next;
  }

  /** Takes a DATA segment. Returns the bytes of all segments when it was the last one. */
  take(from: Readonly<MadAddress>, mad: Uint8Array, nowNs: number): Uint8Array | undefined {
    const view = viewOf(mad);
    const key = transferKey(from, mad);
    const number = getRmppHeaderSegmentNumber(view, RMPP_OFFSET);
    const known = this.#receptions.get(key);
    const error = this.#errorOf(view, number, known, from.slid);
    if (error !== undefined) {
      this.#abort(key, from, mad, error);
      return undefined;
    }
    const reception = known ?? { slid: from.slid, parts: [], endNs: 0 };
    reception.endNs = nowNs + LIFE_NS;
    if (number === reception.parts.length + 1) reception.parts.push(mad.slice(SA_DATA_OFFSET));
    const isLast = getRmppHeaderIsLast(view, RMPP_OFFSET) === 1 && number === reception.parts.length;
    const last = reception.parts.length;
    this.#send(answerAddress(from), controlPacket(mad, RmppType.ACK, 0, last, last + (isLast ? 0 : WINDOW)));
    if (!isLast) {
      this.#receptions.set(key, reception);
      return undefined;
    }
    this.#receptions.delete(key);
    return joined(reception.parts, getRmppHeaderPayloadLength(view, RMPP_OFFSET), last === 1);
  }

  /** The other side gives up. */
  end(from: Readonly<MadAddress>, mad: Uint8Array): void {
    this.#receptions.delete(transferKey(from, mad));
  }

  run(nowNs: number): void {
    for (const [key, { endNs }] of this.#receptions) {
      if (endNs > nowNs) continue;
      this.#receptions.delete(key);
      this.expired++;
    }
  }

  #errorOf(view: DataView, number: number, known: Reception | undefined, slid: number): number | undefined {
    if (getRmppHeaderVersion(view, RMPP_OFFSET) !== 1) return RmppStatus.UNSUPPORTED_VERSION;
    if ((getRmppHeaderIsFirst(view, RMPP_OFFSET) === 1) !== (number === 1)) return RmppStatus.INCONSISTENT_FIRST;
    const expected = (known?.parts.length ?? 0) + 1;
    if (number === 0 || number > expected) return RmppStatus.SEGMENT_TOO_BIG;
    if (number > SEGMENTS_MAX) return RmppStatus.UNSPECIFIED;
    if (known === undefined && !this.#hasRoom(slid)) return RmppStatus.RESOURCES_EXHAUSTED;
    const length = getRmppHeaderPayloadLength(view, RMPP_OFFSET);
    const isLast = getRmppHeaderIsLast(view, RMPP_OFFSET) === 1;
    const isImpossible = length < SEGMENT_HEADER_BYTES || length > MAD_BYTES;
    return isLast && number > 1 && isImpossible ? RmppStatus.INCONSISTENT_LAST : undefined;
  }

  #hasRoom(slid: number): boolean {
    if (this.#receptions.size >= RECEPTIONS_MAX) return false;
    return [...this.#receptions.values()].filter((each) => each.slid === slid).length < TRANSFERS_OF_PORT;
  }

  #abort(key: string, from: Readonly<MadAddress>, mad: Uint8Array, status: number): void {
    this.aborted++;
    this.#receptions.delete(key);
    const type = status === RmppStatus.RESOURCES_EXHAUSTED ? RmppType.STOP : RmppType.ABORT;
    this.#send(answerAddress(from), controlPacket(mad, type, status, 0, 0));
  }
}

/** All segments; the last one is cut to its length. */
function joined(parts: readonly Uint8Array[], lastLength: number, isSingle: boolean): Uint8Array {
  const bytes = new Uint8Array(parts.length * SEGMENT_BYTES);
  for (const [index, part] of parts.entries()) bytes.set(part, index * SEGMENT_BYTES);
  const lastBytes = lastLength - SEGMENT_HEADER_BYTES;
  // A length of 0 in a single segment means that all of it is used.
  if (lastBytes < 0 || lastBytes > SEGMENT_BYTES || (isSingle && lastLength === 0)) return bytes;
  return bytes.subarray(0, (parts.length - 1) * SEGMENT_BYTES + lastBytes);
}
