// SPDX-License-Identifier: Apache-2.0
/**
 * The runs of `vuhca test --seeds N`: the same job with other seeds of the ordering model, of write
 * combining and of the faults of the link, and the command line that repeats one of them. Pure.
 * Called by test-action.ts.
 */
import type { TestArguments } from './test-command.ts';

/** The options that `--seeds` changes, `--seeds` included. */
const SEEDED = ['--seeds', '--ordering', '--write-combining', '--fault'];
const FIRST_SEED = 1;
const ADVERSARIAL = 'adversarial:';

/** One run of a job. */
export interface SeededRun {
  readonly given: TestArguments;
  /** The options that hold its seeds; empty without `--seeds`. */
  readonly words: readonly string[];
}

/**
 * The runs of each job. Run n adds n to each seed that is given; where none is given, it disturbs
 * order and write combining with the seeds 1, 2, and so on.
 */
export function seedRuns(given: TestArguments): readonly SeededRun[] {
  if (given.seeds === undefined) return [{ given, words: [] }];
  return Array.from({ length: given.seeds }, (_, index) => runOf(given, index));
}

function runOf(given: TestArguments, index: number): SeededRun {
  const { ordering, writeCombining, fault } = given;
  const add = (seed: number): number => (seed + index) >>> 0;
  const isQuiet = !ordering.startsWith(ADVERSARIAL) && writeCombining === undefined && fault === undefined;
  const hasOrder = isQuiet || ordering.startsWith(ADVERSARIAL);
  const seed = ordering.startsWith(ADVERSARIAL) ? Number(ordering.slice(ADVERSARIAL.length)) : FIRST_SEED;
  const stores = writeCombining ?? (isQuiet && given.personality === 'vuhca' ? FIRST_SEED : undefined);
  const changed = {
    ordering: hasOrder ? `${ADVERSARIAL}${add(seed)}` : ordering,
    ...(stores === undefined ? {} : { writeCombining: add(stores) }),
    ...(fault === undefined ? {} : { fault: addToFault(fault, add) }),
  };
  return { given: { ...given, ...changed }, words: wordsOf(changed) };
}

function wordsOf({ ordering, writeCombining, fault }: Pick<TestArguments, 'ordering' | 'writeCombining' | 'fault'>) {
  return [
    ...(ordering === 'strict' ? [] : [`--ordering=${ordering}`]),
    ...(writeCombining === undefined ? [] : [`--write-combining=${writeCombining}`]),
    ...(fault === undefined ? [] : [`--fault=${fault}`]),
  ];
}

/** The faults with the sum as their seed. */
function addToFault(fault: string, add: (seed: number) => number): string {
  const parts = fault.split(',').filter((part) => !part.startsWith('seed='));
  const [, seed = FIRST_SEED] = /(?:^|,)seed=(\d+)/.exec(fault) ?? [];
  return [...parts, `seed=${add(Number(seed))}`].join(',');
}

/**
 * The command line that repeats one run of a job: `typed` are the words after `vuhca test`,
 * `others` the folders of other jobs.
 */
export function repeatCommand(typed: readonly string[], others: readonly string[], words: readonly string[]): string {
  const kept: string[] = [];
  for (let at = 0; at < typed.length; at++) {
    const [name] = typed[at].split('=', 1);
    if (SEEDED.includes(name)) at += name === typed[at] ? 1 : 0;
    else if (!others.includes(typed[at])) kept.push(typed[at]);
  }
  return ['vuhca test', ...[...kept, ...words].map(quote)].join(' ');
}

/** A word as a shell reads it back. */
function quote(word: string): string {
  return /^[\w/.,:=+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
