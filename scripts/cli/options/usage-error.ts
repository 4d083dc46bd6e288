// SPDX-License-Identifier: Apache-2.0
/**
 * The error for a wrong call of a command. Parsers of options and files throw it, commands throw it
 * for arguments that contradict each other, main.ts prints its sentence and exits with status 2.
 */
/** A wrong call of a command; `message` names the object, its value, its limit, the next step. */
export class UsageError extends Error {
  override name = 'UsageError';
}
