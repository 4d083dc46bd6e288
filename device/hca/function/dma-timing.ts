// SPDX-License-Identifier: Apache-2.0
/**
 * Time of the adapter's reads of guest memory, and number of payload reads that may be outstanding
 * (US 8,484,392 par. 39, 42: pipeline, DMA contexts; US 9,069,485 par. 74). All zero is power-on
 * without options: every read completes at once, and no clock is read. Guest memory is accessed
 * when a read completes, so an outstanding read needs no data buffer. The send pipeline and the
 * doorbell units use it; the physical function changes it by registers.
 * Registers: read-registers, report: status-report.
 */
import type { AdapterClock } from '../../host.ts';

/** Limits of the options and of the registers. */
export const LATENCY_MAX_NS = 2 ** 30 - 1;
export const DMA_CONTEXTS_MAX = 1023;
/** Contexts unless an option says otherwise. */
export const DMA_CONTEXTS_DEFAULT = 64;

/** The values of power-on. */
export interface DmaTimingOptions {
  readonly dmaLatencyNs?: number;
  readonly pipelineNs?: number;
  readonly dmaContexts?: number;
}

/** Issues one read, if there is one to issue. Returns false when there is none. */
type IssueRead = () => boolean;

/**
 * The DMA contexts of the adapter (US 8,484,392 par. 42): each outstanding read of payload occupies
 * one. The send pipeline and the READ responses take turns for them, so neither waits until the
 * other has no reads left.
 */
class DmaContexts {
  /** Contexts in use. */
  used = 0;
  readonly #limit: () => number;
  readonly #users: IssueRead[] = [];
  #turn = 0;

  /** `limit`: the present number of contexts. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** True when reads may wait for a context. */
  get exhausted(): boolean {
    return this.used >= this.#limit();
  }

  /** Adds a user: `issue` is called while a context is free. */
  join(issue: IssueRead): void {
    this.#users.push(issue);
  }

  /** The completion of a read has arrived. The caller calls `issue` when it has taken in all. */
  give(): void {
    this.used--;
  }

  /** Issues reads while contexts are free; users take turns. */
  issue(): void {
    let idle = 0;
    while (idle < this.#users.length && !this.exhausted) {
      if (this.#users[this.#turn]()) {
        this.used++;
        idle = 0;
      } else idle++;
      this.#turn = (this.#turn + 1) % this.#users.length;
    }
  }
}

export class DmaTiming {
  readonly clock: AdapterClock;
  /** Time from the issue of a read to the arrival of its completion. */
  latencyNs = 0;
  /** Time of a command in the send pipeline at least, also without reads. */
  pipelineNs = 0;
  /** Reads of payload that may be outstanding: of the send pipeline, and for READ responses. */
  contexts = DMA_CONTEXTS_DEFAULT;
  readonly pool = new DmaContexts(() => this.contexts);
  /** Reads of the doorbell units whose completions have not arrived at the adapter yet. */
  busReads = 0;
  readonly #powerOn: DmaTimingOptions;

  constructor(clock: AdapterClock, options: DmaTimingOptions) {
    this.clock = clock;
    this.#powerOn = options;
    this.reset();
  }

  /** The values of power-on. Reads that are outstanding keep their time. */
  reset(): void {
    const { dmaLatencyNs = 0, pipelineNs = 0, dmaContexts = DMA_CONTEXTS_DEFAULT } = this.#powerOn;
    this.latencyNs = dmaLatencyNs;
    this.pipelineNs = pipelineNs;
    this.contexts = dmaContexts;
  }

  /** Time at which the completion of a read that is issued now arrives. */
  get arrivalNs(): number {
    return this.clock.now() + this.latencyNs;
  }

  /** True when commands pass the send pipeline in no time. */
  get instant(): boolean {
    return this.latencyNs === 0 && this.pipelineNs === 0;
  }
}
