// SPDX-License-Identifier: Apache-2.0
/**
 * Errors that are raised on purpose: a sentence for the user, which tells what happened and what to
 * do next. Entry files print the sentence and end with a non-zero status; any other error is a
 * defect of vuhca and keeps its stack. Called by qemu/, guest-tests/ and the entry files of
 * scripts/.
 */
import { describeSystemError } from '../../../protocol/system/errno-words.mjs';
import { printableLines } from '../../../protocol/system/printable.mjs';
import { watchStandardStreams } from '../../../protocol/system/standard-streams.mjs';

/**
 * A failure that the user can act on; `message` is one or two sentences that end with the next
 * step.
 */
export class SetupError extends Error {
  override readonly name: string = 'SetupError';
}

/** An adapter process or a QEMU that does not start. */
export class StartError extends SetupError {}

/**
 * A command line that cannot be carried out; `message` names the mistake and how to list the
 * options.
 */
export class UsageError extends SetupError {
  override readonly name: string = 'UsageError';
}

/**
 * Runs `main`; prints the sentence of a SetupError, or any other error with its stack, and sets the
 * exit status: 2 for a UsageError, else 1.
 */
export async function runEntry(main: () => Promise<void>): Promise<void> {
  watchStandardStreams();
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

/** The text to show for `error`: a sentence if it is for users or of the system, else the stack. */
export function describeError(error: unknown): string {
  const sentence = error instanceof SetupError ? error.message : describeSystemError(error);
  if (sentence !== undefined) return printableLines(`vuhca: ${sentence}`);
  return printableLines(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
