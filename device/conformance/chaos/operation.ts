// SPDX-License-Identifier: Apache-2.0
/** One send request of a chaos run: what was posted, and how to tell from its completion and from memory that it did what it should. */
import { CompletionStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../../hosts/in-process/driver/send-request.ts';
import type { Random } from '../../hosts/in-process/random.ts';
import type { Bench, Buffer } from '../bench.ts';
import { type ExposedMemory, type PostedWrite, SLOTS } from './exposed-memory.ts';
import type { FastKey } from './fast-key.ts';

const INLINE_MAX = 200;
const CELL_BYTES = 8;

export interface Operation {
  readonly name: string;
  readonly request: SendRequest;
  /** Consumes a receive entry of the other end. */
  readonly payload: Uint8Array | undefined;
  readonly immediate: number | undefined;
  /** R_Key that its receiver loses. */
  readonly invalidates: number | undefined;
  /** It is made so that the other end must refuse it. */
  readonly bad: boolean;
  readonly write: PostedWrite | undefined;
  /** Says what is wrong once it has succeeded. */
  check(): string | undefined;
}

/** Draws operations of a reliable connection; one per end, as it knows what its atomics must find. */
export class OperationSource {
  readonly #bench: Bench;
  readonly #random: Random;
  readonly #target: ExposedMemory;
  readonly #fastKey: FastKey;
  readonly #largest: number;
  readonly #lkey: number;
  /** What the counter and the swapped cell hold when every atomic posted so far was executed. */
  counter = 0n;
  cell = 0n;

  constructor(bench: Bench, random: Random, target: ExposedMemory, fastKey: FastKey, largest: number) {
    this.#bench = bench;
    this.#random = random;
    this.#target = target;
    this.#fastKey = fastKey;
    this.#largest = largest;
    this.#lkey = bench.region.lkey;
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
    return this.#random.oneIn(6) && !this.#fastKey.isInvalidated ? this.#drawInvalidation() : this.#drawSwap();
  }

  /** Takes the other end's key away. */
  #drawInvalidation(): Operation {
    this.#fastKey.isInvalidated = true;
    const { key: immediate } = this.#fastKey;
    const payload = this.#random.bytes(this.#length(this.#largest));
    const request = { ...this.#options(), ...this.#source(payload), opcode: SendOpcode.SEND_INVALIDATE, immediate };
    return { ...plain('SEND+INV'), request, payload, invalidates: immediate };
  }

  /** Something the other end refuses. */
  drawBad(): Operation {
    const bytes = this.#random.bytes(16);
    const local = this.#bench.createBuffer(bytes);
    const opcode = this.#random.pick([SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]);
    const { key, address, isInvalidated } = this.#fastKey;
    const stale = { address, rkey: key };
    if (isInvalidated && this.#random.oneIn(2))
      return { ...plain('stale key'), request: { opcode, remote: stale, sges: [this.#sge(local)] }, bad: true };
    const wrong = this.#random.oneIn(2)
      ? { address: this.#target.slotAddress(0), rkey: this.#target.region.rkey ^ 1 }
      : { address: this.#target.endAddress() - 8, rkey: this.#target.region.rkey };
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
    const slot = random.below(SLOTS);
    const content = random.bytes(this.#length(Math.min(this.#largest, this.#target.slotBytes)));
    const write = this.#target.post(slot, content);
    const remote = { address: this.#target.slotAddress(slot), rkey: this.#target.region.rkey };
    const request = { ...this.#options(), remote, ...this.#source(content) };
    if (!withImmediate) return { ...plain('WRITE'), request: { ...request, opcode: SendOpcode.RDMA_WRITE }, write };
    const immediate = random.next();
    const opcode = SendOpcode.RDMA_WRITE_IMMEDIATE;
    // What arrives with the immediate data is its length alone.
    return { ...plain('WRITE+IMM'), request: { ...request, opcode, immediate }, write, immediate, payload: content };
  }

  #drawRead(): Operation {
    const length = this.#length(Math.min(this.#largest, this.#target.slotBytes));
    const offset = this.#random.below(this.#target.slotBytes - length + 1);
    const local = this.#bench.createBuffer(length);
    const remote = { address: this.#target.constantAddress + offset, rkey: this.#target.region.rkey };
    const sges = length === 0 ? [] : [this.#sge(local)];
    const expected = this.#target.constant(offset, length);
    const check = (): string | undefined =>
      local.bytes.every((byte, index) => byte === expected[index]) ? undefined : 'READ brought wrong bytes';
    return { ...plain('READ'), request: { ...this.#options(), opcode: SendOpcode.RDMA_READ, remote, sges }, check };
  }

  #drawAdd(): Operation {
    const found = this.counter;
    const swapOrAdd = BigInt(1 + this.#random.below(1000));
    this.counter += swapOrAdd;
    return this.#atomic('ADD', SendOpcode.FETCH_ADD, 0, { swapOrAdd }, found);
  }

  /** Some compare with a value that is not there. */
  #drawSwap(): Operation {
    const found = this.cell;
    const matches = !this.#random.oneIn(4);
    const swapOrAdd = BigInt(this.#random.next());
    if (matches) this.cell = swapOrAdd;
    const compare = matches ? found : found ^ 0x8000_0000_0000_0000n;
    return this.#atomic('SWAP', SendOpcode.COMPARE_SWAP, 1, { swapOrAdd, compare }, found);
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
    atomic: SendRequest['atomic'] & object,
    found: bigint,
  ): Operation {
    const local = this.#bench.createBuffer(CELL_BYTES);
    const remote = { address: this.#target.cellAddress(cell), rkey: this.#target.region.rkey };
    const check = (): string | undefined => {
      const value = new DataView(local.bytes.buffer, local.bytes.byteOffset, CELL_BYTES).getBigUint64(0, true);
      return value === found ? undefined : `${name} found ${value}, not ${found}`;
    };
    return { ...plain(name), request: { ...this.#options(), opcode, remote, atomic, sges: [this.#sge(local)] }, check };
  }

  #options(): SendRequest {
    const random = this.#random;
    return { signaled: !random.oneIn(3), fence: random.oneIn(8), solicited: random.oneIn(2) };
  }

  #source(payload: Uint8Array): Pick<SendRequest, 'inline' | 'sges'> {
    if (payload.length <= INLINE_MAX && this.#random.oneIn(3)) return { inline: payload };
    if (payload.length === 0) return { sges: [] };
    const buffer = this.#bench.createBuffer(payload);
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

export function plain(name: string): Operation {
  return {
    name,
    request: {},
    payload: undefined,
    immediate: undefined,
    invalidates: undefined,
    bad: false,
    write: undefined,
    check: () => undefined,
  };
}

/** Statuses a send of a connection may fail with when the other end or the wire is to blame. */
export const REMOTE_FAILURES: readonly number[] = [
  CompletionStatus.REMOTE_ACCESS_ERROR,
  CompletionStatus.REMOTE_INVALID_REQUEST_ERROR,
  CompletionStatus.REMOTE_OPERATION_ERROR,
];
