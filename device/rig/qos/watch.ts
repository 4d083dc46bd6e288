// SPDX-License-Identifier: Apache-2.0
/**
 * Checks of a whole adapter with several functions, at every bind and after every step: the
 * invariants of PCBs, VCBs, credits and lists; that only the refused function's own use or the
 * shared pool explains a refusal (US 8,484,392 par. 11, 53); and that no lane starves. Used by
 * `AdapterLoad`.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import type { PcbAllocator } from '../../hca/collect/pcb-allocator.ts';
import { PcbState } from '../../hca/collect/physical-collect-buffer.ts';
import { findBadBinding, findBrokenInvariant } from '../fixtures/invariants.ts';
import { findLaneFault } from '../fixtures/lane-invariants.ts';
import type { Tenant } from './tenant.ts';

/**
 * A lane with work launches at the latest after so many launches times the number of lanes: far
 * more than turns and credits explain.
 */
const LAUNCHES_PER_LANE = 16;

/** State of a pool at the last check. */
interface PoolUse {
  readonly pool: PcbAllocator;
  readonly what: string;
  /** Buffers used beyond the shared pool: lent by idle functions, or kept after a share shrank. */
  borrowed: number;
  deviceShared: number;
  lending: boolean;
}

/** The checks of one adapter. */
export class AdapterWatch {
  /** Binds that were refused, and checked. */
  refusals = 0;
  launches = 0;
  checks = 0;
  /** Shares may have become smaller than their use since the last drain. */
  shrinking = false;
  /** Longest wait of a lane with work, in launches. */
  longestWait = 0;
  readonly #adapter: Adapter;
  readonly #waitingSince: Float64Array;
  readonly #launched: Float64Array;
  readonly #uses: PoolUse[] = [];
  #wrong: string | undefined;

  constructor(adapter: Adapter) {
    this.#adapter = adapter;
    this.#waitingSince = new Float64Array(adapter.lanes.count);
    this.#launched = new Float64Array(adapter.lanes.count);
    this.#watchBinds(adapter.collectBuffers, 'PCB');
    this.#watchBinds(adapter.schedulerBuffers, 'dedicated buffer');
  }

  /** Describes the first violation; undefined if there is none. */
  check(tenants: readonly Tenant[]): string | undefined {
    const adapter = this.#adapter;
    const wrong = this.#wrong ?? findBadBinding(adapter) ?? findLaneFault(adapter) ?? this.#findStarving();
    if (wrong !== undefined) return wrong;
    // Registers show the same state a second time, so one function per step is enough.
    const { access, index } = tenants[this.checks++ % tenants.length];
    const broken = findBrokenInvariant(access, !this.shrinking);
    return broken === undefined ? this.#findGrowingOveruse() : `function ${index}: ${broken}`;
  }

  #watchBinds(pool: PcbAllocator, what: string): void {
    this.#uses.push({ pool, what, borrowed: 0, deviceShared: 0, lending: false });
    const bind = pool.bind.bind(pool);
    pool.bind = (functionNumber, qosLevel, vcb) => {
      const buffer = bind(functionNumber, qosLevel, vcb);
      if (buffer === undefined) {
        this.refusals++;
        const unjust = this.#explainBadRefusal(pool, functionNumber, qosLevel);
        if (unjust !== undefined)
          this.#wrong ??= `a ${what} was refused to function ${functionNumber}, level ${qosLevel}, though ${unjust}`;
      }
      return buffer;
    };
  }

  /**
   * Describes why a refusal was wrong; undefined if it was right. Neither the use of other
   * functions within their guarantees nor an unused guarantee of its own may cause one. The
   * exception: no buffer is free because other functions still use their share of before it
   * shrank, or buffers lent by idle functions (docs/FEATURES.md, Resources).
   */
  #explainBadRefusal(pool: PcbAllocator, functionNumber: number, qosLevel: number): string | undefined {
    const isConverging = pool.freeCount === 0 && isOverused(pool, this.#adapter.functions.length);
    if (isConverging && (this.shrinking || pool.borrowed > 0)) return undefined;
    if (pool.getInUse(functionNumber, qosLevel) < pool.getGuaranteed(functionNumber, qosLevel))
      return 'the level has not used what it is guaranteed';
    if (pool.getInUseFunctionShared(functionNumber) < pool.getShared(functionNumber))
      return 'the function has not used what its levels share';
    if (this.shrinking && isOverused(pool, this.#adapter.functions.length)) return undefined;
    return pool.deviceUsed < pool.deviceShared ? 'some that all share are free' : undefined;
  }

  /** Use beyond the shared pool, after lending or a grown share, only falls while no one lends. */
  #findGrowingOveruse(): string | undefined {
    for (const use of this.#uses) {
      const { pool, what } = use;
      const grew = pool.borrowed > use.borrowed && pool.deviceShared === use.deviceShared;
      if (grew && !use.lending && !pool.lending) return `${pool.borrowed} ${what}s are used beyond what all share`;
      use.borrowed = pool.borrowed;
      use.deviceShared = pool.deviceShared;
      use.lending = pool.lending;
    }
    return undefined;
  }

  /** Describes a lane with work that has had no turn for too long. */
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
      if (waited > LAUNCHES_PER_LANE * count) return `lane ${number} has work and no turn during ${waited} launches`;
    }
    return undefined;
  }
}

/**
 * True if an account of a pool uses more than its limit: the shared pool, a function's shared part,
 * or a level, whatever the other level of the function uses.
 */
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
