// SPDX-License-Identifier: Apache-2.0
/**
 * A command of `vuhca`: commander's Command with the rules that commander leaves open. An optional
 * value must follow `=`, other values must not begin with `-` unless they follow `=`, the words
 * after `--` are kept apart, and every mistake is a UsageError of one line. program.ts makes the
 * tree; each *-command.ts adds options and help to one.
 */
import { Command, type Option, type ParseOptionsResult } from 'commander';
import { UsageError } from './usage-error.ts';

/** A command line shown in the help, and its purpose. */
export interface Example {
  readonly line: string;
  readonly purpose: string;
}

/** commander's messages and ours. */
const sentences: readonly (readonly [commander: RegExp, ours: string])[] = [
  [/^missing required argument (\S+)$/, '$1 is missing'],
  [/^required option (\S+).* not specified$/, 'option $1 is missing'],
];

export class CliCommand extends Command {
  readonly examples: Example[] = [];
  /** The words after `--`; undefined when there is no `--`. */
  rest: readonly string[] | undefined;
  /** True if words may follow `--`. */
  takesRest = false;

  constructor(name?: string) {
    super(name);
    this.addHelpText('after', () => this.#describeExamples());
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** Allows any words after `--`, which the usage line calls `name`. */
  takeRest(name: string): this {
    this.takesRest = true;
    return this.usage(`[options] [-- ${name}...]`);
  }

  /** Adds a command line to the help. */
  addExample(line: string, purpose: string): this {
    this.examples.push({ line, purpose });
    return this;
  }

  /** Adds lines after the options. */
  addNotes(...lines: readonly string[]): this {
    return this.addHelpText('after', `\n${lines.join('\n')}`);
  }

  givenOptions(): Option[] {
    return givenOptions(this);
  }

  override parseOptions(words: string[]): ParseOptionsResult {
    if (this.commands.length > 0) return this.#parseProgram(words);
    const end = words.indexOf('--');
    const own = end < 0 ? words : words.slice(0, end);
    this.rest = end < 0 ? undefined : words.slice(end + 1);
    if (own.includes('--help') || own.includes('-h')) this.help();
    if (this.rest !== undefined && !this.takesRest) throw new UsageError('nothing may follow --');
    return super.parseOptions(own.map((word, index) => settleWord(this.options, word, own[index + 1])));
  }

  /** Finds the command, which reads its own words. --help does not excuse an unknown command. */
  #parseProgram(words: string[]): ParseOptionsResult {
    const { operands, unknown } = super.parseOptions(words);
    const isMistake = operands.length > 0 && this.commands.every((command) => command.name() !== operands[0]);
    return { operands, unknown: isMistake ? [] : unknown };
  }

  /** commander reports every mistake here. */
  override error(message: string): never {
    const [mistake, suggestion] = message.replace(/^error: /, '').split('\n');
    const text = mistake.replaceAll(/'([^']+)'/g, '$1');
    if (/^too many arguments/.test(text))
      throw new UsageError(`${this.args[this.registeredArguments.length]} is one argument too many`);
    const names = this.commands.map((command) => command.name()).join(', ');
    const list = /^unknown command/.test(text) ? `; the commands are ${names}` : '';
    const sentence = sentences.reduce((ours, [from, to]) => ours.replace(from, to), text);
    throw new UsageError(`${sentence}${list}${suggestion === undefined ? '' : ` ${suggestion}`}`);
  }

  #describeExamples(): string {
    if (this.examples.length === 0) return '';
    return `\nExamples:\n${this.examples.map(({ line, purpose }) => `  # ${purpose}\n  ${line}`).join('\n')}`;
  }
}

/** The options given on the command line, without those that have their defaults. */
export function givenOptions(command: Command): Option[] {
  return command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
}

/**
 * A word in the form for commander. Throws UsageError when an option lacks its value, or has one
 * that it does not take.
 */
function settleWord(options: readonly Option[], word: string, next: string | undefined): string {
  if (!word.startsWith('--')) return word;
  const [name] = word.split('=', 1);
  const given = name === word ? undefined : word.slice(name.length + 1);
  const option = options.find(({ long }) => long === name);
  // commander compares the name with known ones, so it must not see the value.
  if (option === undefined) return name;
  if (option.isBoolean() || option.negate) {
    if (given !== undefined) throw new UsageError(`option ${name} takes no value`);
    return word;
  }
  if (option.optional && given === undefined) {
    // Without a preset, commander takes the next word if it is a value.
    return option.presetArg === undefined ? word : `${name}=${option.presetArg}`;
  }
  const isMissing = given === '' || (given === undefined && (next === undefined || next === '' || /^-./.test(next)));
  if (isMissing) throw new UsageError(`option ${name} needs a value: ${name} ${valueName(option)}`);
  return word;
}

/** The name of an option's value in the help: `FILE`; empty when the option takes none. */
export function valueName({ flags }: Option): string {
  return /[<[](.+)[>\]]$/.exec(flags)?.[1] ?? '';
}
