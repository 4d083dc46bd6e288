// SPDX-License-Identifier: Apache-2.0
/**
 * A send queue of the mlx5 layout in guest memory, with a loader of requests, for tests of requests
 * without a transport. Pieces of requests are functions that write them.
 */
import {
  decodeSendCommand,
  newSendCommand,
  type SendCommand,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, FaultObject, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { encodeAddressVector, newAddressVector } from '../../../../protocol/mlx5/gen/address-vector.gen.ts';
import { encodeAtomicSeg } from '../../../../protocol/mlx5/gen/atomic-seg.gen.ts';
import { encodeCtrlSeg, newCtrlSeg, setCtrlSegDs } from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import { encodeDataSeg } from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import { encodeRemoteAddressSeg } from '../../../../protocol/mlx5/gen/remote-address-seg.gen.ts';
import { CompletionMode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { encodeXrcSeg } from '../../../../protocol/mlx5/gen/xrc-seg.gen.ts';
import { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { PageList } from '../../../personality/mlx5/memory/page-list.ts';
import { QUEUE_KEY, QueueMemory, SendCounter } from '../../../personality/mlx5/memory/queue-memory.ts';
import { SendPlace, SendQueue } from '../../../personality/mlx5/queues/send-queue.ts';
import { SendRequests } from '../../../personality/mlx5/queues/send-requests.ts';
import { AddressVectors } from '../../../personality/shared/address-vectors.ts';
import { COUNTER_MASK } from '../../../personality/shared/receive-queue.ts';
import { Mlx5Driver } from './mlx5-driver.ts';

export const BLOCKS = 32;
export const BLOCK_BYTES = 64;
/**
 * Bytes of the receive queue before the ring, chosen so that the ring crosses a page within a
 * block.
 */
const OFFSET = 0xf90;
export const PAGE_BYTES = 4096;
export const UNIT = 16;
export const QPN = 0x12345;
export const PD = 3;
export const PORT = 1;
export const DATA = { inline: 0, byteCount: 100, lkey: 0x700, address: 0x1_2345_6789 };
export const LONGEST = 2 ** 31;

/** The part of a test that is used here. */
interface Failing {
  fail(text: string): unknown;
}

/** Writes a piece at an offset of a request, and returns the offset behind it. */
export type RequestPiece = (view: DataView, at: number) => number;

/** A piece that names memory by a key. */
export const data =
  (given: Partial<typeof DATA> = {}): RequestPiece =>
  (view, at) => {
    encodeDataSeg(view, at, { ...DATA, ...given });
    return at + UNIT;
  };

/** Data in the request. `byteCount`: value in the piece, in place of the length of its data. */
export const inline =
  (bytes: Uint8Array, byteCount = bytes.length): RequestPiece =>
  (view, at) => {
    view.setUint32(at, (LONGEST + byteCount) >>> 0);
    new Uint8Array(view.buffer).set(bytes, at + 4);
    return Math.ceil((at + 4 + bytes.length) / UNIT) * UNIT;
  };

/** Memory of the other end. */
export const remote: RequestPiece = (view, at) => {
  encodeRemoteAddressSeg(view, at, { address: 0x7_0000_1000, rkey: 0xabc00 });
  return at + UNIT;
};

/** The operands of an atomic. */
export const atomic: RequestPiece = (view, at) => {
  encodeAtomicSeg(view, at, { swapOrAdd: 0x1_0000_0002, compare: 0x3_0000_0004 });
  return at + UNIT;
};

/** The shared receive queue of the other end. */
export const xrc: RequestPiece = (view, at) => {
  encodeXrcSeg(view, at, { xrcSrqn: 0x4321 });
  return at + UNIT;
};

/** The destination of a datagram. */
export const vector =
  (given: Partial<ReturnType<typeof newAddressVector>> = {}): RequestPiece =>
  (view, at) => {
    encodeAddressVector(view, at, {
      ...newAddressVector(),
      extended: 1,
      remoteQpn: 0x777,
      qkey: 0x9abc_def0,
      ...given,
    });
    for (let index = 0; index < 16; index++) view.setUint8(at + 0x20 + index, 0xa0 + index);
    return at + 0x30;
  };

/** Bytes that all differ. */
export function pattern(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index * 7 + 1);
}

/**
 * A send queue in guest memory, the loader of its requests, and the command that the loader fills.
 */
export class SendFixture {
  readonly buffer = new PhysicalCollectBuffer(0);
  readonly vectors = new AddressVectors(1);
  readonly queue: SendQueue;
  readonly qp: QueuePair;
  readonly driver = new Mlx5Driver();
  /** Pages in disorder, and the address of the doorbell record. */
  readonly pages: readonly number[];
  readonly #record: number;
  readonly #requests: SendRequests;
  #next = 0;

  constructor(serviceType: ServiceType = ServiceType.RC, blocks = BLOCKS) {
    const { driver } = this;
    driver.start();
    const start = driver.allocate(3 * PAGE_BYTES);
    this.pages = [start + 2 * PAGE_BYTES, start];
    this.#record = driver.allocate(8, 8);
    const { underlying } = driver.device.hca;
    const connected = serviceType !== ServiceType.UD;
    this.qp = {
      ...{ number: QPN, faultObject: FaultObject.QP, serviceType, owner: underlying, nextSequence: 0, connected },
      ...{ pd: { number: PD }, attributes: { port: PORT } },
    } as unknown as QueuePair;
    const memory = new QueueMemory(underlying.dma, new PageList(Float64Array.from(this.pages), PAGE_BYTES));
    const place = new SendPlace(memory, OFFSET, blocks);
    this.queue = new SendQueue(this.qp, place, new SendCounter(underlying.dma, this.#record));
    this.#requests = new SendRequests(this.vectors, underlying.dma);
  }

  /** Appends a request; returns its bytes. `ds`: a length in place of its own. */
  write(opcode: number, pieces: readonly RequestPiece[], head: object = {}, ds?: number): number {
    const bytes = new Uint8Array(2048);
    const view = new DataView(bytes.buffer);
    let at = UNIT;
    for (const piece of pieces) at = piece(view, at);
    encodeCtrlSeg(view, 0, { ...newCtrlSeg(), opcode, completion: CompletionMode.ALWAYS, ...head, ds: at / UNIT });
    if (ds !== undefined) setCtrlSegDs(view, 0, ds);
    for (let index = 0; index < at; index++) this.byteAt(this.#next * BLOCK_BYTES + index).setUint8(0, bytes[index]);
    this.#next += Math.ceil(at / BLOCK_BYTES);
    return at;
  }

  /** Sets the state after this many requests of one block were taken. */
  begin(count: number): number {
    this.#next = count;
    this.queue.posted = count;
    this.qp.nextSequence = count;
    this.queue.place.setCounter(count, count);
    return count;
  }

  /** A byte of the ring, by its offset. */
  byteAt(offset: number): DataView {
    const at = OFFSET + (offset % (this.queue.place.blocks * BLOCK_BYTES));
    return this.driver.memory.view(this.pages[Math.floor(at / PAGE_BYTES)] + (at % PAGE_BYTES), 1);
  }

  /** Rings the doorbell for all written requests, or for `posted` blocks. */
  ring(posted = this.#next): boolean {
    this.driver.memory.view(this.#record, 8).setUint32(4, posted & COUNTER_MASK);
    return this.queue.ring();
  }

  load(): SendCommand {
    this.#requests.load(this.queue, this.qp.nextSequence, this.buffer);
    this.qp.nextSequence = (this.qp.nextSequence + 1) & COUNTER_MASK;
    return decodeSendCommand(this.buffer.view, 0, newSendCommand());
  }

  /** Writes, rings for and loads a valid request. */
  take(t: Failing, opcode: number, pieces: readonly RequestPiece[], head: object = {}): SendCommand {
    this.write(opcode, pieces, head);
    if (!this.ring()) t.fail('the doorbell names nothing new');
    const command = this.load();
    if (this.buffer.fault !== FaultKind.NONE) t.fail(`the request has fault ${this.buffer.fault}`);
    return command;
  }

  /** The bytes that the elements of the command name, which lie in the queue. */
  gathered(t: Failing, count: number): number[] {
    const { view } = this.buffer;
    return Array.from({ length: count }, (_, index) => {
      const at = BLOCK_BYTES + index * UNIT;
      if (view.getUint32(at + 12, true) !== QUEUE_KEY) t.fail('an element has another key than that of queues');
      const address = Number(view.getBigUint64(at, true));
      const piece = this.driver.memory.view(address, view.getUint32(at + 8, true));
      return [...new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength)];
    }).flat();
  }
}
