// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of a send queue: each is read as software has written it, wherever it lies in the ring
 * and in the pages, with few reads of guest memory, and none of what is not posted.
 */
import t from 'tap';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { SEND_BLOCK_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { Random } from '../../../random.ts';
import { seedsOf } from '../../../rig/fixtures/seeds.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import { Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { COUNTER_MASK } from '../../shared/receive-queue.ts';
import { RequestBlock } from '../../shared/request-block.ts';
import { PageList } from '../memory/page-list.ts';
import { QueueMemory } from '../memory/queue-memory.ts';
import { SendPlace, SendQueue } from './send-queue.ts';

const PAGE_BYTES = 4096;
const UNIT_BYTES = 16;
const UNITS_MAX = 63;
const LENGTH_AT = 7;

/** A queue in pages that lie in disorder, and software that posts to it. */
class PostedQueue {
  readonly driver = new Mlx5Driver();
  readonly pages: number[];
  readonly queue: SendQueue;
  /** Reads of guest memory so far. */
  reads = 0;
  readonly #qp: { nextSequence: number };
  readonly #offset: number;
  readonly #blocks: number;
  /** The record; undefined: it cannot be read. */
  counter: number | undefined = 0;
  #posted = 0;

  /** `blocks`: a power of two. `offset`: of the first block in the pages. */
  constructor(blocks: number, offset: number) {
    const { driver } = this;
    const { underlying } = driver.device;
    const { dma } = underlying;
    const count = Math.ceil((offset + blocks * SEND_BLOCK_BYTES) / PAGE_BYTES);
    this.pages = Array.from({ length: count }, () => driver.allocate(2 * PAGE_BYTES)).reverse();
    this.#offset = offset;
    this.#blocks = blocks;
    const { faultObject } = driver.device.commands.context;
    const qp = { number: 5, owner: underlying, faultObject, nextSequence: 0 };
    this.#qp = qp;
    const memory = new QueueMemory(dma, new PageList(Float64Array.from(this.pages), PAGE_BYTES));
    const place = new SendPlace(memory, offset, blocks);
    this.queue = new SendQueue(qp as unknown as QueuePair, place, {
      read: () => this.counter,
    });
    const readBlock = dma.readBlock.bind(dma);
    dma.readBlock = (...parts) => {
      this.reads++;
      return readBlock(...parts);
    };
  }

  /** Blocks that are free. */
  get room(): number {
    return this.#blocks - ((this.#posted - this.queue.nextBlock) & COUNTER_MASK);
  }

  /** Number of the request that is taken next. */
  get nextSequence(): number {
    return this.#qp.nextSequence;
  }

  /** Guest address of a byte behind the first block of the ring. */
  addressOf(at: number): number {
    const offset = this.#offset + (at % (this.#blocks * SEND_BLOCK_BYTES));
    return this.pages[Math.floor(offset / PAGE_BYTES)] + (offset % PAGE_BYTES);
  }

  /** Writes a request without ringing. */
  write(request: Uint8Array): void {
    const { memory } = this.driver;
    const first = this.#posted * SEND_BLOCK_BYTES;
    for (const [at, byte] of request.entries()) memory.view(this.addressOf(first + at), 1).setUint8(0, byte);
    this.#posted = (this.#posted + Math.ceil(request.length / SEND_BLOCK_BYTES)) & COUNTER_MASK;
    this.counter = this.#posted;
  }

  /** A reset of the QP: both sides begin anew. */
  reset(): void {
    this.queue.reset();
    this.#qp.nextSequence = 0;
    this.#posted = 0;
  }

  /** The next request as the device reads it; undefined with the fault in the queue. */
  take(): Uint8Array | undefined {
    const block = new RequestBlock();
    const length = this.queue.take(this.#qp.nextSequence, block);
    this.#qp.nextSequence = (this.#qp.nextSequence + 1) & COUNTER_MASK;
    return length === 0 ? undefined : block.bytes.slice(0, length);
  }

  /** Request `number`, which was taken, as the device reads it again. */
  again(number: number): Uint8Array | undefined {
    const block = new RequestBlock();
    const length = this.queue.read(number, block);
    return length === 0 ? undefined : block.bytes.slice(0, length);
  }
}

/** A request of so many units of 16 bytes, whose other bytes are those of `random`. */
function requestOf(units: number, random = new Random(1)): Uint8Array {
  const request = Uint8Array.from({ length: units * UNIT_BYTES }, () => random.below(256));
  request[LENGTH_AT] = units;
  return request;
}

for (const seed of seedsOf(4, 100)) {
  t.test(`requests are read as they were written, seed ${seed}`, async (t) => {
    const random = new Random(seed);
    const posted = new PostedQueue(2 ** random.between(4, 8), random.below(300) * UNIT_BYTES);
    const wanted: Uint8Array[] = [];
    for (let act = 0; act < 300; act++) {
      const units = random.oneIn(4) ? random.between(1, UNITS_MAX) : random.between(1, 9);
      if (Math.ceil((units * UNIT_BYTES) / SEND_BLOCK_BYTES) <= posted.room && !random.oneIn(3)) {
        wanted.push(requestOf(units, random));
        posted.write(wanted[wanted.length - 1]);
        continue;
      }
      posted.queue.ring();
      for (let left = random.below(wanted.length + 1); left > 0; left--) {
        const found = posted.take();
        const request = wanted.shift() as Uint8Array;
        if (found === undefined || Buffer.compare(found, request) !== 0)
          t.fail(`seed ${seed}, act ${act}: a request of ${request.length} bytes`);
      }
    }
    t.ok(posted.reads > 0, `seed ${seed}`);
  });
}

t.test('a doorbell counts what is posted anew, and ignores a counter that cannot be', async (t) => {
  const posted = new PostedQueue(4, 0);
  const { queue } = posted;
  const state = () => [queue.posted, queue.waitingBlocks, queue.isWaiting];
  t.notOk(queue.ring(), 'nothing is posted');
  posted.write(requestOf(5));
  t.ok(queue.ring());
  t.notOk(queue.ring(), 'nothing new');
  t.same(state(), [2, 2, true]);
  posted.counter = undefined;
  t.notOk(queue.ring(), 'the record cannot be read');
  for (const wrong of [5, 0xffff]) {
    posted.counter = wrong;
    t.notOk(queue.ring(), `${wrong} blocks`);
  }
  t.same(state(), [2, 2, true]);
  posted.counter = 4;
  t.ok(queue.ring(), 'as many as the ring has');
  t.same(state(), [4, 4, true]);
  t.same(posted.take(), requestOf(5));
  t.same([...state(), queue.counterOf(0), queue.counterOf(1)], [4, 2, true, 0, 2]);
});

t.test('a queue that is reset has nothing posted, and begins with block 0', async (t) => {
  const posted = new PostedQueue(4, 0);
  for (const units of [4, 8]) posted.write(requestOf(units));
  posted.queue.ring();
  for (const units of [4, 8]) t.same(posted.take(), requestOf(units));
  posted.reset();
  t.same([posted.queue.posted, posted.queue.nextBlock, posted.queue.isWaiting], [0, 0, false]);
  posted.write(requestOf(3));
  t.ok(posted.queue.ring());
  t.same(posted.take(), requestOf(3));
});

t.test('a request is compared with what was announced, when it is one', async (t) => {
  const posted = new PostedQueue(8, 0);
  const taken: unknown[] = [];
  const take = (_kind: string, _qp: unknown, block: number, _bytes: unknown, length: number) =>
    void taken.push([block, length]);
  Object.assign(posted.driver.device.underlying, { announced: { take } });
  for (const units of [5, 2]) posted.write(requestOf(units));
  posted.write(new Uint8Array(UNIT_BYTES));
  posted.queue.ring();
  t.same([posted.take(), posted.take()], [requestOf(5), requestOf(2)]);
  t.same(taken.splice(0), [
    [0, 64],
    [1, 16],
    [2, 32],
  ]);
  t.same([posted.take(), taken], [undefined, []], 'one without a length');
});

t.test('a request that is read again has become no longer', async (t) => {
  const posted = new PostedQueue(8, 0);
  for (const units of [8, 5, 4]) posted.write(requestOf(units));
  posted.queue.ring();
  for (const units of [8, 5, 4]) t.same(posted.take(), requestOf(units));
  const setLength = (units: number): void =>
    posted.driver.memory.view(posted.addressOf(2 * SEND_BLOCK_BYTES + LENGTH_AT), 1).setUint8(0, units);
  for (const [units, isRead] of [
    [5, true],
    [8, true],
    [9, false],
    [0, false],
    [1, true],
  ] as const) {
    setLength(units);
    t.equal(posted.again(1)?.length, isRead ? units * UNIT_BYTES : undefined, `${units} units`);
    t.equal(posted.queue.fault, isRead ? FaultKind.NONE : FaultKind.COMMAND_LENGTH, `${units} units`);
  }
  t.same([posted.again(0), posted.again(2)], [requestOf(8), requestOf(4)], 'those beside it');
});

t.test('a block that cannot be read fails its request, wherever it lies', async (t) => {
  // The last block of the ring lies in a page of its own, and the first one in the first page.
  const posted = new PostedQueue(128, SEND_BLOCK_BYTES);
  for (let block = 0; block < 126; block += 14) {
    posted.write(requestOf(56));
    posted.queue.ring();
    t.same(posted.take(), requestOf(56));
  }
  posted.write(requestOf(12));
  posted.queue.ring();
  const { nextSequence } = posted;
  posted.driver.memory.protect(posted.pages[2], PAGE_BYTES, PageAccess.UNMAPPED);
  t.same([posted.take(), posted.queue.fault], [undefined, FaultKind.DMA_READ]);
  t.same([posted.again(nextSequence), posted.queue.fault], [undefined, FaultKind.DMA_READ]);
  posted.driver.memory.protect(posted.pages[2], PAGE_BYTES, PageAccess.READ_WRITE);
  t.same(posted.again(nextSequence), requestOf(12));
});

t.test('requests of one length are read at once, when two blocks hold them', async (t) => {
  for (const [units, reads] of [
    [3, 1],
    [4, 1],
    [5, 1],
    [8, 1],
    [9, 2],
    [40, 2],
  ]) {
    const posted = new PostedQueue(32, 0);
    for (let number = 0; number < 3; number++) {
      posted.write(requestOf(units));
      posted.queue.ring();
      posted.reads = 0;
      t.same(posted.take(), requestOf(units), `${units} units, request ${number}`);
    }
    t.equal(posted.reads, reads, `${units} units`);
  }
  const full = new PostedQueue(4, 0);
  for (const units of [8, 8]) full.write(requestOf(units));
  full.queue.ring();
  for (const reads of [2, 3]) t.same([full.take(), full.reads], [requestOf(8), reads], 'up to the end of the ring');
});

t.test('a block is read ahead only when it is posted, behind the other in the ring and in its page', async (t) => {
  const dmaOf = (posted: PostedQueue) => posted.driver.device.underlying.dma;
  const bytesRead = (posted: PostedQueue, units: number): number => {
    const before = dmaOf(posted).bytesRead;
    t.same(posted.take(), requestOf(units), `${units} units`);
    return dmaOf(posted).bytesRead - before;
  };
  // One request of two blocks lets the device expect two.
  const write = (posted: PostedQueue, ...list: readonly number[]): void => {
    for (const units of list) posted.write(requestOf(units));
    posted.queue.ring();
  };
  const short = new PostedQueue(16, 0);
  write(short, 4, 4, 4);
  bytesRead(short, 4);
  t.equal(bytesRead(short, 4), 64, 'as many as the last one had');
  const last = new PostedQueue(16, 0);
  write(last, 8, 3);
  bytesRead(last, 8);
  t.equal(bytesRead(last, 3), 64, 'nothing else is posted');
  const end = new PostedQueue(4, 0);
  write(end, 4, 8, 4);
  bytesRead(end, 4);
  bytesRead(end, 8);
  write(end, 4, 4);
  t.equal(bytesRead(end, 4), 64, 'the last block of the ring');
  for (const reads of [true, false]) {
    const posted = new PostedQueue(128, 0);
    write(posted, 4, ...Array.from({ length: 31 }, () => 8), reads ? 4 : 8, 4);
    bytesRead(posted, 4);
    for (let number = 0; number < 31; number++) bytesRead(posted, 8);
    posted.driver.memory.protect(posted.pages[1], PAGE_BYTES, PageAccess.UNMAPPED);
    // What is expected of the page behind is no reason to fail.
    t.same(posted.take(), reads ? requestOf(4) : undefined, reads ? 'the last block of a page' : 'the next page');
    t.equal(posted.queue.fault, reads ? FaultKind.NONE : FaultKind.DMA_READ);
  }
});
