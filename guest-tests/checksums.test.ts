// SPDX-License-Identifier: Apache-2.0
/**
 * The checksum of commands as the adapter, the driver (vuhca_checksum.c), the provider
 * (vu_checksum.h) and the driver of the rig compute it: all agree, above all where a sum carries
 * beyond 32 bits once or twice, which commands of guests nearly never do. gcc compiles the two in C
 * for the host.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { hasCommandChecksum } from '../device/hca/collect/checksum.ts';
import { Random } from '../device/random.ts';
import { commandChecksum } from '../device/rig/driver/checksum.ts';
import { compileForHost } from './harness/host-program.ts';

/** The longest command: 64 bytes, then 256 of data and their keys. */
const MAX_DWORDS = 81;
const ONES = 0xffffffff;

const SEED = 27;
const DRAWN = 500;

interface Vector {
  readonly key: number;
  /** The first one is the checksum, which is zero while it is computed. */
  readonly dwords: readonly number[];
}

function makeVectors(): Vector[] {
  const vectors: Vector[] = [];
  const add = (key: number, dwords: readonly number[]) => vectors.push({ key: key >>> 0, dwords: [0, ...dwords] });
  // The first fold of `count` dwords of ones and a key from 1 to `count` leaves a carry.
  for (let count = 0; count < MAX_DWORDS; count++)
    for (const key of [0, 1, count - 1, count, count + 1, 0xffff, 0x10000, ONES - count, ONES])
      add(key, Array<number>(count).fill(ONES));
  const random = new Random(SEED);
  for (let drawn = 0; drawn < DRAWN; drawn++)
    add(
      random.next(),
      Array.from({ length: random.below(MAX_DWORDS) }, () => random.next()),
    );
  return vectors;
}

t.test('all four compute the same checksums', async (t) => {
  const program = compileForHost(t.testdir(), 'checksums', ['-O1', '-fsanitize=undefined']);
  const vectors = makeVectors();
  const hex = (value: number) => value.toString(16).padStart(8, '0');
  const input = vectors.map(({ key, dwords }) => `${[key, ...dwords].map(hex).join(' ')}\n`).join('');
  const lines = execFileSync(program, { input, encoding: 'utf8' }).trimEnd().split('\n');
  const wrong: string[] = [];
  for (const [index, { key, dwords }] of vectors.entries()) {
    const view = new DataView(Uint32Array.from(dwords).buffer);
    const checksum = commandChecksum(view, 0, key);
    view.setUint32(0, checksum, true);
    const accepted = hasCommandChecksum(view, view.byteLength, 0, key & 0xffff, key >>> 16);
    const found = lines[index];
    if (!accepted || found !== `${hex(checksum)} ${hex(checksum)}`)
      wrong.push(`key ${hex(key)}, ${dwords.length} dwords: ${hex(checksum)}, adapter ${accepted}, in C ${found}`);
  }
  t.equal(lines.length, vectors.length);
  t.same(wrong, [], `seed ${SEED}`);
});
