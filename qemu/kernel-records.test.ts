// SPDX-License-Identifier: Apache-2.0
/** Records of /dev/kmsg become the lines of dmesg. */
import t from 'tap';
import { findHarmful, hostileTexts } from '../protocol/system/testing/hostile-text.ts';
import { KernelRecords, LOG_END } from './kernel-records.ts';

function read(...records: readonly string[]): { lines: string[]; ends: number } {
  const seen = { lines: [] as string[], ends: 0 };
  const reader = new KernelRecords(
    (line) => seen.lines.push(line),
    () => seen.ends++,
  );
  for (const record of records) reader.push(record);
  return seen;
}

t.test('a record has a time, and may have properties and several lines', async (t) => {
  const { lines } = read('6,0,5140900,-;NET: one', ' SUBSYSTEM=pci', '4,1,12345678,-;two\\x0athree \\x5c', 'noise');
  t.same(lines, ['[    5.140900] NET: one', '[   12.345678] two', '[   12.345678] three \\']);
});

t.test('a reader that starts again repeats no record, and lost ones are said', async (t) => {
  const { lines } = read('6,0,0,-;a', '6,1,0,-;b', '6,0,0,-;a', '6,1,0,-;b', '6,5,0,-;f');
  t.same(lines, [
    '[    0.000000] a',
    '[    0.000000] b',
    '[    0.000000] vuhca: 3 records of the kernel log were lost',
    '[    0.000000] f',
  ]);
});

t.test('the last record ends the log and is no line', async (t) => {
  t.same(read('6,0,0,-;a', `6,1,0,-;${LOG_END}`), { lines: ['[    0.000000] a'], ends: 1 });
});

t.test('bytes that the kernel escapes are text again, and do nothing to a terminal', (t) => {
  const spell = (text: string): string =>
    [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  t.same(read(`6,0,0,-;${spell('zwölf')}, \\x1b[31mred`).lines, ['[    0.000000] zwölf, red']);
  for (const [title, text] of Object.entries(hostileTexts))
    t.equal(findHarmful(read(`6,0,0,-;${spell(text)}`).lines.join('')), undefined, title);
  t.end();
});
