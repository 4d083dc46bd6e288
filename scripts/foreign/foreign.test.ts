// SPDX-License-Identifier: Apache-2.0
/**
 * The short form of `npm run test:foreign`, in one guest: Debian's RDMA software on its own driver.
 * And the document that the results become.
 */
import t from 'tap';
import { describeResults } from './document.ts';
import { mergeResults } from './results.ts';
import { runForeignSuites } from './run-suites.ts';
import { type ForeignResult, SHORT_SUITES } from './suites.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('results become a document, and a run replaces its own suites only', async (t) => {
  const result = (suite: string, name: string, verdict: ForeignResult['verdict'], reason?: string): ForeignResult => {
    return { suite, name, verdict, diagnostics: [], ...(reason === undefined ? {} : { reason }) };
  };
  const first = mergeResults({}, 'rxe', [result('verbs', 'rc', 'pass'), result('cm', 'rping', 'fail')]);
  const second = mergeResults(first, 'rxe', [result('cm', 'rping', 'pass')]);
  const third = mergeResults(second, 'mthca', [
    result('verbs', 'rc', 'skip', 'a | b'),
    result('pyverbs', 'cq.one', 'pass'),
    result('pyverbs', 'cq.two', 'fail'),
  ]);
  const lines = describeResults(third).split('\n');
  t.ok(lines.includes('| Examples of libibverbs | 0, 1, 0 | 1, 0, 0 |'));
  t.ok(lines.includes('| rc | skip: a \\| b | ok |'));
  t.ok(lines.includes('| rping |  | ok |'), 'the failure was replaced');
  t.ok(lines.includes('| cq | 1, 0, 1 |  |'), 'tests of pyverbs are counted by file');
  t.ok(lines.includes('| cq.two | FAIL |  |'));
  t.notOk(lines.some((line) => line.startsWith('| cq.one')));
});

t.test('the short form, on mthca', async (t) => {
  const { results, faults, seconds } = await runForeignSuites({ adapter: 'mthca', suites: SHORT_SUITES, short: true });
  for (const { suite, name, verdict, reason, diagnostics } of results) {
    if (verdict === 'skip') t.pass(`${suite}/${name}`, { skip: reason ?? true });
    else t.equal(verdict, 'pass', `${suite}/${name}`, { diagnostics });
  }
  t.same(faults, [], 'the run itself');
  t.same([...new Set(results.map(({ suite }) => suite))], [...SHORT_SUITES], 'all suites have results');
  t.comment(`${seconds.toFixed(1)} s`);
});
