// SPDX-License-Identifier: Apache-2.0
/**
 * Lets this process import TypeScript, by tsx: `node --import=#typescript FILE.ts`.
 * tsx keeps translated code in a folder below TMPDIR with a name that every user can guess, uses
 * the folder whoever made it, and executes its content. So it gets a folder of this user's cache
 * instead, or none. Used by the npm scripts, by tests and by launch.mjs.
 */
import { join } from 'node:path';
import { cacheFolder, providePrivateFolder } from './private-folder.mjs';

/** A path in which nothing can exist. tsx also looks for a socket in its folder. */
const NO_FOLDER = '/dev/null';

const folder = join(cacheFolder(), 'tsx');
const settings =
  providePrivateFolder(folder) === undefined ? { TMPDIR: folder } : { TMPDIR: NO_FOLDER, TSX_DISABLE_CACHE: '1' };
const before = Object.keys(settings).map((name) => [name, process.env[name]]);
// tsx reads them while it is loaded, here and in the thread that it starts; nothing else should see
// them.
Object.assign(process.env, settings);
try {
  await import('tsx');
} finally {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
