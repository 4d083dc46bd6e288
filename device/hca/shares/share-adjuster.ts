// SPDX-License-Identifier: Apache-2.0
/**
 * Automatic adjustment of shares (US 8,484,392 par. 64), switched on by ADAPTER_CONTROL: the share
 * of a function whose guest left is returned, a new guest regains it, and an idle function lends. A
 * lent share is asked back in the first pass in which its owner is active; use by others then
 * converges. The adapter calls `run` once in each pass.
 */
import type { AdapterClock, ResetKind } from '../../host.ts';
import type { ShareManager } from './share-manager.ts';

/** A function without activity for this time is idle, unless the options say otherwise. */
export const IDLE_INTERVAL_NS = 10_000_000;

/** State of one function. */
interface Presence {
  attached: boolean;
  /** Its share was returned because its guest left. */
  returned: boolean;
  /** The last activity count seen, and the time when it last changed in ns. */
  activity: number;
  activeNs: number;
}

/** Watches all functions of one adapter and has the share manager return and lend shares. */
export class ShareAdjuster {
  readonly #manager: ShareManager;
  readonly #clock: AdapterClock;
  readonly #idleNs: number;
  readonly #presences: readonly Presence[];
  #returnShares = false;
  #lendIdle = false;

  /** `idleNs`: a function without activity for this time is idle. */
  constructor(manager: ShareManager, clock: AdapterClock, idleNs = IDLE_INTERVAL_NS) {
    this.#manager = manager;
    this.#idleNs = idleNs;
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

  /** Switching it on also takes back the shares of functions without a guest. */
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

  /** Called when the function gets memory or becomes bus master: a guest may be attached. */
  noteAttached(number: number): void {
    const presence = this.#presences[number];
    if (presence.attached) return;
    presence.attached = true;
    const { vcbs, pcbs } = this.#manager.plan.functions[number];
    // A share that the virtual machine manager allocated meanwhile stays.
    if (presence.returned && vcbs + pcbs === 0) this.#manager.regainShare(number);
    presence.returned = false;
  }

  /** Restores the split among QoS levels; when the guest was lost, also returns the share. */
  noteReset(number: number, kind: ResetKind): void {
    this.#manager.resetSplit(number);
    if (kind !== 'lost') return;
    this.#presences[number].attached = false;
    if (this.#returnShares) this.#return(number);
  }

  /** Called once in each pass: idle functions lend, active ones ask back. */
  run(): void {
    if (!this.#lendIdle) return;
    const nowNs = this.#clock.now();
    let nextNs = Number.POSITIVE_INFINITY;
    for (let number = 0; number < this.#presences.length; number++)
      nextNs = Math.min(nextNs, this.#watch(number, this.#presences[number], nowNs));
    if (nextNs < Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
  }

  /**
   * Returns the time of the next check in ns; infinity for a function that lends, because its own
   * activity starts the next pass.
   */
  #watch(number: number, presence: Presence, nowNs: number): number {
    const { units } = this.#manager;
    const activity = units.getActivity(number);
    if (activity !== presence.activity || units.isBusy(number)) {
      presence.activity = activity;
      presence.activeNs = nowNs;
      if (this.#manager.isLent(number)) this.#manager.askBack(number);
    }
    const idleNs = presence.activeNs + this.#idleNs;
    if (nowNs < idleNs) return idleNs;
    this.#manager.lend(number);
    return Number.POSITIVE_INFINITY;
  }

  #return(number: number): void {
    this.#presences[number].returned = true;
    this.#manager.returnShare(number);
  }
}
