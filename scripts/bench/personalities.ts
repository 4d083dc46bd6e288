// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- personalities`: what a message of 64 bytes costs an mlx5 device in process, as
 * a ratio to an mthca device, and what the commands of a driver's load cost it. Processor time of
 * the device alone, without that of the driver.
 */
import { join } from 'node:path';
import { raiseInliningBudget } from '../../device/process/host/inlining-budget.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { MESSAGE_KINDS, type MessageKind } from './messages.ts';
import { Mlx5Commands } from './mlx5-commands.ts';
import { describeComparison, median, summarize } from './statistics.ts';
import { TurnWorker } from './turn-worker.ts';

const WORKER = join(import.meta.dirname, 'personality-worker.ts');
const PERSONALITIES = ['mthca', 'mlx5'] as const;
const TURN_BATCHES = 250;
const WARM_UP_TURNS = 20;
const TURNS = 31;
/** Rounds of commands; a driver's load makes 6,124 keys, 31 in flight. */
const LOAD_ROUNDS = 198;
const WARM_UP_ROUNDS = 20;

interface Options {
  readonly turns: number;
}

await runEntry(async () => {
  const script = defineScript(
    'npm run bench -- personalities',
    'Measures messages of mlx5 beside those of mthca, and commands of mlx5.',
  ).option('--turns <N>', 'Turns of each device.', wholeNumber(1), TURNS);
  const { turns } = readOptions<Options>(script);
  measureCommands();
  for (const kind of MESSAGE_KINDS) await compareMessages(kind, turns);
});

function measureCommands(): void {
  raiseInliningBudget();
  const commands = new Mlx5Commands();
  const names = Object.keys(commands.costs) as (keyof typeof commands.costs)[];
  const before = { ...commands.costs };
  for (const [what, rounds] of [
    ['the first commands', WARM_UP_ROUNDS],
    ['those of a load', LOAD_ROUNDS],
  ] as const) {
    for (const name of names) before[name] = { ...commands.costs[name] };
    for (let round = 0; round < rounds; round++) commands.round();
    const costs = names.map((name) => {
      const { commands: count, totalNs } = commands.costs[name];
      const us = (totalNs - before[name].totalNs) / 1000 / (count - before[name].commands);
      return `${name} ${us.toFixed(1)} us`;
    });
    process.stdout.write(`mlx5, ${what}: ${costs.join(', ')}\n`);
  }
}

/** The devices take turns on one processor, so that its changes affect both alike. */
async function compareMessages(kind: MessageKind, turns: number): Promise<void> {
  const workers = PERSONALITIES.map((personality) => new TurnWorker(WORKER, [personality, kind], 0));
  try {
    for (const worker of workers) await worker.ready;
    const times = PERSONALITIES.map((): number[] => []);
    for (let turn = -WARM_UP_TURNS; turn < turns; turn++)
      for (const [index, worker] of workers.entries()) {
        const ns = await worker.send(TURN_BATCHES);
        if (turn >= 0) times[index].push(ns);
      }
    const [mthca, mlx5] = times;
    const comparison = summarize(mlx5.map((ns, turn) => ns / mthca[turn]));
    process.stdout.write(
      `${kind}, 64 bytes: mthca ${median(mthca).toFixed(0)} ns, mlx5 ${median(mlx5).toFixed(0)} ns, ratio ${describeComparison(comparison)}\n`,
    );
  } finally {
    for (const worker of workers) worker.end();
  }
}
