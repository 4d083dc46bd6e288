// SPDX-License-Identifier: Apache-2.0
/**
 * The plan of a sanitizer run, drawn from its seed: how far memory writes lag, how the driver
 * learns of events in each round, at which value the credit counter starts.
 */
import { SEND_COUNTER_MASK } from '../../../protocol/layout/gen/constants.gen.ts';
import type { OrderingOptions } from '../../hosts/ordering/ordering-options.ts';
import { Random } from '../../random.ts';

/** The messages of a round and the driver's way to their events. No event follows the last one. */
export interface RoundPlan {
  readonly messages: number;
  /** The driver waits for interrupts; otherwise it polls the primary summary byte. */
  readonly interrupts: boolean;
  /** The driver has a slow poll; otherwise it reads a register of the device after arming. */
  readonly deadman: boolean;
  /** The driver polls for events once in so many opportunities. */
  readonly laziness: number;
}

/** A whole run. */
export interface SanitizePlan {
  readonly seed: number;
  readonly ordering: OrderingOptions;
  /** Units of work in one step of the device. */
  readonly budget: number;
  readonly nextInterruptDelayNs: number;
  readonly blocks: number;
  readonly threshold: number;
  /** Packets ask for their credits. */
  readonly requestCredits: boolean;
  /** Blocks sent before the first round: the credit counter is then about to carry or to wrap. */
  readonly warmUpBlocks: number;
  /** Send queues are watched, for so long after a command; undefined: they are not. */
  readonly tailWindowUs: number | undefined;
  readonly rounds: readonly RoundPlan[];
}

const COUNTER_BLOCKS = SEND_COUNTER_MASK + 1;
const CARRY_BLOCKS = 256;
/** Ways to events, used by the rounds in turn. */
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
/** Some watches end after their time, others when the device rests. */
const TAIL_WINDOWS_US = [3, 50, 200] as const;
const ROUNDS = 63;
/** One round in so many has many messages. */
const BUSY_EVERY = 7;

/** Draws the plan of a seed. */
export function makeSanitizePlan(seed: number): SanitizePlan {
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
    tailWindowUs: random.below(4) > 0 ? random.pick(TAIL_WINDOWS_US) : undefined,
    warmUpBlocks: random.pick([CARRY_BLOCKS, COUNTER_BLOCKS]) - random.between(1, blocks),
    rounds,
  };
}
