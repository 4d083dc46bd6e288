// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of a shared receive queue for tests: a list of free entries, as the Linux
 * driver keeps it in the entries themselves, and a doorbell record with the counter.
 */
import { encodeNextSegment, newNextSegment } from '../../../../protocol/mthca/gen/next-segment.gen.ts';
import { encodeSrqContext, newSrqContext, SRQ_CONTEXT_SIZE } from '../../../../protocol/mthca/gen/srq-context.gen.ts';
import { CommandOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import { COUNTER_MASK } from '../../../personality/shared/receive-queue.ts';
import type { Piece } from '../../machine/personality-driver.ts';
import { writeReceive } from './data-queue-pair.ts';
import type { MthcaDriver } from './mthca-driver.ts';
import { PD } from './profile.ts';

const LOG_ENTRIES = 3;
const ENTRIES = 2 ** LOG_ENTRIES;
const STRIDE = 2;
const ENTRY_BYTES = 64;
const FIRST_SRQN = 16;

/** Attributes of an SRQ that differ from the default. */
interface SharedQueueSetup {
  readonly number?: number;
  readonly uar?: number;
  readonly pd?: number;
}

export class DriverSharedQueue {
  readonly number: number;
  readonly uar: number;
  /** Offsets of entries that were posted more than once. */
  readonly reposted: number[] = [];
  readonly queue: number;
  readonly #driver: MthcaDriver;
  readonly #record: number;
  readonly #free = Array.from({ length: ENTRIES }, (_, index) => index);
  #posted = 0;

  constructor(driver: MthcaDriver, record: number, { number = FIRST_SRQN, uar = 1, pd = PD }: SharedQueueSetup = {}) {
    this.number = number;
    this.uar = uar;
    this.#driver = driver;
    this.#record = record;
    this.queue = driver.allocate(0x1000);
    const key = driver.createRegion(this.queue, 0x1000, { pd });
    for (let index = 0; index + 1 < ENTRIES; index++) this.#link(index, index + 1);
    driver.setRecord(uar, record, 0);
    const context = new Uint8Array(SRQ_CONTEXT_SIZE);
    const place = { logEntries: LOG_ENTRIES, stride: STRIDE, uar, record };
    encodeSrqContext(new DataView(context.buffer), 0, { ...newSrqContext(), ...place, key, pd });
    driver.expect(CommandOpcode.SW2HW_SRQ, { input: context, modifier: number });
  }

  /** Offset of the entry that is posted next. */
  get next(): number {
    return this.offsetOf(this.#free[0]);
  }

  /** Entries that can be posted. */
  get room(): number {
    return this.#free.length - 1;
  }

  offsetOf(index: number): number {
    return index * ENTRY_BYTES;
  }

  /**
   * Posts the first free entry and returns its offset; the last one is never posted, because no
   * entry follows it.
   */
  post(...pieces: readonly Piece[]): number {
    const index = this.#free.shift() as number;
    writeReceive(this.#view(index), pieces);
    if (this.#posted >= ENTRIES - 3) this.reposted.push(this.offsetOf(index));
    this.#posted++;
    this.#driver.setRecord(this.uar, this.#record, this.#posted & COUNTER_MASK);
    return this.offsetOf(index);
  }

  /** Puts a completed entry behind all free ones. */
  free(request: number): void {
    const index = request / ENTRY_BYTES;
    this.#link(this.#free[this.#free.length - 1], index);
    this.#free.push(index);
  }

  #link(index: number, next: number): void {
    encodeNextSegment(this.#view(index), 0, { ...newNextSegment(), nextRequest: next, nextOpcode: 1 });
  }

  #view(index: number): DataView {
    return this.#driver.memory.view(this.queue + this.offsetOf(index), ENTRY_BYTES);
  }
}
