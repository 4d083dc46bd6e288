// SPDX-License-Identifier: Apache-2.0
/**
 * The reference of the driver's API: it has every exported call, with contexts, and refuses a call
 * without a comment or without a place in the order of use.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { API_PATH, emitDriverApi, readDriverSources } from './driver-api.ts';
import { readKernelDocs } from './kernel-doc.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const SOURCE = `// SPDX
/**
 * vuhca_do() - Do a thing, with a summary of
 *	two lines.
 * @one: First argument,
 *	continued.
 * @two: Second | argument, VUHCA_FLAG_*.
 *
 * It does it once; see vuhca_undo(), @one and the P_Key.
 *
 * Context: May sleep. Takes dev->lock.
 * Return: 0, or ERR_PTR() of -EINVAL.
 */
int vuhca_do(int one,
	     int two)
{
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_do);

/* Not kernel-doc. */
static void vuhca_help(void)
{
}
`;
const TOPIC = { title: 'Topic', text: 'Text.', calls: 'do' };
const sources = (text: string) => new Map([['vuhca_x.c', text]]);

t.test('a comment as it is written', async (t) => {
  t.same(readKernelDocs(SOURCE), [
    {
      name: 'vuhca_do',
      summary: 'Do a thing, with a summary of two lines.',
      parameters: [
        ['one', 'First argument, continued.'],
        ['two', 'Second | argument, VUHCA_FLAG_*.'],
      ],
      description: ['It does it once; see vuhca_undo(), @one and the P_Key.'],
      context: 'May sleep. Takes dev->lock.',
      returns: '0, or ERR_PTR() of -EINVAL.',
      code: 'int vuhca_do(int one,\n\t     int two);',
    },
  ]);
  const [type] = readKernelDocs(
    '/**\n * struct vuhca_s - A thing.\n * @x: Number.\n */\nstruct vuhca_s {\n\tint x;\n};\n',
  );
  t.match(type, { name: 'vuhca_s', parameters: [['x', 'Number.']], code: 'struct vuhca_s {\n\tint x;\n};' });
});

t.test('a call in the reference', async (t) => {
  const text = emitDriverApi(sources(SOURCE), [TOPIC]);
  t.match(text, '- [`vuhca_do()`](#vuhca_do): do a thing, with a summary of two lines.\n');
  t.match(
    text,
    `### vuhca_do

Do a thing, with a summary of two lines.

\`\`\`c
int vuhca_do(int one,
	     int two);
\`\`\`

- \`one\`: First argument, continued.
- \`two\`: Second \\| argument, \`VUHCA_FLAG_*\`.

It does it once; see \`vuhca_undo()\`, \`one\` and the P_Key.

**Context:** May sleep. Takes \`dev->lock\`.

**Returns:** 0, or \`ERR_PTR()\` of -EINVAL.
`,
  );
});

t.test('calls that the reference would lack', async (t) => {
  t.throws(() => emitDriverApi(sources(SOURCE), []), /vuhca_do\(\) is exported and has no place/);
  const bare = SOURCE.replace('/**', '/*');
  t.throws(() => emitDriverApi(sources(bare), [TOPIC]), /vuhca_do\(\) is exported without a kernel-doc comment/);
  const timeless = SOURCE.replace(' * Context: May sleep. Takes dev->lock.\n', '');
  t.throws(() => emitDriverApi(sources(timeless), [TOPIC]), /the comment of vuhca_do\(\) has no Context:/);
  t.throws(() => emitDriverApi(sources(''), [TOPIC]), /vuhca_do\(\) is not exported/);
});

t.test('the reference has every exported call and structure', async (t) => {
  const text = readFileSync(join(ROOT, API_PATH), 'utf8');
  const all = [...readDriverSources(ROOT).values()].join('\n');
  const exported = [...all.matchAll(/^EXPORT_SYMBOL\w*\((\w+)\)/gm)].map(([, name]) => name);
  t.ok(exported.length > 50, `${exported.length} calls`);
  for (const name of exported) {
    const part = text.slice(text.indexOf(`\n### ${name}\n`));
    t.match(
      part,
      new RegExp(`^\n### ${name}\n\n[A-Z][^#]*\n\`\`\`c\n[^\`]*\\b${name}\\([^#]*\n\\*\\*Context:\\*\\* \\w`),
    );
  }
  t.match(text, '### struct vuhca_cq_init');
});
