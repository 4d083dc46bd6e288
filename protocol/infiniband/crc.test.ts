// SPDX-License-Identifier: Apache-2.0
/**
 * The CRCs against bitwise shift registers, at every length around the switches to other ways.
 */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { testSeed } from '../testing/test-seed.ts';
import { continueIcrc, continueIcrcDwords, continueVcrc } from './crc.ts';
import { FOLD_MAX_BYTES, makeVcrcFold } from './vcrc-fold.ts';

const seed = testSeed();

function shiftRegister(polynomial: number, start: number, bytes: Uint8Array): number {
  let state = start;
  for (const byte of bytes) {
    state ^= byte;
    for (let bit = 0; bit < 8; bit++) state = state & 1 ? (state >>> 1) ^ polynomial : state >>> 1;
  }
  return state;
}

t.test('any range of any length', async (test) => {
  const random = new Random(seed);
  for (let round = 0; round < 600; round++) {
    const bytes = random.bytes(1200);
    const view = new DataView(bytes.buffer, 8);
    const from = random.below(40);
    const to = from + (round < 300 ? round : 200 + random.below(900));
    const stretch = bytes.subarray(8 + from, 8 + to);
    const start = random.next() | 0;
    const what = `${from} to ${to}, seed ${seed}, round ${round}`;
    const expected = [shiftRegister(0xedb88320, start, stretch), shiftRegister(0xd008, start & 0xffff, stretch)];
    const got = [continueIcrc(start, view, from, to), continueVcrc(start & 0xffff, view, from, to)];
    if (
      !test.same(
        got.map((state) => state >>> 0),
        expected.map((state) => state >>> 0),
        what,
      )
    )
      return;
  }
});

t.test('long ranges, which are folded as far as the memory for that goes', async (test) => {
  test.ok(
    makeVcrcFold(() => 0),
    'there are vectors',
  );
  const random = new Random(seed);
  const bytes = random.bytes(FOLD_MAX_BYTES + 100);
  const view = new DataView(bytes.buffer);
  for (const lengthBytes of [4096, 4127, 4128, 4352, FOLD_MAX_BYTES - 1, FOLD_MAX_BYTES, FOLD_MAX_BYTES + 1]) {
    const from = random.below(60);
    const stretch = bytes.subarray(from, from + lengthBytes);
    const got = continueVcrc(0xffff, view, from, from + lengthBytes);
    test.equal(got, shiftRegister(0xd008, 0xffff, stretch), `${lengthBytes} from ${from}, seed ${seed}`);
  }
});

t.test('two dwords in one step equal eight bytes', async (test) => {
  const random = new Random(seed);
  const bytes = random.bytes(8);
  const view = new DataView(bytes.buffer);
  const got = continueIcrcDwords(-1, view.getInt32(0, true), view.getInt32(4, true));
  test.equal(got, shiftRegister(0xedb88320, -1, bytes) | 0, `seed ${seed}`);
});

t.test('new content at the same position, as in a reused packet slot', async (test) => {
  const bytes = new Uint8Array(1024);
  const view = new DataView(bytes.buffer);
  const zeros = continueIcrc(-1, view, 0, 1024);
  bytes[1000] = 1;
  test.equal(continueIcrc(-1, view, 0, 1024), shiftRegister(0xedb88320, -1, bytes) | 0);
  test.not(continueIcrc(-1, view, 0, 1024), zeros);
  const other = new DataView(new ArrayBuffer(1024));
  test.equal(continueIcrc(-1, other, 0, 1024), zeros, 'another buffer at the same offset');
});
