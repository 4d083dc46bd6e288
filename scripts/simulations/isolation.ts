// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- isolation [--processes | --personality NAME] [--acts N] [--seed S]`: hostile
 * writes, doorbells, descriptors and commands of one function, of a process of each function, or of
 * processes on devices of a personality, beside active ones, and the same work without them. All
 * that the others see must be equal in both runs; ends with 1 otherwise.
 */
import { Option } from 'commander';
import { portModels } from '../../device/hca/adapter/options.ts';
import type { PersonalityIsolation } from '../../device/rig/fixtures/personality-isolation.ts';
import { Mlx5Isolation } from '../../device/rig/mlx5/isolation.ts';
import { MthcaIsolation } from '../../device/rig/mthca/isolation.ts';
import { ProcessIsolation } from '../../device/rig/processes/isolation.ts';
import { Isolation } from '../../device/rig/qos/isolation.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

const ACTS_PER_ROUND = 500;
/** Rounds of one seed; the next seed has new adapters. */
const ROUNDS_PER_SEED = 1000;
/** The same with mlx5, whose driver uses no mailbox twice. */
const MLX5_ROUNDS_PER_SEED = 50;
const PROGRESS_MS = 2000;

interface Options {
  readonly acts: number;
  readonly seed: number;
  readonly processes: boolean;
  readonly personality: Personality;
}

/** One seed: a run that is attacked, and one that is not. */
interface Comparison {
  /** Rounds of the seed. */
  readonly rounds?: number;
  /** Hostile acts and a message of the victims, in both runs. Returns the fault, if any. */
  round(acts: number): string | undefined;
  /** What differs between the runs, or was left behind. */
  end(): readonly string[];
}

const personalities = ['vuhca', 'mthca', 'mlx5'] as const;
type Personality = (typeof personalities)[number];
/** Whose hostile software: functions, processes, or processes of devices of a personality. */
type Subject = Personality | 'processes';

const comparisons: Readonly<Record<Subject, (seed: number) => Comparison>> = {
  vuhca: compareFunctions,
  processes: compareProcesses,
  mthca: (seed) => comparePersonality(seed, MthcaIsolation),
  mlx5: (seed) => ({
    ...comparePersonality(seed, Mlx5Isolation),
    rounds: MLX5_ROUNDS_PER_SEED,
  }),
};

await runEntry(async () => {
  const script = defineScript(
    'npm run simulate -- isolation',
    'Compares what others see beside hostile software with what they see alone.',
  )
    .option('--acts <N>', 'How many hostile acts.', wholeNumber(1), 10_000_000)
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1)
    .option('--processes', 'Hostile processes with collect pages of their own, not hostile functions.', false)
    .addOption(
      new Option('--personality <NAME>', 'Whose functions or processes.').choices(personalities).default('vuhca'),
    );
  const { acts, seed, personality, processes } = readOptions<Options>(script);
  process.exitCode = runActs(acts, seed, processes ? 'processes' : personality);
});

function runActs(wanted: number, firstSeed: number, subject: Subject): number {
  const started = performance.now();
  let shown = started;
  let done = 0;
  for (let seed = firstSeed; done < wanted; seed++) {
    const run = comparisons[subject](seed);
    const { rounds = ROUNDS_PER_SEED } = run;
    let wrong: string | undefined;
    for (let round = 0; round < rounds && done < wanted && wrong === undefined; round++) {
      wrong = run.round(ACTS_PER_ROUND);
      done += ACTS_PER_ROUND;
      if (performance.now() - shown <= PROGRESS_MS) continue;
      shown = performance.now();
      process.stdout.write(`${done} hostile acts, ${((shown - started) / 1000).toFixed(1)} s, seed ${seed}\n`);
    }
    const differences = wrong === undefined ? run.end() : [wrong];
    if (differences.length === 0) continue;
    process.stdout.write(`seed ${seed}: the attacker changed ${differences.join(', ')}\n`);
    return 1;
  }
  const what = subject === 'vuhca' ? 'registers' : subject === 'processes' ? 'queues' : 'contexts';
  process.stdout.write(
    `${done} hostile acts: ${what}, memory and completions of the others are the same as without them\n`,
  );
  return 0;
}

/** Ports that functions share, and ports behind embedded switches, in turn. */
function compareFunctions(seed: number): Comparison {
  const portModel = portModels[seed % portModels.length];
  const [attacked, alone] = [new Isolation(seed, portModel), new Isolation(seed, portModel)];
  return {
    round: (acts) => {
      attacked.round(acts);
      alone.round(0);
      return undefined;
    },
    end: () => attacked.findDifferences(alone),
  };
}

function compareProcesses(seed: number): Comparison {
  const [attacked, alone] = [new ProcessIsolation(seed), new ProcessIsolation(seed)];
  return {
    round: (acts) => {
      attacked.round(acts);
      alone.round(0);
      return undefined;
    },
    end: () => [...attacked.end(), ...alone.end(), ...attacked.findDifferences(alone)],
  };
}

/** What such a run throws names the seed. */
function comparePersonality(seed: number, Run: new (seed: number) => PersonalityIsolation): Comparison {
  const [attacked, alone] = [new Run(seed), new Run(seed)];
  const attempt = <T>(perform: () => T): T => {
    try {
      return perform();
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  };
  return {
    round: (acts) => attempt(() => attacked.round(acts) ?? alone.round(0)),
    end: () => attempt(() => [...attacked.findDifferences(alone), ...attacked.end()]),
  };
}
