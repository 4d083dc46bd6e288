// SPDX-License-Identifier: Apache-2.0
/**
 * The pool of physical collect buffers and who may take from it (US8484392: PCB allocator). A QoS level first uses what is guaranteed to it,
 * then what the function shares among its levels. Binding is exclusive: a PCB belongs to one VCB, then to one command, until released.
 * Invariant: free + in use = total, and each level's use is the sum over its pools.
 */
import { QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';

/** Pool a PCB is charged to: its level's guarantee, or the function's shared PCBs. */
const Pool = { GUARANTEED: 0, SHARED: 1 } as const;

export class PcbAllocator {
  readonly buffers: readonly PhysicalCollectBuffer[];
  /** PCBs guaranteed to each QoS level. */
  readonly guaranteed: readonly number[];
  /** PCBs shared by the levels. */
  readonly shared: number;
  readonly #guaranteedUsed = new Int32Array(QOS_LEVELS);
  readonly #sharedUsed = new Int32Array(QOS_LEVELS);
  /** Stack of free PCB indices. */
  readonly #free: Int32Array;
  #freeCount: number;

  constructor(count: number, guaranteed: readonly number[]) {
    this.buffers = Array.from({ length: count }, (_, index) => new PhysicalCollectBuffer(index, this));
    this.guaranteed = guaranteed;
    this.shared = count - guaranteed.reduce((sum, share) => sum + share, 0);
    this.#free = Int32Array.from({ length: count }, (_, index) => count - 1 - index);
    this.#freeCount = count;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  getInUse(qosLevel: number): number {
    return this.#guaranteedUsed[qosLevel] + this.#sharedUsed[qosLevel];
  }

  /** PCBs the level could bind now. */
  getAvailable(qosLevel: number): number {
    return this.guaranteed[qosLevel] - this.#guaranteedUsed[qosLevel] + this.shared - this.#sharedInUse();
  }

  /** Binds a PCB to `vcb`; undefined when the level may not have another one. */
  bind(vcb: number, qosLevel: number): PhysicalCollectBuffer | undefined {
    const pool = this.#choosePool(qosLevel);
    if (pool < 0) return undefined;
    this.#freeCount--;
    const buffer = this.buffers[this.#free[this.#freeCount]];
    buffer.qosLevel = qosLevel;
    buffer.pool = pool;
    buffer.vcb = vcb;
    buffer.open();
    this.#charge(buffer, 1);
    return buffer;
  }

  /** Gives a PCB back, whatever became of its command. Releasing a free PCB does nothing. */
  release(buffer: PhysicalCollectBuffer): void {
    if (buffer.state === PcbState.FREE) return;
    this.#charge(buffer, -1);
    buffer.state = PcbState.FREE;
    buffer.vcb = -1;
    buffer.queuePair = undefined;
    this.#free[this.#freeCount++] = buffer.index;
  }

  #choosePool(qosLevel: number): number {
    if (this.#guaranteedUsed[qosLevel] < this.guaranteed[qosLevel]) return Pool.GUARANTEED;
    return this.#sharedInUse() < this.shared ? Pool.SHARED : -1;
  }

  #charge(buffer: PhysicalCollectBuffer, change: number): void {
    const counts = buffer.pool === Pool.GUARANTEED ? this.#guaranteedUsed : this.#sharedUsed;
    counts[buffer.qosLevel] += change;
  }

  #sharedInUse(): number {
    let sum = 0;
    for (let level = 0; level < QOS_LEVELS; level++) sum += this.#sharedUsed[level];
    return sum;
  }
}
