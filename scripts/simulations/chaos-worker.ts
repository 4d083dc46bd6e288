// SPDX-License-Identifier: Apache-2.0
/** A process of chaos.ts: runs batches of seeds and reports those that failed. */
import { type ChaosOptions, runChaos } from '../../device/rig/chaos/run.ts';
import { type Personality, personalityChaos } from './personality-chaos.ts';

export interface ChaosBatch {
  readonly first: number;
  readonly count: number;
  readonly dmaLatencyNs: number;
  readonly placement: boolean;
  readonly personality: 'vuhca' | Personality;
}

export interface ChaosReport {
  readonly failures: { readonly seed: number; readonly error: string; readonly digest: string }[];
}

process.on('message', ({ first, count, personality, ...options }: ChaosBatch) => {
  const failures: ChaosReport['failures'] = [];
  for (let seed = first; seed < first + count; seed++) {
    const { error, digest } =
      personality === 'vuhca' ? runOwn(seed, options) : { error: personalityChaos[personality](seed), digest: 'none' };
    if (error !== undefined) failures.push({ seed, error, digest });
  }
  process.send?.({ failures } satisfies ChaosReport);
});

type Outcome = Readonly<Record<'error', string | undefined> & Record<'digest', string>>;

function runOwn(seed: number, options: ChaosOptions): Outcome {
  const { error, trace } = runChaos(seed, options);
  return { error, digest: trace.digest };
}
