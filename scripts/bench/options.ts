// SPDX-License-Identifier: Apache-2.0
/** The command line of the benchmark. Called by main.ts. */
import { SetupError } from '../../qemu/setup/errors.ts';

export type Part = 'guest' | 'raw' | 'in-process';

export interface BenchOptions {
  readonly help: boolean;
  /** What is measured, in this order. */
  readonly parts: readonly Part[];
  readonly rounds: number;
  /** A missed target sets the exit status. */
  readonly strict: boolean;
  /** The CPU of the raw benchmark; none lets the scheduler choose. */
  readonly cpu: number | undefined;
  /** Where the adapter's process leaves a CPU profile. */
  readonly profileDirectory: string | undefined;
}

export const USAGE = `npm run bench -- [--guest] [--raw] [--in-process] [OPTIONS]
  --guest          adapter and C twin in one guest, and messages through the driver
  --raw            adapter and C twin on the socket, without QEMU
  --in-process     messages through the device core alone, and what they allocate
                   (without any of these: --guest --in-process)
  --rounds=N       rounds that take turns, at least 5 (default 9)
  --cpu=N|any      the CPU of --raw (default 0)
  --profile=DIR    the adapter's process writes a CPU profile there
  --strict         exit with status 1 when a target is missed
`;

const FEWEST_ROUNDS = 5;

/** Throws SetupError for what it does not know. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const parts: Part[] = [];
  let options = { help: false, rounds: 9, strict: false, cpu: 0 as number | undefined };
  let profileDirectory: string | undefined;
  for (const arg of args) {
    const [name, value = ''] = arg.split(/=(.*)/s);
    if (name === '--help') options = { ...options, help: true };
    else if (name === '--strict') options = { ...options, strict: true };
    else if (name === '--guest' || name === '--raw' || name === '--in-process') parts.push(name.slice(2) as Part);
    else if (name === '--rounds') options = { ...options, rounds: parseNumber(arg, value, FEWEST_ROUNDS) };
    else if (name === '--cpu') options = { ...options, cpu: value === 'any' ? undefined : parseNumber(arg, value, 0) };
    else if (name === '--profile' && value !== '') profileDirectory = value;
    else throw new SetupError(`the benchmark does not know ${arg}; \`npm run bench -- --help\` lists what it knows.`);
  }
  return { ...options, profileDirectory, parts: parts.length === 0 ? ['guest', 'in-process'] : parts };
}

function parseNumber(arg: string, value: string, least: number): number {
  const number = Number(value);
  if (value !== '' && Number.isInteger(number) && number >= least) return number;
  throw new SetupError(`${arg} must give a whole number of at least ${least}; correct it.`);
}
