// SPDX-License-Identifier: Apache-2.0
/**
 * The contexts of a pump, and the events for which each waits: those of a descriptor, which changes
 * when a client comes or goes, and sometimes a deadline (a client that has not sent its version, or
 * a connection that could not be accepted for lack of descriptors). Every descriptor is in two
 * epolls: the pump itself waits on `hot`, together with libuv; libuv waits on `cold` while the pump
 * is idle.
 */
import type { VfioUserContext } from './context.ts';
import { Epoll } from './epoll.ts';
import type { UvLoop } from './event-loop.ts';

const POLLIN = 1;
const LOOP_SLOT = 0xffffffff;
const NS_PER_MS = 1e6;
const ACCEPT_RETRY_NS = 100 * NS_PER_MS;

export interface Entry {
  readonly context: VfioUserContext;
  readonly slot: number;
  /** Descriptor in the epolls, or -1. */
  fd: number;
  events: number;
  /** True while the context is in the pump's list of ready contexts. */
  ready: boolean;
  /** Time to check the context even without an event; Infinity for never. */
  deadlineNs: number;
}

export class WatchList {
  /** Clients disconnected because they sent no version. */
  attachTimeouts = 0;
  readonly #entries: (Entry | undefined)[] = [];
  readonly #hot = new Epoll();
  readonly #cold = new Epoll();
  readonly #attachTimeoutNs: number;
  readonly #nowNs: () => number;
  #deadlines = 0;

  constructor(attachTimeoutNs: number, loop: UvLoop | undefined, nowNs: () => number) {
    this.#attachTimeoutNs = attachTimeoutNs;
    this.#nowNs = nowNs;
    if (loop !== undefined) this.#hot.add(loop.fd, POLLIN, LOOP_SLOT);
  }

  /** Descriptor for libuv: readable when any context has an event. */
  get coldFd(): number {
    return this.#cold.fd;
  }

  get contexts(): VfioUserContext[] {
    return this.#entries.flatMap((entry) => (entry === undefined ? [] : [entry.context]));
  }

  add(context: VfioUserContext): Entry {
    const free = this.#entries.indexOf(undefined);
    const slot = free < 0 ? this.#entries.length : free;
    const entry = { context, slot, fd: -1, events: 0, ready: false, deadlineNs: Number.POSITIVE_INFINITY };
    this.#entries[slot] = entry;
    this.follow(entry);
    return entry;
  }

  remove(entry: Entry): void {
    this.#unwatch(entry);
    this.#setDeadline(entry, Number.POSITIVE_INFINITY);
    this.#entries[entry.slot] = undefined;
  }

  has(entry: Entry): boolean {
    return this.#entries[entry.slot] === entry;
  }

  /** Waits up to `timeoutNs`; calls `onReady` for contexts with events. True if libuv has work. */
  wait(timeoutNs: number, onReady: (entry: Entry) => void): boolean {
    const count = this.#hot.wait(timeoutNs);
    let loopIsReady = false;
    for (let i = 0; i < count; i++) {
      const slot = this.#hot.slots[i];
      const entry = slot === LOOP_SLOT ? undefined : this.#entries[slot];
      if (slot === LOOP_SLOT) loopIsReady = true;
      else if (entry !== undefined) onReady(entry);
    }
    return loopIsReady;
  }

  /**
   * Updates descriptor, events and deadline of a context. Call it after each change of the context.
   */
  follow(entry: Entry): void {
    const { context } = entry;
    if (context.state === 'destroyed') return;
    this.#followDeadline(entry);
    const fd = context.state === 'quiescing' || context.acceptFailed ? -1 : context.pollFd;
    const events = context.pollEvents;
    if (fd !== entry.fd) {
      this.#unwatch(entry);
      if (fd >= 0) this.#watch(entry, fd, events);
    } else if (events !== entry.events && fd >= 0) {
      this.#hot.modify(fd, events, entry.slot);
      this.#cold.modify(fd, events, entry.slot);
    }
    entry.fd = fd;
    entry.events = events;
  }

  nextDeadlineNs(): number {
    if (this.#deadlines === 0) return Number.POSITIVE_INFINITY;
    return this.#entries.reduce((next, entry) => Math.min(next, entry?.deadlineNs ?? next), Number.POSITIVE_INFINITY);
  }

  /** Disconnects silent clients; calls `onReady` for contexts that may retry an accept. */
  expire(onReady: (entry: Entry) => void): void {
    if (this.#deadlines === 0) return;
    const nowNs = this.#nowNs();
    for (const entry of this.#entries) {
      if (entry === undefined || entry.deadlineNs > nowNs) continue;
      this.#setDeadline(entry, Number.POSITIVE_INFINITY);
      if (entry.context.state === 'negotiating') {
        this.attachTimeouts++;
        entry.context.dropClient(`it sent no version for ${this.#attachTimeoutNs / NS_PER_MS} ms`);
      } else onReady(entry);
    }
  }

  close(): void {
    this.#hot.close();
    this.#cold.close();
  }

  #watch(entry: Entry, fd: number, events: number): void {
    this.#hot.add(fd, events, entry.slot);
    this.#cold.add(fd, events, entry.slot);
  }

  #unwatch(entry: Entry): void {
    if (entry.fd < 0) return;
    this.#hot.delete(entry.fd);
    this.#cold.delete(entry.fd);
    entry.fd = -1;
  }

  #followDeadline(entry: Entry): void {
    const { state, acceptFailed } = entry.context;
    if (state !== 'negotiating' && !acceptFailed) this.#setDeadline(entry, Number.POSITIVE_INFINITY);
    else if (entry.deadlineNs === Number.POSITIVE_INFINITY) {
      this.#setDeadline(entry, this.#nowNs() + (acceptFailed ? ACCEPT_RETRY_NS : this.#attachTimeoutNs));
    }
  }

  #setDeadline(entry: Entry, deadlineNs: number): void {
    const had = entry.deadlineNs !== Number.POSITIVE_INFINITY;
    const has = deadlineNs !== Number.POSITIVE_INFINITY;
    if (had !== has) this.#deadlines += has ? 1 : -1;
    entry.deadlineNs = deadlineNs;
  }
}
