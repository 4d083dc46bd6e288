// SPDX-License-Identifier: Apache-2.0
/** Names of files that a node gives: none leads out of the folder that gets them. */
import t from 'tap';
import { checkName } from './copy-service.ts';

t.test('names that lead elsewhere are refused', async (t) => {
  for (const name of ['..', '.', '', '../x', '/etc/passwd', 'a/b', 'a\0b'])
    t.throws(() => checkName(name), { name: 'SetupError', message: /no folder can have/ }, name);
  for (const name of ['a', '.hidden', '..a', 'a b', '-rf', 'ä']) t.equal(checkName(name), name);
});
