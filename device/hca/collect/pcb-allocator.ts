// SPDX-License-Identifier: Apache-2.0
/**
 * Pool of physical collect buffers (PCBs) and the accounts of the functions (US 8,484,392 par. 50,
 * 53-56, 96). A bind is charged to the account of the QoS level, then to the one that the levels of
 * its function share, then to the one that all functions share. Binding is exclusive: until it is
 * released, a PCB belongs to one VCB and then to one command. Collect units bind PCBs from one
 * pool, the scheduler from another.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';

/**
 * Accounts of a function: one for each QoS level, one that its levels share, and its use of the
 * account that all functions share.
 */
const FUNCTION_SHARED = QOS_LEVELS;
const DEVICE_SHARED = QOS_LEVELS + 1;
const ACCOUNTS = QOS_LEVELS + 2;
const NONE = -1;

/**
 * Invariants: free + bound = total; a promised and unused PCB is never given to another function. A
 * bind from the shared account of all functions therefore needs more free PCBs than are promised.
 * That one condition also holds while shares shrink below their use.
 */
export class PcbAllocator {
  readonly buffers: readonly PhysicalCollectBuffer[];
  /** Called after each release: a refused bind may be tried again. */
  onFree: () => void = () => {};
  readonly #functionCount: number;
  /** Limit and use of each account. The last account of a function has no limit of its own. */
  readonly #limits: Int32Array;
  readonly #used: Int32Array;
  /** PCBs bound by each QoS level of each function, in whatever account. */
  readonly #inUse: Int32Array;
  /** 1 for each function that lends its unused guarantee to all. */
  readonly #lent: Uint8Array;
  /** Stack of free PCB indices. */
  readonly #free: Int32Array;
  #freeCount: number;
  /** Sum of the promised and unused PCBs, without those lent. */
  #promised = 0;
  #deviceShared: number;
  #deviceUsed = 0;

  constructor(count: number, functionCount: number) {
    this.buffers = Array.from({ length: count }, (_, index) => new PhysicalCollectBuffer(index, this));
    this.#functionCount = functionCount;
    this.#limits = new Int32Array(functionCount * ACCOUNTS);
    this.#used = new Int32Array(functionCount * ACCOUNTS);
    this.#inUse = new Int32Array(functionCount * QOS_LEVELS);
    this.#lent = new Uint8Array(functionCount);
    this.#free = Int32Array.from({ length: count }, (_, index) => count - 1 - index);
    this.#freeCount = count;
    this.#deviceShared = count;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** PCBs that were given to no function: all may use them. */
  get deviceShared(): number {
    return this.#deviceShared;
  }

  /** PCBs bound from the account that all functions share. */
  get deviceUsed(): number {
    return this.#deviceUsed;
  }

  /**
   * PCBs bound beyond the limit of the account that all functions share: lent, or not yet returned
   * since a share grew. They return as their commands complete.
   */
  get borrowed(): number {
    return Math.max(0, this.#deviceUsed - this.#deviceShared);
  }

  /** True while some function lends unused PCBs. */
  get lending(): boolean {
    return this.#lent.includes(1);
  }

  /** PCBs given to the function. */
  getTotal(functionNumber: number): number {
    const base = functionNumber * ACCOUNTS;
    let total = 0;
    for (let account = 0; account < DEVICE_SHARED; account++) total += this.#limits[base + account];
    return total;
  }

  getGuaranteed(functionNumber: number, qosLevel: number): number {
    return this.#limits[functionNumber * ACCOUNTS + qosLevel];
  }

  /** PCBs that the levels of the function share. */
  getShared(functionNumber: number): number {
    return this.#limits[functionNumber * ACCOUNTS + FUNCTION_SHARED];
  }

  getInUse(functionNumber: number, qosLevel: number): number {
    return this.#inUse[functionNumber * QOS_LEVELS + qosLevel];
  }

  getInUseFunctionShared(functionNumber: number): number {
    return this.#used[functionNumber * ACCOUNTS + FUNCTION_SHARED];
  }

  getInUseDevice(functionNumber: number): number {
    return this.#used[functionNumber * ACCOUNTS + DEVICE_SHARED];
  }

  /** PCBs that the level could now bind in a row. */
  getAvailable(functionNumber: number, qosLevel: number): number {
    const base = functionNumber * ACCOUNTS;
    const own = this.#unused(base + qosLevel) + this.#unused(base + FUNCTION_SHARED);
    const asked = this.#lent[functionNumber] === 0 ? 0 : this.#unusedOf(functionNumber);
    return Math.min(this.#freeCount, own + Math.max(0, this.#freeCount - this.#promised - asked));
  }

  /**
   * PCBs that the level could bind if the other functions used none of those that all share: what
   * they do does not show.
   */
  getAvailableAlone(functionNumber: number, qosLevel: number): number {
    const base = functionNumber * ACCOUNTS;
    const shared = Math.max(0, this.#deviceShared - this.#used[base + DEVICE_SHARED]);
    return this.#unused(base + qosLevel) + this.#unused(base + FUNCTION_SHARED) + shared;
  }

  canBind(functionNumber: number, qosLevel: number): boolean {
    return this.getAvailable(functionNumber, qosLevel) > 0;
  }

  /**
   * Gives a function `total` PCBs, `level0` and `level1` of them to its levels. PCBs in use stay
   * charged to their accounts: an account above its new limit binds none until enough have been
   * released. The caller makes sure that the sums fit.
   */
  setShare(functionNumber: number, total: number, level0: number, level1: number): void {
    const base = functionNumber * ACCOUNTS;
    this.askBack(functionNumber);
    this.#promised -= this.#unusedOf(functionNumber);
    this.#deviceShared += this.getTotal(functionNumber) - total;
    this.#limits[base] = level0;
    this.#limits[base + 1] = level1;
    this.#limits[base + FUNCTION_SHARED] = total - level0 - level1;
    this.#promised += this.#unusedOf(functionNumber);
  }

  /**
   * Lends the unused PCBs of the function to all functions until it binds again or `askBack` is
   * called.
   */
  lend(functionNumber: number): void {
    if (this.#lent[functionNumber] !== 0) return;
    this.#promised -= this.#unusedOf(functionNumber);
    this.#lent[functionNumber] = 1;
  }

  /** Stops lending. Lent PCBs in use return when they are released. */
  askBack(functionNumber: number): void {
    if (this.#lent[functionNumber] === 0) return;
    this.#lent[functionNumber] = 0;
    this.#promised += this.#unusedOf(functionNumber);
  }

  /**
   * Binds a PCB to `vcb`. Returns undefined when the level may not have another one, or while its
   * share is lent and not yet returned.
   */
  bind(functionNumber: number, qosLevel: number, vcb: number): PhysicalCollectBuffer | undefined {
    this.askBack(functionNumber);
    const account = this.#chooseAccount(functionNumber * ACCOUNTS, qosLevel);
    if (account === NONE) return undefined;
    const buffer = this.buffers[this.#free[--this.#freeCount]];
    buffer.functionNumber = functionNumber;
    buffer.qosLevel = qosLevel;
    buffer.account = account;
    buffer.vcb = vcb;
    buffer.open(vcb === NONE);
    this.#used[functionNumber * ACCOUNTS + account]++;
    this.#inUse[functionNumber * QOS_LEVELS + qosLevel]++;
    if (account === DEVICE_SHARED) this.#deviceUsed++;
    else this.#promised--;
    return buffer;
  }

  /** Releases a PCB, whether its command completed or not. Releasing a free PCB does nothing. */
  release(buffer: PhysicalCollectBuffer): void {
    if (buffer.state === PcbState.FREE) return;
    const { functionNumber, qosLevel, account } = buffer;
    const at = functionNumber * ACCOUNTS + account;
    this.#used[at]--;
    this.#inUse[functionNumber * QOS_LEVELS + qosLevel]--;
    if (account === DEVICE_SHARED) this.#deviceUsed--;
    else if (this.#used[at] < this.#limits[at] && this.#lent[functionNumber] === 0) this.#promised++;
    buffer.state = PcbState.FREE;
    buffer.vcb = NONE;
    buffer.queuePair = undefined;
    this.#free[this.#freeCount++] = buffer.index;
    this.onFree();
  }

  /**
   * Returns a sentence when the accounts disagree with the buffers, otherwise undefined. For tests;
   * visits all buffers.
   */
  findError(): string | undefined {
    const used = new Int32Array(this.#used.length);
    let bound = 0;
    for (const buffer of this.buffers) {
      if (buffer.state === PcbState.FREE) continue;
      bound++;
      used[buffer.functionNumber * ACCOUNTS + buffer.account]++;
    }
    if (bound + this.#freeCount !== this.buffers.length)
      return `${bound} PCBs bound and ${this.#freeCount} free of ${this.buffers.length}`;
    const wrong = used.findIndex((count, at) => count !== this.#used[at]);
    if (wrong >= 0) return `account ${wrong} says ${this.#used[wrong]} PCBs, it has ${used[wrong]}`;
    let promised = 0;
    for (let functionNumber = 0; functionNumber < this.#functionCount; functionNumber++)
      if (this.#lent[functionNumber] === 0) promised += this.#unusedOf(functionNumber);
    return promised === this.#promised ? undefined : `${this.#promised} PCBs promised, it should be ${promised}`;
  }

  /** The account that pays for the next bind of the level, or NONE. */
  #chooseAccount(base: number, qosLevel: number): number {
    if (this.#freeCount === 0) return NONE;
    if (this.#used[base + qosLevel] < this.#limits[base + qosLevel]) return qosLevel;
    if (this.#used[base + FUNCTION_SHARED] < this.#limits[base + FUNCTION_SHARED]) return FUNCTION_SHARED;
    return this.#freeCount > this.#promised ? DEVICE_SHARED : NONE;
  }

  #unused(at: number): number {
    return Math.max(0, this.#limits[at] - this.#used[at]);
  }

  #unusedOf(functionNumber: number): number {
    const base = functionNumber * ACCOUNTS;
    let unused = 0;
    for (let account = 0; account < DEVICE_SHARED; account++) unused += this.#unused(base + account);
    return unused;
  }
}
