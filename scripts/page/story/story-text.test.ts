// SPDX-License-Identifier: Apache-2.0
/**
 * Words of stories that an adapter of this process told: columns, outcomes, and the chosen story.
 */
import t from 'tap';
import { playExample } from '../../cli/testing/example-ladder.ts';
import { makeLadder } from '../../cli/trace/ladder.ts';
import { chooseMessages } from '../../cli/trace/message-choice.ts';
import { renderMessage } from '../../cli/trace/trace-screen.ts';
import type { Story } from '../../cli/view/view-protocol.ts';
import { chooseQueuePair, findStory, keyOfStory, splitLine, standOf } from './story-text.ts';

const play = playExample();
play.receive();
play.send(8);
play.finish();
const all = play.stage.observers.map((observer) => observer.read('a', 0));
const stories = chooseMessages(all, {}).map((end): Story => {
  const lines = renderMessage(end, all).trimEnd().split('\n');
  return JSON.parse(JSON.stringify({ ...makeLadder(end, all), outcome: 'completed', lines })) as Story;
});

t.test('each step has its time, headlines and remarks have none, and no word is lost', async (t) => {
  for (const { lines } of stories) {
    const split = lines.map(splitLine);
    t.ok(split.filter(({ time }) => time !== undefined).length > 5);
    t.equal(split[0].time, undefined, 'a headline');
    for (const [place, { time, text }] of split.entries()) {
      t.equal(time === undefined ? text : `${time.padStart(12)} us  ${text}`, lines[place]);
      t.equal(time !== undefined, /^ *\d+\.\d{3} us {2}/.test(lines[place]), lines[place]);
    }
  }
});

t.test('a message keeps its name whatever becomes of it, and others have other names', async (t) => {
  t.equal(new Set(stories.map(keyOfStory)).size, stories.length);
  t.ok(stories.length >= 2);
  const [first] = stories;
  const later = { ...first, title: first.title.replace(/[^:]*$/, ' under way'), outcome: 'under way' };
  t.equal(keyOfStory(later), keyOfStory(first));
  t.equal(findStory([later, ...stories.slice(1)], keyOfStory(first)), later);
});

t.test('the newest story is shown until one is chosen, and when that one is gone', async (t) => {
  t.equal(findStory(stories, undefined), stories.at(-1));
  t.equal(findStory(stories.slice(1), keyOfStory(stories[0])), stories.at(-1));
  t.equal(findStory([], 'x'), undefined);
});

t.test('the first traced queue pair is shown until one is chosen', async (t) => {
  t.equal(chooseQueuePair({ queuePairs: [2, 5], stories: [] }, 5), 5);
  t.equal(chooseQueuePair({ queuePairs: [2, 5], stories: [] }, 0), 2);
  t.equal(chooseQueuePair({ queuePairs: [], stories: [] }, 7), 7);
});

t.test('an outcome has a look', async (t) => {
  const looks = ['completed', 'failed: RETRY_EXCEEDED', 'under way'].map((outcome) =>
    standOf({ ...stories[0], outcome }),
  );
  t.same(looks, ['completed', 'failed', 'open']);
});
