// SPDX-License-Identifier: Apache-2.0
/** The files of all shards are joined; a sentence reports a missing, doubled or foreign one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { joinSummaries, readSummaries, type ShardSummary } from './summary.ts';

function summary(number: number, changed: Partial<ShardSummary> = {}): ShardSummary {
  return { command: 'npm run simulate -- chaos', number, count: 3, passed: 10, failed: 0, failures: [], ...changed };
}

t.test('all shards, in any order', async (t) => {
  const joined = joinSummaries([
    summary(3, { failed: 1, failures: ['c'], results: [3] }),
    summary(1, { failed: 2, failures: ['a', 'b'], results: [1] }),
    summary(2),
  ]);
  t.same(joined, {
    command: 'npm run simulate -- chaos',
    count: 3,
    passed: 30,
    failed: 3,
    failures: ['a', 'b', 'c'],
    results: [1, 3],
  });
});

t.test('what is missing or does not belong', async (t) => {
  const mistakes: [summaries: ShardSummary[], sentence: RegExp][] = [
    [[], /name the files of all shards/],
    [[summary(1), summary(3)], /shard 2\/3 of `npm run simulate -- chaos` is missing; run it/],
    [[summary(1), summary(2), summary(2), summary(3)], /shard 2\/3 of `npm run simulate -- chaos` is named 2 times/],
    [
      [summary(1), summary(2, { count: 2 })],
      /two runs, `npm run simulate -- chaos` in 3 and `npm run simulate -- chaos` in 2 shards/,
    ],
    [[summary(1), summary(2, { command: 'npm test' })], /two runs, .* `npm test` in 3 shards/],
  ];
  for (const [summaries, sentence] of mistakes) t.throws(() => joinSummaries(summaries), { message: sentence });
});

t.test('files that are none', async (t) => {
  const folder = t.testdir({});
  const write = (text: string): string => {
    writeFileSync(join(folder, 'x.json'), text);
    return join(folder, 'x.json');
  };
  t.throws(() => readSummaries([join(folder, 'none.json')]), { message: /none\.json cannot be read \(ENOENT\)/ });
  t.throws(() => readSummaries([write('{"command": ')]), { message: /x\.json cannot be read/ });
  for (const text of ['null', '[]', '3', '{"command":"x","number":1}'])
    t.throws(() => readSummaries([write(text)]), { message: /x\.json is no file of a shard/ }, text);
  t.same(readSummaries([write(JSON.stringify(summary(1)))]), [summary(1)]);
});
