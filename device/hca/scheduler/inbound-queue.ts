// SPDX-License-Identifier: Apache-2.0
/**
 * Arrivals from the bus for one doorbell unit, in order: posted doorbell writes and completions of
 * the unit's reads. On PCI Express no completion passes a posted write, so a doorbell that cannot
 * be taken blocks every completion behind it: the cause of the deadlock (US 9,069,485 par. 74, 84).
 * A read is outstanding from its issue until its completion is taken, and accesses guest memory
 * only then, so it needs no data buffer. With a latency of `DmaTiming` its completion joins the
 * queue later, behind doorbells that arrived meanwhile. Used by `DoorbellUnit` and command fetcher.
 */
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { ArrivalRing } from '../function/arrival-ring.ts';
import type { DmaTiming } from '../function/dma-timing.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Kinds of the entry at the head. POSTED is a doorbell; the others are read completions. */
export const Inbound = { NONE: 0, POSTED: 1, LINK_CHECK: 2, RECORD: 3, COMMAND: 4, OVERFLOW_ENTRY: 5 } as const;
export type Inbound = (typeof Inbound)[keyof typeof Inbound];

/** An arrival, or a read whose completion has not arrived. */
class InboundEntry {
  kind: Inbound = Inbound.NONE;
  queuePair: QueuePair | undefined = undefined;
  sequence = 0;
  buffer: PhysicalCollectBuffer | undefined = undefined;
}

export class InboundQueue {
  /** Limit of outstanding bus reads. */
  readonly readsLimit: number;
  /** Posted doorbells that wait, and outstanding bus reads. */
  posted = 0;
  reads = 0;
  /** Entries taken since power-on. */
  taken = 0;
  readonly #timing: DmaTiming;
  readonly #postedLimit: number;
  /** Arrivals, as a ring. */
  readonly #entries: readonly InboundEntry[];
  #head = 0;
  /** Reads in flight, and what each of them is. */
  readonly #arrivals: ArrivalRing;
  readonly #flights: readonly InboundEntry[];

  constructor(postedLimit: number, readsLimit: number, timing: DmaTiming) {
    const capacity = postedLimit + readsLimit;
    this.#timing = timing;
    this.#arrivals = new ArrivalRing(readsLimit, timing);
    this.#flights = Array.from({ length: readsLimit }, () => new InboundEntry());
    this.readsLimit = readsLimit;
    this.#postedLimit = postedLimit;
    this.#entries = Array.from({ length: capacity }, () => new InboundEntry());
  }

  /** Number of entries that arrived since power-on. */
  get arrived(): number {
    return this.taken + this.length;
  }

  /** Outstanding reads whose completions have not arrived. */
  get flying(): number {
    return this.#arrivals.count;
  }

  /** Arrival of the next completion in flight; Infinity when there is none. */
  get nextNs(): number {
    return this.#arrivals.nextNs;
  }

  get length(): number {
    return this.posted + this.reads - this.flying;
  }

  /** True while the bus holds fewer doorbells than its limit. */
  get takesPosted(): boolean {
    return this.posted < this.#postedLimit;
  }

  /** True while another read may be issued. */
  get takesReads(): boolean {
    return this.reads < this.readsLimit;
  }

  /** Kind of the head; NONE when the queue is empty. */
  get kind(): Inbound {
    return this.length === 0 ? Inbound.NONE : this.#entries[this.#head].kind;
  }

  /**
   * QP, sequence number and buffer of the head. The QP of an overflow entry is undefined: only the
   * entry names it.
   */
  get queuePair(): QueuePair | undefined {
    return this.#entries[this.#head].queuePair;
  }

  get sequence(): number {
    return this.#entries[this.#head].sequence;
  }

  get buffer(): PhysicalCollectBuffer | undefined {
    return this.#entries[this.#head].buffer;
  }

  /** A doorbell arrives. The caller has checked `takesPosted`. */
  post(qp: QueuePair, sequence: number): void {
    this.#push(Inbound.POSTED, qp, sequence, undefined);
    this.posted++;
  }

  /**
   * Issues a read; its completion is queued behind all that waits. The caller has checked
   * `takesReads`.
   */
  read(kind: Inbound, qp: QueuePair | undefined, sequence: number, buffer: PhysicalCollectBuffer | undefined): void {
    if (qp !== undefined) qp.busReads++;
    if (this.flying > 0 || this.#timing.latencyNs > 0) this.#fly(kind, qp, sequence, buffer);
    else this.#push(kind, qp, sequence, buffer);
    this.reads++;
  }

  /** Takes in the completions that have arrived by `nowNs`. Returns false when there is none. */
  land(nowNs: number): boolean {
    const arrivals = this.#arrivals;
    const before = arrivals.count;
    while (arrivals.hasArrived(nowNs)) {
      const flight = this.#flights[arrivals.first];
      this.#push(flight.kind, flight.queuePair, flight.sequence, flight.buffer);
      flight.queuePair = undefined;
      flight.buffer = undefined;
      arrivals.remove();
      this.#timing.busReads--;
    }
    return arrivals.count < before;
  }

  /** Removes the head, which must exist. */
  pop(): void {
    const entry = this.#entries[this.#head];
    if (entry.kind === Inbound.POSTED) this.posted--;
    else {
      this.reads--;
      if (entry.queuePair !== undefined) entry.queuePair.busReads--;
    }
    entry.queuePair = undefined;
    entry.buffer = undefined;
    this.#head = this.#head + 1 === this.#entries.length ? 0 : this.#head + 1;
    this.taken++;
  }

  /** Drops everything, also reads in flight: function reset. */
  clear(): void {
    this.land(Number.POSITIVE_INFINITY);
    while (this.length > 0) {
      const { queuePair, buffer } = this;
      if (queuePair !== undefined) queuePair.doorbellWaiting = false;
      buffer?.release();
      this.pop();
    }
  }

  #fly(kind: Inbound, qp: QueuePair | undefined, sequence: number, buffer: PhysicalCollectBuffer | undefined): void {
    const flight = this.#flights[this.#arrivals.issue()];
    flight.kind = kind;
    flight.queuePair = qp;
    flight.sequence = sequence;
    flight.buffer = buffer;
    this.#timing.busReads++;
  }

  /** Shows all entries, the oldest first. For `vuhca show`. */
  forEach(see: (kind: Inbound, qp: QueuePair | undefined, sequence: number, pcb: number | undefined) => void): void {
    for (let place = 0; place < this.length; place++) {
      const { kind, queuePair, sequence, buffer } = this.#entries[(this.#head + place) % this.#entries.length];
      see(kind, queuePair, sequence, buffer?.index);
    }
  }

  #push(kind: Inbound, qp: QueuePair | undefined, sequence: number, buffer: PhysicalCollectBuffer | undefined): void {
    let at = this.#head + this.length;
    if (at >= this.#entries.length) at -= this.#entries.length;
    const entry = this.#entries[at];
    entry.kind = kind;
    entry.sequence = sequence;
    entry.queuePair = qp;
    entry.buffer = buffer;
  }
}
