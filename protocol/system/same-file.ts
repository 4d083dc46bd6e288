// SPDX-License-Identifier: Apache-2.0
/**
 * Test whether two paths that users name lead to one file, so that a program does not overwrite its
 * input. Called by the command line and by a running adapter.
 */
import { statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** True for links of both kinds as well; never for devices such as /dev/null. */
export function isSameFile(path: string, other: string): boolean {
  const [one, two] = [path, other].map((each) => statSync(each, { throwIfNoEntry: false }));
  if (one === undefined || two === undefined) return one === two && placeOf(path) === placeOf(other);
  return !one.isCharacterDevice() && one.dev === two.dev && one.ino === two.ino;
}

/** The real path of a file that does not exist yet, whatever links lead to its folder. */
function placeOf(path: string): string {
  const absolute = resolve(path);
  const folder = statSync(dirname(absolute), { throwIfNoEntry: false });
  return folder === undefined ? absolute : join(`${folder.dev}-${folder.ino}`, basename(absolute));
}
