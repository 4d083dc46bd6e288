// SPDX-License-Identifier: Apache-2.0
/** A process of chaos.ts: runs batches of seeds and reports those that failed. */
import { runChaos } from '../../device/simulations/chaos/run.ts';

export interface ChaosBatch {
  readonly first: number;
  readonly count: number;
  readonly dmaLatencyNs: number;
}

export interface ChaosReport {
  readonly failures: { readonly seed: number; readonly error: string; readonly digest: string }[];
}

process.on('message', ({ first, count, dmaLatencyNs }: ChaosBatch) => {
  const failures: ChaosReport['failures'] = [];
  for (let seed = first; seed < first + count; seed++) {
    const { error, trace } = runChaos(seed, { dmaLatencyNs });
    if (error !== undefined) failures.push({ seed, error, digest: trace.digest });
  }
  process.send?.({ failures } satisfies ChaosReport);
});
