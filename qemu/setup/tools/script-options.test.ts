// SPDX-License-Identifier: Apache-2.0
/**
 * Command lines of scripts: values are read; a mistake is one sentence that names the option and
 * the help.
 */
import t from 'tap';
import { defineScript, readOptions, wholeNumber } from './script-options.ts';

const define = () =>
  defineScript('npm run mutate --', 'Changes sources.')
    .option('--seed <N>', 'The seed.', wholeNumber(), 1)
    .option('--rounds <N>', 'How often.', wholeNumber(1, 9), 3)
    .option('--replay', 'Prints it.');

t.test('given options are taken, the others have their defaults', async (t) => {
  t.same(readOptions(define(), []), { seed: 1, rounds: 3 });
  t.same(readOptions(define(), ['--seed=7', '--rounds', '9', '--replay']), { seed: 7, rounds: 9, replay: true });
});

t.test('a mistake is one sentence', async (t) => {
  const mistake = (...words: string[]) => {
    try {
      return readOptions(define(), words);
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  };
  const help = '; `npm run mutate -- --help` lists the options.';
  const invalid = (value: string) =>
    `UsageError: option '--rounds <N>' argument '${value}' is invalid. It must be a whole number from 1 to 9${help}`;
  for (const value of ['0', '10', '1.5', 'x', '', '-1']) t.equal(mistake(`--rounds=${value}`), invalid(value));
  t.match(mistake('--seed', '-1'), /^UsageError: option '--seed <N>' .* of at least 0; /);
  t.equal(mistake('--sed'), `UsageError: unknown option '--sed' (Did you mean --seed?)${help}`);
  t.match(mistake('more'), /^UsageError: too many arguments/);
  t.match(mistake('--seed'), /^UsageError: option '--seed <N>' argument missing; /);
});

t.test('the help comes from the options', async (t) => {
  const help = define().helpInformation();
  t.match(help, /^Usage: npm run mutate -- \[options\]\n\nChanges sources\.\n/);
  t.match(help, /--rounds <N> +How often\. \(default: 3\)/);
});
