// SPDX-License-Identifier: Apache-2.0
/**
 * Draws the operations of one end of a connection by seed, and keeps the values that the atomics
 * of this end must find in the cells of the other one. Called by `Endpoint`.
 */
import { FlushSelectivity, MwKind, PlacementType, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { SendRequest } from '../driver/send-request.ts';
import type { AdapterFixture, Buffer } from '../fixtures/adapter-fixture.ts';
import { type ExposedMemory, SLOTS } from './exposed-memory.ts';
import type { FastKey } from './fast-key.ts';
import { findDifference } from './find-difference.ts';
import { type AtomicStep, newOperation, type Operation } from './operation.ts';
import type { ConnectionPlan } from './plan.ts';
import type { WindowKey } from './window-key.ts';

const INLINE_MAX = 200;
const CELL_BYTES = 8;

/** The memory and the keys that the other end of the connection exposes. */
interface RemoteTargets {
  readonly memory: ExposedMemory;
  readonly window: WindowKey;
  readonly fastKey: FastKey;
}

/** The source of operations of one end. */
export class OperationSource {
  readonly #fixture: AdapterFixture;
  readonly #random: Random;
  readonly #other: RemoteTargets;
  readonly #largest: number;
  readonly #placement: boolean;
  readonly #lkey: number;
  /** For each cell of the other end: the last step known to be executed, and all posted since. */
  readonly #steps: readonly [AtomicStep[], AtomicStep[]];

  constructor(
    fixture: AdapterFixture,
    random: Random,
    other: RemoteTargets,
    { largest, placement }: Pick<ConnectionPlan, 'largest' | 'placement'>,
  ) {
    this.#fixture = fixture;
    this.#random = random;
    this.#other = other;
    this.#largest = largest;
    this.#placement = placement;
    this.#lkey = fixture.region.lkey;
    const first = (cell: 0 | 1): AtomicStep => ({ cell, after: other.memory.cellValue(cell) });
    this.#steps = [[first(0)], [first(1)]];
  }

  /** Notes that an atomic was executed, and with it all before it: they execute in order. */
  noteAtomic(step: AtomicStep): void {
    const steps = this.#steps[step.cell];
    steps.splice(0, steps.indexOf(step));
  }

  /** Describes a cell whose value no outstanding step explains; undefined if there is none. */
  findWrongCell(): string | undefined {
    const wrong = ([0, 1] as const).find((cell) => {
      const value = this.#other.memory.cellValue(cell);
      return !this.#steps[cell].some(({ after }) => after === value);
    });
    return wrong === undefined ? undefined : `cell ${wrong} holds ${this.#other.memory.cellValue(wrong)}`;
  }

  /** Any operation of a reliable connection. */
  draw(): Operation {
    if (this.#placement && this.#random.oneIn(4)) return this.#drawPlacement();
    switch (this.#random.below(7)) {
      case 0:
      case 1:
        return this.drawSend();
      case 2:
        return this.#drawWrite(false);
      case 3:
        return this.#drawWrite(true);
      case 4:
        return this.#drawRead();
      case 5:
        return this.#drawAdd();
      default:
        return this.#drawRare();
    }
  }

  #drawRare(): Operation {
    if (this.#random.oneIn(3)) return this.drawNothing();
    const { fastKey, window } = this.#other;
    if (window.isBound && window.kind === MwKind.TYPE_2 && this.#random.oneIn(3)) {
      window.isBound = false;
      return { ...this.#drawInvalidation(window.memory.rkey), check: () => window.release() };
    }
    if (fastKey.isInvalidated || !this.#random.oneIn(6) || !fastKey.isRegistered) return this.#drawSwap();
    fastKey.isInvalidated = true;
    return this.#drawInvalidation(fastKey.key);
  }

  /**
   * Invalidates a key of the other end. It is fenced: a READ that was repeated after the
   * invalidation would fail.
   */
  #drawInvalidation(immediate: number): Operation {
    const payload = this.#random.bytes(this.#length(this.#largest));
    const options = { ...this.#options(), fence: true };
    const request = { ...options, ...this.#source(payload), opcode: SendOpcode.SEND_INVALIDATE, immediate };
    return { ...newOperation('SEND+INV'), request, payload, invalidates: immediate };
  }

  /** Memory to write or read: sometimes the window's, if it is bound. */
  #target(): ExposedMemory {
    const { memory, window } = this.#other;
    return window.isBound && this.#random.oneIn(3) ? window.memory : memory;
  }

  /** A request that the other end must refuse: a stale or wrong key, or an address out of range. */
  drawBad(): Operation {
    const bytes = this.#random.bytes(16);
    const local = this.#fixture.createBuffer(bytes);
    const opcode = this.#random.pick([SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]);
    const { fastKey, window, memory } = this.#other;
    const stale = window.mayBind
      ? { address: window.memory.address, rkey: window.memory.rkey }
      : { address: fastKey.address, rkey: fastKey.key };
    if ((window.mayBind || fastKey.isInvalidated) && this.#random.oneIn(2))
      return { ...newOperation('stale key'), request: { opcode, remote: stale, sges: [this.#sge(local)] }, bad: true };
    const wrong = this.#random.oneIn(2)
      ? { address: memory.slotAddress(0), rkey: memory.rkey ^ 1 }
      : { address: memory.endAddress() - 8, rkey: memory.rkey };
    return { ...newOperation('bad'), request: { opcode, remote: wrong, sges: [this.#sge(local)] }, bad: true };
  }

  /** A SEND of up to `largest` bytes. */
  drawSend(largest = this.#largest): Operation {
    const random = this.#random;
    const payload = random.bytes(this.#length(largest));
    const immediate = random.oneIn(2) ? random.next() : undefined;
    const more = { ...this.#options(), ...(immediate === undefined ? {} : { immediate }) };
    return { ...newOperation('SEND'), request: { ...more, ...this.#source(payload) }, payload, immediate };
  }

  #drawWrite(withImmediate: boolean): Operation {
    const random = this.#random;
    const target = this.#target();
    const slot = random.below(SLOTS);
    const content = random.bytes(this.#length(Math.min(this.#largest, target.slotBytes)));
    const write = target.post(slot, content);
    const remote = { address: target.slotAddress(slot), rkey: target.rkey };
    const request = { ...this.#options(), remote, ...this.#source(content) };
    if (!withImmediate)
      return { ...newOperation('WRITE'), request: { ...request, opcode: SendOpcode.RDMA_WRITE }, write };
    const immediate = random.next();
    const opcode = SendOpcode.RDMA_WRITE_IMMEDIATE;
    // Its completion at the receiver shows only the length of the payload.
    return {
      ...newOperation('WRITE+IMM'),
      request: { ...request, opcode, immediate },
      write,
      immediate,
      payload: content,
    };
  }

  #drawRead(): Operation {
    const target = this.#target();
    const length = this.#length(Math.min(this.#largest, target.slotBytes));
    const offset = this.#random.below(target.slotBytes - length + 1);
    const local = this.#fixture.createBuffer(length);
    const remote = { address: target.constantAddress + offset, rkey: target.rkey };
    const sges = length === 0 ? [] : [this.#sge(local)];
    const expected = target.constant(offset, length);
    const check = (): string | undefined =>
      findDifference(local.bytes, expected) < 0 ? undefined : 'READ brought wrong bytes';
    return {
      ...newOperation('READ'),
      request: { ...this.#options(), opcode: SendOpcode.RDMA_READ, remote, sges },
      check,
    };
  }

  #drawAdd(): Operation {
    const swapOrAdd = BigInt(1 + this.#random.below(1000));
    return this.#atomic('ADD', SendOpcode.FETCH_ADD, 0, { swapOrAdd }, (found) => found + swapOrAdd);
  }

  /** One in four compares with a value that the cell does not hold. */
  #drawSwap(): Operation {
    const found = this.#latest(1);
    const matches = !this.#random.oneIn(4);
    const swapOrAdd = BigInt(this.#random.next());
    const compare = matches ? found : found ^ 0x8000_0000_0000_0000n;
    const operands = { swapOrAdd, compare };
    return this.#atomic('SWAP', SendOpcode.COMPARE_SWAP, 1, operands, () => (matches ? swapOrAdd : found));
  }

  #drawPlacement(): Operation {
    return this.#random.oneIn(2) ? this.#drawFlush() : this.#drawAtomicWrite();
  }

  /** Its completion shows that all requests before it are executed. */
  #drawFlush(): Operation {
    const { memory } = this.#other;
    const flush = {
      placementType: PlacementType.GLOBAL_VISIBILITY,
      selectivity: this.#random.pick([FlushSelectivity.RANGE, FlushSelectivity.MEMORY_REGION]),
      lengthBytes: this.#random.below(memory.slotBytes + 1),
    };
    const remote = { address: memory.slotAddress(this.#random.below(SLOTS)), rkey: memory.rkey };
    return { ...newOperation('FLUSH'), request: { ...this.#options(), opcode: SendOpcode.FLUSH, remote, flush } };
  }

  /** Executed once and in order, like an atomic, although it returns no value. */
  #drawAtomicWrite(): Operation {
    const cell = this.#random.pick([0, 1] as const);
    const after = BigInt(this.#random.next());
    const atomic = { cell, after };
    this.#steps[cell].push(atomic);
    const { memory } = this.#other;
    const value = new Uint8Array(CELL_BYTES);
    new DataView(value.buffer).setBigUint64(0, after, true);
    const remote = { address: memory.cellAddress(cell), rkey: memory.rkey };
    const request = { ...this.#options(), ...this.#source(value), opcode: SendOpcode.ATOMIC_WRITE, remote };
    return { ...newOperation('ATOMIC WRITE'), request, atomic };
  }

  /** The value of a cell when everything posted has been executed. */
  #latest(cell: 0 | 1): bigint {
    return (this.#steps[cell].at(-1) as AtomicStep).after;
  }

  /** A NOP; always signaled if `signaled` is set. */
  drawNothing(signaled = false): Operation {
    const options = this.#options();
    const request = { ...options, signaled: signaled || options.signaled === true, opcode: SendOpcode.NOP };
    return { ...newOperation('NOP'), request };
  }

  #atomic(
    name: string,
    opcode: SendOpcode,
    cell: 0 | 1,
    operands: SendRequest['atomic'] & object,
    change: (found: bigint) => bigint,
  ): Operation {
    const found = this.#latest(cell);
    const atomic = { cell, after: change(found) };
    this.#steps[cell].push(atomic);
    const { memory } = this.#other;
    const local = this.#fixture.createBuffer(CELL_BYTES);
    const remote = { address: memory.cellAddress(cell), rkey: memory.rkey };
    const check = (): string | undefined => {
      const value = new DataView(local.bytes.buffer, local.bytes.byteOffset, CELL_BYTES).getBigUint64(0, true);
      return value === found ? undefined : `${name} found ${value}, not ${found}`;
    };
    const request = { ...this.#options(), opcode, remote, atomic: operands, sges: [this.#sge(local)] };
    return { ...newOperation(name), request, atomic, check };
  }

  #options(): SendRequest {
    const random = this.#random;
    return { signaled: !random.oneIn(3), fence: random.oneIn(8), solicited: random.oneIn(2) };
  }

  #source(payload: Uint8Array): Pick<SendRequest, 'inline' | 'sges'> {
    if (payload.length <= INLINE_MAX && this.#random.oneIn(3)) return { inline: payload };
    if (payload.length === 0) return { sges: [] };
    const buffer = this.#fixture.createBuffer(payload);
    if (payload.length < 2 || this.#random.oneIn(2)) return { sges: [this.#sge(buffer)] };
    const cut = this.#random.between(1, payload.length - 1);
    return { sges: [this.#sge(buffer, 0, cut), this.#sge(buffer, cut)] };
  }

  #sge(
    buffer: Buffer,
    offset = 0,
    length = buffer.lengthBytes - offset,
  ): { address: number; length: number; lkey: number } {
    return { address: buffer.address + offset, length, lkey: this.#lkey };
  }

  #length(largest: number): number {
    return this.#random.oneIn(10)
      ? 0
      : this.#random.between(1, this.#random.oneIn(3) ? largest : Math.min(largest, 300));
  }
}
