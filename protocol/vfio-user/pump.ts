// SPDX-License-Identifier: Apache-2.0
/**
 * Serves any number of contexts on one thread. A pass serves every ready context, with a bounded
 * number of requests each, then runs the hooks. Between passes the pump is hot or cold. Hot, until
 * `hotUs` after the last activity: it spins for a while (spin-window.ts), then waits in a
 * synchronous epoll, which also ends when libuv has work or a timer is due. Cold: libuv waits, and
 * an idle pump uses no CPU. The pump avoids waits of about 1 ms, because arming the CPU's timer
 * costs more than the wait (6 us in a virtual machine). README.md has the measurements. An
 * exception in a pass ends the pump (`fail`).
 */

import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { VfioUserContext } from './context.ts';
import { findUvLoop, LoopTurn, LoopWatch, throwUncaught, type UvLoop } from './event-loop.ts';
import { SpinTime } from './spin-time.ts';
import { SpinWindow } from './spin-window.ts';
import { type Entry, WatchList } from './watch-list.ts';

/** Work of the caller that runs after the sockets are drained. */
export interface PassHook {
  /** Does a bounded amount of work; true if more is ready. If it throws, the pump fails. */
  pass(): boolean;
  /** Latest time of the next call, on the clock of `Pump.nowNs`; Infinity if none is needed. */
  nextAlarmNs(): number;
  /** True while `pass` should be called without a wait, if the pump may poll at all. */
  polls?(): boolean;
  /** The pump is about to wait. Returns true if there is work now, so that it must not. */
  rest?(): boolean;
}

export interface PumpOptions {
  /**
   * Time after the last activity during which the pump polls; 0: never. By default 50, and up to
   * 400 while requests come so far apart; 0 on a single CPU. It does not poll while other threads
   * want its CPU (spin-time.ts).
   */
  readonly spinUs?: number | undefined;
  /** Time after the last activity during which the pump waits synchronously: 10,000 by default. */
  readonly hotUs?: number;
  /** Longest time for which work blocks the event loop: 1000 by default. */
  readonly turnUs?: number;
  /** Longest time from connection to version message of a client: 3000 by default. */
  readonly attachTimeoutMs?: number;
  /**
   * Called once, after the pump has failed and is destroyed. When absent the error is thrown again,
   * outside of the pump: it then ends the process as an uncaught exception.
   */
  readonly onFailure?: (where: string, error: unknown) => void;
}

/** What the pump does between requests. */
export interface PumpReport {
  /** Time of polling after the last activity, as it is now. */
  readonly spinNs: number;
  /** It does not poll, because others want the CPU. */
  readonly isCrowded: boolean;
  /** `PumpOptions.spinUs`; undefined: by load. */
  readonly fixedSpinUs?: number | undefined;
  /** Requests that polling for longer than usual has found, and times that it found none. */
  readonly longSpins: { readonly found: number; readonly missed: number };
  readonly passes: number;
  readonly waits: number;
  readonly sleeps: number;
}

const NS_PER_US = 1000;
const NS_PER_MS = 1e6;
const SPIN_US = 50;
const LONGEST_SPIN_US = 400;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** QEMU sends its version at once, but a busy machine may stop it for seconds. */
const ATTACH_TIMEOUT_MS = 30_000;

export class Pump {
  readonly counters = { passes: 0, waits: 0, sleeps: 0 };
  readonly #fixedSpinUs: number | undefined;
  readonly #window: SpinWindow;
  readonly #spin: SpinTime;
  readonly #hotNs: number;
  readonly #turnNs: number;
  readonly #list: WatchList;
  readonly #ready: Entry[] = [];
  readonly #hooks: PassHook[] = [];
  readonly #loop: UvLoop | undefined = findUvLoop();
  readonly #watch: LoopWatch;
  readonly #onFailure: (where: string, error: unknown) => void;
  readonly #nextTurn = new LoopTurn(() => this.#turn());
  #state: 'stopped' | 'hot' | 'cold' | 'destroyed' = 'stopped';
  /** The hot time begins here: at the last work, or when hooks no longer wanted to poll. */
  #lastBusyNs = 0;
  #lastWorkNs = 0;
  #inTurn = false;
  #hookHasMore = false;
  #wakeRequested = false;
  #timer: NodeJS.Timeout | undefined;
  #failure: { readonly where: string; readonly error: unknown } | undefined;

  constructor(options: PumpOptions = {}) {
    const cpus = availableParallelism();
    const [shortestUs, longestUs] = cpus > 1 ? [SPIN_US, LONGEST_SPIN_US] : [0, 0];
    const { spinUs } = options;
    this.#fixedSpinUs = spinUs;
    this.#window = new SpinWindow((spinUs ?? shortestUs) * NS_PER_US, (spinUs ?? longestUs) * NS_PER_US);
    this.#spin = new SpinTime(this.#window, cpus);
    this.#hotNs = (options.hotUs ?? 10_000) * NS_PER_US;
    this.#turnNs = (options.turnUs ?? 1000) * NS_PER_US;
    const attachTimeoutNs = (options.attachTimeoutMs ?? ATTACH_TIMEOUT_MS) * NS_PER_MS;
    this.#onFailure = options.onFailure ?? ((_where, error) => throwUncaught(error));
    this.#list = new WatchList(attachTimeoutNs, this.#loop, () => this.nowNs());
    this.#watch = new LoopWatch(this.#list.coldFd, () => this.#wakeUp());
    this.#watch.stop();
  }

  get report(): PumpReport {
    const { found, missed } = this.#window.counters;
    return {
      spinNs: this.#window.ns,
      isCrowded: this.#spin.isCrowded,
      ...(this.#fixedSpinUs === undefined ? {} : { fixedSpinUs: this.#fixedSpinUs }),
      longSpins: { found, missed },
      ...this.counters,
    };
  }

  /** Clock of the pump: nanoseconds since the process started. */
  nowNs(): number {
    return performance.now() * NS_PER_MS;
  }

  /** Serves `context` until it is destroyed. */
  add(context: VfioUserContext): void {
    if (context.owner !== undefined) throw new Error(`${context.socketPath} already has a pump`);
    const entry = this.#list.add(context);
    context.owner = { wake: () => this.#changed(entry), remove: () => this.#remove(entry) };
    this.#markReady(entry);
  }

  /** Calls `hook` after every pass over the sockets. */
  onPass(hook: PassHook): void {
    this.#hooks.push(hook);
    this.wake();
  }

  /** Starts serving. The pump keeps the process alive until `stop`. */
  start(): void {
    if (this.#state === 'destroyed') throw new Error('the pump is destroyed');
    if (this.#state !== 'stopped') return;
    this.#nextTurn.start();
    this.#wakeUp();
  }

  /** Stops serving after the running pass; does not change the contexts. */
  stop(): void {
    if (this.#state === 'destroyed') return;
    this.#state = 'stopped';
    this.#watch.stop();
    this.#nextTurn.stop();
    clearTimeout(this.#timer);
  }

  /** Requests a pass: a source other than a socket has work or an earlier alarm. */
  wake(): void {
    this.#wakeRequested = true;
    if (this.#state !== 'cold') return;
    this.#state = 'hot';
    this.#watch.stop();
    clearTimeout(this.#timer);
    this.#nextTurn.queue();
  }

  /**
   * Stops, destroys all contexts and removes their socket files, also when one of them throws.
   * Idempotent.
   */
  destroy(): void {
    if (this.#state === 'destroyed') return;
    this.stop();
    this.#state = 'destroyed';
    try {
      destroyAll(this.#list.contexts);
    } finally {
      this.#watch.close();
      this.#nextTurn.close();
      this.#spin.close();
      this.#list.close();
    }
  }

  /**
   * Ends serving after an exception that may have left work half done: no device is called any
   * longer, further reads of clients return ones, then the pump is destroyed and `onFailure`
   * called. `where` names the source of the exception. Only the first failure counts.
   */
  fail(where: string, error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { where, error };
    for (const context of this.#list.contexts) context.loseDevice();
    if (this.#inTurn) this.stop();
    else this.#end();
  }

  #end(): void {
    const { where, error } = this.#failure ?? {};
    try {
      this.destroy();
    } finally {
      this.#onFailure(where as string, error);
    }
  }

  #wakeUp(): void {
    this.#state = 'hot';
    this.#watch.stop();
    clearTimeout(this.#timer);
    this.#lastBusyNs = this.#lastWorkNs = this.nowNs();
    this.#turn();
  }

  #turn(): void {
    if (this.#inTurn || this.#state !== 'hot') return;
    this.#inTurn = true;
    let next: 'yield' | 'sleep' = 'yield';
    try {
      next = this.#work();
      this.#spin.update(this.nowNs());
    } catch (error) {
      this.fail('a pass', error);
    }
    this.#inTurn = false;
    if (this.#failure !== undefined) this.#end();
    if (this.#state !== 'hot') return;
    if (next === 'sleep') this.#sleep();
    else this.#nextTurn.queue();
  }

  /** Passes and waits, until the event loop should run ('yield') or the pump is idle ('sleep'). */
  #work(): 'yield' | 'sleep' {
    let nowNs = this.nowNs();
    const endNs = nowNs + this.#turnNs;
    this.#collect(0);
    for (;;) {
      const isRequested = this.#ready.length > 0;
      const busy = this.#pass();
      if (this.#state !== 'hot') return 'yield';
      nowNs = this.nowNs();
      if (isRequested) this.#window.pausedFor(nowNs - this.#lastWorkNs, !this.#spin.isCrowded);
      if (busy) this.#lastBusyNs = this.#lastWorkNs = nowNs;
      if (nowNs >= endNs) return 'yield';
      const idleNs = nowNs - this.#lastBusyNs;
      const alarmNs = this.#nextAlarmNs();
      const isQuiet = this.#ready.length === 0 && !this.#hookHasMore && !this.#wakeRequested;
      const mayWait = isQuiet && (idleNs < this.#spin.ns || this.#comesToRest(nowNs));
      if (mayWait && idleNs >= this.#hotNs && alarmNs - nowNs > this.#turnNs) return 'sleep';
      let waitNs = 0;
      if (mayWait && idleNs >= this.#spin.ns) {
        waitNs = Math.max(0, Math.min(this.#maxWaitNs(), alarmNs - nowNs));
        if (waitNs === 0 && alarmNs > nowNs) return 'yield';
      }
      if (this.#collect(waitNs)) return 'yield';
    }
  }

  /**
   * Called before a wait: false while a hook polls, which it may only where the pump polls too, or
   * when a hook found work as it came to rest.
   */
  #comesToRest(nowNs: number): boolean {
    let rests = true;
    for (const hook of this.#hooks) if (this.#spin.ns > 0 && hook.polls?.() === true) rests = false;
    if (rests) for (const hook of this.#hooks) if (hook.rest?.() === true) rests = false;
    // The hot wait begins when nothing is watched any longer.
    if (!rests) this.#lastBusyNs = nowNs - this.#spin.ns;
    return rests;
  }

  /** Longest synchronous wait that delays no timer of libuv. */
  #maxWaitNs(): number {
    if (this.#loop === undefined) return Math.min(this.#hotNs, this.#turnNs);
    const timerMs = this.#loop.timeoutMs();
    return timerMs < 0 ? this.#hotNs : Math.min(this.#hotNs, timerMs * NS_PER_MS);
  }

  /** Serves ready contexts, then runs the hooks. True if there was or is work. */
  #pass(): boolean {
    this.counters.passes++;
    this.#wakeRequested = false;
    this.#list.expire(this.#markReady);
    const count = this.#ready.length;
    for (let i = 0; i < count; i++) this.#serve(this.#ready[i]);
    this.#ready.copyWithin(0, count);
    this.#ready.length -= count;
    this.#hookHasMore = false;
    for (const hook of this.#hooks) {
      if (this.#failure === undefined && hook.pass()) this.#hookHasMore = true;
    }
    return count > 0 || this.#hookHasMore;
  }

  #serve(entry: Entry): void {
    entry.ready = false;
    if (!this.#list.has(entry)) return;
    const more = entry.context.serve();
    if (!this.#list.has(entry)) return;
    this.#list.follow(entry);
    if (more) this.#markReady(entry);
  }

  /** Follows the descriptor before serving: a new descriptor may have the number of the old one. */
  #changed(entry: Entry): void {
    this.#list.follow(entry);
    this.#markReady(entry);
  }

  readonly #markReady = (entry: Entry): void => {
    if (entry.ready) return;
    entry.ready = true;
    this.#ready.push(entry);
    this.wake();
  };

  /** Marks contexts that have events as ready. True if libuv has work. */
  #collect(timeoutNs: number): boolean {
    if (timeoutNs > 0) this.counters.waits++;
    return this.#list.wait(timeoutNs, this.#markReady);
  }

  #sleep(): void {
    this.#state = 'cold';
    this.counters.sleeps++;
    this.#window.pausedFor(Number.POSITIVE_INFINITY, !this.#spin.isCrowded);
    this.#watch.start();
    const alarmNs = this.#nextAlarmNs();
    if (alarmNs === Infinity) return;
    // Timers have whole milliseconds; the pump waits hot for the rest.
    const delayMs = Math.max(0, Math.floor((alarmNs - this.nowNs()) / NS_PER_MS));
    this.#timer = setTimeout(() => this.#wakeUp(), Math.min(delayMs, LONGEST_TIMER_MS));
  }

  #nextAlarmNs(): number {
    let nextNs = this.#list.nextDeadlineNs();
    for (const hook of this.#hooks) nextNs = Math.min(nextNs, hook.nextAlarmNs());
    return nextNs;
  }

  #remove(entry: Entry): void {
    this.#list.remove(entry);
    entry.context.owner = undefined;
  }
}

/** Destroys each of them, even if some throw. */
function destroyAll([first, ...others]: readonly VfioUserContext[]): void {
  try {
    first?.destroy();
  } finally {
    if (others.length > 0) destroyAll(others);
  }
}
