// SPDX-License-Identifier: Apache-2.0
/**
 * The output queue of one data VL of a switch port (IBTA 18.2.5): the ring that the link empties,
 * the inputs that wait for room in it in the order of their requests or by weighted turns, and the
 * time that its packets wait. The relay of the switch fills it.
 */
import { PACKET_SLOT_BYTES, type PacketRing } from '../port/packet-ring.ts';
import type { InputTurns } from './input-turns.ts';
import type { WaitLimits } from './wait-limits.ts';

/** A port has 16 inputs (`VLS_OF_PORT`), one for each VL. */
const INPUT_SHIFT = 4;
/** A stall lasts for this many times the time at the head of a queue. */
const STALL_LIVES = 8;

export class OutputQueue {
  readonly ring: PacketRing;
  /** Weighted turns of the inputs; undefined: they go in the order of their requests. */
  turns: InputTurns | undefined = undefined;
  /** Told of each packet that is dropped because it waited too long, before it goes. */
  onDrop: ((ring: PacketRing, isExpired: boolean) => void) | undefined = undefined;
  /** Inputs, each a number below `inputs`, that were refused and wait: a circular list. */
  readonly #waiting: Uint16Array;
  readonly #isWaiting: Uint8Array;
  #first = 0;
  #waiters = 0;
  /** Packets pushed, modulo 2^32, and packets in the ring, at the end of the last pass. */
  #pushed = 0;
  #pushedBefore = 0;
  #countBefore = 0;
  /** Number of the newest packet with a time. */
  #stamped = 0;
  /** Times by slot at which packets were first seen to wait, and the time of the head, ns. */
  readonly #seenNs: Float64Array;
  readonly #headNs = Float64Array.of(Number.NaN);
  /** Packets dropped at the head in a row; from the limit of the port on the VL is stalled. */
  #droppedInRow = 0;
  readonly #stallEndNs = Float64Array.of(Number.NaN);
  /** The VL is stalled: packets for it are dropped (IBTA 18.2.5.4). */
  isStalled = false;
  /** Packets that the last `age` dropped because they were too long in the switch. */
  expired = 0;

  constructor(ring: PacketRing, inputs: number) {
    this.ring = ring;
    this.#waiting = new Uint16Array(inputs);
    this.#isWaiting = new Uint8Array(inputs);
    this.#seenNs = new Float64Array(ring.capacity);
  }

  /**
   * True when the ring has room for a packet of this input. Inputs that were refused go first, in
   * the order in which they asked; an input that is refused joins them.
   */
  admits(input: number): boolean {
    if (this.turns !== undefined) {
      if (!this.ring.full && this.#isNext(input, this.turns)) return true;
    } else if (this.#waiters === 0) {
      if (!this.ring.full) return true;
    } else if (!this.ring.full && this.#waiting[this.#first] === input) return true;
    this.#enroll(input);
    return false;
  }

  /** Notes that a packet was pushed. */
  notePush(): void {
    this.#pushed = (this.#pushed + 1) | 0;
  }

  /** The input waits no longer: its packet has a place, or was dropped. */
  release(input: number): void {
    if (this.#waiters === 0 || this.#isWaiting[input] === 0) return;
    this.#isWaiting[input] = 0;
    const waiting = this.#waiting;
    const size = waiting.length;
    let at = 0;
    while (waiting[(this.#first + at) % size] !== input) at++;
    // Most often the first one leaves.
    for (; at > 0; at--) waiting[(this.#first + at) % size] = waiting[(this.#first + at - 1) % size];
    this.#first = (this.#first + 1) % size;
    this.#waiters--;
  }

  /** True when packets wait, and none came or left since the end of the last pass. */
  get stalled(): boolean {
    const { count } = this.ring;
    return count > 0 && count === this.#countBefore && this.#pushed === this.#pushedBefore;
  }

  /** Ends a pass in which the queue moved or was empty. Returns true when packets wait. */
  rest(): boolean {
    const { count } = this.ring;
    this.#pushedBefore = this.#pushed;
    this.#countBefore = count;
    this.#headNs[0] = Number.NaN;
    if (!this.isStalled) this.#droppedInRow = 0;
    if (count === 0) this.#stamped = this.#pushed;
    return count > 0;
  }

  /**
   * Ends a pass in which the queue stalled: drops the head when it was the head for too long, and
   * packets that waited too long in all. Notes when the next one is due. Returns the number
   * dropped; `expired` says how many of them were too long in the switch.
   */
  age(limits: WaitLimits): number {
    const { ring } = this;
    const headNs = this.#headNs;
    this.#stamp(limits);
    if (Number.isNaN(headNs[0])) headNs[0] = limits.nowNs;
    let dropped = 0;
    this.expired = 0;
    while (ring.count > 0) {
      if (this.#droppedInRow >= limits.stallCount) this.#beginStall(limits);
      const seenNs = this.#seenNs[ring.readOffset / PACKET_SLOT_BYTES];
      const headDueNs = this.isStalled ? limits.nowNs : headNs[0] + limits.headNs;
      const dueNs = Math.min(headDueNs, seenNs + limits.switchNs);
      if (limits.nowNs < dueNs) {
        limits.nextNs = Math.min(limits.nextNs, dueNs);
        break;
      }
      this.onDrop?.(ring, limits.nowNs < headDueNs);
      ring.discard();
      dropped++;
      if (limits.nowNs >= headDueNs) this.#droppedInRow++;
      else this.expired++;
      headNs[0] = limits.nowNs;
    }
    if (this.#droppedInRow >= limits.stallCount) this.#beginStall(limits);
    this.#countBefore = ring.count;
    return dropped;
  }

  /** Ends a stall whose time is over. */
  endStall(limits: WaitLimits): void {
    if (limits.nowNs < this.#stallEndNs[0]) {
      limits.nextNs = Math.min(limits.nextNs, this.#stallEndNs[0]);
      return;
    }
    this.isStalled = false;
    this.#droppedInRow = 0;
  }

  #beginStall(limits: WaitLimits): void {
    if (this.isStalled) return;
    this.isStalled = true;
    this.#stallEndNs[0] = limits.nowNs + STALL_LIVES * limits.headNs;
    limits.nextNs = Math.min(limits.nextNs, this.#stallEndNs[0]);
  }

  /** Gives the time to the packets that have none yet. */
  #stamp({ nowNs }: WaitLimits): void {
    const { ring } = this;
    const news = Math.min(ring.count, (this.#pushed - this.#stamped) | 0);
    let slot = ring.writeOffset / PACKET_SLOT_BYTES;
    for (let step = 0; step < news; step++) {
      slot = slot === 0 ? ring.capacity - 1 : slot - 1;
      this.#seenNs[slot] = nowNs;
    }
    this.#stamped = this.#pushed;
  }

  /**
   * True when no other input that waits has had less service, or as little and asked before.
   */
  #isNext(input: number, turns: InputTurns): boolean {
    const waiting = this.#waiting;
    const port = input >> INPUT_SHIFT;
    let isBefore = true;
    for (let step = 0, at = this.#first; step < this.#waiters; step++, at = at + 1 === waiting.length ? 0 : at + 1) {
      const other = waiting[at];
      if (other === input) isBefore = false;
      else if (turns.isBehind(other >> INPUT_SHIFT, port)) return false;
      else if (isBefore && !turns.isBehind(port, other >> INPUT_SHIFT)) return false;
    }
    return true;
  }

  #enroll(input: number): void {
    if (this.#isWaiting[input] === 1) return;
    this.#isWaiting[input] = 1;
    this.#waiting[(this.#first + this.#waiters++) % this.#waiting.length] = input;
  }
}
