// SPDX-License-Identifier: Apache-2.0
/**
 * End of a program whose output is no longer read. Node.js ignores SIGPIPE and throws instead: a
 * user whose reader ends early, as in `vuhca status | head -3`, would see a stack trace. Plain
 * JavaScript, like everything that set-up needs. Called by the entry files, before anything else.
 */
import { errnoWords } from './errno-words.mjs';

const SIGNAL_STATUS = 128;
const SIGPIPE = 13;

/**
 * From now on the process ends as programs do: quietly without a reader, otherwise with a message.
 */
export function watchStandardStreams() {
  process.stdout.on('error', (error) => {
    if (Object(error).code === 'EPIPE') process.exit(SIGNAL_STATUS + SIGPIPE);
    process.stderr.write(`vuhca: standard output cannot be written ${errnoWords(error)}\n`);
    process.exit(1);
  });
  // There is no other place for a message.
  process.stderr.on('error', () => {});
}
