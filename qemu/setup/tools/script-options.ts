// SPDX-License-Identifier: Apache-2.0
/**
 * The command lines of the npm scripts and of the other entry files (all but `vuhca`): commander
 * reads them and prints their help; a mistake becomes one sentence and exit status 2. Called by the
 * entry files, inside runEntry().
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { UsageError } from './errors.ts';

/**
 * A script without options; `call` is its command line without them: `npm run simulate -- chaos`.
 */
export function defineScript(call: string, purpose: string): Command {
  return new Command(call)
    .description(purpose)
    .helpOption('--help', 'Prints this help.')
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
}

/** Reads `words`; prints the help and ends the process for `--help`. Throws UsageError. */
export function readOptions<T extends object>(script: Command, words: readonly string[] = process.argv.slice(2)): T {
  try {
    return script.parse(words, { from: 'user' }).opts<T>();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) process.exit(0);
    const sentence = error.message
      .replace(/^error: /, '')
      .split('\n')
      .join(' ')
      .replace(/\.$/, '');
    throw new UsageError(`${sentence}; \`${script.name()} --help\` lists the options.`);
  }
}

/** Reads the value of an option that takes a whole number. */
export function wholeNumber(least = 0, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number ${range}`);
  };
}
