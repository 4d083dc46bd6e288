// SPDX-License-Identifier: Apache-2.0
/**
 * Automatic adjustment of shares (US8484392: a virtual machine has left, has come, or does not use what it has), switched on by ADAPTER_CONTROL. What is lent is
 * asked back in the first pass in which its owner did anything; others' use of it converges.
 */
import type { AdapterClock, ResetKind } from '../host.ts';
import type { ShareManager } from './share-manager.ts';

/** A function that did nothing for so long is idle. */
export const IDLE_INTERVAL_NS = 10_000_000;

interface Presence {
  attached: boolean;
  /** Its share went back because its guest left. */
  returned: boolean;
  activity: number;
  activeNs: number;
}

export class ShareAdjuster {
  readonly #manager: ShareManager;
  readonly #clock: AdapterClock;
  readonly #presences: readonly Presence[];
  #returnShares = false;
  #lendIdle = false;

  constructor(manager: ShareManager, clock: AdapterClock) {
    this.#manager = manager;
    this.#clock = clock;
    this.#presences = manager.initial.functions.map(() => ({
      attached: false,
      returned: false,
      activity: -1,
      activeNs: 0,
    }));
  }

  get returnShares(): boolean {
    return this.#returnShares;
  }

  /** Switched on, it also takes back what functions without a guest have. */
  set returnShares(on: boolean) {
    if (on && !this.#returnShares)
      this.#presences.forEach((presence, number) => {
        if (!presence.attached) this.#return(number);
      });
    this.#returnShares = on;
  }

  get lendIdle(): boolean {
    return this.#lendIdle;
  }

  set lendIdle(on: boolean) {
    if (on === this.#lendIdle) return;
    this.#lendIdle = on;
    this.#presences.forEach((presence, number) => {
      presence.activity = -1;
      if (!on) this.#manager.askBack(number);
    });
  }

  /** A guest can be there: the function has memory, or may be bus master. */
  noteAttached(number: number): void {
    const presence = this.#presences[number];
    if (presence.attached) return;
    presence.attached = true;
    const { vcbs, pcbs } = this.#manager.plan.functions[number];
    // What the virtual machine manager has given it since stays.
    if (presence.returned && vcbs + pcbs === 0) this.#manager.regainShare(number);
    presence.returned = false;
  }

  noteReset(number: number, kind: ResetKind): void {
    this.#manager.resetSplit(number);
    if (kind !== 'lost') return;
    this.#presences[number].attached = false;
    if (this.#returnShares) this.#return(number);
  }

  /** Once a pass: who is idle lends, who is not asks back. */
  run(): void {
    if (!this.#lendIdle) return;
    const nowNs = this.#clock.now();
    let nextNs = Number.POSITIVE_INFINITY;
    for (let number = 0; number < this.#presences.length; number++)
      nextNs = Math.min(nextNs, this.#watch(number, this.#presences[number], nowNs));
    if (nextNs < Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
  }

  /** When to look again; infinity for a function that lends: its own doings will wake us. */
  #watch(number: number, presence: Presence, nowNs: number): number {
    const { units } = this.#manager;
    const activity = units.getActivity(number);
    if (activity !== presence.activity || units.isBusy(number)) {
      presence.activity = activity;
      presence.activeNs = nowNs;
      if (this.#manager.isLent(number)) this.#manager.askBack(number);
    }
    const idleNs = presence.activeNs + IDLE_INTERVAL_NS;
    if (nowNs < idleNs) return idleNs;
    this.#manager.lend(number);
    return Number.POSITIVE_INFINITY;
  }

  #return(number: number): void {
    this.#presences[number].returned = true;
    this.#manager.returnShare(number);
  }
}
