// SPDX-License-Identifier: Apache-2.0
/** What a seed makes of a sanitizer run: how memory lags, how the driver learns of events, how often others come in between. */
import type { OrderingOptions } from '../../hosts/ordering/ordering-options.ts';
import { Random } from '../../random.ts';

export interface SanitizePlan {
  readonly seed: number;
  readonly ordering: OrderingOptions;
  /** Units of work of one step of the device. */
  readonly budget: number;
  /** Somebody else works before one in so many accesses of the driver, for so many actions at most. */
  readonly touchRate: number;
  readonly burst: number;
  /** The driver looks for events every so often. */
  readonly laziness: number;
  /** The driver waits for interrupts; otherwise it polls the primary summary byte. */
  readonly interrupts: boolean;
  /** The driver has a deadman; otherwise it reads the device back after arming. */
  readonly deadman: boolean;
  readonly nextInterruptDelayNs: number;
  readonly blocks: number;
  readonly threshold: number;
  /** Packets ask for their credits. */
  readonly requestCredits: boolean;
  /** Messages of each round. */
  readonly rounds: readonly number[];
  /** Enough large packets for the credit counter to wrap. */
  readonly large: boolean;
}

const LARGE_MESSAGES = 160;

export function makePlan(seed: number): SanitizePlan {
  const random = new Random(seed);
  const mode = random.pick(['strict', 'pcie', 'adversarial', 'adversarial'] as const);
  const blocks = random.between(24, 64);
  const large = random.oneIn(5);
  const rounds = Array.from({ length: random.between(12, 20) }, () => random.between(1, 6));
  return {
    seed,
    ordering: { mode, seed },
    budget: random.pick([1, 2, 4, 16]),
    touchRate: random.pick([3, 3, 3, 24]),
    burst: random.pick([8, 48, 48, 48]),
    laziness: random.pick([1, 1, 6]),
    interrupts: random.oneIn(4),
    deadman: random.oneIn(3),
    nextInterruptDelayNs: random.pick([20_000, 4_000_000_000, 4_000_000_000, 4_000_000_000]),
    blocks,
    threshold: random.pick([0, blocks >> 1, blocks]),
    requestCredits: random.oneIn(2),
    rounds: large ? [...rounds, LARGE_MESSAGES] : rounds,
    large,
  };
}
