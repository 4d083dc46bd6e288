// SPDX-License-Identifier: Apache-2.0
/**
 * Random bytes in commands, mailboxes, contexts, requests, records and registers of an mlx5 device:
 * every command ends, only memory that was handed over is written, other processes go on, and the
 * device works after a reset. `npm run simulate -- fuzz --acts` does more.
 */
import t from 'tap';
import { partOf } from '../fixtures/seeds.ts';
import { Mlx5Fuzz } from './fuzz.ts';

const LONG_SEEDS = process.env.VUHCA_LARGE === undefined ? 5 : 12;
/** Acts per life and lives per seed. */
const runs = [[1, 60, 2], ...Array.from({ length: LONG_SEEDS }, (_, index) => [index + 2, 2000, 8])] as const;

for (const [seed, acts, lives] of partOf(runs, 1))
  t.test(`seed ${seed}`, (t) => {
    const [fuzz, again] = [new Mlx5Fuzz(seed), new Mlx5Fuzz(seed)];
    for (const run of [fuzz, again]) while (run.lives < lives) run.live(acts);
    t.equal(fuzz.digest, again.digest, `seed ${seed}: the same again`);
    const { executed, refused, undelivered } = fuzz.commands;
    t.ok(refused > acts / 20, `seed ${seed}: ${refused} commands are refused`);
    t.ok(undelivered > acts / 20, `seed ${seed}: ${undelivered} commands are not delivered`);
    t.ok(executed > refused, `seed ${seed}: ${executed} commands are executed`);
    const { good, errors } = fuzz.completions;
    t.ok(good > acts / 30, `seed ${seed}: ${good} good completions`);
    t.ok(errors > acts / 30, `seed ${seed}: ${errors} completions with an error`);
    t.end();
  });
