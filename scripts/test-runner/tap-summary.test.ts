// SPDX-License-Identifier: Apache-2.0
/**
 * The counts of a run are those of its innermost test points; a failure is shown with its place,
 * and a skip with its reason.
 */
import t from 'tap';
import { Parser } from 'tap-parser';
import { type FileEnd, type Skip, TapSummary } from './tap-summary.ts';

interface Summary {
  readonly counts: unknown;
  readonly shown: string;
  readonly skips: readonly Skip[];
}

/** The summary of one file a.test.ts that prints `text` and ends as `end` says. */
function summarize(text: string, end: Partial<FileEnd> = {}): Summary {
  const lines: string[] = [];
  const summary = new TapSummary((line) => lines.push(line));
  const parser = new Parser();
  summary.begin('a.test.ts', parser);
  parser.end(text);
  summary.end({ file: 'a.test.ts', ok: parser.ok, exitCode: 0, signal: null, ...end });
  return { counts: { ...summary.counts }, shown: lines.join('\n'), skips: summary.skips };
}

t.test('passes, failures and skips', async (t) => {
  const { counts, shown, skips } = summarize(`TAP version 14
# Subtest: first
    ok 1 - one
    not ok 2 - two
      ---
      diff: shown
      source: |
        not ok 9 - only text
      ...
    1..2
    # failed 1 of 2 tests
not ok 1 - first # time=1ms
ok 2 - second # SKIP not here
ok 3 - third # SKIP not here
ok 4 - fourth
  ---
  hidden: yes
  ...
1..4
`);
  t.same(counts, { passed: 2, failed: 1, skipped: 2 });
  t.match(shown, /in a\.test\.ts > first:\n *not ok 2 - two\n *---\n *diff: shown/);
  t.notMatch(shown, /hidden/);
  t.same(skips, [{ reason: 'not here', file: 'a.test.ts', count: 2 }]);
});

t.test('a file that fails by itself counts', async (t) => {
  const { counts, shown } = summarize('ok 1 - one\n1..1\n', { ok: false, exitCode: 7 });
  t.same(counts, { passed: 1, failed: 1, skipped: 0 });
  t.match(shown, /in a\.test\.ts:\nnot ok - the file ended with status 7/);
  t.match(summarize('ok 1 - one\n', { ok: false, signal: 'SIGKILL' }).shown, /ended with SIGKILL/);
});

t.test('a file that is skipped as a whole says why', async (t) => {
  const { counts, skips } = summarize('1..0 # SKIP too large\n', { skipped: 'too large' });
  t.same(counts, { passed: 0, failed: 0, skipped: 1 });
  t.match(skips, [{ reason: 'too large' }]);
});

t.test('a file that bails out fails', async (t) => {
  t.same(summarize('ok 1 - one\nBail out! no more\n').counts, { passed: 1, failed: 1, skipped: 0 });
});

t.test('a last point without a line behind it counts', async (t) => {
  t.same(summarize('ok 1 - one\nok 2 - two\n1..2').counts, { passed: 2, failed: 0, skipped: 0 });
});
