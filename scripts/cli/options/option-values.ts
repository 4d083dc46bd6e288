// SPDX-License-Identifier: Apache-2.0
/**
 * Options of `vuhca` by the kind of their value: whole numbers, pairs of them, words out of a list;
 * and those that several commands have. Each parser throws a UsageError that names the option, its
 * value and its limits. Called by the definitions of the commands.
 */
import { Argument, Option } from 'commander';
import { FILE_LIMIT_BYTES, RECORDING_LIMIT_MAX_BYTES } from '../../../device/hosts/file-limits.ts';
import { UsageError } from './usage-error.ts';

/** The largest number of a queue pair, which has 24 bits. */
export const QPN_MAX = 0xffffff;
/** Highest number of a process of a guest. */
export const PROCESS_MAX = 0xffffffff;
export const DAY_SECONDS = 86_400;
/** The highest port of the host door: its clients have the ports behind it. */
const DOOR_PORT_MAX = 65_535 - 64;

export const BYTES_PER_MIB = 2 ** 20;
export const LIMIT_MAX_MIB = 2 ** 30;

/** Debian Policy 5.6.7; apt would remove a package whose name has a minus at its end. */
export const PACKAGE_NAME = /^[a-z0-9][a-z0-9+.-]*[a-z0-9+.]$/;

/** Levels of the adapter's log. */
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** An option with a whole number from `low` to `high`, decimal or 0x. */
export function wholeNumber(flags: string, description: string, low: number, high: number): Option {
  const option = new Option(flags, description);
  return option.argParser((text) => readWholeNumber(option, text, low, high));
}

/** Like `wholeNumber`, and may be given several times; the value is the list of all. */
export function wholeNumbers(flags: string, description: string, low: number, high: number): Option {
  const option = new Option(flags, description);
  return option.argParser((text, before: readonly number[] = []) => [
    ...before,
    readWholeNumber(option, text, low, high),
  ]);
}

/** An option with any word, which may be given several times; the value is the list of all. */
export function several(flags: string, description: string): Option {
  const option = new Option(flags, `${description}; may be given several times`);
  return option.argParser((text, before: readonly string[] = []) => [...before, text]);
}

/** An option with two whole numbers and a comma between them. */
export function numberPair(flags: string, description: string, low: number, high: number): Option {
  const option = new Option(flags, description);
  return option.argParser((text) => {
    const parts = text.split(',');
    if (parts.length !== 2) throw new UsageError(`option ${option.long} is ${text}; it must be two numbers: 1,2`);
    return parts.map((part) => readWholeNumber(option, part, low, high));
  });
}

/** An option with one word out of `words`. */
export function wordOf(flags: string, description: string, words: readonly string[]): Option {
  const option = new Option(flags, description).choices(words);
  return option.argParser((text) => {
    if (words.includes(text)) return text;
    throw new UsageError(`option ${option.long} is ${text}; it must be ${words.join(', ')}`);
  });
}

/** The first argument of a command with several actions, or views. */
export function actionArgument(words: readonly string[], name = '<ACTION>'): Argument {
  const last = words.at(-1);
  return new Argument(name).choices(words).argParser((text) => {
    if (words.includes(text)) return text;
    throw new UsageError(`${text} is not understood; say ${words.slice(0, -1).join(', ')} or ${last}`);
  });
}

/** The option that chooses a running adapter: all commands that read one have it. */
export function controlOption(): Option {
  return new Option('--control <PATH>', 'The control socket (default: that of the only running adapter)');
}

/** The option that shows `what` repeatedly. */
export function watchOption(what: string): Option {
  return wholeNumber('--watch [SECONDS]', `Repeats ${what} until Ctrl-C`, 1, DAY_SECONDS).preset('1');
}

/** Rights of a page: all actions of its user, or read-only. */
const VIEW_MODES = ['act', 'read'] as const;
export type ViewMode = (typeof VIEW_MODES)[number];

/** The option that serves the page of `vuhca view` beside the work of a command. */
export function viewOption(): Option {
  return wordOf(
    '--view [MODE]',
    'Shows it in a browser, as `vuhca view`; read: the page may only look',
    VIEW_MODES,
  ).preset('act');
}

/** The option of a process that stands still until it is stepped. */
export function stepwiseOption(): Option {
  return new Option('--stepwise', 'The adapter stands still: the page and `vuhca step` move it; see docs/VIEW.md');
}

/** The option of the host door (docs/FABRIC.md). */
export function doorOption(): Option {
  const purpose = 'The host door: UDP port for opensm and diagnostics; see docs/FABRIC.md';
  return wholeNumber('--ibsim <PORT>', purpose, 1, DOOR_PORT_MAX);
}

/** The option of further packages in Debian's user space (qemu/setup/package-set.ts). */
export function packagesOption(): Option {
  const option = new Option('--packages <NAMES>', "Packages of Debian 13 to have in Debian's user space: gcc,fio");
  return option.argParser((text, before: readonly string[] = []) => {
    const names = text.split(',');
    const wrong = names.find((name) => !PACKAGE_NAME.test(name));
    if (wrong === undefined) return [...before, ...names];
    const rule = 'it must be names of Debian packages, with commas between them: gcc,libibverbs-dev';
    throw new UsageError(
      `option --packages is ${text}; ${wrong === '' ? 'a name is missing' : `${wrong} is no name`}: ${rule}`,
    );
  });
}

/** An option with the largest size, in MiB, of a file that an adapter process writes. */
export function limitOption(flags: string, description: string, maxMiB: number): Option {
  return wholeNumber(flags, description, 1, maxMiB).default(FILE_LIMIT_BYTES / BYTES_PER_MIB);
}

/** That of a recording. */
export function recordLimitOption(): Option {
  const most = RECORDING_LIMIT_MAX_BYTES / BYTES_PER_MIB;
  return limitOption('--record-limit <MIB>', 'Ends the recording, not the session, before it becomes longer', most);
}

/** The option that chooses a level of the log. */
export function logLevelOption(preset: LogLevel): Option {
  return wordOf('--log-level <LEVEL>', "Level of the adapter's log", LOG_LEVELS).default(preset, preset);
}

function readWholeNumber({ long }: Option, text: string, low: number, high: number): number {
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (value >= low && value <= high) return value;
  throw new UsageError(`option ${long} is ${text}; it must be a whole number from ${low} to ${high}`);
}
