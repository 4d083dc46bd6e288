// SPDX-License-Identifier: Apache-2.0
/**
 * Fixed work of one process, so that processor times of different machines compare: typed arrays,
 * objects of a map, and a sort, none of it code of the adapter. `npm test -- --times` starts it
 * beside the tests (cost-report.ts); it prints the processor time that it took, in seconds.
 */

const ROUNDS = 12;
const WORDS = 1 << 20;
/** Multiplier and increment of a linear congruential generator of 32 bits. */
const [MULTIPLIER, INCREMENT] = [1664525, 1013904223];

let state = 1;
let sum = 0;
for (let round = 0; round < ROUNDS; round++) {
  const words = new Uint32Array(WORDS);
  for (let i = 0; i < WORDS; i++) {
    state = (Math.imul(state, MULTIPLIER) + INCREMENT) >>> 0;
    words[i] = state;
  }
  const counts = new Map<number, { count: number }>();
  for (const word of words.subarray(0, WORDS >> 3)) {
    const entry = counts.get(word >>> 12);
    if (entry === undefined) counts.set(word >>> 12, { count: 1 });
    else entry.count++;
  }
  words.sort();
  sum = (sum + words[WORDS >> 1] + counts.size) >>> 0;
}
const { user, system } = process.cpuUsage();
// The sum is used, or else a compiler may leave the work out.
process.stdout.write(`${(user + system) / 1e6} ${sum}\n`);
