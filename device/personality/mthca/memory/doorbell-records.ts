// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbell records: 8 bytes each, in pages of context memory that belong to a user access region.
 * Software keeps counters of queues and consumer indices of CQs there. Commands check the numbers
 * of records; queues read them.
 */
import { ICM_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { DOORBELL_RECORD_SIZE, getDoorbellRecordCounter } from '../../../../protocol/mthca/gen/doorbell-record.gen.ts';
import type { Dma } from '../../../hca/function/dma.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { PostedCounter } from '../../shared/request-block.ts';
import type { ContextMemory } from './context-memory.ts';

export class DoorbellRecords {
  readonly #icm: ContextMemory;
  readonly #dma: Dma;
  #base = 0;
  #regions = 0;
  #regionBytes = 0;
  readonly #record = new Uint8Array(DOORBELL_RECORD_SIZE);
  readonly #view = new DataView(this.#record.buffer);

  constructor(icm: ContextMemory, dma: Dma) {
    this.#icm = icm;
    this.#dma = dma;
  }

  /** Number of user access regions. */
  get regions(): number {
    return this.#regions;
  }

  /** Places the records. Returns false when they do not fit into context memory. */
  place(base: number, regions: number, regionPages: number): boolean {
    this.#base = base;
    this.#regions = regions;
    this.#regionBytes = regionPages * ICM_PAGE_BYTES;
    return this.#icm.contains(base, regions * this.#regionBytes);
  }

  /** True when the region exists and the record lies in a mapped page of it. */
  has(region: number, record: number): boolean {
    const address = this.#addressOf(region, record);
    return address !== undefined && this.#icm.isMapped(address, DOORBELL_RECORD_SIZE);
  }

  /** The record of a work queue. */
  counterAt(region: number, record: number): PostedCounter {
    return { read: (subject) => this.read(region, record, subject) };
  }

  /** The counter in a record; undefined when it cannot be read. */
  read(region: number, record: number, subject: FaultSubject): number | undefined {
    const offset = record * DOORBELL_RECORD_SIZE;
    if (region >= this.#regions || offset >= this.#regionBytes) return undefined;
    const dma = this.#dma.at(this.#base + region * this.#regionBytes + offset);
    if (!this.#icm.enter(dma) || !dma.read(subject, DOORBELL_RECORD_SIZE, this.#record, 0)) return undefined;
    return getDoorbellRecordCounter(this.#view, 0);
  }

  /** Address of a record in context memory; undefined when there is no such record. */
  #addressOf(region: number, record: number): number | undefined {
    const offset = record * DOORBELL_RECORD_SIZE;
    if (region >= this.#regions || offset >= this.#regionBytes) return undefined;
    return this.#base + region * this.#regionBytes + offset;
  }
}
