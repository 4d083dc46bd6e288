// SPDX-License-Identifier: Apache-2.0
//
// The one kind of error that set-up and launching raise on purpose: a clear sentence that says what happened and what
// to do next. Entry scripts print the sentence and leave with a non-zero status; anything else is a defect of ours and
// keeps its stack. Called by everything in qemu and by the entry scripts.

/** A failure the user can act on; `message` is one or two sentences that end with the next step. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}

/** Runs `main`, printing a SetupError as its sentence alone and any other error with its stack; both set exit status 1. */
export async function runEntry(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
}

/** The text to show for `error`: the sentence of a SetupError, the stack of anything else. */
export function describeError(error: unknown): string {
  if (error instanceof SetupError) return `vuhca: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
