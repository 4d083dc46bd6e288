// SPDX-License-Identifier: Apache-2.0
/**
 * The options of an adapter on the command line of an npm script that runs one: the same as those
 * of `vuhca device`. Called by `npm start` and demonstrations.
 */
import type { Command } from 'commander';
import type { AdapterOptions } from '../../../device/hca/adapter/options.ts';
import { UsageError as ScriptError } from '../../../qemu/setup/tools/errors.ts';
import { readOptions } from '../../../qemu/setup/tools/script-options.ts';
import {
  type AdapterArguments,
  addAdapterOptions,
  givenAdapterOptions,
  repeatAdapterArguments,
} from './adapter-arguments.ts';
import { pickGiven, readAdapterOptions } from './adapter-options.ts';
import { UsageError } from './usage-error.ts';

/** Options of the adapter on a command line. */
export interface AdapterWords {
  /** The words that give `vuhca device` the same options. */
  readonly words: readonly string[];
  /** The options of the model that were given; others keep the values of the script. */
  readonly members: Partial<AdapterOptions>;
}

/**
 * Reads `words` by the options of `script` and those of an adapter. Throws UsageError, also for
 * values that the adapter would refuse.
 */
export function readWithAdapter<T extends object>(script: Command, words?: readonly string[]): T & AdapterWords {
  addAdapterOptions(script);
  try {
    const given = readOptions<T & AdapterArguments>(script, words);
    const members = pickGiven(readAdapterOptions(given), givenAdapterOptions(script));
    return { ...given, words: repeatAdapterArguments(script), members };
  } catch (error) {
    if (error instanceof UsageError)
      throw new ScriptError(`${error.message}; \`${script.name()} --help\` lists the options.`);
    throw error;
  }
}
