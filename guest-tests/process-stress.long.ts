// SPDX-License-Identifier: Apache-2.0
/**
 * Our verbs under misbehaving processes: kills in the middle of traffic, random commands, resets
 * and removals while processes use the device, with nothing left in adapter or kernel afterwards
 * and no complaint of the kernel. `PROCESS_STRESS` sets the numbers of kills, seconds of commands
 * and resets, for instance 100,60,10; `SEED` is that of the commands.
 */
import t from 'tap';
import { readRounds, runStress } from './stress-run.ts';

const [kills = 5, fuzzSeconds = 5, resets = 1] = readRounds('PROCESS_STRESS');
const SEED = Number(process.env.SEED ?? 1);

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('our verbs under processes that behave badly', async (t) => {
  await runStress(t, {
    script: 'process-stress.sh',
    files: ['uverbs-fuzz.py', 'uverbs_commands.py', 'uverbs_values.py', 'dead-device.py'],
    settings: { KILLS: kills, FUZZ_SECONDS: fuzzSeconds, RESETS: resets, SEED },
    device: { arguments: ['--fabric=switch'] },
    hasVerbs: true,
  });
});
