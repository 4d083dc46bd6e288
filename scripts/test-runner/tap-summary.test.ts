// SPDX-License-Identifier: Apache-2.0
/**
 * The counts of a run are those of its innermost test points, and a failure is shown with its
 * place.
 */
import t from 'tap';
import { TapSummary } from './tap-summary.ts';

function summarize(text: string): { counts: unknown; shown: string } {
  const lines: string[] = [];
  const summary = new TapSummary((line) => lines.push(line));
  for (const line of text.split('\n')) summary.push(line);
  summary.finish();
  return { counts: { ...summary.counts }, shown: lines.join('\n') };
}

t.test('passes, failures and skips', async (t) => {
  const { counts, shown } = summarize(`TAP version 14
# Subtest: a.test.ts
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
    1..2
not ok 1 - a.test.ts # time=3ms
# Subtest: b.test.ts
    ok 1 - alone
      ---
      hidden: yes
      ...
    1..1
ok 2 - b.test.ts
1..2`);
  t.same(counts, { passed: 2, failed: 1, skipped: 1 });
  t.match(shown, /in a\.test\.ts > first:\n *not ok 2 - two\n *---\n *diff: shown/);
  t.notMatch(shown, /hidden/);
  t.match(shown, /ok 2 - b\.test\.ts/);
});

t.test('a file that fails by itself counts', async (t) => {
  const { counts } = summarize(`# Subtest: a.test.ts
    ok 1 - one
    1..1
not ok 1 - a.test.ts # exit=7
Bail out! no more`);
  t.same(counts, { passed: 1, failed: 2, skipped: 0 });
});

t.test('a last point without a line behind it counts', async (t) => {
  t.same(summarize('ok 1 - one\nok 2 - two').counts, { passed: 2, failed: 0, skipped: 0 });
});
