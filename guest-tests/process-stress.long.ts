// SPDX-License-Identifier: Apache-2.0
/**
 * Our verbs under processes that behave badly: 100 killed in the middle of traffic, a minute of
 * commands of chance, resets and removals under their feet, with nothing left in adapter or kernel
 * afterwards and no complaint of the kernel. `PROCESS_STRESS` has fewer rounds: kills, seconds
 * of commands, resets, for instance 5,10,1; `SEED` is that of the commands.
 */
import t from 'tap';
import { runStress } from './stress-run.ts';

const [kills = 100, fuzzSeconds = 60, resets = 10] = (process.env.PROCESS_STRESS ?? '')
  .split(',')
  .filter(Boolean)
  .map(Number);
const SEED = Number(process.env.SEED ?? 1);

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('our verbs under processes that behave badly', async (t) => {
  await runStress(t, {
    script: 'process-stress.sh',
    files: ['uverbs-fuzz.py', 'uverbs_commands.py', 'uverbs_values.py', 'dead-device.py'],
    settings: { KILLS: kills, FUZZ_SECONDS: fuzzSeconds, RESETS: resets, SEED },
    device: ['--fabric=switch'],
    hasVerbs: true,
  });
});
