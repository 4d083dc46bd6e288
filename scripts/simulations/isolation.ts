// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run isolation -- [--acts N] [--seed S]`: hostile writes, doorbells, descriptors and commands
 * of one function beside two active ones, and the same work without them. Registers, memory and
 * completions of the others must be equal in both; ends with 1 when they are not.
 */
import { portModels } from '../../device/adapter/options.ts';
import { Isolation } from '../../device/simulations/qos/isolation.ts';
import { runEntry } from '../../qemu/setup/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/script-options.ts';

const ACTS_PER_ROUND = 500;
/** Rounds of one seed; the next seed has new adapters. */
const ROUNDS_PER_SEED = 1000;
const PROGRESS_MS = 2000;

await runEntry(async () => {
  const script = defineScript(
    'npm run isolation --',
    'Compares the functions beside a hostile one with the same functions alone.',
  )
    .option('--acts <N>', 'How many hostile acts.', wholeNumber(1), 10_000_000)
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1);
  const { acts, seed } = readOptions<{ acts: number; seed: number }>(script);
  process.exitCode = runActs(acts, seed);
});

function runActs(wanted: number, firstSeed: number): number {
  const started = performance.now();
  let shown = started;
  let done = 0;
  for (let seed = firstSeed; done < wanted; seed++) {
    // Ports that functions share, and ports behind embedded switches, in turn.
    const portModel = portModels[seed % portModels.length];
    const [attacked, alone] = [new Isolation(seed, portModel), new Isolation(seed, portModel)];
    for (let round = 0; round < ROUNDS_PER_SEED && done < wanted; round++) {
      attacked.round(ACTS_PER_ROUND);
      alone.round(0);
      done += ACTS_PER_ROUND;
      if (performance.now() - shown <= PROGRESS_MS) continue;
      shown = performance.now();
      process.stdout.write(`${done} hostile acts, ${((shown - started) / 1000).toFixed(1)} s, seed ${seed}\n`);
    }
    const differences = attacked.findDifferences(alone);
    if (differences.length === 0) continue;
    process.stdout.write(`seed ${seed}: the attacker changed ${differences.join(', ')}\n`);
    return 1;
  }
  process.stdout.write(
    `${done} hostile acts: registers, memory and completions of the others are the same as without them\n`,
  );
  return 0;
}
