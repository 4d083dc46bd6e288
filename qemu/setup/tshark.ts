// SPDX-License-Identifier: Apache-2.0
//
// Finds tshark, the foreign judge of our captures. Called by tests, which skip with a reason when it is not there.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of tshark on PATH, or undefined. */
export function findTshark(searchPath = process.env.PATH ?? ''): string | undefined {
  const candidates = searchPath.split(delimiter).map((directory) => join(directory, 'tshark'));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
