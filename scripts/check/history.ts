// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run check -- history [RANGE]`: every commit of the range resolves its imports and passes
 * types by itself. Names the first that does not, and ends with 1. The hook in hooks/pre-push calls
 * this.
 */
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { findBase } from '../mutate/changed-lines.ts';
import { findBadCommit } from './commits.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

await runEntry(async () => {
  const script = defineScript('npm run check -- history', 'Checks the types of each commit by itself.').argument(
    '[RANGE]',
    'As git names it, such as main..HEAD; without it, what the branch adds to main, or else the last commit.',
  );
  readOptions(script);
  const [range = `${findBase()}..HEAD`] = script.args;
  let passed = 0;
  const bad = await findBadCommit(ROOT, range, ({ id, subject }) => {
    passed++;
    process.stdout.write(`ok  ${id} ${subject}\n`);
  });
  if (bad === undefined) {
    process.stdout.write(`${range}: ${passed} passed, 0 failed\n`);
    return;
  }
  process.stderr.write(`${bad.output}FAILED: ${bad.id} ${bad.subject}\n`);
  process.exitCode = 1;
});
