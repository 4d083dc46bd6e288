// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo -- deadlock`: without overflow no command is executed; with it the same seed
 * drains. Doorbells that come slower than reads complete need none.
 */
import t from 'tap';
import { seedsOf } from '../../../device/rig/fixtures/seeds.ts';
import { formatCases } from './guest.ts';
import { formatRuns, runAll } from './report.ts';

t.test('without overflow the adapter deadlocks, with it the same seed drains, for every seed', async (t) => {
  for (const seed of seedsOf(5, 20)) {
    const [off, newest, mostSpilled, slow] = runAll(seed);
    const others = [newest, mostSpilled];
    t.match(off, { executed: 0, spilled: 0, buffered: 8, readsWaiting: 8, stalled: true }, `seed ${seed}`);
    for (const run of others) {
      t.match(
        run,
        { posted: off.posted, executed: off.posted, buffered: 0, readsWaiting: 0, stalled: false },
        `seed ${seed}`,
      );
      t.ok(run.spilled > 0 && run.drained === run.spilled, `seed ${seed}: ${run.spilled} spilled`);
    }
    t.match(slow, { posted: off.posted, executed: off.posted, spilled: 0, stalled: false }, `seed ${seed}: slow`);
  }
});

t.test('a line for each run', async (t) => {
  const text = formatRuns(14, runAll(14));
  t.match(text, /^off +50 +\d+ +0 +0 +0 +8 +8 {2}DEADLOCK: still so after an hour$/m);
  t.match(text, /^newest first +50 +(\d+) +\1 +(\d+) +\2 +0 +0 {2}all executed, each once$/m);
  t.match(text, /^off +1000 +(\d+) +\1 +0 +0 +0 +0 {2}all executed, each once$/m);
});

t.test('a line for each note of a case in a guest', async (t) => {
  const cases = [
    { name: 'deadlock', ok: true, skipped: undefined, notes: ['160 doorbells'] },
    { name: 'spill', ok: false, skipped: undefined, notes: ['policy 1', 'policy 2'] },
    { name: 'threshold-rises', ok: true, skipped: 'one buffer', notes: [] },
  ];
  const text = formatCases(cases);
  t.match(text, /^deadlock +ok +160 doorbells$/m);
  t.match(text, /^spill +FAILED +policy 1\n +policy 2$/m);
  t.match(text, /^threshold-rises +skipped +one buffer$/m);
});
