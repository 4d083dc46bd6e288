// SPDX-License-Identifier: Apache-2.0
/**
 * Queue pairs that wait for pages of on-demand regions (docs/FEATURES.md, On-demand paging), and
 * the faults that they wait for. `PageFaults` keeps them.
 */
import type { PagePart } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from './key-holder.ts';
import type { ProtectionDomain } from './protection-domain.ts';

/** The unit that made an access; it is called at most once for each wait. */
export interface PageWaiter {
  /** Which access it is, for the timeline. */
  readonly part: PagePart;
  /** The page may be present now: the queue pair accesses it again. */
  resume(holder: KeyHolder): void;
  /** Software refused the fault: the access with this number, as `PageWait` has it, fails. */
  refuse(holder: KeyHolder, number: number): void;
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
export interface PageWait {
  readonly holder: KeyHolder;
  readonly waiter: PageWaiter;
  readonly region: FaultingRegion;
  /** Domain of the region when the wait began. */
  readonly pd: ProtectionDomain;
  /** PSN, command or receive WQE of the access. */
  readonly number: number;
  fault: PageFault | undefined;
}
