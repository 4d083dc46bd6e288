// SPDX-License-Identifier: Apache-2.0
/**
 * Measurement of the adapter's time that flooding tenants get, each on its own virtual function
 * (docs/ARCHITECTURE.md, Shares of time). Used by `fairness.long.ts` and `shares.test.ts`.
 */
import { InProcessMachine } from '../machine/machine.ts';
import { Flood, type FloodRequest, measureFloodShares, type Posting } from './flood.ts';
import { Tenant } from './tenant.ts';

const MEMORY_BYTES = 1 << 23;
/** Largest difference between two equal tenants. */
const EQUAL = 0.05;
/** Largest deviation from a guaranteed share. */
export const GUARANTEE = 0.02;
/** Message sizes, bytes. */
export const SIZES = [64, 256, 1024, 2048, 4096, 8192, 16_384, 65_536];
/** All ways of posting. */
export const POSTINGS: readonly Posting[] = ['collect', 'doorbell', 'mixed'];
/** Passes of a measurement with messages of up to 4096 bytes. */
export const PASSES = 300;

interface FairnessOptions {
  /** Units of work in a pass of the adapter. */
  readonly budget?: number;
  readonly passes?: number;
  /** Weight of each lane of a tenant, by tenant. */
  readonly weights?: readonly number[];
}

/**
 * Floods with one virtual function for each request. Returns the cost of each tenant's messages per
 * weight, divided by the mean of all: 1 is a fair share.
 */
export function measureFairness(requests: readonly FloodRequest[], options: FairnessOptions = {}): number[] {
  const { budget = 64, passes = passesFor(requests), weights = requests.map(() => 1) } = options;
  const machine = new InProcessMachine({ functionCount: requests.length + 1, memoryBytes: MEMORY_BYTES, budget });
  const { lanes } = machine.device;
  for (const { number } of lanes.lanes) {
    const owner = lanes.map.getOwner(number);
    if (owner > 0) lanes.setLane(number, { weight: weights[owner - 1] });
  }
  const floods = requests.map((request, at) => new Flood(new Tenant(machine, at + 1), request));
  const messages = measureFloodShares(floods, passes);
  const costs = messages.map((count, at) => (count * floods[at].messageCost) / weights[at]);
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
  return costs.map((cost) => cost / mean);
}

/**
 * So many passes that neither one longest message more or less nor the initial lead of a tenant
 * with more queue pairs makes a difference.
 */
function passesFor(requests: readonly FloodRequest[]): number {
  const longest = Math.max(...requests.map(({ size }) => size));
  return PASSES * (longest > 16_384 ? 5 : longest > 4096 || longest <= 64 ? 3 : 1);
}

/** The shares with three decimals, for a failure. */
export const describeFairness = (shares: readonly number[]): string =>
  shares.map((share) => share.toFixed(3)).join(' ');
/** Two floods that differ in the number of QPs. */
export const pair = (one: FloodRequest, queuePairs: number): FloodRequest[] => [one, { ...one, queuePairs }];

/** Asserts that two shares are equal. */
export function checkEqual(
  t: { ok(value: boolean, what: string): unknown },
  what: string,
  [one, two]: readonly number[],
): void {
  t.ok(Math.abs(one / two - 1) < EQUAL, `${what}: ${describeFairness([one, two])}`);
}
