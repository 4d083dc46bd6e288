// SPDX-License-Identifier: Apache-2.0
/** A planted change alters one line of code, and the same one for the same seed. */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { drawChange } from './planted-changes.ts';

const TEXT = `// a === b
const type = 'x < y';
if (a < b && c) count += 1;
`;

t.test('only code is changed, and one place of it', async (t) => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const change = drawChange(new Random(seed), 'a.ts', TEXT);
    t.match(change, { file: 'a.ts', line: 3, original: TEXT });
    t.same(drawChange(new Random(seed), 'a.ts', TEXT), change, `seed ${seed} again`);
    seen.add(change?.after ?? '');
  }
  t.same([...seen].sort(), [
    'if (a < b && c) count -= 1;',
    'if (a < b || c) count += 1;',
    'if (a >= b && c) count += 1;',
  ]);
});

t.test('a file without such a place gives none', async (t) => {
  t.equal(drawChange(new Random(1), 'a.ts', '// a < b\n'), undefined);
});
