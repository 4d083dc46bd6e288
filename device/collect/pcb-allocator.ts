// SPDX-License-Identifier: Apache-2.0
/**
 * A pool of physical collect buffers and who may take from it (US8484392: PCB allocator, numPCB register). A bind uses what is guaranteed to the
 * QoS level, then what the levels of its function share, then what all functions share. Binding is exclusive: a PCB belongs to one VCB, then to one
 * command, until released. The same class serves the collect buffers of functions and the dedicated ones of the scheduler.
 *
 * Invariants: free + bound = total; what is promised and unused is never given to anybody else. So a bind out of what all share needs more free
 * buffers than are promised; that one condition also holds while shares shrink below what is in use.
 */
import { QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';

/** Accounts of a function: one per QoS level, what its levels share, and what it has out of what all functions share. */
const FUNCTION_SHARED = QOS_LEVELS;
const DEVICE_SHARED = QOS_LEVELS + 1;
const ACCOUNTS = QOS_LEVELS + 2;
const NONE = -1;

export class PcbAllocator {
  readonly buffers: readonly PhysicalCollectBuffer[];
  /** Told after a buffer came free: whoever was refused may try again. */
  onFree: () => void = () => {};
  readonly #functionCount: number;
  /** Limit and use of each account; the last account of a function has no limit of its own. */
  readonly #limits: Int32Array;
  readonly #used: Int32Array;
  /** PCBs bound by each QoS level of each function, whoever pays. */
  readonly #inUse: Int32Array;
  /** Functions whose unused guarantee is lent to all. */
  readonly #lent: Uint8Array;
  /** Stack of free PCB indices. */
  readonly #free: Int32Array;
  #freeCount: number;
  /** Sum of what is promised and unused, without what is lent. */
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

  /** PCBs that no function was given: all may use them. */
  get deviceShared(): number {
    return this.#deviceShared;
  }

  /** PCBs bound out of what all functions share. */
  get deviceUsed(): number {
    return this.#deviceUsed;
  }

  /** PCBs bound beyond what all functions share: lent, or not back yet since a share grew. They come back as their commands are done. */
  get borrowed(): number {
    return Math.max(0, this.#deviceUsed - this.#deviceShared);
  }

  /** Some function lends what it does not use. */
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

  /** PCBs the levels of the function share. */
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

  /** PCBs the level could bind now, one after the other. */
  getAvailable(functionNumber: number, qosLevel: number): number {
    const base = functionNumber * ACCOUNTS;
    const own = this.#unused(base + qosLevel) + this.#unused(base + FUNCTION_SHARED);
    const asked = this.#lent[functionNumber] === 0 ? 0 : this.#unusedOf(functionNumber);
    return Math.min(this.#freeCount, own + Math.max(0, this.#freeCount - this.#promised - asked));
  }

  canBind(functionNumber: number, qosLevel: number): boolean {
    return this.getAvailable(functionNumber, qosLevel) > 0;
  }

  /**
   * Gives a function `total` PCBs, `level0` and `level1` of them to its levels. What is in use stays charged where it was: an account above its
   * new limit takes nothing until enough has come back. The caller sees to it that sums fit.
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

  /** Lends all that the function does not use to everybody, until it binds again or `askBack`. */
  lend(functionNumber: number): void {
    if (this.#lent[functionNumber] !== 0) return;
    this.#promised -= this.#unusedOf(functionNumber);
    this.#lent[functionNumber] = 1;
  }

  /** From now on nobody else binds what was lent; what is in use comes back when it is released. */
  askBack(functionNumber: number): void {
    if (this.#lent[functionNumber] === 0) return;
    this.#lent[functionNumber] = 0;
    this.#promised += this.#unusedOf(functionNumber);
  }

  /** Binds a PCB to `vcb`; undefined when the level may not have another one, or what it may have was lent and is not back yet. */
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

  /** Gives a PCB back, whatever became of its command. Releasing a free PCB does nothing. */
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

  /** Returns a sentence when the books do not agree with the buffers, or undefined. For tests; costs a walk over all buffers. */
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
