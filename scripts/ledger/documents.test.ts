// SPDX-License-Identifier: Apache-2.0
/** The ledger of the documents: each row needs evidence that exists and passes. */
import t from 'tap';
import { readCitations, readRows, testPath, writeDocumentLedger } from './documents.ts';

const MARKS = '<!-- ledger: begin, written by npm run ledger -->\nold\n<!-- ledger: end -->\n';
const PAGE = `## US 8,484,392: quality of service

| par. | figure | begins | topic | where |
|---|---|---|---|---|
| 1-4 | | The present | form | |
| 5-7 | | In general | shares | \`shares/\` |
| 9 | 2 | A lane | lanes | \`lane/\` |

## US 2015/0378953: credit return

| part | topic | where |
|---|---|---|
| claim 1 (egressing) | packets leave | \`pio/\` |

## What shows each paragraph

${MARKS}`;

const code = new Map([
  ['device/hca/shares/wide.ts', '/** Rules (US 8,484,392 par. 1-50). */'],
  ['device/hca/shares/exact.ts', '/**\n * Shares (US 8,484,392\n * par. 5, 60-62; IPCOM000126453D par. 3).\n */'],
]);
const good = {
  'US 8,484,392': { '5-7': { tests: ['hca/shares/a: a share'] }, '9': { guest: ['suite case'] } },
  'US 2015/0378953': { 'claim 1 (egressing)': { otherwise: 'packets wait' } },
};
const outcome = { path: 'device/hca/shares/a.test.ts', test: 'a share is kept', passed: true };
const sources = { page: PAGE, evidence: good, code, outcomes: [outcome], guestCases: new Set(['suite case']) };

t.test('rows that state something, and the paragraphs that comments cite', async (t) => {
  t.same(
    readRows(PAGE).map(({ document, par, where }) => [document, par, where]),
    [
      ['US 8,484,392', '1-4', ''],
      ['US 8,484,392', '5-7', '`shares/`'],
      ['US 8,484,392', '9', '`lane/`'],
      ['US 2015/0378953', 'claim 1 (egressing)', '`pio/`'],
    ],
  );
  t.same(
    readCitations('x', code.get('device/hca/shares/exact.ts') ?? '').map(({ document, first, last }) => [
      document,
      first,
      last,
    ]),
    [
      ['US 8,484,392', 5, 5],
      ['US 8,484,392', 60, 62],
      ['IPCOM000126453D', 3, 3],
    ],
  );
});

t.test('the ledger has a line for each row, with the narrowest citations first', async (t) => {
  const { page, problems } = writeDocumentLedger(sources);
  t.same(problems, []);
  t.notMatch(page, 'old');
  t.match(
    page,
    '| US 8,484,392 | 5-7 | shares | `hca/shares/exact.ts`, `hca/shares/wide.ts` | `device/hca/shares/a.test.ts`: a share |',
  );
  t.match(page, '| US 8,484,392 | 9 | lanes | `hca/shares/wide.ts` | guest: `suite case` |');
  t.match(page, '| claim 1 (egressing) | packets leave | `pio/` | done otherwise: packets wait |');
  t.equal(writeDocumentLedger({ ...sources, page }).page, page, 'written again it is the same');
});

t.test('what is wrong is said: no evidence, no test, a failed test, no case, no row', async (t) => {
  const wrong = {
    'US 8,484,392': {
      '5-7': { tests: ['hca/shares/a: a share', 'hca/shares/a: other'], guest: ['suite none'] },
      '8': {},
    },
    'US 2015/0378953': good['US 2015/0378953'],
  };
  const { problems } = writeDocumentLedger({ ...sources, evidence: wrong, outcomes: [{ ...outcome, passed: false }] });
  t.same(problems, [
    'US 8,484,392 par. 8: no table of docs/DOCUMENTS.md has this row with a place',
    'US 8,484,392 par. 5-7: "hca/shares/a: a share" did not pass',
    'US 8,484,392 par. 5-7: there is no test "hca/shares/a: other"',
    'US 8,484,392 par. 5-7: there is no guest test "suite none"',
    'US 8,484,392 par. 9: nothing shows it',
  ]);
  t.equal(testPath('hca/shares/a: b: c'), 'device/hca/shares/a.test.ts');
});
