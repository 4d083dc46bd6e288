// SPDX-License-Identifier: Apache-2.0
/** No command is lost in random schedules of posts, windows and rests. */
import t from 'tap';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import { runTailSchedule } from '../../rig/fixtures/tail-schedule.ts';

const POSTS = 50_000;
/** The bug shows after some hundred posts. */
const BUGGY_POSTS = 5_000;
const SEEDS = seedsOf(2, 202);

t.test('hazard 56: no command is lost between the end of a watch and a post', async (t) => {
  for (const seed of SEEDS) {
    const { error, posts, rings, finds } = runTailSchedule(seed, POSTS);
    if (error !== undefined) t.fail(`seed ${seed}: ${error}`);
    if (posts < POSTS || rings * 10 < posts || finds * 10 < posts)
      t.fail(`seed ${seed}: ${rings} rings, ${finds} finds for ${posts} posts`);
  }
  t.pass(`${SEEDS.length} seeds of ${POSTS} posts`);
});

t.test('hazard 56: a driver without its barrier loses a command', async (t) => {
  for (const seed of SEEDS.slice(0, 4))
    t.match(runTailSchedule(seed, BUGGY_POSTS, false).error, /nobody rings/, `seed ${seed}`);
});
