// SPDX-License-Identifier: Apache-2.0
/** The command line `vuhca`: performs the words it is given, and ends with their exit status. */
import { ExitStatus } from './exit-statuses.ts';
import { performWords } from './perform-words.ts';

const SIGPIPE = 13;

process.stdout.on('error', endWithoutReader);
process.exitCode = await performWords(process.argv.slice(2), (text) => void process.stderr.write(text));

/**
 * Ends the process as the signal SIGPIPE, which Node.js ignores, ends other programs: in
 * `vuhca run --help | head -3` the reader has what it wants, and an error would only hide it.
 */
function endWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(ExitStatus.SIGNAL + SIGPIPE);
}
