// SPDX-License-Identifier: Apache-2.0
/**
 * Send context (US 2015/0378953 abstract and claim 1; docs/DOCUMENTS.md decision 9). Software fills
 * its blocks in any order, and complete packets egress in any order. Credits return for the
 * contiguous run from the oldest block only, as an absolute count in guest memory. Misuse halts
 * this context and no other. Halt, drain and restart lose no credit. `SendContexts` owns all
 * contexts and calls them.
 */

import { SEND_BLOCK_BYTES, SEND_COUNTER_MASK } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CREDIT_RETURN_SIZE,
  encodeCreditReturn,
  newCreditReturn,
} from '../../../protocol/layout/gen/credit-return.gen.ts';
import { getSendControlCreditReturn, getSendControlInterrupt } from '../../../protocol/layout/gen/send-control.gen.ts';
import {
  EventType,
  FaultKind,
  FaultObject,
  SendContextState,
  SendHaltCause,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { SendBlockState, SendBlocks } from './send-blocks.ts';

const WORDS_PER_LINE = 8;
/** A slot: not freed; freed; freed, and its packet asks for a credit return. */
const Freed = { NO: 0, YES: 1, ASKING: 2 } as const;
/** Why credits return, one bit for each `due` field of the credit word. */
const CreditReason = { NONE: 0, REQUEST: 1, THRESHOLD: 2, ERROR: 4, FORCE: 8 } as const;

/**
 * Invariants: blocks freed = blocks of packets that egressed or were dropped; returned count <=
 * free count, modulo 2048.
 */
export class SendContext implements FaultSubject {
  readonly number: number;
  /** Tells it from earlier contexts of the same number. */
  readonly serial: number;
  readonly owner: UnderlyingFunction;
  readonly blocks: SendBlocks;
  port = 1;
  /** VLs that its packets may use, one bit each. */
  virtualLanes = 0;
  checkPkey = false;
  pkey = 0;
  /** Guest address of the 64-byte line that holds its credit word. */
  creditAddress = 0;
  threshold = 0;
  vector = 0;
  creditInterrupt = false;
  /** Software holds the force control at 1. */
  forced = false;
  tokenLow = 0;
  tokenHigh = 0;
  state: SendContextState = SendContextState.DISABLED;
  haltCause: SendHaltCause = SendHaltCause.NONE;
  /** Absolute counts of blocks, modulo 2048. */
  freeCounter = 0;
  returnedCounter = 0;
  packetsSent = 0;
  packetsDropped = 0;
  writesDropped = 0;
  creditReturns = 0;
  /** Number of complete packets that no port has taken. */
  readyCount = 0;
  /** Their first blocks, in order of completion. */
  readonly #ready: Int32Array;
  /** Number of packets in rings of a port. */
  #leaving = 0;
  /** By block: whether it has egressed while an older one has not (slots freed in any order). */
  readonly #freed: Uint8Array;
  #oldest = 0;
  readonly #word = newCreditReturn();
  readonly #wordBytes = new Uint8Array(CREDIT_RETURN_SIZE);
  readonly #wordView = new DataView(this.#wordBytes.buffer);

  constructor(number: number, serial: number, owner: UnderlyingFunction, blocks: number) {
    this.number = number;
    this.serial = serial;
    this.owner = owner;
    this.blocks = new SendBlocks(blocks);
    this.#ready = new Int32Array(blocks);
    this.#freed = new Uint8Array(blocks);
  }

  get faultObject(): FaultObject {
    return FaultObject.SEND_CONTEXT;
  }

  /** Number of complete packets that have not egressed: not left the port. */
  get waitingCount(): number {
    return this.readyCount + this.#leaving;
  }

  /** Number of credits that are free and not yet returned. */
  get unreturned(): number {
    return (this.freeCounter - this.returnedCounter) & SEND_COUNTER_MASK;
  }

  /**
   * Takes a PIO write at a byte offset of the context's window; `start`: by the start-of-packet
   * alias.
   */
  write(offset: number, sizeBytes: number, low: number, high: number, start: boolean): void {
    if (this.state !== SendContextState.ENABLED) {
      this.writesDropped++;
      return;
    }
    let cause: SendHaltCause = SendHaltCause.NONE;
    if (offset >= this.blocks.count * SEND_BLOCK_BYTES) cause = SendHaltCause.OUT_OF_BOUNDS;
    else if (offset % sizeBytes !== 0) cause = SendHaltCause.CROSSES_BOUNDARY;
    else cause = this.blocks.store(offset, sizeBytes, low, high, start);
    if (cause !== SendHaltCause.NONE) {
      this.writesDropped++;
      return this.halt(cause);
    }
    const block = this.blocks.takeWhole(offset);
    if (block >= 0) this.#ready[this.readyCount++] = block;
  }

  /** First block of the ready packet at this place in order of completion. */
  readyAt(place: number): number {
    return this.#ready[place];
  }

  /** The packet at this place goes to its port. `finish` follows. */
  take(place: number): void {
    this.#ready.copyWithin(place, place + 1, this.readyCount);
    this.readyCount--;
    this.#leaving++;
  }

  /**
   * The packet that starts at `block` has left the port or was dropped: its blocks are free. Their
   * credits return once all older blocks are free.
   */
  finish(block: number): void {
    const { blocks } = this;
    const control = block * SEND_BLOCK_BYTES;
    this.#leaving--;
    for (let left = blocks.lengthOf(block), at = block; left > 0; left--) {
      this.#freed[at] = Freed.YES;
      at = at + 1 === blocks.count ? 0 : at + 1;
    }
    if (getSendControlCreditReturn(blocks.view, control)) this.#freed[block] = Freed.ASKING;
    if (getSendControlInterrupt(blocks.view, control)) this.owner.msix.request(this.vector);
    this.#advance();
    if (this.state === SendContextState.DRAINING && this.waitingCount === 0) this.#close();
  }

  /** Visits the runs of blocks of one state, from the oldest block in use on. For `vuhca show`. */
  forEachRun(visit: (state: SendBlockState, first: number, count: number) => void): void {
    const { count } = this.blocks;
    let first = this.#oldest;
    let length = 0;
    for (let place = 0; place < count; place++) {
      const block = (this.#oldest + place) % count;
      const state = this.#stateOf(block);
      length++;
      if (place + 1 < count && this.#stateOf((block + 1) % count) === state) continue;
      visit(state, first, length);
      first = (block + 1) % count;
      length = 0;
    }
  }

  #stateOf(block: number): SendBlockState {
    return this.#freed[block] === Freed.NO ? this.blocks.stateOf(block) : SendBlockState.LEFT;
  }

  /** Enables a disabled context with its counters at zero; other states stay. */
  enable(): void {
    if (this.state !== SendContextState.DISABLED) return;
    this.blocks.clear();
    this.#freed.fill(Freed.NO);
    this.readyCount = 0;
    this.#oldest = 0;
    this.freeCounter = 0;
    this.returnedCounter = 0;
    this.haltCause = SendHaltCause.NONE;
    this.state = SendContextState.ENABLED;
  }

  /** Stops taking writes. Complete packets still egress, incomplete ones are dropped. */
  disable(): void {
    if (this.state === SendContextState.DISABLED || this.state === SendContextState.DRAINING) return;
    this.state = SendContextState.DRAINING;
    if (this.waitingCount === 0) this.#close();
  }

  /** Stops taking writes, reports the cause to software, and returns the free credits. */
  halt(cause: SendHaltCause): void {
    if (this.state !== SendContextState.ENABLED) return;
    this.state = cause === SendHaltCause.FREEZE ? SendContextState.FROZEN : SendContextState.HALTED;
    this.haltCause = cause;
    if (cause !== SendHaltCause.SOFTWARE) this.owner.faults.report(FaultKind.SEND_CONTEXT_HALTED, this, cause);
    if (cause !== SendHaltCause.CREDIT_RETURN) this.#return(CreditReason.ERROR);
    this.owner.msix.request(this.vector);
    this.owner.postAsynchronous(EventType.SEND_CONTEXT_HALTED, this, FaultKind.SEND_CONTEXT_HALTED);
  }

  /** Ends a freeze: software restarts the context as after a halt. */
  thaw(): void {
    if (this.state === SendContextState.FROZEN) this.state = SendContextState.HALTED;
  }

  /** Returns the free credits now. */
  force(): void {
    if (this.state !== SendContextState.DISABLED) this.#return(CreditReason.FORCE);
  }

  /**
   * Finds the highest slot of the run of freed slots from the lowest one on whose credit was not
   * returned. Returns credits when a packet in the run asks for it or the threshold is exceeded.
   */
  #advance(): void {
    let reasons: number = CreditReason.NONE;
    let run = 0;
    while (this.#freed[this.#oldest] !== Freed.NO) {
      if (this.#freed[this.#oldest] === Freed.ASKING) reasons |= CreditReason.REQUEST;
      this.#freed[this.#oldest] = Freed.NO;
      this.#oldest = this.#oldest + 1 === this.blocks.count ? 0 : this.#oldest + 1;
      run++;
    }
    this.freeCounter = (this.freeCounter + run) & SEND_COUNTER_MASK;
    this.blocks.release(run);
    if (this.unreturned > this.threshold) reasons |= CreditReason.THRESHOLD;
    if (reasons !== CreditReason.NONE) this.#return(reasons);
  }

  #close(): void {
    if (this.unreturned > 0) this.#return(CreditReason.FORCE);
    this.state = SendContextState.DISABLED;
  }

  /** Returns credits: one 8-byte store of the absolute count and the reasons (`CreditReason`). */
  #return(reasons: number): void {
    const word = this.#word;
    word.freeCounter = this.freeCounter;
    word.status = this.haltCause === SendHaltCause.NONE ? 0 : 1;
    word.dueRequest = reasons & CreditReason.REQUEST ? 1 : 0;
    word.dueThreshold = reasons & CreditReason.THRESHOLD ? 1 : 0;
    word.dueError = reasons & CreditReason.ERROR ? 1 : 0;
    word.dueForce = reasons & CreditReason.FORCE ? 1 : 0;
    encodeCreditReturn(this.#wordView, 0, word);
    const dma = this.owner.dma.at(this.creditAddress + (this.number % WORDS_PER_LINE) * CREDIT_RETURN_SIZE);
    if (!dma.publish(this, this.#wordBytes, CREDIT_RETURN_SIZE, CREDIT_RETURN_SIZE))
      return this.halt(SendHaltCause.CREDIT_RETURN);
    this.returnedCounter = this.freeCounter;
    this.creditReturns++;
    this.owner.timeline?.note(Step.CREDIT_RETURN, this.owner.number, this.number, this.returnedCounter);
    if (this.creditInterrupt) this.owner.msix.request(this.vector);
  }
}
