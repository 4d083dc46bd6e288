// SPDX-License-Identifier: Apache-2.0
/**
 * What is watched of a whole adapter with several functions, at every bind and after every step: PCBs and VCBs, credits, lists (the invariants of the units), that refusals
 * are of the refused function's own making or of what is shared, and that no lane starves.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import type { Adapter } from '../../adapter/adapter.ts';
import type { PcbAllocator } from '../../collect/pcb-allocator.ts';
import { PcbState } from '../../collect/physical-collect-buffer.ts';
import { findBadBinding, findBrokenInvariant } from '../../test-support/invariants.ts';
import { findLaneFault } from '../../test-support/lane-invariants.ts';
import type { Tenant } from './tenant.ts';

/** Launches of other lanes, for each lane there is, that a lane with work may see before its next. Far more than turns and credits explain. */
const PATIENCE_PER_LANE = 16;

/** What was used of a pool beyond what all share, when it was looked at last. */
interface Debt {
  readonly pool: PcbAllocator;
  readonly what: string;
  borrowed: number;
  deviceShared: number;
  lending: boolean;
}

export class AdapterWatch {
  /** Binds that were refused, and judged. */
  refusals = 0;
  launches = 0;
  checks = 0;
  /** Shares may have shrunk below what is in use since nothing was in use. */
  shrinking = false;
  /** The longest a lane with work has waited, in launches. */
  longestWait = 0;
  readonly #adapter: Adapter;
  readonly #waitingSince: Float64Array;
  readonly #launched: Float64Array;
  readonly #debts: Debt[] = [];
  #wrong: string | undefined;

  constructor(adapter: Adapter) {
    this.#adapter = adapter;
    this.#waitingSince = new Float64Array(adapter.lanes.count);
    this.#launched = new Float64Array(adapter.lanes.count);
    this.#watchBinds(adapter.collectBuffers, 'PCB');
    this.#watchBinds(adapter.schedulerBuffers, 'dedicated buffer');
  }

  /** Returns a sentence about the first thing that is wrong now, or undefined. */
  check(tenants: readonly Tenant[]): string | undefined {
    const adapter = this.#adapter;
    const wrong = this.#wrong ?? findBadBinding(adapter) ?? findLaneFault(adapter) ?? this.#findStarving();
    if (wrong !== undefined) return wrong;
    // What registers show is the same once more: one function after each step.
    const { access, index } = tenants[this.checks++ % tenants.length];
    const broken = findBrokenInvariant(access, !this.shrinking);
    return broken === undefined ? this.#findGrowingDebt() : `function ${index}: ${broken}`;
  }

  #watchBinds(pool: PcbAllocator, what: string): void {
    this.#debts.push({ pool, what, borrowed: 0, deviceShared: 0, lending: false });
    const bind = pool.bind.bind(pool);
    pool.bind = (functionNumber, qosLevel, vcb) => {
      const buffer = bind(functionNumber, qosLevel, vcb);
      if (buffer === undefined) {
        this.refusals++;
        const unjust = this.#judge(pool, functionNumber, qosLevel);
        if (unjust !== undefined)
          this.#wrong ??= `a ${what} was refused to function ${functionNumber}, level ${qosLevel}, though ${unjust}`;
      }
      return buffer;
    };
  }

  /**
   * Why a refusal was wrong: nothing that others do with their guarantees, and nothing within its own, may cause one. The one exception: nothing at all is free, because others still use what was theirs
   * before a share shrank, or what idle functions lent (docs/PROGRAMMING.md, Resources).
   */
  #judge(pool: PcbAllocator, functionNumber: number, qosLevel: number): string | undefined {
    const isConverging = pool.freeCount === 0 && isOverused(pool, this.#adapter.functions.length);
    if (isConverging && (this.shrinking || pool.borrowed > 0)) return undefined;
    if (pool.getInUse(functionNumber, qosLevel) < pool.getGuaranteed(functionNumber, qosLevel))
      return 'the level has not used what it is guaranteed';
    if (pool.getInUseFunctionShared(functionNumber) < pool.getShared(functionNumber))
      return 'the function has not used what its levels share';
    if (this.shrinking && isOverused(pool, this.#adapter.functions.length)) return undefined;
    return pool.deviceUsed < pool.deviceShared ? 'some that all share are free' : undefined;
  }

  /** What is used beyond what all share, because it was lent or a share grew, only comes back while nobody lends. */
  #findGrowingDebt(): string | undefined {
    for (const debt of this.#debts) {
      const { pool, what } = debt;
      const grew = pool.borrowed > debt.borrowed && pool.deviceShared === debt.deviceShared;
      if (grew && !debt.lending && !pool.lending) return `${pool.borrowed} ${what}s are used beyond what all share`;
      debt.borrowed = pool.borrowed;
      debt.deviceShared = pool.deviceShared;
      debt.lending = pool.lending;
    }
    return undefined;
  }

  /** A lane whose list is not empty has its turn, however much the others have to do. */
  #findStarving(): string | undefined {
    const { lanes, count } = this.#adapter.lanes;
    let total = 0;
    for (const { launches } of lanes) total += launches;
    this.launches = total;
    for (const { number, length, launches } of lanes) {
      if (length === 0 || launches !== this.#launched[number]) {
        this.#launched[number] = launches;
        this.#waitingSince[number] = total;
        continue;
      }
      const waited = total - this.#waitingSince[number];
      this.longestWait = Math.max(this.longestWait, waited);
      if (waited > PATIENCE_PER_LANE * count) return `lane ${number} has work and no turn during ${waited} launches`;
    }
    return undefined;
  }
}

/** Whether an account has more in use than its limit now is: a level by itself, even where the other one has less than it may. */
export function isOverused(pool: PcbAllocator, functionCount: number): boolean {
  if (pool.deviceUsed > pool.deviceShared) return true;
  const used = new Int32Array(functionCount * QOS_LEVELS);
  for (const { state, functionNumber, account } of pool.buffers)
    if (state !== PcbState.FREE && account < QOS_LEVELS) used[functionNumber * QOS_LEVELS + account]++;
  for (let owner = 0; owner < functionCount; owner++) {
    if (pool.getInUseFunctionShared(owner) > pool.getShared(owner)) return true;
    for (let level = 0; level < QOS_LEVELS; level++)
      if (used[owner * QOS_LEVELS + level] > pool.getGuaranteed(owner, level)) return true;
  }
  return false;
}
