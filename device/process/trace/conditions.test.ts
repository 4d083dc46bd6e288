// SPDX-License-Identifier: Apache-2.0
/**
 * The words of conditions: what is read, what is refused, and docs/VIEW.md, which lists all.
 * scripts/cli/view/recorded-search.test.ts has what they find.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { conditionCounters, conditionExamples, conditionTable, readCondition } from './conditions.ts';

t.test('what is no condition is refused with one sentence that lists them', async (t) => {
  for (const example of conditionExamples) t.type(readCondition(example), 'function', example);
  for (const text of [
    '',
    'faults',
    'qp leaves RTS',
    'qp x leaves RTS',
    'qp 5 leaves',
    'overflow',
    'at a',
    'fault fault',
  ])
    t.throws(() => readCondition(text), { message: /is not understood; there are `fault`, .*`qp 5 leaves RTS`/ }, text);
  t.throws(() => readCondition('qp 5 enters rtx'), {
    message: 'there is no state rtx of a QP; there are RESET, INIT, RTR, RTS, SQD, SQE, ERR',
  });
  t.throws(() => readCondition('counter spilled > 1'), {
    message: /^there is no counter spilled; there are .*doorbellsSpilled/,
  });
});

t.test('docs/VIEW.md lists every condition and every counter', async (t) => {
  const page = readFileSync(new URL('../../../docs/VIEW.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Conditions\n(.*?)^## /ms.exec(page) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  t.same(
    rows,
    conditionTable.map(([form, meaning]) => `| \`${form}\` | ${meaning} |`),
  );
  const [, counters = ''] = /^Counters: (.*?)\.\n/ms.exec(section) ?? [];
  t.same(
    counters.split(/,\s+/).map((name) => name.replaceAll('`', '')),
    conditionCounters,
  );
});
