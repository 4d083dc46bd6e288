// SPDX-License-Identifier: Apache-2.0
/**
 * Errors of the set-up of a context: one sentence that names the object, the limit and the next
 * step. Messages of a client never throw; they are answered, logged and counted.
 */
import { getSystemErrorMap } from 'node:util';

/** An error in the set-up (path, library, description of the device) that a user can correct. */
export class VfioUserError extends Error {
  override name = 'VfioUserError';
}

/** Name and text of an errno, such as `EACCES (permission denied)`. */
export function errnoText(errno: number): string {
  const entry = getSystemErrorMap().get(-errno);
  return entry === undefined ? `errno ${errno}` : `${entry[0]} (${entry[1]})`;
}
