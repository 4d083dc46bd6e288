// SPDX-License-Identifier: Apache-2.0
/** Draws the operations of one end of a connection, and knows what its atomics must find. */
import { MwKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../../hosts/in-process/driver/send-request.ts';
import type { Random } from '../../random.ts';
import type { AdapterFixture, Buffer } from '../../test-support/adapter-fixture.ts';
import { type ExposedMemory, SLOTS } from './exposed-memory.ts';
import type { FastKey } from './fast-key.ts';
import { findDifference } from './find-difference.ts';
import { type AtomicStep, type Operation, plain } from './operation.ts';
import type { WindowKey } from './window-key.ts';

const INLINE_MAX = 200;
const CELL_BYTES = 8;

/** The memory and the keys that the other end of the connection gives away. */
export interface RemoteTargets {
  readonly memory: ExposedMemory;
  readonly window: WindowKey;
  readonly fastKey: FastKey;
}

export class OperationSource {
  readonly #fixture: AdapterFixture;
  readonly #random: Random;
  readonly #other: RemoteTargets;
  readonly #largest: number;
  readonly #lkey: number;
  /** What each cell of the other end may hold now: the step known to have been executed last, then those posted since. */
  readonly #steps: readonly [AtomicStep[], AtomicStep[]];

  constructor(fixture: AdapterFixture, random: Random, other: RemoteTargets, largest: number) {
    this.#fixture = fixture;
    this.#random = random;
    this.#other = other;
    this.#largest = largest;
    this.#lkey = fixture.region.lkey;
    const first = (cell: 0 | 1): AtomicStep => ({ cell, after: other.memory.cellValue(cell) });
    this.#steps = [[first(0)], [first(1)]];
  }

  /** Atomics are executed in order: those before this one are past. */
  noteAtomic(step: AtomicStep): void {
    const steps = this.#steps[step.cell];
    steps.splice(0, steps.indexOf(step));
  }

  /** A sentence about a cell that holds what it cannot hold. */
  findWrongCell(): string | undefined {
    const wrong = ([0, 1] as const).find((cell) => {
      const value = this.#other.memory.cellValue(cell);
      return !this.#steps[cell].some(({ after }) => after === value);
    });
    return wrong === undefined ? undefined : `cell ${wrong} holds ${this.#other.memory.cellValue(wrong)}`;
  }

  draw(): Operation {
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
    if (fastKey.isInvalidated || !this.#random.oneIn(6)) return this.#drawSwap();
    fastKey.isInvalidated = true;
    return this.#drawInvalidation(fastKey.key);
  }

  /** Takes a key of the other end away, when every READ with it is over: a repeated one would find it gone. */
  #drawInvalidation(immediate: number): Operation {
    const payload = this.#random.bytes(this.#length(this.#largest));
    const options = { ...this.#options(), fence: true };
    const request = { ...options, ...this.#source(payload), opcode: SendOpcode.SEND_INVALIDATE, immediate };
    return { ...plain('SEND+INV'), request, payload, invalidates: immediate };
  }

  /** Memory to write to or to read from: through the window, when it is there, now and then. */
  #target(): ExposedMemory {
    const { memory, window } = this.#other;
    return window.isBound && this.#random.oneIn(3) ? window.memory : memory;
  }

  /** Something the other end refuses. */
  drawBad(): Operation {
    const bytes = this.#random.bytes(16);
    const local = this.#fixture.createBuffer(bytes);
    const opcode = this.#random.pick([SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]);
    const { fastKey, window, memory } = this.#other;
    const stale = window.mayBind
      ? { address: window.memory.address, rkey: window.memory.rkey }
      : { address: fastKey.address, rkey: fastKey.key };
    if ((window.mayBind || fastKey.isInvalidated) && this.#random.oneIn(2))
      return { ...plain('stale key'), request: { opcode, remote: stale, sges: [this.#sge(local)] }, bad: true };
    const wrong = this.#random.oneIn(2)
      ? { address: memory.slotAddress(0), rkey: memory.rkey ^ 1 }
      : { address: memory.endAddress() - 8, rkey: memory.rkey };
    return { ...plain('bad'), request: { opcode, remote: wrong, sges: [this.#sge(local)] }, bad: true };
  }

  drawSend(largest = this.#largest): Operation {
    const random = this.#random;
    const payload = random.bytes(this.#length(largest));
    const immediate = random.oneIn(2) ? random.next() : undefined;
    const more = { ...this.#options(), ...(immediate === undefined ? {} : { immediate }) };
    return { ...plain('SEND'), request: { ...more, ...this.#source(payload) }, payload, immediate };
  }

  #drawWrite(withImmediate: boolean): Operation {
    const random = this.#random;
    const target = this.#target();
    const slot = random.below(SLOTS);
    const content = random.bytes(this.#length(Math.min(this.#largest, target.slotBytes)));
    const write = target.post(slot, content);
    const remote = { address: target.slotAddress(slot), rkey: target.rkey };
    const request = { ...this.#options(), remote, ...this.#source(content) };
    if (!withImmediate) return { ...plain('WRITE'), request: { ...request, opcode: SendOpcode.RDMA_WRITE }, write };
    const immediate = random.next();
    const opcode = SendOpcode.RDMA_WRITE_IMMEDIATE;
    // What arrives with the immediate data is its length alone.
    return { ...plain('WRITE+IMM'), request: { ...request, opcode, immediate }, write, immediate, payload: content };
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
    return { ...plain('READ'), request: { ...this.#options(), opcode: SendOpcode.RDMA_READ, remote, sges }, check };
  }

  #drawAdd(): Operation {
    const swapOrAdd = BigInt(1 + this.#random.below(1000));
    return this.#atomic('ADD', SendOpcode.FETCH_ADD, 0, { swapOrAdd }, (found) => found + swapOrAdd);
  }

  /** Some compare with a value that is not there. */
  #drawSwap(): Operation {
    const found = this.#latest(1);
    const matches = !this.#random.oneIn(4);
    const swapOrAdd = BigInt(this.#random.next());
    const compare = matches ? found : found ^ 0x8000_0000_0000_0000n;
    const operands = { swapOrAdd, compare };
    return this.#atomic('SWAP', SendOpcode.COMPARE_SWAP, 1, operands, () => (matches ? swapOrAdd : found));
  }

  /** What a cell holds when everything posted was executed. */
  #latest(cell: 0 | 1): bigint {
    return (this.#steps[cell].at(-1) as AtomicStep).after;
  }

  /** NOP; `signaled` in any case when that is said. */
  drawNothing(signaled = false): Operation {
    const options = this.#options();
    const request = { ...options, signaled: signaled || options.signaled === true, opcode: SendOpcode.NOP };
    return { ...plain('NOP'), request };
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
    return { ...plain(name), request, atomic, check };
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
