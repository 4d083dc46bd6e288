// SPDX-License-Identifier: Apache-2.0
/** The allocator of device memory against a model: seeded ranges, loads, stores and copies. */
import t from 'tap';
import { DEVICE_MEMORY_GRANULE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import { Random } from '../../random.ts';
import { DeviceMemory } from './device-memory.ts';
import { FaultLog } from './fault-log.ts';
import { LocalTime } from './local-time.ts';

const SIZE = 16 * 1024;
const SEEDS = 16;
const ACTS = 400;
const STORE_SIZES = [1, 2, 4, 8] as const;

interface Range {
  readonly offset: number;
  /** As long as was asked for; its granules may have more bytes. */
  readonly bytes: Uint8Array;
}

function makeBlock(lengthBytes: number): WordBlock {
  const words = new Int32Array(Math.ceil(lengthBytes / 4));
  return { bytes: new Uint8Array(words.buffer), words };
}

function roundUp(lengthBytes: number): number {
  return Math.ceil(lengthBytes / DEVICE_MEMORY_GRANULE_BYTES) * DEVICE_MEMORY_GRANULE_BYTES;
}

/** Device memory, and what is in it. */
class Model {
  readonly faults = new FaultLog(new LocalTime({ now: () => 0, setAlarm: () => {} }));
  readonly memory = new DeviceMemory(SIZE, this.faults);
  readonly ranges: Range[] = [];
  readonly random: Random;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  act(): void {
    const { random } = this;
    if (this.ranges.length === 0 || random.oneIn(4)) this.#allocate();
    else if (random.oneIn(5)) this.#free();
    else if (random.oneIn(2)) this.#store(random.pick(this.ranges));
    else this.#copy(random.pick(this.ranges));
  }

  /** Throws unless every range holds what was written to it, and nothing else is accessible. */
  check(): void {
    const used = this.ranges.reduce((sum, { bytes }) => sum + roundUp(bytes.length), 0);
    if (this.memory.usedBytes !== used) throw new Error(`${this.memory.usedBytes} bytes in use, not ${used}`);
    const before = this.faults.counts[FaultKind.DEVICE_MEMORY];
    let readable = 0;
    for (let offset = 0; offset < SIZE; offset += DEVICE_MEMORY_GRANULE_BYTES) {
      const faults = this.faults.counts[FaultKind.DEVICE_MEMORY];
      this.memory.load(offset, 1);
      if (this.faults.counts[FaultKind.DEVICE_MEMORY] === faults) readable += DEVICE_MEMORY_GRANULE_BYTES;
    }
    if (readable !== used) throw new Error(`${readable} bytes can be read, not ${used}`);
    this.faults.counts[FaultKind.DEVICE_MEMORY] = before;
    for (const { offset, bytes } of this.ranges) this.#compare(offset, bytes);
  }

  freeAll(): void {
    while (this.ranges.length > 0) this.#free();
  }

  #compare(offset: number, bytes: Uint8Array): void {
    const found = makeBlock(bytes.length);
    this.memory.read(offset, bytes.length, found, 0);
    if (Buffer.compare(found.bytes.subarray(0, bytes.length), bytes) !== 0)
      throw new Error(`the range at ${offset} has other bytes`);
  }

  #allocate(): void {
    const length = this.random.oneIn(3) ? this.random.between(1, SIZE) : this.random.between(1, 900);
    const alignment = 2 ** this.random.below(13);
    const offset = this.memory.allocate(length, alignment);
    const fits = this.#firstFit(length, alignment);
    if (offset !== fits) throw new Error(`${length} bytes aligned to ${alignment}: ${offset}, not ${fits}`);
    if (offset === undefined) return;
    this.ranges.push({ offset, bytes: new Uint8Array(length) });
    this.#compare(offset, new Uint8Array(length));
  }

  /** Looks at every place, as slowly as it gets. */
  #firstFit(length: number, alignment: number): number | undefined {
    const step = Math.max(alignment, DEVICE_MEMORY_GRANULE_BYTES);
    for (let at = 0; at + roundUp(length) <= SIZE; at += step)
      if (this.ranges.every(({ offset, bytes }) => at + length <= offset || offset + roundUp(bytes.length) <= at))
        return at;
    return undefined;
  }

  #free(): void {
    const [range] = this.ranges.splice(this.random.below(this.ranges.length), 1);
    this.memory.free(range.offset, range.bytes.length);
  }

  /** A store and a load by software, anywhere in the range. */
  #store({ offset, bytes }: Range): void {
    const size = this.random.pick(STORE_SIZES.filter((candidate) => candidate <= bytes.length));
    const at = this.random.below(bytes.length - size + 1);
    const value = this.random.bytes(8);
    const view = new DataView(value.buffer);
    this.memory.store(offset + at, size, view.getInt32(0, true), view.getInt32(4, true));
    bytes.set(value.subarray(0, size), at);
    const low = this.memory.load(offset + at, size);
    const expected = size === 1 ? view.getUint8(0) : size === 2 ? view.getUint16(0, true) : view.getInt32(0, true);
    if (low !== expected || this.memory.high !== (size === 8 ? view.getInt32(4, true) : 0))
      throw new Error(`a load of ${size} bytes at ${offset + at}`);
  }

  /** A copy by the transport, aligned or not. */
  #copy({ offset, bytes }: Range): void {
    const length = this.random.between(1, bytes.length);
    const at = this.random.below(bytes.length - length + 1);
    const place = this.random.below(8);
    const block = makeBlock(place + length);
    block.bytes.set(this.random.bytes(length), place);
    this.memory.write(offset + at, length, block, place);
    bytes.set(block.bytes.subarray(place, place + length), at);
  }
}

t.test('ranges do not overlap, are zeroed, keep their bytes and come back', async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const model = new Model(seed);
    try {
      for (let act = 0; act < ACTS; act++) {
        model.act();
        if (act % 16 === 0) model.check();
      }
      model.check();
      model.freeAll();
      model.check();
      if (model.memory.allocate(SIZE, 1) !== 0) throw new Error('not all of it came back');
    } catch (error) {
      t.fail(`seed ${seed}: ${error instanceof Error ? error.message : error}`);
    }
  }
});

t.test('loads and stores beyond a range are faults that change nothing', async (t) => {
  const { memory, faults } = new Model(1);
  memory.store(0, 4, 1, 0);
  t.equal(memory.load(0, 4), 0, 'nothing is allocated');
  t.equal(memory.allocate(DEVICE_MEMORY_GRANULE_BYTES, 1), 0);
  memory.store(DEVICE_MEMORY_GRANULE_BYTES - 4, 8, -1, -1);
  t.equal(memory.load(DEVICE_MEMORY_GRANULE_BYTES - 4, 4), 0, 'a store across the end');
  memory.store(SIZE - 4, 8, -1, -1);
  t.equal(memory.load(SIZE, 8), 0, 'past the end of the memory');
  t.equal(faults.counts[FaultKind.DEVICE_MEMORY], 5);
  t.equal(faults.firstAddressLow, 0);
});

t.test('a reset frees everything', async (t) => {
  const { memory } = new Model(1);
  t.equal(memory.allocate(SIZE, 1), 0);
  memory.store(8, 4, 7, 0);
  memory.reset();
  t.equal(memory.usedBytes, 0);
  t.equal(memory.allocate(SIZE, 1), 0);
  t.equal(memory.load(8, 4), 0, 'and shows nothing of what was there');
});

t.test('a block that is seen as bytes only, as payload on loan is, is copied whole', (t) => {
  const { memory } = new Model(1);
  const offset = memory.allocate(1024, DEVICE_MEMORY_GRANULE_BYTES) as number;
  const bytes = Uint8Array.from({ length: 1024 }, (_, index) => index % 251);
  memory.write(offset, bytes.length, { bytes, words: new Int32Array(0) }, 0);
  const target = makeBlock(bytes.length);
  memory.read(offset, bytes.length, target, 0);
  t.same(target.bytes, bytes);
  t.end();
});
