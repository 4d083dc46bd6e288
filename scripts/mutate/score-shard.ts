// SPDX-License-Identifier: Apache-2.0
/**
 * One shard of a run over areas: the mutants of its share of their files. The results go to a file
 * for `npm run shards`, which writes those of all shards into the tables. Called by main.ts.
 */
import { describeShare, type Shard, writeShard } from '../console/shard.ts';
import { writeSummary } from '../shards/summary.ts';
import type { Area } from './areas.ts';
import { countFile, type FileResult } from './result-files.ts';
import { OPEN } from './results.ts';
import { type RunOptions, runArea } from './run-area.ts';
import { shareFiles } from './share-files.ts';

/** Tries the mutants of the shard and writes its file. */
export async function scoreShard(
  areas: readonly Area[],
  shard: Shard,
  options: Pick<RunOptions, 'concurrency' | 'force' | 'deadline'>,
): Promise<void> {
  const { own, all } = shareFiles(areas, shard);
  process.stdout.write(`${describeShare(shard, own.length, all, 'files')}\n`);
  const results: FileResult[] = [];
  for (const area of areas) {
    const mutate = own.filter((file) => file.area === area).map(({ path }) => path);
    if (mutate.length === 0) continue;
    const outcomes = await runArea(area, { ...options, mutate, keep: true });
    const resultOf = (path: string): FileResult =>
      countFile(
        area,
        path,
        outcomes.filter(({ fileName }) => fileName === path),
      );
    results.push(...mutate.map(resultOf));
  }
  const open = results.flatMap(({ survivors }) => survivors.filter(({ reason }) => reason === OPEN));
  const path = writeSummary('mutate', {
    ...shard,
    command: `npm run mutate -- ${areas.map(({ name }) => name).join(' ')}`,
    passed: results.reduce((sum, { score }) => sum + score.killed + score.excused, 0),
    failed: open.length,
    failures: open.map(({ file, code, change }) => `${file}: no test notices the change "${change}" in: ${code}`),
    results,
  });
  process.stdout.write(`shard ${writeShard(shard)}: ${open.length} survivors have no reason; results: ${path}\n`);
}
