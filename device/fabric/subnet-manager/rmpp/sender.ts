// SPDX-License-Identifier: Apache-2.0
/**
 * Sends responses of any length as segments (IBTA 13.6.3 and 13.6.6.2): one segment first, then as
 * many as the receiver's window allows. Segments without ACK are repeated; STOP and ABORT of the
 * receiver end the transfer.
 */

import {
  getRmppHeaderPayloadLength,
  getRmppHeaderSegmentNumber,
  getRmppHeaderType,
} from '../../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { RmppStatus, RmppType } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES, RMPP_OFFSET, SA_DATA_OFFSET } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import type { MadAddress } from '../../agents/mad-packet.ts';
import {
  controlPacket,
  SEGMENT_BYTES,
  SEGMENT_HEADER_BYTES,
  type SendMad,
  transferKey,
  writeRmppHeader,
} from './rmpp.ts';

/** Time for an ACK, and how often a window is repeated. */
const TIMEOUT_NS = 400_000_000;
const REPETITIONS = 5;
/** A packet for which the port has no room is offered again after this time. */
const PAUSE_NS = 20_000;
/** Transfers in all, and to one port: one that acknowledges nothing leaves room for the others. */
export const TRANSFERS_MAX = 256;
const TRANSFERS_OF_PORT = 16;

interface Transfer {
  readonly to: Readonly<MadAddress>;
  /** Headers of every segment. */
  readonly head: Uint8Array;
  readonly payload: Uint8Array;
  readonly segments: number;
  /** Last segments acknowledged, sent, and allowed. */
  acknowledged: number;
  sent: number;
  window: number;
  repetitions: number;
  deadlineNs: number;
}

export class RmppSender {
  /** Transfers that were completed, that failed, and for which there was no room. */
  completed = 0;
  failed = 0;
  refused = 0;
  readonly #send: SendMad;
  readonly #transfers = new Map<string, Transfer>();

  constructor(send: SendMad) {
    this.#send = send;
  }

  get nextNs(): number {
    let next = Infinity;
    for (const { deadlineNs } of this.#transfers.values()) next = Math.min(next, deadlineNs);
    return next;
  }

  /** Starts a transfer; `head` has the headers of the response, up to the records. */
  start(to: Readonly<MadAddress>, head: Uint8Array, payload: Uint8Array, nowNs: number): void {
    // The receiver's answers come from where the response goes to.
    const key = transferKey({ ...to, slid: to.dlid, sourceQpn: to.destQpn }, head);
    if (!this.#transfers.has(key) && !this.#hasRoom(to.dlid)) {
      this.refused++;
      return;
    }
    const segments = Math.max(1, Math.ceil(payload.length / SEGMENT_BYTES));
    const start = { acknowledged: 0, sent: 0, window: 1, repetitions: 0, deadlineNs: nowNs };
    const transfer: Transfer = { to: { ...to }, head: head.slice(0, SA_DATA_OFFSET), payload, segments, ...start };
    this.#transfers.set(key, transfer);
    this.#advance(transfer, nowNs);
  }

  /** Takes an ACK, STOP or ABORT. */
  take(from: Readonly<MadAddress>, mad: Uint8Array, nowNs: number): void {
    const key = transferKey(from, mad);
    const transfer = this.#transfers.get(key);
    if (transfer === undefined) return;
    const view = viewOf(mad);
    if (getRmppHeaderType(view, RMPP_OFFSET) !== RmppType.ACK) {
      this.#end(key, false);
      return;
    }
    const segment = getRmppHeaderSegmentNumber(view, RMPP_OFFSET);
    const window = getRmppHeaderPayloadLength(view, RMPP_OFFSET);
    if (segment > transfer.sent) return this.#abort(key, transfer, RmppStatus.SEGMENT_TOO_BIG);
    if (window < segment) return this.#abort(key, transfer, RmppStatus.NEW_WINDOW_TOO_SMALL);
    if (segment < transfer.acknowledged) return;
    transfer.acknowledged = segment;
    transfer.window = Math.max(window, transfer.window);
    transfer.repetitions = 0;
    if (segment >= transfer.segments) return this.#end(key, true);
    this.#advance(transfer, nowNs);
  }

  /** Repeats what was not acknowledged in time. */
  run(nowNs: number): void {
    for (const [key, transfer] of this.#transfers) {
      if (transfer.deadlineNs > nowNs) continue;
      const isPaused = transfer.sent < Math.min(transfer.window, transfer.segments);
      if (!isPaused) {
        if (transfer.repetitions === REPETITIONS) {
          this.#abort(key, transfer, RmppStatus.TOO_MANY_RETRIES);
          continue;
        }
        transfer.repetitions++;
        transfer.sent = transfer.acknowledged;
      }
      this.#advance(transfer, nowNs);
    }
  }

  #hasRoom(dlid: number): boolean {
    if (this.#transfers.size >= TRANSFERS_MAX) return false;
    return [...this.#transfers.values()].filter((each) => each.to.dlid === dlid).length < TRANSFERS_OF_PORT;
  }

  /** Sends the segments that the window allows. */
  #advance(transfer: Transfer, nowNs: number): void {
    const end = Math.min(transfer.window, transfer.segments);
    while (transfer.sent < end) {
      if (!this.#send(transfer.to, segmentOf(transfer, transfer.sent + 1))) {
        transfer.deadlineNs = nowNs + PAUSE_NS;
        return;
      }
      transfer.sent++;
    }
    transfer.deadlineNs = nowNs + TIMEOUT_NS;
  }

  #abort(key: string, transfer: Transfer, status: number): void {
    this.#send(transfer.to, abortOf(transfer, status));
    this.#end(key, false);
  }

  #end(key: string, isComplete: boolean): void {
    this.#transfers.delete(key);
    if (isComplete) this.completed++;
    else this.failed++;
  }
}

/** Segment `number`, from 1. The first one tells the length of the whole, the last one its own. */
function segmentOf({ head, payload, segments }: Transfer, number: number): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  mad.set(head);
  const start = (number - 1) * SEGMENT_BYTES;
  const part = payload.subarray(start, start + SEGMENT_BYTES);
  mad.set(part, SA_DATA_OFFSET);
  const isFirst = number === 1;
  const isLast = number === segments;
  let length = 0;
  if (isLast) length = part.length + SEGMENT_HEADER_BYTES;
  if (isFirst) length = payload.length + segments * SEGMENT_HEADER_BYTES;
  writeRmppHeader(viewOf(mad), RmppType.DATA, 0, number, length, isFirst, isLast);
  return mad;
}

function abortOf({ head, acknowledged }: Transfer, status: number): Uint8Array {
  const mad = controlPacket(new Uint8Array(MAD_BYTES), RmppType.ABORT, status, acknowledged, 0);
  const headers = mad.slice(RMPP_OFFSET, SA_DATA_OFFSET);
  mad.set(head);
  mad.set(headers, RMPP_OFFSET);
  return mad;
}
