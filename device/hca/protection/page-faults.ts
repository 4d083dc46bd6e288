// SPDX-License-Identifier: Apache-2.0
/**
 * Page faults of on-demand regions (docs/FEATURES.md, On-demand paging): an access that meets a
 * page that is not present leaves a miss here; the unit that made it takes the miss and lets its
 * queue pair wait. One event tells software of a page, however many queue pairs wait for it. A
 * protection domain has few events outstanding, so a process that faults a lot delays only itself.
 * Commands: page-commands, report: status-report.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { noteStep, Step } from '../function/timeline.ts';
import type { PagePart } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from './key-holder.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** Faults of a protection domain that software has not answered; further ones wait for these. */
export const FAULTS_PER_DOMAIN = 32;
/** Faults of a function that software has not answered: domains share them. */
export const FAULTS_PER_FUNCTION = 1024;

/** The unit that made an access of a `Q`; it is called at most once for each wait. */
export interface PageWaiter<Q extends KeyHolder = KeyHolder> {
  /** Which access it is, for the timeline. */
  readonly part: PagePart;
  /** The page may be present now: the queue pair accesses it again. */
  resume(holder: Q): void;
  /** Software refused the fault: the access with this number, as `PageWait` has it, fails. */
  refuse(holder: Q, number: number): void;
}

/** An on-demand region as its faults see it. */
export interface FaultingRegion {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly pd: ProtectionDomain;
  readonly key: number;
  /** Faults that software has not answered, by page. */
  readonly faults: Map<number, PageFault>;
  /** Number of the page of a virtual address. */
  pageOf(address: number): number;
}

/** A page that is awaited. */
export interface PageFault {
  readonly region: FaultingRegion;
  /** Domain of the region when the fault was raised. */
  readonly pd: ProtectionDomain;
  /** The queue pair that met the page first. */
  readonly qpn: number;
  readonly address: number;
  readonly lengthBytes: number;
  readonly isWrite: boolean;
  answered: boolean;
  readonly waits: Set<PageWait>;
}

/** A queue pair that waits for a page. `fault` is undefined while it is not raised. */
interface PageWait {
  readonly holder: KeyHolder;
  readonly waiter: PageWaiter;
  readonly region: FaultingRegion;
  /** Domain of the region when the wait began. */
  readonly pd: ProtectionDomain;
  /** PSN, command or receive WQE of the access. */
  readonly number: number;
  fault: PageFault | undefined;
}

/** Faults of a protection domain. */
interface DomainFaults {
  outstanding: number;
  /** Queue pairs whose faults are not raised yet, oldest first. */
  readonly deferred: Set<PageWait>;
}

export class PageFaults {
  /** Faults that no event has told of, because the event queue was half full. */
  unposted = 0;
  #missed = false;
  #region!: FaultingRegion;
  #address = 0;
  #lengthBytes = 0;
  #isWrite = false;
  readonly #domains = new Map<ProtectionDomain, DomainFaults>();
  /** Numbers of unanswered faults. */
  readonly #outstanding = new Map<UnderlyingFunction, number>();
  /** Domains without unanswered faults that wait because their function has too many. */
  readonly #starved = new Set<ProtectionDomain>();
  readonly #waiting: PageFault[] = [];
  /** The waits of each queue pair, by their waiter. */
  readonly #waits = new Map<KeyHolder, PageWait[]>();

  /** An access of `lengthBytes` from `address` on met a page that is not present. */
  miss(region: FaultingRegion, address: number, lengthBytes: number, isWrite: boolean): void {
    this.#missed = true;
    this.#region = region;
    this.#address = address;
    this.#lengthBytes = lengthBytes;
    this.#isWrite = isWrite;
  }

  /** The message will access `lengthBytes` from `address` on, of which a part was missed. */
  widen(address: number, lengthBytes: number): void {
    if (this.#missed) this.#lengthBytes = address + lengthBytes - this.#address;
  }

  /** Returns true once after a miss. The caller has failed to access memory. */
  take(): boolean {
    const missed = this.#missed;
    this.#missed = false;
    return missed;
  }

  /** `holder` waits for the page that was missed last. `number`: as `PagePart` says. */
  wait<Q extends KeyHolder>(holder: Q, waiter: PageWaiter<Q>, number: number): void {
    this.#remove(holder, waiter);
    const region = this.#region;
    const page = region.pageOf(this.#address);
    const wait: PageWait = { holder, waiter, region, pd: region.pd, number, fault: undefined };
    this.#noteWait(wait);
    const others = this.#waits.get(holder);
    if (others === undefined) this.#waits.set(holder, [wait]);
    else others.push(wait);
    const { counters } = region.owner;
    let fault = region.faults.get(page);
    if (fault !== undefined) counters.pageFaultsShared++;
    else if (this.#mayRaise(region.pd)) fault = this.#raise(holder, page);
    else {
      counters.pageFaultsDeferred++;
      this.#domainOf(region.pd).deferred.add(wait);
      return;
    }
    wait.fault = fault;
    fault.waits.add(wait);
  }

  /** The queue pair leaves its states of work: it waits for nothing. */
  forget(holder: KeyHolder): void {
    const waits = this.#waits.get(holder);
    if (waits === undefined) return;
    this.#waits.delete(holder);
    for (const wait of waits) this.#detach(wait);
  }

  /**
   * Software has answered for `count` pages from `first` on: the queue pairs that wait for them
   * access memory again, or fail when the faults are refused.
   */
  answer(region: FaultingRegion, first: number, count: number, isRefused: boolean): void {
    if (region.faults.size === 0) return;
    for (const [page, fault] of region.faults)
      if (page >= first && page < first + count) this.#end(region, page, fault, isRefused);
  }

  /** The region ends, or moves to another domain: queue pairs that wait check their key again. */
  dropRegion(region: FaultingRegion): void {
    this.answer(region, 0, Number.POSITIVE_INFINITY, false);
  }

  /** Forgets all faults of a function at its reset. */
  drop(owner: UnderlyingFunction): void {
    for (const pd of this.#domains.keys()) if (pd.owner === owner) this.#domains.delete(pd);
    for (const pd of this.#starved) if (pd.owner === owner) this.#starved.delete(pd);
    this.#outstanding.delete(owner);
    for (const holder of this.#waits.keys()) if (holder.owner === owner) this.#waits.delete(holder);
    const kept = this.#waiting.filter(({ region }) => region.owner !== owner);
    this.#waiting.splice(0, this.#waiting.length, ...kept);
    this.unposted = this.#waiting.length;
  }

  /** Posts events that found no room. The adapter calls it in each pass while there are any. */
  postWaiting(): void {
    for (let left = this.#waiting.length; left > 0; left--) {
      const fault = this.#waiting.shift() as PageFault;
      if (!fault.answered && !post(fault)) this.#waiting.push(fault);
    }
    this.unposted = this.#waiting.length;
  }

  /** Faults of the function that software has not answered, and queue pairs that wait. */
  count(owner: UnderlyingFunction): { outstanding: number; waiting: number } {
    const outstanding = this.#outstandingOf(owner);
    let waiting = 0;
    for (const holder of this.#waits.keys()) if (holder.owner === owner) waiting++;
    return { outstanding, waiting };
  }

  #domainOf(pd: ProtectionDomain): DomainFaults {
    let domain = this.#domains.get(pd);
    if (domain === undefined) {
      domain = { outstanding: 0, deferred: new Set() };
      this.#domains.set(pd, domain);
    }
    return domain;
  }

  #outstandingOf(owner: UnderlyingFunction): number {
    return this.#outstanding.get(owner) ?? 0;
  }

  #countOutstanding(owner: UnderlyingFunction, change: number): void {
    const count = this.#outstandingOf(owner) + change;
    if (count === 0) this.#outstanding.delete(owner);
    else this.#outstanding.set(owner, count);
  }

  /** False: the wait is deferred until an answer makes room. */
  #mayRaise(pd: ProtectionDomain): boolean {
    const { outstanding } = this.#domainOf(pd);
    if (this.#outstandingOf(pd.owner) < FAULTS_PER_FUNCTION) return outstanding < FAULTS_PER_DOMAIN;
    if (outstanding === 0) this.#starved.add(pd);
    return false;
  }

  #raise(holder: KeyHolder, page: number): PageFault {
    const region = this.#region;
    const { owner, pd } = region;
    const fault: PageFault = {
      region,
      pd,
      qpn: holder.number,
      address: this.#address,
      lengthBytes: this.#lengthBytes,
      isWrite: this.#isWrite,
      answered: false,
      waits: new Set(),
    };
    region.faults.set(page, fault);
    this.#domainOf(pd).outstanding++;
    this.#countOutstanding(owner, 1);
    owner.counters.pageFaults++;
    noteFault(fault);
    if (!post(fault)) {
      this.#waiting.push(fault);
      this.unposted++;
    }
    return fault;
  }

  #end(region: FaultingRegion, page: number, fault: PageFault, isRefused: boolean): void {
    region.faults.delete(page);
    fault.answered = true;
    if (isRefused) region.owner.counters.pageFaultsRefused++;
    for (const wait of [...fault.waits]) this.#release(wait, isRefused);
    const domain = this.#domains.get(fault.pd);
    if (domain === undefined) return;
    domain.outstanding--;
    this.#countOutstanding(fault.pd.owner, -1);
    this.#releaseDeferred(domain);
    if (domain.outstanding === 0 && domain.deferred.size === 0) this.#domains.delete(fault.pd);
    this.#feedStarved(fault.pd.owner);
  }

  /** One domain may raise its faults; all of them once no answer of the function is outstanding. */
  #feedStarved(owner: UnderlyingFunction): void {
    for (const pd of [...this.#starved]) {
      if (pd.owner !== owner) continue;
      this.#starved.delete(pd);
      const domain = this.#domains.get(pd);
      if (domain === undefined) continue;
      for (const wait of [...domain.deferred]) this.#release(wait, false);
      if (domain.outstanding === 0 && domain.deferred.size === 0) this.#domains.delete(pd);
      if (this.#outstandingOf(owner) > 0) return;
    }
  }

  /**
   * One that waited for an answer may raise its fault; all of them once no answer is outstanding,
   * because their pages may be present by now.
   */
  #releaseDeferred({ outstanding, deferred }: DomainFaults): void {
    for (const wait of [...deferred]) {
      this.#release(wait, false);
      if (outstanding > 0) return;
    }
  }

  #release(wait: PageWait, isRefused: boolean): void {
    const { holder, waiter, region } = wait;
    const waits = this.#waits.get(holder);
    // The queue pair may wait for another page by now.
    if (waits === undefined || !waits.includes(wait)) return;
    this.#remove(holder, waiter);
    noteStep(holder, Step.PAGE_ANSWERED, region.number, Number(isRefused), waiter.part, wait.number);
    if (isRefused) waiter.refuse(holder, wait.number);
    else waiter.resume(holder);
  }

  #noteWait({ holder, waiter, region, number }: PageWait): void {
    const address = this.#address;
    noteStep(holder, Step.PAGE_WAIT, waiter.part, number, region.number, lowDword(address), highDword(address));
  }

  #remove(holder: KeyHolder, waiter: PageWaiter): void {
    const waits = this.#waits.get(holder);
    const index = waits?.findIndex((wait) => wait.waiter === waiter) ?? -1;
    if (waits === undefined || index < 0) return;
    const [wait] = waits.splice(index, 1);
    this.#detach(wait);
    if (waits.length === 0) this.#waits.delete(holder);
  }

  #detach(wait: PageWait): void {
    wait.fault?.waits.delete(wait);
    this.#domains.get(wait.pd)?.deferred.delete(wait);
  }
}

function noteFault({ region, qpn, address, isWrite }: PageFault): void {
  const { owner, number } = region;
  const [low, high] = [lowDword(address), highDword(address)];
  owner.timeline?.note(Step.PAGE_FAULT, owner.number, qpn, number, low, high, Number(isWrite));
}

function post(fault: PageFault): boolean {
  const { owner, key } = fault.region;
  return owner.postPageFault(fault.qpn, key, fault.address, fault.lengthBytes, fault.isWrite);
}
