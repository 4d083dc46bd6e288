// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca trace show` tells only what happened (IPCOM000010133D par. 1): in random runs each
 * sentence of each story is compared with a log that comes from the units themselves, without
 * traces and timeline. trace-truth.long.ts has 160 seeds, or 500 with VUHCA_LARGE.
 */
import t from 'tap';
import { seedsOf } from '../../../device/rig/fixtures/seeds.ts';
import { StoryRun } from '../testing/story-run.ts';

const FEW = 8;
const ALL = process.env.VUHCA_LARGE === undefined ? 160 : 500;
/** A failure shows this many sentences. */
const SHOWN = 5;

t.test('each sentence of a story is a fact of the model', async (t) => {
  for (const seed of seedsOf(FEW, ALL)) t.same(new StoryRun(seed).judge().slice(0, SHOWN), [], `seed ${seed}`);
});
