// SPDX-License-Identifier: Apache-2.0
/** A log keeps whole lines up to its limit, and says once that it has ended. */
import t from 'tap';
import { limitLog } from './limited-log.ts';

t.test('lines up to the limit', async (t) => {
  const lines: string[] = [];
  const log = limitLog((line) => lines.push(line), 8);
  for (const line of ['1234\n', '12\n', 'x\n', 'y\n']) log(line);
  t.same(lines, ['1234\n', '12\n', 'the log ends here: it has reached 8 characters\n']);
});
