// SPDX-License-Identifier: Apache-2.0
/**
 * Reads of guest memory for packets that are sent again, while they take time (IBTA 9.9.2.4.1; US
 * 8,484,392 par. 40, 42, 123): after a NAK, a timeout or an RNR wait the payload is read once more.
 * A QP waits for the payload of the message that it sends next, so its packets keep their order.
 * The completer begins reads, the requester waits for them; `ConnectedTransport` calls `land`.
 */
import type { DmaTiming } from '../../function/dma-timing.ts';
import { isHere, TimedReads } from '../../function/timed-reads.ts';
import { READ_REQUEST_BYTES } from '../payload-reads.ts';
import { hasPayload } from '../requester-opcodes.ts';
import type { RequesterState } from '../state/requester-state.ts';
import type { SendRecord } from '../state/send-record.ts';

export class ResendReads {
  readonly #reads: TimedReads<SendRecord>;
  readonly #waiting: RequesterState[] = [];

  constructor(timing: DmaTiming) {
    this.#reads = new TimedReads(timing);
  }

  /** Arrival of the next read that a QP, or another read, waits for; Infinity for none. */
  get nextNs(): number {
    return this.#reads.nextNs(this.#waiting.length > 0);
  }

  /** True when there is something to take in, now or later. */
  get busy(): boolean {
    return this.#waiting.length > 0 || this.#reads.contextsUsed > 0;
  }

  /** DMA contexts in use for packets that are sent again. */
  get contextsUsed(): number {
    return this.#reads.contextsUsed;
  }

  /** Moves the QP back to the packet with `psn`; what was sent since is read again. */
  rewind(state: RequesterState, psn: number): void {
    const { instant } = this.#reads;
    const { pathMtuBytes } = state.qp;
    state.rewind(psn, (record, sent) => {
      if (instant || !hasPayload(record.kind) || record.inline) return;
      const from = record.packetsSent * pathMtuBytes;
      const to = Math.min(sent * pathMtuBytes, record.messageLength);
      this.#reads.add(record, record.list.countRequests(from, to - from, READ_REQUEST_BYTES));
    });
  }

  /** True when the payload of the record is here. */
  isHere(record: SendRecord): boolean {
    return isHere(record);
  }

  /** The QP waits for the payload of its next packet. */
  await(state: RequesterState): void {
    if (state.reading) return;
    state.reading = true;
    this.#waiting.push(state);
  }

  /** The record ends: its reads are its own no longer. */
  drop(record: SendRecord): void {
    if (!isHere(record)) this.#reads.drop(record);
  }

  /** Calls `wake` for each QP whose payload has arrived, or whose record has ended. */
  land(wake: (state: RequesterState) => void): void {
    this.#reads.land();
    for (let left = this.#waiting.length; left > 0; left--) {
      const state = this.#waiting.shift() as RequesterState;
      const { cursor } = state;
      if (cursor !== undefined && !isHere(cursor)) this.#waiting.push(state);
      else {
        state.reading = false;
        wake(state);
      }
    }
  }
}
