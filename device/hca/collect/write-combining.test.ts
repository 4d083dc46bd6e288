// SPDX-License-Identifier: Apache-2.0
/**
 * The write-combining model: it does to writes all that a processor may do, and nothing else
 * (docs/HAZARDS.md, hazards 1, 2 and 5).
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  COMMAND_HEADER_BYTES,
  DATA_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { setSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { Random } from '../../random.ts';
import { planStores } from '../../rig/driver/collect-writer.ts';
import { PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import { WriteCombining, type WriteCombiningOptions } from './write-combining.ts';

const PAGES = 8;

interface Piece {
  readonly page: number;
  readonly offset: number;
  readonly sizeBytes: number;
}

/** A collect BAR that keeps every complete command, behind a write-combining model. */
class Bar {
  readonly pieces: Piece[] = [];
  readonly kicked: { readonly page: number; readonly bytes: string }[] = [];
  readonly stage: WriteCombining;
  readonly #collecting = new Map<number, PhysicalCollectBuffer>();

  constructor(options: WriteCombiningOptions) {
    this.stage = new WriteCombining(options, 0, PAGES * PAGE_BYTES, (offset, sizeBytes, low, high) => {
      const page = Math.floor(offset / PAGE_BYTES);
      this.pieces.push({ page, offset: offset % PAGE_BYTES, sizeBytes });
      if (offset % PAGE_BYTES < DATA_BYTES) this.#collect(page, offset % PAGE_BYTES, sizeBytes, low, high);
    });
  }

  get halfWritten(): number {
    return this.#collecting.size;
  }

  #collect(page: number, offset: number, sizeBytes: number, low: number, high: number): void {
    const buffer = this.#collecting.get(page) ?? new PhysicalCollectBuffer(0);
    if (!this.#collecting.has(page)) buffer.open();
    this.#collecting.set(page, buffer);
    buffer.store(offset, sizeBytes, low, high);
    if (!buffer.lengthKnown || !buffer.whole) return;
    this.kicked.push({ page, bytes: Buffer.from(buffer.bytes.subarray(0, buffer.collectLength)).toString('hex') });
    this.#collecting.delete(page);
  }
}

/** A command of random bytes. */
function command(random: Random): Uint8Array {
  const bytes = random.bytes(COMMAND_HEADER_BYTES + 8 * random.below(33));
  setSendCommandCollectLength(new DataView(bytes.buffer), 0, bytes.length);
  return bytes;
}

/**
 * Writes commands into random pages by random stores, several pages at a time. Returns them by
 * page, in order.
 */
function writeCommands(bar: Bar, random: Random, count: number): string[][] {
  const written: string[][] = Array.from({ length: PAGES }, () => []);
  const writers: (() => boolean)[] = [];
  const begin = (page: number): (() => boolean) => {
    const bytes = command(random);
    written[page]?.push(Buffer.from(bytes).toString('hex'));
    const view = new DataView(bytes.buffer);
    const stores = planStores(bytes.length, { storeBytes: 0, random, repeat: random.oneIn(2) });
    return () => {
      const { offset, sizeBytes } = stores.shift() as (typeof stores)[0];
      const low =
        sizeBytes >= 4
          ? view.getUint32(offset, true)
          : sizeBytes === 2
            ? view.getUint16(offset, true)
            : view.getUint8(offset);
      bar.stage.write(
        page * PAGE_BYTES + offset,
        sizeBytes,
        low,
        sizeBytes === 8 ? view.getUint32(offset + 4, true) : 0,
      );
      return stores.length > 0;
    };
  };
  for (let page = 0; page < PAGES; page++) writers.push(begin(page));
  for (let begun = PAGES; writers.some((writer) => writer !== done); ) {
    const page = random.below(PAGES);
    if (writers[page] === done || writers[page]?.()) continue;
    writers[page] = begun++ < count ? begin(page) : done;
    if (random.oneIn(8)) bar.stage.settle();
  }
  return written;
}

const done = (): boolean => false;

function settle(stage: WriteCombining): number {
  let passes = 0;
  for (; stage.busy && passes < 10_000; passes++) stage.settle();
  return passes;
}

t.test('every command arrives once, whole and in the order of its page, whatever happens on the way', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const bar = new Bar({ seed, lines: 1 + (seed % 12), holdPasses: 1 + (seed % 5) });
    const written = writeCommands(bar, new Random(seed), 200);
    t.ok(settle(bar.stage) <= 4 * 5 + 1, `seed ${seed}: bounded`);
    const kicked = written.map((_, page) => bar.kicked.filter((one) => one.page === page).map(({ bytes }) => bytes));
    const wrong = written.findIndex((commands, page) => commands.join() !== kicked[page]?.join());
    t.equal(wrong, -1, `seed ${seed}: page ${wrong}`);
    t.equal(bar.halfWritten, 0, `seed ${seed}: nothing begins behind a kick`);
  }
});

t.test('the model reorders, splits, merges and repeats writes', async (t) => {
  const bar = new Bar({ seed: 5 });
  const { stage, pieces } = bar;
  const seen = { reordered: 0, split: 0, merged: 0, repeated: 0 };
  for (let round = 0; round < 50; round++) {
    pieces.length = 0;
    const small = round % 2 === 0 ? 8 : 2;
    for (let offset = 0; offset < COMMAND_HEADER_BYTES; offset += small) stage.write(offset, small, offset, 0);
    stage.write(KICK_OFFSET, 8, 0, 0);
    const data = pieces.slice(0, -1);
    if (data.some(({ offset }, at) => at > 0 && offset < (data[at - 1]?.offset ?? 0))) seen.reordered++;
    if (data.some(({ sizeBytes }) => sizeBytes < small)) seen.split++;
    if (data.some(({ sizeBytes }) => sizeBytes > small)) seen.merged++;
    if (new Set(data.map(({ offset }) => offset)).size < data.length) seen.repeated++;
  }
  for (const [what, count] of Object.entries(seen)) t.ok(count > 5, `${what} ${count} times of 50`);
});

t.test('a control word follows all stores to its own page, and of no other', async (t) => {
  const { stage, pieces } = new Bar({ seed: 6, lines: 64, holdPasses: 1000 });
  for (const page of [1, 2]) stage.write(page * PAGE_BYTES + 16, 8, 1, 2);
  t.ok(stage.busy);
  stage.write(2 * PAGE_BYTES + KICK_OFFSET, 8, 0, 0);
  t.equal(pieces.at(-1)?.offset, KICK_OFFSET);
  t.ok(pieces.length > 1);
  t.ok(stage.busy, 'page 1 is still held');
  t.ok(pieces.every(({ page }) => page === 2));
  stage.reset();
  t.notOk(stage.busy, 'a reset leaves nothing');
  t.equal(settle(stage), 0);
});

t.test('at most the configured number of lines is held', async (t) => {
  const { stage, pieces } = new Bar({ seed: 7, lines: 3, holdPasses: 1000 });
  for (let page = 0; page < PAGES; page++) stage.write(page * PAGE_BYTES, 1, page, 0);
  t.ok(pieces.length >= PAGES - 3);
  stage.write(PAGES * PAGE_BYTES, 8, 0, 0);
  stage.write(PAGE_BYTES + 4, 8, 0, 0);
  t.same(
    pieces.slice(-1)[0],
    { page: 1, offset: 4, sizeBytes: 8 },
    'unaligned ones and those beyond the BAR pass as they are',
  );
});

t.test('the same seed gives the same writes, another seed others', async (t) => {
  const run = (seed: number): string => {
    const bar = new Bar({ seed });
    writeCommands(bar, new Random(1), 50);
    settle(bar.stage);
    return JSON.stringify(bar.pieces);
  };
  const [first, again, other] = [run(8), run(8), run(9)];
  t.ok(first === again);
  t.ok(first !== other);
});

/** Counts rounds in which `act` lets a piece out; the model is empty before each. */
function countSending(bar: Bar, rounds: number, act: () => void): number {
  let sending = 0;
  for (let round = 0; round < rounds; round++) {
    bar.stage.reset();
    bar.pieces.length = 0;
    act();
    if (bar.pieces.length > 0) sending++;
  }
  return sending;
}

t.test('a line leaves at random, and after four times the average stay at the latest', async (t) => {
  const HOLD_PASSES = 3;
  const { stage, pieces } = new Bar({ seed: 9, lines: 1, holdPasses: HOLD_PASSES });
  const stays: number[] = [];
  for (let round = 0; round < 2400; round++) {
    stage.reset();
    pieces.length = 0;
    stage.write(0, 8, 1, 2);
    if (pieces.length === 0) stays.push(settle(stage));
  }
  t.equal(Math.max(...stays), 4 * HOLD_PASSES + 1);
  const average = stays.reduce((sum, stay) => sum + stay, 0) / stays.length;
  t.ok(average > 0.8 * HOLD_PASSES && average < 1.2 * HOLD_PASSES, `average ${average}`);
});

t.test('one store in eight pushes a line out', async (t) => {
  const bar = new Bar({ seed: 10, lines: 1, holdPasses: 1000 });
  const count = countSending(bar, 800, () => bar.stage.write(0, 8, 1, 2));
  t.ok(count > 60 && count < 140, `${count} of 800`);
});

t.test('an empty line is taken before one that is in use', async (t) => {
  const bar = new Bar({ seed: 11, lines: 2, holdPasses: 1000 });
  const count = countSending(bar, 400, () => {
    for (const page of [0, 1]) bar.stage.write(page * PAGE_BYTES, 8, 1, 2);
  });
  t.ok(count > 0 && count < 120, `${count} of 400`);
});

t.test('pieces are of bytes that were stored since the line was empty', async (t) => {
  const { stage, pieces } = new Bar({ seed: 12, lines: 1, holdPasses: 1 });
  const random = new Random(12);
  let outside = 0;
  for (let round = 0; round < 200; round++) {
    const [first, size] = [8 * random.below(7), 8 * (1 + random.below(2))];
    stage.reset();
    pieces.length = 0;
    for (let at = first; at < first + size && at < 64; at += 8) stage.write(at, 8, at, 0);
    settle(stage);
    if (pieces.some(({ offset, sizeBytes }) => offset < first || offset + sizeBytes > first + size)) outside++;
  }
  t.equal(outside, 0);
});

/** Stores of any size to distinct bytes, whose last bytes are not 0. */
function planRandom(random: Random): { at: number; sizeBytes: number; bytes: Uint8Array }[] {
  const stores: { at: number; sizeBytes: number; bytes: Uint8Array }[] = [];
  for (let at = 0; at < 128; ) {
    let sizeBytes = 1 << random.below(4);
    while (at % sizeBytes !== 0) sizeBytes >>>= 1;
    if (!random.oneIn(3)) stores.push({ at, sizeBytes, bytes: random.bytes(sizeBytes) });
    at += sizeBytes;
  }
  random.shuffle(stores);
  return stores;
}

t.test('pieces bring each byte that was stored, and no other one', async (t) => {
  const random = new Random(15);
  const bar = new Uint8Array(PAGES * PAGE_BYTES);
  const arrived = new Uint8Array(bar.length);
  const stage = new WriteCombining({ seed: 15 }, 0, bar.length, (offset, sizeBytes, low, high) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setInt32(0, low, true);
    view.setInt32(4, high, true);
    bar.set(new Uint8Array(view.buffer, 0, sizeBytes), offset);
    arrived.fill(1, offset, offset + sizeBytes);
    if (!Number.isInteger(offset) || offset % sizeBytes !== 0) t.fail(`${sizeBytes} bytes at ${offset}`);
  });
  for (let round = 0; round < 100; round++) {
    stage.reset();
    for (const array of [bar, arrived]) array.fill(0);
    const [wanted, stored] = [new Uint8Array(bar.length), new Uint8Array(bar.length)];
    for (const page of [1, 2])
      for (const { at, sizeBytes, bytes } of planRandom(random)) {
        // A command of impossible length is never whole.
        if (at < 8) continue;
        const view = new DataView(new ArrayBuffer(8));
        new Uint8Array(view.buffer).set(bytes);
        stage.write(page * PAGE_BYTES + at, sizeBytes, view.getInt32(0, true), view.getInt32(4, true));
        wanted.set(bytes, page * PAGE_BYTES + at);
        stored.fill(1, page * PAGE_BYTES + at, page * PAGE_BYTES + at + sizeBytes);
      }
    while (stage.busy) stage.settle();
    t.same([Buffer.compare(bar, wanted), Buffer.compare(arrived, stored)], [0, 0], `round ${round}`);
  }
});

t.test('a command ends in its own page only; a store beside another one is held', async (t) => {
  const bar = new Bar({ seed: 13, lines: 64, holdPasses: 1000 });
  const passes = (offset: number): boolean => {
    bar.pieces.length = 0;
    bar.stage.write(offset, 8, 1, 2);
    return bar.pieces.length > 0;
  };
  for (const page of [0, 1, 2]) bar.stage.write(page * PAGE_BYTES + 16, 8, 1, 2);
  bar.stage.write(PAGE_BYTES + KICK_OFFSET, 8, 0, 0);
  t.same(
    [0, 1, 2].map((page) => passes(page * PAGE_BYTES + 16)),
    [true, false, true],
  );
  t.notOk(passes(PAGE_BYTES + 8), 'the byte behind it was stored, its own were not');
});

t.test('a kick or cancel ends the command; stores behind it are held again', async (t) => {
  for (const [control, isForgotten] of [
    [KICK_OFFSET, true],
    [CANCEL_OFFSET, true],
    [DOORBELL_OFFSET, false],
  ] as const) {
    const { stage, pieces } = new Bar({ seed: 13, lines: 64, holdPasses: 1000 });
    stage.write(16, 8, 1, 2);
    stage.write(control, 8, 0, 0);
    pieces.length = 0;
    stage.write(16, 8, 1, 2);
    t.equal(pieces.length === 0, isForgotten, `offset ${control}: a second store to a byte passes`);
  }
});

t.test('the first store behind a whole command lets it out first', async (t) => {
  for (const page of [0, 1, 3]) {
    const { stage, pieces } = new Bar({ seed: 14, lines: 64, holdPasses: 1000 });
    const base = page * PAGE_BYTES;
    const view = new DataView(new ArrayBuffer(COMMAND_HEADER_BYTES));
    setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES);
    for (let at = 0; at < COMMAND_HEADER_BYTES; at += 8)
      stage.write(base + at, 8, view.getInt32(at, true), view.getInt32(at + 4, true));
    pieces.length = 0;
    stage.write(base + COMMAND_HEADER_BYTES, 8, 1, 2);
    t.ok(pieces.length > 0 && pieces.every(({ offset }) => offset < COMMAND_HEADER_BYTES));
    t.ok(stage.busy, 'itself it is held');
    stage.write(base + DATA_BYTES, 8, 0, 0);
    t.equal(pieces.at(-1)?.offset, DATA_BYTES, 'the control words begin behind the data');
  }
});
