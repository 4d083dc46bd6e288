// SPDX-License-Identifier: Apache-2.0
/** Reads the program of a group that a command line names. Called by main.ts. */

import { UsageError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import type { Choice, Group } from './groups.ts';

/** A program with its command line. */
export interface Call {
  readonly file: string;
  readonly words: readonly string[];
}

/**
 * The call made by `words` after `npm run NAME --`. Prints the list of programs and ends the
 * process for `--help`. Throws UsageError.
 */
export function choose(name: string, group: Group, words: readonly string[]): Call {
  const names = Object.keys(group.choices);
  // An option may name a program as well, in place of one of the usual program.
  const [first, ...others] = names.some((one) => words[0] === `--${one}`)
    ? [words[0].slice('--'.length), ...words.slice(1)]
    : words;
  const isNamed = first !== undefined && (first === '--help' || !first.startsWith('-'));
  if (!isNamed && group.usual === undefined)
    throw new UsageError(`name one of ${names.join(', ')}; \`npm run ${name} -- --help\` describes them.`);
  let call: Call | undefined;
  const script = defineScript(`npm run ${name} --`, group.purpose)
    .usage('NAME [OPTION...]')
    .helpCommand(false)
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText('after', `\n\`npm run ${name} -- NAME --help\` lists the options of a program.`);
  for (const [choice, { purpose, file, words: fixed = [] }] of Object.entries<Choice>(group.choices))
    script
      .command(choice)
      .description(purpose)
      // These belong to the program.
      .helpOption(false)
      .allowUnknownOption()
      .passThroughOptions()
      .argument('[words...]')
      .action((more: readonly string[]) => {
        call = { file, words: [...fixed, ...more] };
      });
  readOptions(script, isNamed ? [first, ...others] : [group.usual as string, ...words]);
  return call as Call;
}
