// SPDX-License-Identifier: Apache-2.0
// What goes wrong while a context is set up: one sentence that names the object, the limit and the next step.
// Nothing a client sends throws; that is answered, logged and counted.

import { getSystemErrorMap } from 'node:util';

/** A mistake in the set-up (path, library, description of the device) that a user can mend. */
export class VfioUserError extends Error {
  override name = 'VfioUserError';
}

/** The name and text of an errno, such as `EACCES (permission denied)`. */
export function errnoText(errno: number): string {
  const entry = getSystemErrorMap().get(-errno);
  return entry === undefined ? `errno ${errno}` : `${entry[0]} (${entry[1]})`;
}
