// SPDX-License-Identifier: Apache-2.0
//
// What a command of `vuhca` is, and how its arguments are read: node:util's parseArgs finds the words, this file says in one
// sentence what is wrong with them. Each *-command.ts exports one Command; main.ts chooses.

import { parseArgs } from 'node:util';

/** A mistake in how a command was called. Exit status 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export interface CommandOption {
  readonly type: 'string' | 'boolean';
  /** What stands for the value in the help: `PATH`. */
  readonly value?: string;
  /** The value when the option is given without one; with it, a value must follow an equals sign. */
  readonly bare?: string;
  /** It may be given several times; of others the last one counts. */
  readonly repeats?: boolean;
  readonly description: string;
}

export interface Command {
  readonly name: string;
  /** A line for the list of commands. */
  readonly summary: string;
  /** What stands behind the options: `FILE`, or nothing; `[-- ARGUMENT...]` when anything may follow `--`, `[WORD...]` for more of them. */
  readonly operands: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** More lines for the help. */
  readonly notes?: readonly string[];
  /** Does the work; returns the exit status. */
  run(args: Arguments): Promise<number>;
}

/** The arguments of one call, checked against the command's options. */
export class Arguments {
  readonly operands: readonly string[];
  /** What stood behind `--`, undefined without it. */
  readonly rest: readonly string[] | undefined;
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(
    values: ReadonlyMap<string, readonly string[]>,
    operands: readonly string[],
    rest: readonly string[] | undefined = undefined,
  ) {
    this.#values = values;
    this.operands = operands;
    this.rest = rest;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1);
  }

  /** All values of an option that repeats, in their order. */
  texts(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** A value that must be there. */
  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw new UsageError(`option --${name} is missing`);
    return value;
  }

  /** A whole number from `low` to `high`, decimal or 0x. */
  integer(name: string, low: number, high: number): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : readInteger(name, value, low, high);
  }

  /** Two whole numbers with a comma between. */
  pair(name: string, low: number, high: number): [number, number] | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const parts = value.split(',');
    if (parts.length !== 2) throw new UsageError(`option --${name} is ${value}; it must be two numbers: 1,2`);
    return [readInteger(name, parts[0], low, high), readInteger(name, parts[1], low, high)];
  }

  /** One of the words given. */
  choice<T extends string>(name: string, words: readonly T[]): T | undefined {
    const value = this.text(name);
    const word = words.find((one) => one === value);
    if (value !== undefined && word === undefined)
      throw new UsageError(`option --${name} is ${value}; it must be ${words.join(', ')}`);
    return word;
  }
}

/** Reads the words behind the command's name. Throws UsageError. */
export function readArguments(command: Command, words: readonly string[]): Arguments {
  const options = Object.fromEntries(Object.entries(command.options).map(([name, { type }]) => [name, { type }]));
  const args = words.map((word) => addBareValue(command, word));
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  let terminator = -1;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') terminator = operands.length;
    else if (token.kind === 'positional') operands.push(token.value);
    else {
      const before = command.options[token.name]?.repeats ? (values.get(token.name) ?? []) : [];
      values.set(token.name, [...before, readOption(command, token)]);
    }
  }
  const own = terminator < 0 ? operands : operands.slice(0, terminator);
  const [required, optional = ''] = command.operands.split('[');
  const names = required.split(' ').filter((word) => word !== '');
  const open = optional !== '' && !optional.startsWith('--');
  if (own.length > names.length && !open) throw new UsageError(`${own[names.length]} is one argument too many`);
  if (own.length < names.length) throw new UsageError(`${names[own.length]} is missing`);
  if (terminator >= 0 && !optional.startsWith('--')) throw new UsageError('nothing may follow --');
  return new Arguments(values, own, terminator < 0 ? undefined : operands.slice(terminator));
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readOption(command: Command, token: OptionToken): string {
  const option = Object.hasOwn(command.options, token.name) ? command.options[token.name] : undefined;
  if (option === undefined) throw new UsageError(`unknown option ${token.rawName}`);
  if (option.type === 'boolean') {
    if (token.value !== undefined) throw new UsageError(`option ${token.rawName} takes no value`);
    return '';
  }
  const missing = token.value === undefined || token.value === '' || (!token.inlineValue && /^-./.test(token.value));
  if (missing) throw new UsageError(`option ${token.rawName} needs a value: ${token.rawName} ${option.value}`);
  return token.value;
}

function addBareValue(command: Command, word: string): string {
  const bare = word.startsWith('--') ? command.options[word.slice(2)]?.bare : undefined;
  return bare === undefined ? word : `${word}=${bare}`;
}

function readInteger(name: string, text: string, low: number, high: number): number {
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (value >= low && value <= high) return value;
  throw new UsageError(`option --${name} is ${text}; it must be a whole number from ${low} to ${high}`);
}
