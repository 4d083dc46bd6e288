// SPDX-License-Identifier: Apache-2.0
/** Changed lines, survivors and scores: the parts of `npm run mutate` around Stryker. */
import t from 'tap';
import { areas, sourcesOf, testsOf } from './areas.ts';
import { readHunks } from './changed-lines.ts';
import { isBeside, keepQuickest } from './quickest-tests.ts';
import { readScores, readSurvivors } from './result-files.ts';
import { addScores, describeSurvivor, OPEN, percentKilled } from './results.ts';
import { readScoreTable } from './scores.ts';

const DIFF = `diff --git a/device/a.ts b/device/a.ts
--- a/device/a.ts
+++ b/device/a.ts
@@ -3 +3 @@ class A {
-old
+new
@@ -10,2 +10,0 @@
-gone
-gone
@@ -20,0 +19,4 @@
+more
--- a/device/b.ts
+++ b/device/b.ts
@@ -0,0 +1,2 @@
`;

t.test('lines that a diff adds or changes are tried, lines that it removes are not', async (t) => {
  t.same(readHunks(DIFF), ['device/a.ts:3-3', 'device/a.ts:19-22', 'device/b.ts:1-2']);
});

t.test('a survivor keeps its reason when its line moves, and loses it when its line changes', async (t) => {
  const start = { line: 2, column: 7 };
  const outcome = {
    fileName: 'a.ts',
    status: 'Survived',
    replacement: 'a <= b',
    location: { start, end: { line: 2, column: 12 } },
  };
  const first = describeSurvivor(outcome, '\n  if (a < b) return;', []);
  t.same(first, { file: 'a.ts', code: 'if (a < b) return;', change: 'a < b -> a <= b', reason: OPEN });
  const known = [{ ...first, reason: 'equal by construction' }];
  const moved = { ...outcome, location: { start: { line: 3, column: 7 }, end: { line: 3, column: 12 } } };
  t.equal(describeSurvivor(moved, '\n\n  if (a < b) return;', known).reason, 'equal by construction');
  t.equal(describeSurvivor(outcome, '\n  if (a < b) throw 0;', known).reason, OPEN);
});

t.test('areas have sources and tests', async (t) => {
  for (const area of areas) {
    t.ok(sourcesOf(area).length > 0, area.name);
    t.ok(testsOf(area).length > 0, area.name);
  }
});

t.test('the checked-in files agree with each other, with the sources and with docs/TESTING.md', async (t) => {
  const scores = readScores();
  for (const [name, survivors] of Object.entries(readSurvivors())) {
    const { mutants, killed, excused } = addScores(Object.values(scores[name]));
    t.equal(survivors.length, mutants - killed, name);
    t.equal(survivors.filter(({ reason }) => reason !== OPEN).length, excused, name);
  }
  const { found, wanted } = readScoreTable();
  t.equal(found, wanted, 'run npm run mutate');
});

t.test('a score is rounded down', async (t) => {
  t.equal(percentKilled({ mutants: 1000, killed: 849, excused: 0, untried: 0 }), 84);
  t.equal(percentKilled({ mutants: 0, killed: 0, excused: 0, untried: 0 }), 100);
});

t.test('a mutant meets its quickest tests within the budget, and always one', async (t) => {
  const coverage = { slow: { a: 1, b: 1 }, quick: { a: 2, c: 1 }, middle: { a: 1 } };
  keepQuickest(coverage, { slow: 500, quick: 10, middle: 90 }, 100);
  t.same(coverage, { slow: { b: 1 }, quick: { a: 2, c: 1 }, middle: { a: 1 } });
});

t.test('a mutant also meets the tests beside its unit that reach it', async (t) => {
  const reached = { own: { 1: 4, 2: 1 }, other: { 1: 1 }, idle: {} };
  const test = (id: string, path = 'device/a.test.ts') => ({ id, path });
  const mutant = { id: '1', file: 'device/a.ts' };
  t.ok(isBeside(test('own'), mutant, reached));
  t.notOk(isBeside(test('own'), { ...mutant, id: '3' }, reached), 'it does not reach it');
  t.notOk(isBeside(test('idle'), mutant, reached));
  t.notOk(isBeside(test('new'), mutant, reached));
  t.notOk(isBeside(test('other', 'device/b.test.ts'), mutant, reached), 'beside another unit');
});
