// SPDX-License-Identifier: Apache-2.0
/**
 * The words that a shell can complete in calls of `vuhca`, from commander's tree of commands:
 * names, options, choices of values, and places of files. completion-bash.ts and completion-zsh.ts
 * write them in the language of a shell.
 */
import type { Argument, Option } from 'commander';
import { type CliCommand, valueName } from '../options/cli-command.ts';

/** The place of an option's value: none, the next word or after `=`, or only after `=`. */
export type ValuePlace = 'none' | 'next' | 'equals';

/** A value: one word out of `choices`, a file, or a text that only the user knows. */
export interface WordValue {
  readonly name: string;
  readonly choices: readonly string[];
  readonly isFile: boolean;
  /** The value may be repeated. */
  readonly isList: boolean;
}

export interface OptionWords {
  /** With its dashes. */
  readonly name: string;
  readonly description: string;
  readonly place: ValuePlace;
  readonly value: WordValue;
}

export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
  readonly operands: readonly WordValue[];
  /** True if any words may follow `--`. */
  readonly takesRest: boolean;
}

/** Placeholders of values that are files. */
const FILE_NAMES = ['FILE', 'PATH', 'FOLDER'];

/** All commands that have been defined. */
export function describeCommands(commands: readonly CliCommand[]): CommandWords[] {
  const names = commands.map((command) => command.name());
  return commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    options: command.createHelp().visibleOptions(command).map(describeOption),
    operands: command.registeredArguments.map((argument) => describeOperand(argument, names)),
    takesRest: command.takesRest,
  }));
}

function describeOption(option: Option): OptionWords {
  const { long, description, required, optional, argChoices = [] } = option;
  const name = valueName(option);
  return {
    name: long ?? '',
    description,
    place: required ? 'next' : optional ? 'equals' : 'none',
    value: {
      name,
      choices: argChoices.map(trimPlaceholder).filter(Boolean),
      isFile: FILE_NAMES.includes(name),
      isList: false,
    },
  };
}

function describeOperand(argument: Argument, commands: readonly string[]): WordValue {
  const { argChoices = [], variadic: isList } = argument;
  const name = argument.name();
  return { name, choices: name === 'COMMAND' ? commands : argChoices, isFile: FILE_NAMES.includes(name), isList };
}

/** `adversarial:` of `adversarial:SEED`, and nothing of `MICROSECONDS`. */
function trimPlaceholder(choice: string): string {
  return choice.replace(/[A-Z]+$/, '');
}
