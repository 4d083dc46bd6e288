// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run check -- commit`: the quick checks that every commit passes: types, lint, style, layers
 * and generated files, one after another. Ends with 1 and the names of those that failed.
 */
import { spawnSync } from 'node:child_process';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';

const SCRIPTS = ['typecheck', 'lint', 'check -- style', 'check -- layers', 'check -- generated'];

await runEntry(async () => {
  readOptions(defineScript('npm run check -- commit', 'Checks types, lint, style, layers and generated files.'));
  const failed = SCRIPTS.filter((words) => {
    process.stdout.write(`npm run ${words}\n`);
    return spawnSync('npm', ['run', '--silent', ...words.split(' ')], { stdio: 'inherit' }).status !== 0;
  });
  for (const words of failed) process.stderr.write(`FAILED: npm run ${words}\n`);
  if (failed.length > 0) process.exitCode = 1;
});
