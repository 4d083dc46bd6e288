// SPDX-License-Identifier: Apache-2.0
/**
 * The doorbell overflow buffer of one function: a ring of doorbells in its guest memory (US
 * 9,069,485 par. 28-29, 87, 91, 93). Only the adapter writes it, but the guest can. So an entry
 * that is read back is accepted only when it is a doorbell of a QP that has entries there, and an
 * emptied ring must have returned every entry (docs/HAZARDS.md, hazard 39). The ring is given up at
 * the first failed access and when its memory is unmapped. Called by `DoorbellUnit` and
 * `SpilledDoorbells`; a destroyed QP is reported by the queue-pair life cycle.
 */

import {
  OVERFLOW_ENTRY_BYTES,
  OVERFLOW_MAX_LOG2,
  OVERFLOW_MIN_LOG2,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  DOORBELL_SIZE,
  getDoorbellQpn,
  getDoorbellSequence,
  setDoorbellQpn,
  setDoorbellSequence,
} from '../../../protocol/layout/gen/doorbell.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import { OVERFLOW_BUFFER } from '../function/fault-log.ts';
import { Step } from '../function/timeline.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

const BASE_ALIGNMENT = 64;

export class OverflowBuffer {
  enabled = false;
  /** Entries written and read since reset, modulo 2^32. */
  written = 0;
  read = 0;
  /** QPN and sequence number of the entry read last. */
  qpn = 0;
  sequence = 0;
  readonly #dma: Dma;
  #base = 0;
  #entries = 0;
  /** Entries still in the ring: of live QPs, and of QPs destroyed since. */
  #owed = 0;
  #orphans = 0;
  /** Number of the current count of entries per QP. A QP whose `spilledLap` differs has none. */
  #lap = 1;
  readonly #entry = new Uint8Array(OVERFLOW_ENTRY_BYTES);
  readonly #view = new DataView(this.#entry.buffer);
  readonly #expected = new Uint8Array(DOORBELL_SIZE);
  readonly #expectedView = new DataView(this.#expected.buffer);

  constructor(dma: Dma) {
    this.#dma = dma;
  }

  /** Entries in the ring. */
  get pending(): number {
    return (this.written - this.read) >>> 0;
  }

  /** True also without a ring. */
  get full(): boolean {
    return this.pending >= this.#entries;
  }

  /** Size of the ring; 0 without one. */
  get entries(): number {
    return this.#entries;
  }

  /** Entries that may be written; 0 without a ring. */
  get room(): number {
    return this.#entries - this.pending;
  }

  /**
   * Starts using a ring of `2 ** entriesLog2` entries at `base`. Returns false, with no ring in
   * use, when base or size is out of range.
   */
  enable(base: number, entriesLog2: number): boolean {
    this.disable();
    const isSound =
      base > 0 &&
      base % BASE_ALIGNMENT === 0 &&
      entriesLog2 >= OVERFLOW_MIN_LOG2 &&
      entriesLog2 <= OVERFLOW_MAX_LOG2 &&
      base + 2 ** entriesLog2 * OVERFLOW_ENTRY_BYTES <= Number.MAX_SAFE_INTEGER;
    if (!isSound) return false;
    this.#base = base;
    this.#entries = 2 ** entriesLog2;
    this.enabled = true;
    return true;
  }

  /** Gives up the ring and all entries in it. */
  disable(): void {
    this.enabled = false;
    this.#entries = 0;
    this.read = this.written;
    this.#forgetCounts();
  }

  /** Function reset: also clears the counters that registers show. */
  reset(): void {
    this.disable();
    this.written = 0;
    this.read = 0;
  }

  /** Guest address of the entry read last; 0 without a ring. */
  get addressRead(): number {
    return this.#entries === 0 ? 0 : this.#at((this.read - 1) >>> 0).address;
  }

  /** Guest address of the entry at `place`, counted from the oldest one. For `vuhca show`. */
  addressOf(place: number): number {
    return this.#base + (((this.read + place) >>> 0) % this.#entries) * OVERFLOW_ENTRY_BYTES;
  }

  /** True when the ring overlaps the range. */
  touches(address: number, lengthBytes: number): boolean {
    return (
      this.enabled && address < this.#base + this.#entries * OVERFLOW_ENTRY_BYTES && this.#base < address + lengthBytes
    );
  }

  /** Entries of the QP in the ring. */
  spilledOf(qp: QueuePair): number {
    return qp.spilledLap === this.#lap ? qp.spilled : 0;
  }

  /**
   * Appends a doorbell. Returns false, with the ring given up, when memory cannot be written. The
   * caller has checked `full`.
   */
  write(qp: QueuePair, sequence: number): boolean {
    setDoorbellQpn(this.#expectedView, 0, qp.number);
    setDoorbellSequence(this.#expectedView, 0, sequence);
    if (!this.#at(this.written).write(qp, this.#expected, 0, OVERFLOW_ENTRY_BYTES)) {
      this.disable();
      return false;
    }
    this.written = (this.written + 1) >>> 0;
    qp.owner.timeline?.note(Step.SPILL, qp.owner.number, qp.number, sequence);
    qp.spilled = this.spilledOf(qp) + 1;
    qp.spilledLap = this.#lap;
    this.#owed++;
    return true;
  }

  /**
   * Reads the oldest entry into `qpn` and `sequence`. Returns DMA_READ, with the ring given up,
   * when memory cannot be read, and OVERFLOW_ENTRY when the entry is not a doorbell as the adapter
   * writes it.
   */
  fetch(): FaultKind {
    if (!this.#at(this.read).read(OVERFLOW_BUFFER, OVERFLOW_ENTRY_BYTES, this.#entry, 0)) {
      this.disable();
      return FaultKind.DMA_READ;
    }
    this.read = (this.read + 1) >>> 0;
    this.qpn = getDoorbellQpn(this.#view, 0);
    this.sequence = getDoorbellSequence(this.#view, 0);
    setDoorbellQpn(this.#expectedView, 0, this.qpn);
    setDoorbellSequence(this.#expectedView, 0, this.sequence);
    for (let index = 0; index < DOORBELL_SIZE; index++)
      if (this.#entry[index] !== this.#expected[index]) return FaultKind.OVERFLOW_ENTRY;
    return FaultKind.NONE;
  }

  /** Counts an entry of the QP as returned. Returns false when it has none in the ring. */
  settle(qp: QueuePair): boolean {
    if (this.spilledOf(qp) === 0) return false;
    qp.owner.timeline?.note(Step.DRAIN, qp.owner.number, qp.number, this.sequence);
    qp.spilled--;
    this.#owed--;
    return true;
  }

  /**
   * Counts an entry of an unknown QP as returned. Returns false when no destroyed QP has one there.
   */
  settleOrphan(): boolean {
    if (this.#orphans === 0) return false;
    this.#orphans--;
    return true;
  }

  /** The QP is being destroyed: its entries stay in the ring without an owner (hazard 38). */
  orphan(qp: QueuePair): void {
    const spilled = this.spilledOf(qp);
    this.#owed -= spilled;
    this.#orphans += spilled;
  }

  /**
   * Called when the ring is empty: returns true when every entry written has come back. Otherwise
   * the counts start anew.
   */
  checkEmptied(): boolean {
    const whole = this.#owed === 0 && this.#orphans === 0;
    if (!whole) this.#forgetCounts();
    return whole;
  }

  #forgetCounts(): void {
    this.#owed = 0;
    this.#orphans = 0;
    this.#lap++;
  }

  #at(index: number): Dma {
    return this.#dma.at(this.#base + (index % this.#entries) * OVERFLOW_ENTRY_BYTES);
  }
}
