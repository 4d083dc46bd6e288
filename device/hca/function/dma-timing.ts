// SPDX-License-Identifier: Apache-2.0
/**
 * How long the adapter's reads of guest memory take, and how many payload reads may be outstanding
 * (US 8,484,392 par. 39, 42: pipeline, DMA contexts; US 9,069,485 par. 74). All zero is power-on
 * without options: every read completes at once, and no clock is read. Guest memory is accessed
 * when a read completes, so an outstanding read needs no data buffer. The send pipeline and the
 * doorbell units use it; the physical function changes it by registers.
 */
import type { AdapterClock } from '../../host.ts';
import { DmaContexts } from './dma-contexts.ts';

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
