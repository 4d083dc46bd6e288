// SPDX-License-Identifier: Apache-2.0
/**
 * `node --import=#typescript scripts/bench/lanes.ts [--commands N]`: the cost of lanes per command
 * (admission, arbitration, both credits taken and given back) for 1 to 128 lanes that always have
 * work. Processor time, the best of several runs, as a ratio to one lane.
 */
import { PhysicalCollectBuffer } from '../../device/hca/collect/physical-collect-buffer.ts';
import { LaneLoad } from '../../device/rig/fixtures/lane-load.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

const RUNS = 5;
const BUFFERS = 256;

/** Nanoseconds of processor time per command, with `queuePairs` spread over the lanes. */
function measure(laneCount: number, queuePairs: number, commands: number): number {
  const load = new LaneLoad({ laneCount, executionCredits: 64, completionCredits: 1024, listSize: BUFFERS });
  const { lanes } = load;
  const all = Array.from({ length: queuePairs }, () => load.addQueuePair());
  for (let index = 0; index < BUFFERS; index++) lanes.admit(all[index % queuePairs], new PhysicalCollectBuffer(index));
  const before = process.cpuUsage();
  for (let done = 0; done < commands; done++) {
    lanes.peek();
    const buffer = lanes.launch();
    lanes.releaseExecution(buffer.hold);
    lanes.releaseCompletion(buffer.hold);
    lanes.admit(all[done % queuePairs], buffer);
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / commands;
}

await runEntry(async () => {
  const script = defineScript(
    'node --import=#typescript scripts/bench/lanes.ts',
    'Measures the cost of lanes per command.',
  );
  const withOptions = script.option('--commands <N>', 'Commands of each run.', wholeNumber(1), 1_000_000);
  const { commands } = readOptions<{ commands: number }>(withOptions);
  const best = (laneCount: number): number =>
    Math.min(...Array.from({ length: RUNS }, () => measure(laneCount, 128, commands)));
  best(8);
  const one = best(1);
  for (const laneCount of [1, 2, 8, 32, 64, 128]) {
    const cost = laneCount === 1 ? one : best(laneCount);
    const [count, ns] = [`${laneCount}`.padStart(4), cost.toFixed(0).padStart(5)];
    process.stdout.write(`${count} lanes ${ns} ns ${(cost / one).toFixed(2)}\n`);
  }
});
