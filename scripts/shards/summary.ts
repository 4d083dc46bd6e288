// SPDX-License-Identifier: Apache-2.0
/**
 * Results of one shard of a run, as a file, and the combined results of all shards. A program with
 * `--shard` writes the file; `npm run shards` joins them (scripts/test-runner/shards.ts).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { type Shard, writeShard } from '../console/shard.ts';

/** The results of a shard. */
export interface ShardSummary extends Shard {
  /** The command without its shard; the same for all shards. */
  readonly command: string;
  readonly passed: number;
  readonly failed: number;
  /** The failures, a line each. */
  readonly failures: readonly string[];
  /** Results for a program that joins more than counts. */
  readonly results?: readonly unknown[];
}

/** The results of all shards. */
export type JoinedSummary = Omit<ShardSummary, 'number'>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'build', 'shards');

/** Writes the file; returns its path from the root of the repository. */
export function writeSummary(name: string, summary: ShardSummary): string {
  const path = join(FOLDER, `${name}-${summary.number}-of-${summary.count}.json`);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(path, `${JSON.stringify(summary, null, 1)}\n`);
  return relative(ROOT, path);
}

/** Reads files of shards. Throws SetupError for others. */
export function readSummaries(paths: readonly string[]): ShardSummary[] {
  return paths.map((path) => {
    const content = readJson(path);
    if (!isSummary(content)) throw new SetupError(`${path} is no file of a shard; name those of build/shards.`);
    return content;
  });
}

/** Joins the shards of one run. Throws SetupError when one is missing, or is another run's. */
export function joinSummaries(summaries: readonly ShardSummary[]): JoinedSummary {
  const [first] = summaries;
  if (first === undefined) throw new SetupError('name the files of all shards: npm run shards -- build/shards/*.json');
  const { command, count } = first;
  const other = summaries.find((one) => one.command !== command || one.count !== count);
  if (other !== undefined)
    throw new SetupError(
      `the files are of two runs, \`${command}\` in ${count} and \`${other.command}\` in ${other.count} shards; name those of one.`,
    );
  for (let number = 1; number <= count; number++) {
    const found = summaries.filter((one) => one.number === number).length;
    const shard = writeShard({ number, count });
    if (found === 0) throw new SetupError(`shard ${shard} of \`${command}\` is missing; run it, or name its file.`);
    if (found > 1) throw new SetupError(`shard ${shard} of \`${command}\` is named ${found} times; name it once.`);
  }
  const sorted = [...summaries].sort((left, right) => left.number - right.number);
  const sum = (key: 'passed' | 'failed'): number => sorted.reduce((total, one) => total + one[key], 0);
  return {
    command,
    count,
    passed: sum('passed'),
    failed: sum('failed'),
    failures: sorted.flatMap(({ failures }) => failures),
    results: sorted.flatMap(({ results }) => results ?? []),
  };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SetupError(`${path} cannot be read (${code ?? message}); name files of build/shards.`);
  }
}

function isSummary(content: unknown): content is ShardSummary {
  const one = content as Partial<ShardSummary> | null;
  const numbers = [one?.number, one?.count, one?.passed, one?.failed];
  return typeof one?.command === 'string' && numbers.every(Number.isSafeInteger) && Array.isArray(one.failures);
}
