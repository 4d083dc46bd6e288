// SPDX-License-Identifier: Apache-2.0
/**
 * The table of guest memory, over plain native memory: lookup, ranges across regions, access
 * rights, out-of-range numbers, atomics.
 */
import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { PROTECTION } from './constants.ts';
import { GuestMemory } from './guest-memory.ts';
import { allocateNative, type NativeBlock } from './native.ts';

const RW = PROTECTION.read | PROTECTION.write;

function withRegions(
  ...regions: [address: number, sizeBytes: number, protection: number][]
): [GuestMemory, NativeBlock[]] {
  const memory = new GuestMemory();
  const blocks = regions.map(([address, sizeBytes, protection]) => {
    const block = allocateNative(sizeBytes);
    memory.register({ address, sizeBytes, hostAddress: block.address, protection });
    return block;
  });
  return [memory, blocks];
}

t.test('ranges across regions, whatever the order of registration', async (t) => {
  const [memory, [high, low, middle]] = withRegions([0x3000, 0x1000, RW], [0x1000, 0x1000, RW], [0x2000, 0x1000, RW]);
  const data = Uint8Array.from({ length: 0x2800 }, (_, i) => i * 13 + (i >> 7));
  t.ok(memory.at(0x1400).write(data, 0, data.length));
  t.same(low.bytes.subarray(0x400), data.subarray(0, 0xc00));
  t.same(middle.bytes, data.subarray(0xc00, 0x1c00));
  t.same(high.bytes.subarray(0, 0xc00), data.subarray(0x1c00));
  const back = new Uint8Array(0x2810);
  t.ok(memory.at(0x1400).read(back, 16, 0x2800));
  t.same(back.subarray(16), data);
  t.ok(memory.at(0x1ff0).fill(0xee, 32));
  t.same([low.bytes[0xff0], middle.bytes[0xf], middle.bytes[0x10]], [0xee, 0xee, data[0xc10]]);
  t.same(
    memory.regions.map((region) => region.address),
    [0x1000, 0x2000, 0x3000],
  );
});

t.test('words are the bytes in the order of the machine, in one region and across two', async (t) => {
  const [memory, [first, second]] = withRegions(
    [0x1000, 0x1000, RW],
    [0x2000, 0x1000, RW],
    [0x4000, 0x1000, PROTECTION.read],
  );
  const words = Int32Array.from({ length: 64 }, (_, index) => Math.imul(index + 1, 0x9e3779b1));
  const bytes = new Uint8Array(words.buffer);
  for (const address of [0x1000, 0x1100, 0x1fc0, 0x1ff8]) {
    t.ok(memory.at(address).writeWords(words, 8, 64));
    const stored = new Uint8Array(64);
    t.ok(memory.at(address).read(stored, 0, 64));
    t.same(stored, bytes.subarray(8, 72), `at ${address}`);
    const back = new Int32Array(20);
    t.ok(memory.at(address).readWords(back, 16, 64));
    t.same(back, [0, 0, 0, 0, ...words.subarray(2, 18)]);
  }
  t.same(first.bytes.subarray(0xff8), bytes.subarray(8, 16));
  t.same(second.bytes.subarray(0, 56), bytes.subarray(16, 72));
  t.notOk(memory.at(0x4000).writeWords(words, 0, 4), 'read-only');
  t.ok(memory.at(0x4000).readWords(words, 0, 4));
  t.notOk(memory.at(0x3000).readWords(words, 0, 4), 'unmapped');
  t.notOk(memory.at(0x1000).readWords(words, 252, 8), 'beyond the target');
  t.notOk(memory.at(0x1000).writeWords(words, 252, 8), 'beyond the source');
  t.notOk(memory.at(0x2ffc).writeWords(words, 0, 8), 'beyond the region');
});

t.test('an entry of words is stored as a whole or not at all', async (t) => {
  const [memory, [first, second]] = withRegions([0x1000, 0x1000, RW], [0x2000, 0x1000, RW]);
  const words = Int32Array.from({ length: 16 }, (_, index) => -1 - index);
  t.ok(memory.at(0x1fc0).publishWords(words, 64));
  t.same(first.bytes.subarray(0xfc0), new Uint8Array(words.buffer));
  first.bytes.fill(0);
  t.notOk(memory.at(0x1fe0).publishWords(words, 64), 'in two regions');
  t.notOk(memory.at(0x2fe0).publishWords(words, 64), 'beyond the last one');
  t.ok([first, second].every(({ bytes }) => bytes.every((byte) => byte === 0)));
});

t.test('a range that is not completely mapped is not touched', async (t) => {
  const [memory, [first, second]] = withRegions([0x1000, 0x1000, RW], [0x2000, 0x1000, PROTECTION.read]);
  const ones = new Uint8Array(0x2000).fill(1);
  const target = new Uint8Array(0x2000);
  for (const [address, length] of [
    [0xfff, 2],
    [0x2fff, 2],
    [0, 1],
    [0x1000, 0x2001],
    [0x1000, -1],
    [-1, 2],
    [0x1000, Number.NaN],
    [Number.NaN, 4],
    [4096.5, 4],
    [2 ** 53, 4],
    [0x1000, 2 ** 53],
    [2 ** 64, 1],
    [Number.POSITIVE_INFINITY, 1],
    [0x1000, Number.POSITIVE_INFINITY],
  ]) {
    t.notOk(memory.at(address).read(target, 0, length), `read ${length} at ${address}`);
    t.notOk(memory.at(address).write(ones, 0, length), `write ${length} at ${address}`);
  }
  t.notOk(memory.at(0x1ff0).write(ones, 0, 32), 'the second part is read-only');
  t.notOk(memory.at(0x2000).fill(1, 1));
  t.notOk(memory.at(0x1000).read(target, 0x1fff, 2), 'beyond the target');
  t.notOk(memory.at(0x1000).write(ones, -1, 2), 'before the source');
  t.ok(first.bytes.every((byte) => byte === 0) && second.bytes.every((byte) => byte === 0));
  t.ok(memory.at(0x1000).read(target, 0, 0), 'no bytes of mapped memory');
  t.ok(memory.at(0x9999).read(target, 0, 0), 'no bytes of unmapped memory');
});

t.test('words and quads', async (t) => {
  const [memory, [block]] = withRegions([0x1000, 0x1000, RW], [0x2000, 0x1000, PROTECTION.read]);
  t.ok(memory.at(0x1004).writeU32(0xdeadbeef));
  t.equal(memory.at(0x1004).readU32(), 0xdeadbeef);
  t.ok(memory.at(0x1008).writeU64(0xffffffff, 0x7ff80001), 'a pattern that would be a NaN');
  t.same(block.bytes.subarray(8, 16), Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0xf8, 0x7f));
  const pair = new Uint32Array(4);
  t.ok(memory.at(0x1008).readU64(pair, 1));
  t.same([...pair], [0, 0xffffffff, 0x7ff80001, 0]);
  t.equal(memory.at(0x1004).compareExchangeU32(1, 2), 0xdeadbeef);
  t.equal(memory.at(0x1004).readU32(), 0xdeadbeef);
  t.equal(memory.at(0x1004).compareExchangeU32(0xdeadbeef, 2), 0xdeadbeef);
  t.equal(memory.at(0x1004).readU32(), 2);
  t.equal(memory.at(0x1010).compareExchangeU64(0n, 2n ** 64n - 1n), 0n);
  t.equal(memory.at(0x1010).fetchAddU64(2n), 2n ** 64n - 1n);
  t.equal(memory.at(0x1010).fetchAddU64(0n), 1n, 'modulo 2^64');
  t.same(
    [
      memory.at(0x1002).readU32(),
      memory.at(0x3000).readU32(),
      memory.at(-4).readU32(),
      memory.at(Number.NaN).readU32(),
    ],
    [-1, -1, -1, -1],
  );
  t.notOk(memory.at(0x2000).writeU32(1) || memory.at(0x2000).writeU64(1, 1) || memory.at(0x1004).writeU64(1, 1));
  t.notOk(memory.at(0x1008).readU64(pair, 3), 'no room in the target');
  t.equal(memory.at(0x2000).compareExchangeU32(0, 1), -1);
  t.same([memory.at(0x2000).compareExchangeU64(0n, 1n), memory.at(0x1004).fetchAddU64(1n)], [undefined, undefined]);
});

t.test('an unregistered region is inaccessible at once', async (t) => {
  const [memory] = withRegions([0x1000, 0x1000, RW], [0x4000, 0x1000, RW]);
  t.ok(memory.at(0x1000).writeU32(1));
  t.notOk(memory.unregister(0x1000, 0x800), 'only whole regions can be unregistered');
  t.ok(memory.unregister(0x1000, 0x1000));
  t.notOk(memory.unregister(0x1000, 0x1000));
  t.equal(memory.at(0x1000).readU32(), -1);
  t.ok(memory.at(0x4ffc).writeU32(1));
  t.ok(memory.at(0x4000).covers(0x1000, true));
});

t.test('aligned words are transferred as a whole, in both directions', async (t) => {
  const [memory, [block]] = withRegions([0x1000, 0x1000, RW]);
  // The worker writes word 0 and reads word 2. Both alternate between values that differ in two
  // bytes.
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads');
     const words = new Int32Array(require('koffi').view(workerData, 16));
     let torn = 0;
     parentPort.postMessage('ready');
     for (let round = 0; round < 40_000_000; round++) {
       Atomics.store(words, 0, round & 1 ? 0x1ff : 0x200);
       const seen = Atomics.load(words, 2);
       if (seen !== 0x1ff && seen !== 0x200 && seen !== 0) torn++;
     }
     Atomics.store(words, 3, 1);
     parentPort.postMessage(torn);`,
    { eval: true, workerData: block.address, execArgv: [] },
  );
  const messages = on(worker, 'message');
  await messages.next();
  const record = new Uint8Array(8);
  const ours = [0x1ff, 0x200].map((value) => new Uint8Array(Uint32Array.of(value, 0).buffer));
  let torn = 0;
  for (let round = 0; memory.at(0x100c).readU32() === 0; round++) {
    memory.at(0x1000).read(record, 0, 8);
    const seen = record[0] | (record[1] << 8);
    if (seen !== 0x1ff && seen !== 0x200 && seen !== 0) torn++;
    memory.at(0x1008).write(ours[round & 1], 0, 4);
  }
  t.equal(torn, 0, 'values read that the worker did not write');
  t.equal((await messages.next()).value[0], 0, 'values that the worker read but the test did not write');
  await worker.terminate();
});
