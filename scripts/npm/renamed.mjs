// SPDX-License-Identifier: Apache-2.0
/**
 * `node scripts/npm/renamed.mjs SCRIPT [WORD...]`: called by npm scripts with old names. It prints
 * the new name and runs that script. package.json has a line for each old name, because npm has no
 * hook for unknown names. In plain JavaScript, because it may run before packages are installed.
 */
import { spawnSync } from 'node:child_process';

const [script, ...words] = process.argv.slice(2);
const tail = words.length === 0 ? [] : ['--', ...words];
const shown = script === 'test' || script === 'start' ? [script] : ['run', script];
const old = process.env.npm_lifecycle_event;
process.stderr.write(`\`npm run ${old}\` is now \`${['npm', ...shown, ...tail].join(' ')}\`.\n`);
const { status, signal } = spawnSync('npm', ['run', '--silent', script, ...tail], { stdio: 'inherit' });
if (signal === null) process.exitCode = status ?? 1;
else process.kill(process.pid, signal);
