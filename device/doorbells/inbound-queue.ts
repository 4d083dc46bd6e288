// SPDX-License-Identifier: Apache-2.0
/**
 * What the bus brings to the send queue scheduler of one function, in order: posted doorbell writes, and completions of the scheduler's reads. On PCI Express a
 * completion never passes a posted write (US9069485): one that cannot be taken holds up every completion behind it. That is what deadlocks. A read is
 * counted as outstanding from its issue until its completion is taken here. Its memory is accessed when the completion is taken, so nothing is buffered.
 */
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** What waits at the head. `POSTED` is a doorbell, the others are completions: of a link check, a queue-pair-record, a command, an overflow entry. */
export const Inbound = { NONE: 0, POSTED: 1, LINK_CHECK: 2, RECORD: 3, COMMAND: 4, OVERFLOW_ENTRY: 5 } as const;
export type Inbound = (typeof Inbound)[keyof typeof Inbound];

export class InboundQueue {
  /** Bus reads that may be outstanding. */
  readonly readsLimit: number;
  /** Doorbells waiting, and bus reads outstanding. */
  posted = 0;
  reads = 0;
  readonly #postedLimit: number;
  readonly #kinds: Uint8Array;
  readonly #sequences: Uint16Array;
  readonly #queuePairs: (QueuePair | undefined)[];
  readonly #buffers: (PhysicalCollectBuffer | undefined)[];
  #head = 0;

  constructor(postedLimit: number, readsLimit: number) {
    const capacity = postedLimit + readsLimit;
    this.readsLimit = readsLimit;
    this.#postedLimit = postedLimit;
    this.#kinds = new Uint8Array(capacity);
    this.#sequences = new Uint16Array(capacity);
    this.#queuePairs = new Array<QueuePair | undefined>(capacity).fill(undefined);
    this.#buffers = new Array<PhysicalCollectBuffer | undefined>(capacity).fill(undefined);
  }

  get length(): number {
    return this.posted + this.reads;
  }

  /** Another doorbell may come. */
  get takesPosted(): boolean {
    return this.posted < this.#postedLimit;
  }

  /** Another read may be issued. */
  get takesReads(): boolean {
    return this.reads < this.readsLimit;
  }

  /** What is at the head. */
  get kind(): Inbound {
    return this.length === 0 ? Inbound.NONE : (this.#kinds[this.#head] as Inbound);
  }

  /** QP, sequence number and buffer of what is at the head; the QP of an overflow entry is known only once it is read. */
  get queuePair(): QueuePair | undefined {
    return this.#queuePairs[this.#head];
  }

  get sequence(): number {
    return this.#sequences[this.#head];
  }

  get buffer(): PhysicalCollectBuffer | undefined {
    return this.#buffers[this.#head];
  }

  /** A doorbell arrives. The caller has asked `takesPosted`. */
  post(qp: QueuePair, sequence: number): void {
    this.#push(Inbound.POSTED, qp, sequence, undefined);
    this.posted++;
  }

  /** A read is issued; its completion comes behind all that waits. The caller has asked `takesReads`. */
  read(kind: Inbound, qp: QueuePair | undefined, sequence: number, buffer: PhysicalCollectBuffer | undefined): void {
    if (qp !== undefined) qp.busReads++;
    this.#push(kind, qp, sequence, buffer);
    this.reads++;
  }

  /** Takes the head. */
  pop(): void {
    const qp = this.#queuePairs[this.#head];
    if (this.#kinds[this.#head] === Inbound.POSTED) this.posted--;
    else {
      this.reads--;
      if (qp !== undefined) qp.busReads--;
    }
    this.#queuePairs[this.#head] = undefined;
    this.#buffers[this.#head] = undefined;
    this.#head = this.#head + 1 === this.#kinds.length ? 0 : this.#head + 1;
  }

  #push(kind: Inbound, qp: QueuePair | undefined, sequence: number, buffer: PhysicalCollectBuffer | undefined): void {
    let at = this.#head + this.length;
    if (at >= this.#kinds.length) at -= this.#kinds.length;
    this.#kinds[at] = kind;
    this.#sequences[at] = sequence;
    this.#queuePairs[at] = qp;
    this.#buffers[at] = buffer;
  }
}
