// SPDX-License-Identifier: Apache-2.0
/** The command line of `npm run demo:qos`. Called by main.ts. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SetupError } from '../../../qemu/setup/errors.ts';

export interface DemoOptions {
  readonly help: boolean;
  /** Modelled guests and time instead of real ones. */
  readonly inProcess: boolean;
  /** Of each phase. */
  readonly seconds: number;
  /** Absolute path of the plot. */
  readonly output: string;
}

/** A guest that says nothing for a minute is taken to hang, and during a phase guests say nothing. */
const LONGEST_SECONDS = 50;
const DEFAULT_OUTPUT = 'build/demo/qos.svg';

export const USAGE = `npm run demo:qos -- [--seconds=N] [--output=FILE] [--in-process]
  --seconds=N      how long each phase is measured, 1 to ${LONGEST_SECONDS} (default 4)
  --output=FILE    where the plot goes, an SVG (default ${DEFAULT_OUTPUT})
  --in-process     no guests: modelled hosts over simulated time, takes no --seconds
`;

/** Throws SetupError for what it does not know, and when the plot cannot be written. */
export function parseOptions(args: readonly string[]): DemoOptions {
  const values = parse(args);
  const inProcess = values['in-process'] ?? false;
  if (inProcess && values.seconds !== undefined)
    throw new SetupError('--in-process runs over simulated time; leave --seconds out.');
  const seconds = Number(values.seconds ?? 4);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_SECONDS)
    throw new SetupError(`--seconds=${values.seconds} must give a whole number from 1 to ${LONGEST_SECONDS}.`);
  return { help: values.help ?? false, inProcess, seconds, output: resolve(values.output ?? DEFAULT_OUTPUT) };
}

/** Found out before the minute that a run takes. */
export function checkOutput(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new SetupError(
      `the plot cannot be written to ${path} (${(error as Error).message}); choose another --output.`,
    );
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new SetupError(`--output=${path} is a folder; name a file.`);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean' },
        'in-process': { type: 'boolean' },
        seconds: { type: 'string' },
        output: { type: 'string' },
      },
    }).values;
  } catch (error) {
    const [sentence] = (error as Error).message.split('. ');
    throw new SetupError(`${sentence}; \`npm run demo:qos -- --help\` lists the options.`);
  }
}
