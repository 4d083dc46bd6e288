// SPDX-License-Identifier: Apache-2.0
/**
 * Display of a run of tests: a line for each file that has ended and, at a terminal, a line below
 * with the number of finished files, those that run now and the estimated remaining time. Called by
 * main.ts.
 */
import { printable } from '../../protocol/system/printable.mjs';

/** A process of tests before it runs. */
export interface Expected {
  readonly name: string;
  /** Seconds by the clock that it took before; undefined for a new one. */
  readonly seconds: number | undefined;
}

/** Where the lines go. */
export interface Screen {
  write(text: string): void;
  /** Columns of a terminal; undefined when it is none. */
  readonly columns: number | undefined;
}

const REDRAW_MS = 500;
const CLEAR_LINE = '\r\x1b[K';
/** A file without a known time is taken for one of these. */
const UNKNOWN_SECONDS = 3;
/** Before this much is done the measured pace says little. */
const PACE_SECONDS = 10;

/** The state of a run, by names of processes. */
export class Progress {
  readonly #expected: ReadonlyMap<string, number>;
  readonly #jobs: number;
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #begunMs: number;
  readonly #running = new Map<string, number>();
  /** Of the files that have ended: seconds as expected, and as they were. */
  readonly #done = { files: 0, expected: 0, actual: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(plan: readonly Expected[], jobs: number, screen: Screen, now: () => number = () => performance.now()) {
    this.#expected = new Map(plan.map(({ name, seconds }) => [name, seconds ?? UNKNOWN_SECONDS]));
    this.#jobs = jobs;
    this.#screen = screen;
    this.#now = now;
    this.#begunMs = now();
    if (screen.columns === undefined) return;
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
    this.#timer.unref();
  }

  begin(name: string): void {
    this.#running.set(name, this.#now());
  }

  /** Prints the line of a file that has ended; returns the seconds it took. */
  end(name: string, ok: boolean, note = ''): number {
    const seconds = (this.#now() - (this.#running.get(name) ?? this.#now())) / 1000;
    this.#running.delete(name);
    this.#done.files++;
    this.#done.expected += this.#expected.get(name) ?? UNKNOWN_SECONDS;
    this.#done.actual += seconds;
    const count = `${this.#done.files}`.padStart(`${this.#expected.size}`.length);
    this.print(`${ok ? 'ok' : 'not ok'} ${count}/${this.#expected.size} ${name} # ${seconds.toFixed(1)} s${note}`);
    return seconds;
  }

  /** Prints a line above the one that says how far the run is. */
  print(line: string): void {
    const clear = this.#timer === undefined ? '' : CLEAR_LINE;
    this.#screen.write(`${clear}${printable(line)}\n`);
    if (this.#timer !== undefined) this.#draw();
  }

  /** Removes the last line. */
  finish(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#screen.write(CLEAR_LINE);
  }

  /** Seconds that the rest will take at the pace so far. */
  secondsLeft(): number {
    const [now, { actual, expected }] = [this.#now(), this.#done];
    const pace = expected < PACE_SECONDS ? 1 : actual / expected;
    let [sum, longest] = [0, 0];
    for (const [name, began] of this.#running) {
      const left = Math.max(0, (this.#expected.get(name) ?? UNKNOWN_SECONDS) * pace - (now - began) / 1000);
      sum += left;
      longest = Math.max(longest, left);
    }
    const total = [...this.#expected.values()].reduce((before, seconds) => before + seconds, 0);
    const begun = [...this.#running.keys()].reduce(
      (before, name) => before + (this.#expected.get(name) ?? UNKNOWN_SECONDS),
      expected,
    );
    return Math.max(longest, (sum + Math.max(0, total - begun) * pace) / this.#jobs);
  }

  /** The line at the bottom. */
  status(): string {
    const now = this.#now();
    const running = [...this.#running].map(([name, began]) => `${name} ${Math.round((now - began) / 1000)} s`);
    const done = `${this.#done.files} of ${this.#expected.size} done`;
    const times = `${minutes((now - this.#begunMs) / 1000)} gone, about ${minutes(this.secondsLeft())} left`;
    return `${done}, ${times}; now ${running.join(', ') || 'nothing'}`;
  }

  #draw(): void {
    this.#screen.write(`${CLEAR_LINE}${this.status().slice(0, (this.#screen.columns ?? 80) - 1)}`);
  }
}

/** Minutes and seconds, as 3:07. */
export function minutes(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${`${whole % 60}`.padStart(2, '0')}`;
}
