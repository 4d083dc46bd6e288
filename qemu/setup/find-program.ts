// SPDX-License-Identifier: Apache-2.0
/**
 * Finds programs as a shell does. Called by the recipes that may use a program of the machine, and
 * by tests.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * The path of the program called `name`, which may be a path itself; undefined when there is none.
 */
export function findProgram(name: string, searchPath = process.env.PATH ?? ''): string | undefined {
  const candidates = name.includes('/') ? [name] : searchPath.split(delimiter).map((folder) => join(folder, name));
  return candidates.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
