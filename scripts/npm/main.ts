// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run GROUP -- NAME [OPTION...]`: starts a program of a group of groups.ts, in this process,
 * as node would start its file. package.json names the group in its command.
 */
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { type Call, choose } from './choose.ts';
import { groups } from './groups.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let call: Call | undefined;
await runEntry(async () => {
  const [name, ...words] = process.argv.slice(2);
  call = choose(name, groups[name], words);
});
// The program itself reports its exceptions.
if (call !== undefined) {
  const path = join(ROOT, call.file);
  process.argv = [process.execPath, path, ...call.words];
  await import(pathToFileURL(path).href);
}
