// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run bench -- adapter`. Called by main.ts. */
import { type Command, InvalidArgumentError } from 'commander';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

const PARTS = ['guest', 'raw', 'in-process'] as const;

export type Part = (typeof PARTS)[number];

export interface BenchOptions {
  /** The parts to measure. */
  readonly parts: readonly Part[];
  readonly rounds: number;
  /** A missed target sets the exit status. */
  readonly strict: boolean;
  /** The CPU of the raw benchmark; none lets the scheduler choose. */
  readonly cpu: number | undefined;
  /** Where the adapter's process leaves a CPU profile. */
  readonly profileDirectory: string | undefined;
}

interface Given {
  readonly guest?: boolean;
  readonly raw?: boolean;
  readonly inProcess?: boolean;
  readonly rounds: number;
  readonly cpu: number | 'any';
  readonly profile?: string;
  readonly strict?: boolean;
}

const FEWEST_ROUNDS = 5;

/** The script with its options. */
export function defineBench(): Command {
  return defineScript('npm run bench -- adapter', 'Measures the adapter; without a part: --guest and --in-process.')
    .option('--guest', 'Adapter and C twin in one guest, and messages through the driver.')
    .option('--raw', 'Adapter and C twin on the socket, without QEMU.')
    .option('--in-process', 'Messages through the device core alone, and what they allocate.')
    .option('--rounds <N>', `Rounds that take turns, at least ${FEWEST_ROUNDS}.`, wholeNumber(FEWEST_ROUNDS), 9)
    .option('--cpu <N|any>', 'The CPU of --raw.', readCpu, 0)
    .option('--profile <DIR>', "The adapter's process writes a CPU profile there.", readDirectory)
    .option('--strict', 'Exits with status 1 when a target is missed.');
}

/** Reads the words of a command line. Throws UsageError. */
export function parseOptions(words: readonly string[]): BenchOptions {
  const given = readOptions<Given>(defineBench(), words);
  const wanted = { guest: given.guest, raw: given.raw, 'in-process': given.inProcess };
  const parts = PARTS.filter((part) => wanted[part]);
  return {
    parts: parts.length === 0 ? ['guest', 'in-process'] : parts,
    rounds: given.rounds,
    strict: given.strict ?? false,
    cpu: given.cpu === 'any' ? undefined : given.cpu,
    profileDirectory: given.profile,
  };
}

function readCpu(text: string): number | 'any' {
  return text === 'any' ? text : wholeNumber()(text);
}

function readDirectory(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must name a folder');
}
