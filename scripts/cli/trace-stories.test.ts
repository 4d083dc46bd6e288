// SPDX-License-Identifier: Apache-2.0
/**
 * What `vuhca trace show` tells of scripted situations, word for word (IPCOM000010133D par. 1).
 * Each step is one of the message itself, also where another one comes first. Nothing is said that
 * the timeline does not show.
 */
import t from 'tap';
import { situations } from './testing/situations.ts';
import { stories } from './testing/stories.ts';

t.same(Object.keys(stories), Object.keys(situations), 'each situation has a story');

for (const [name, play] of Object.entries(situations))
  t.test(name, async (t) => {
    t.equal(`${play().trimEnd()}\n`, stories[name]);
  });
