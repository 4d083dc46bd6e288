// SPDX-License-Identifier: Apache-2.0
/**
 * The command line `vuhca`: performs a command line, and ends with its exit status. It is also the
 * program of the process that replays a recording for `vuhca view`, and of the supervisor of a
 * cluster.
 */
import { watchStandardStreams } from '../../protocol/system/standard-streams.mjs';
import { SUPERVISOR_PROCESS } from './cluster/supervisor-words.ts';
import { performWords } from './perform-words.ts';
import { REPLAY_PROCESS } from './view/replay-requests.ts';

watchStandardStreams();
process.exitCode = await perform(process.argv.slice(2));

async function perform(words: readonly string[]): Promise<number> {
  if (words[0] === SUPERVISOR_PROCESS) return (await import('./cluster/supervisor.ts')).performSupervisor(words[1]);
  if (words[0] !== REPLAY_PROCESS) return performWords(words, (text) => void process.stderr.write(text));
  const { performReplayProcess } = await import('./view/replay-process.ts');
  return performReplayProcess(words[1]);
}
