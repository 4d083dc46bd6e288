// SPDX-License-Identifier: Apache-2.0
/** What a seed makes of a sanitizer run: how memory lags, how the driver learns of events in each round, where its credit counter stands. */
import { SEND_COUNTER_MASK } from '../../../protocol/layout/gen/constants.gen.ts';
import type { OrderingOptions } from '../../hosts/ordering/ordering-options.ts';
import { Random } from '../../random.ts';

/** Messages to bring across, and how the driver learns of their events. Each round has a last event after which nothing comes. */
export interface RoundPlan {
  readonly messages: number;
  /** The driver waits for interrupts; otherwise it polls the primary summary byte. */
  readonly interrupts: boolean;
  /** The driver has a deadman; otherwise it reads the device back after arming. */
  readonly deadman: boolean;
  /** The driver looks for events every so often. */
  readonly laziness: number;
}

export interface SanitizePlan {
  readonly seed: number;
  readonly ordering: OrderingOptions;
  /** Units of work of one step of the device. */
  readonly budget: number;
  readonly nextInterruptDelayNs: number;
  readonly blocks: number;
  readonly threshold: number;
  /** Packets ask for their credits. */
  readonly requestCredits: boolean;
  /** Blocks sent before the first round: the credit counter is then about to carry into its second byte, or to wrap. */
  readonly warmUpBlocks: number;
  readonly rounds: readonly RoundPlan[];
}

const COUNTER_BLOCKS = SEND_COUNTER_MASK + 1;
const CARRY_BLOCKS = 256;
/** The rounds take one of these ways in turn. */
const WAYS = [
  { interrupts: false, deadman: false },
  { interrupts: true, deadman: true },
  { interrupts: false, deadman: false },
  { interrupts: true, deadman: false },
  { interrupts: true, deadman: true },
  { interrupts: false, deadman: false },
  { interrupts: false, deadman: true },
  { interrupts: false, deadman: false },
] as const;
const ROUNDS = 63;
/** One round in so many is a busy one. */
const BUSY_EVERY = 7;

export function makePlan(seed: number): SanitizePlan {
  const random = new Random(seed);
  const mode = random.pick(['strict', 'pcie', 'adversarial', 'adversarial'] as const);
  const blocks = random.between(24, 64);
  const rounds = Array.from({ length: ROUNDS }, (_, index) => ({
    ...WAYS[index % WAYS.length],
    messages: index % BUSY_EVERY === 0 ? random.between(12, 24) : random.pick([2, 2, 3, 4]),
    laziness: random.pick([1, 1, 6]),
  }));
  return {
    seed,
    ordering: { mode, seed },
    budget: random.pick([1, 2, 4, 16]),
    nextInterruptDelayNs: random.pick([20_000, 4_000_000_000, 4_000_000_000, 4_000_000_000]),
    blocks,
    threshold: random.pick([0, blocks >> 1, blocks]),
    requestCredits: random.oneIn(2),
    warmUpBlocks: random.pick([CARRY_BLOCKS, COUNTER_BLOCKS]) - random.between(1, blocks),
    rounds,
  };
}
