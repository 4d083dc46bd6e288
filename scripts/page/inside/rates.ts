// SPDX-License-Identifier: Apache-2.0
/**
 * Messages, doorbells (completions of a personality) and interrupts per second over the last minute
 * of adapter time, from states as they arrive. A time that goes back, as in a recording, starts a
 * new minute. `RateCharts` draws them.
 */
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { sumOf } from './picture.ts';

const WINDOW_NS = 60e9;
/** Shorter times give no rate: it would jump, and the chart would be drawn more often than read. */
const STEP_MIN_NS = 400e6;

/** Sums since the start, by name. */
type Sums = Readonly<Record<string, number>>;

interface Sample {
  readonly timeNs: number;
  readonly sums: Sums;
}

/** The ends of steps in seconds of adapter time, and the rates of the steps. */
export interface Rates {
  readonly seconds: readonly number[];
  readonly series: readonly { readonly name: string; readonly perSecond: readonly number[] }[];
}

/** The states of one adapter so far. */
export class RateHistory {
  #samples: Sample[] = [];
  #rates: Rates = ratesOf([]);
  #adapter = '';

  /** Rates up to the state that was added last. */
  get rates(): Rates {
    return this.#rates;
  }

  /** Adds a state; one that came before changes nothing. */
  add(state: ViewState): void {
    const sample = sampleOf(state);
    const name = (state.adapter ?? state.personality)?.name ?? '';
    const last = this.#samples.at(-1);
    if (sample === undefined) return;
    const isNew = name !== this.#adapter || (last !== undefined && isEarlier(sample, last));
    if (isNew) this.#samples = [];
    else if (last !== undefined && sample.timeNs - last.timeNs < STEP_MIN_NS) return;
    this.#adapter = name;
    const first = sample.timeNs - WINDOW_NS;
    this.#samples = [...this.#samples.filter(({ timeNs }) => timeNs >= first), sample];
    this.#rates = ratesOf(this.#samples);
  }
}

/** The time went back, or a sum fell by a reset. */
function isEarlier(sample: Sample, last: Sample): boolean {
  return sample.timeNs < last.timeNs || Object.entries(sample.sums).some(([name, sum]) => sum < last.sums[name]);
}

function sampleOf({ timeNs, adapter, personality }: ViewState): Sample | undefined {
  if (adapter !== undefined) {
    const { functions, lanes } = adapter;
    const sums = {
      messages: lanes.launches,
      doorbells: sumOf(functions, ({ doorbells }) => doorbells.explicit + doorbells.implicit),
      interrupts: sumOf(functions, ({ vectorsSent }) => vectorsSent),
    };
    return { timeNs, sums };
  }
  if (personality === undefined) return undefined;
  const { lanes, completionQueues, vectorsSent } = personality;
  return { timeNs, sums: { messages: lanes.launches, completions: completionQueues.posted, interrupts: vectorsSent } };
}

function ratesOf(samples: readonly Sample[]): Rates {
  const steps = samples.slice(1).map((sample, place) => ({ sample, before: samples[place] }));
  return {
    seconds: steps.map(({ sample }) => sample.timeNs / 1e9),
    series: Object.keys(samples[0]?.sums ?? {}).map((name) => ({
      name,
      perSecond: steps.map(
        ({ sample, before }) => ((sample.sums[name] - before.sums[name]) * 1e9) / (sample.timeNs - before.timeNs),
      ),
    })),
  };
}

/** `1204`, `35.2k`, `1.2M`: three digits or more of a rate. */
export function shortNumber(value: number): string {
  if (value < 10 && !Number.isInteger(value)) return value.toFixed(1);
  if (value < 1e4) return value.toFixed(0);
  return value < 1e6 ? `${(value / 1e3).toFixed(1)}k` : `${(value / 1e6).toFixed(1)}M`;
}
