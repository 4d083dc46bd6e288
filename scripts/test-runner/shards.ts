// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run shards -- FILE...`: joins the results of all shards of a run (`--shard`), which are
 * files of build/shards. Prints what failed and the line "N passed, N failed", and ends with a
 * status. The results of `npm run mutate` go into its tables.
 */
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { type FileResult, keepFile } from '../mutate/result-files.ts';
import { writeScoreTable } from '../mutate/scores.ts';
import { joinSummaries, readSummaries } from '../shards/summary.ts';

await runEntry(async () => {
  const script = defineScript('npm run shards --', 'Joins the results of all shards of a run.').argument(
    '[FILE...]',
    'The files of all shards, from build/shards.',
  );
  readOptions(script);
  const { command, count, passed, failed, failures, results = [] } = joinSummaries(readSummaries(script.args));
  for (const line of failures) process.stdout.write(`${line}\n`);
  for (const result of results) keepFile(result as FileResult);
  if (results.length > 0) writeScoreTable();
  process.stdout.write(`${command}, ${count} shards:\n${passed} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
});
