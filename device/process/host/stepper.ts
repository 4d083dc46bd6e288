// SPDX-License-Identifier: Apache-2.0
/**
 * Steps of a live process that was started to stand still: a step is a pass in which each adapter
 * does at most one unit of work. While it stands, guests are still answered for registers, what
 * they store is kept, and the adapter's clock stands, so that no timeout of the transport comes.
 * The pump's pass asks it (pass-hook.ts), and the control socket moves it.
 */
import type { WallClock } from './wall-clock.ts';

/** Called after each step; true ends the run. */
type Reached = () => boolean;

/** The unit of work of each adapter in a step. */
const STEP_BUDGET = 1;
/** Steps of a run to a condition in one pass: register accesses come in between. */
const STEPS_PER_PASS = 64;

/** Where a process stands. */
export interface StepReport {
  /** `still`: it waits for steps; `runs`: without end; `seeks`: until the condition holds. */
  readonly going: 'still' | 'runs' | 'seeks';
  /** Steps so far, without those of runs without end. */
  readonly steps: number;
  /** The condition that is looked for, or that was looked for last. */
  readonly condition?: string;
  /** The condition came to hold, and nothing has moved since. */
  readonly reached: boolean;
}

/** What is stepped. */
interface Stepped {
  readonly clock: WallClock;
  /** Runs the fabric, as hosts call it; true if more is ready. */
  readonly run: (budget: number) => boolean;
  /** Stores of guests so far. */
  readonly countStores: () => number;
}

export class Stepper {
  readonly #stepped: Stepped;
  #going: StepReport['going'] = 'still';
  #steps = 0;
  #condition: string | undefined = undefined;
  #isReached = false;
  #hasReached: Reached = () => false;
  #hasMore = false;
  /** Stores before the last run. */
  #storesSeen = 0;

  /** Stands still from now on. */
  constructor(stepped: Stepped) {
    this.#stepped = stepped;
    stepped.clock.stop();
  }

  get report(): StepReport {
    const condition = this.#condition;
    return {
      going: this.#going,
      steps: this.#steps,
      ...(condition !== undefined && { condition }),
      reached: this.#isReached,
    };
  }

  /**
   * Makes steps, and stands still behind them. A step that finds no work begins at the next alarm:
   * nothing else can happen before it, unless a guest does something.
   */
  step(count: number): void {
    this.stop();
    this.#isReached = false;
    const { clock, countStores } = this.#stepped;
    for (let done = 0; done < count; done++) {
      if (!this.#hasMore && countStores() === this.#storesSeen) clock.jumpToAlarm();
      this.#makeStep();
    }
  }

  /** Stands still. */
  stop(): void {
    this.#stepped.clock.stop();
    this.#going = 'still';
  }

  /** Runs as other processes do. */
  goOn(): void {
    this.#move('runs', undefined, () => false);
  }

  /** Runs, a step at a time, until `hasReached` says so; then it stands still. */
  seek(condition: string, hasReached: Reached): void {
    this.#move('seeks', condition, hasReached);
  }

  /** The work of a pass of the pump; true if more is ready. `budget`: that of a run without end. */
  pass(budget: number): boolean {
    if (this.#going === 'still') return false;
    if (this.#going === 'runs') {
      this.#runOnce(budget);
      return this.#hasMore;
    }
    for (let done = 0; done < STEPS_PER_PASS; done++) {
      this.#makeStep();
      if (this.#hasReached()) {
        this.#isReached = true;
        this.stop();
        return false;
      }
      if (!this.#hasMore) return false;
    }
    return true;
  }

  #makeStep(): void {
    this.#runOnce(STEP_BUDGET);
    this.#steps++;
  }

  #runOnce(budget: number): void {
    const { clock, run, countStores } = this.#stepped;
    this.#storesSeen = countStores();
    clock.takeDueAlarm();
    this.#hasMore = run(budget);
  }

  #move(going: 'runs' | 'seeks', condition: string | undefined, hasReached: Reached): void {
    this.#going = going;
    this.#condition = condition;
    this.#isReached = false;
    this.#hasReached = hasReached;
    this.#stepped.clock.goOn();
  }
}
