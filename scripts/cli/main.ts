// SPDX-License-Identifier: Apache-2.0
/**
 * The command line `vuhca`: performs the words it is given, and ends with their exit status. It is
 * also the program of the process that replays a recording for `vuhca view`.
 */
import { watchStandardStreams } from '../../protocol/system/standard-streams.mjs';
import { performWords } from './perform-words.ts';
import { REPLAY_PROCESS } from './view/replay-requests.ts';

watchStandardStreams();
process.exitCode = await perform(process.argv.slice(2));

async function perform(words: readonly string[]): Promise<number> {
  if (words[0] !== REPLAY_PROCESS) return performWords(words, (text) => void process.stderr.write(text));
  const { performReplayProcess } = await import('./view/replay-process.ts');
  return performReplayProcess(words[1]);
}
