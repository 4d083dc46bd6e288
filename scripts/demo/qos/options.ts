// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run demo -- qos`. Called by main.ts. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { SetupError, UsageError } from '../../../qemu/setup/tools/errors.ts';
import { defineScript, wholeNumber } from '../../../qemu/setup/tools/script-options.ts';
import { type AdapterWords, readWithAdapter } from '../../cli/options/adapter-script.ts';
import { objectToKind } from '../../cli/options/named-files.ts';

export interface DemoOptions extends AdapterWords {
  /** Modelled guests and simulated time. */
  readonly inProcess: boolean;
  /** Two processes of one guest. */
  readonly processes: boolean;
  /** The length of each phase. */
  readonly seconds: number;
  /** Absolute path of the plot. */
  readonly output: string;
  /** File for the figures of the plot, as JSON. */
  readonly data?: string | undefined;
}

/** A guest that is silent for a minute counts as hung, and guests are silent during a phase. */
const LONGEST_SECONDS = 50;
const DEFAULT_SECONDS = 4;
const DEFAULT_OUTPUT = 'build/demo/qos.svg';

/** The script with its options. */
export function defineDemo(): Command {
  return defineScript(
    'npm run demo -- qos',
    'Three guests, or two processes, share one adapter: what each has while others flood.',
  )
    .option(
      '--seconds <N>',
      `How long each phase is measured, 1 to ${LONGEST_SECONDS}; ${DEFAULT_SECONDS} by default.`,
      wholeNumber(1, LONGEST_SECONDS),
    )
    .option('--output <FILE>', 'Where the plot goes, an SVG.', DEFAULT_OUTPUT)
    .option('--data <FILE>', 'Writes the shares, as JSON; with --in-process.')
    .option('--in-process', 'Modelled hosts over simulated time, without guests; takes no --seconds.')
    .option('--processes', 'Two processes of one guest that post at QoS levels of their own.');
}

/** Reads the words of a command line. Throws UsageError. */
export function parseOptions(words: readonly string[]): DemoOptions {
  const given = readWithAdapter<Partial<DemoOptions>>(defineDemo(), words);
  const { inProcess, processes, seconds, output, data } = given;
  if (inProcess === true && seconds !== undefined)
    throw new UsageError('--in-process runs over simulated time; leave --seconds out.');
  if (inProcess === true && processes === true)
    throw new UsageError('--processes needs a guest; leave --in-process out.');
  if (inProcess !== true && data !== undefined) throw new UsageError('--data has the shares of --in-process; add it.');
  return {
    data,
    inProcess: inProcess ?? false,
    processes: processes ?? false,
    seconds: seconds ?? DEFAULT_SECONDS,
    output: resolve(output ?? DEFAULT_OUTPUT),
    words: given.words,
    members: given.members,
  };
}

/** Throws SetupError before a run that takes minutes, when its plot could not be written. */
export function checkOutput(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new SetupError(`the plot cannot be written to ${path} ${errnoWords(error)}.`);
  }
  const status = statSync(path, { throwIfNoEntry: false });
  const objection = status && objectToKind(status, { characterDevice: true });
  if (objection !== undefined) throw new SetupError(`--output=${path} takes no plot: ${objection}.`);
}
