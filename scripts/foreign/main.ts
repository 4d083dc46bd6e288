// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run test:foreign`: suites of foreign software in guests with Debian's user space, on each
 * adapter (docs/FOREIGN.md). Prints each result as it comes, and ends with the line "N passed, N
 * failed" and a non-zero status when a test of a judged adapter failed.
 */
import { writeFileSync } from 'node:fs';
import { runEntry } from '../../qemu/setup/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/script-options.ts';
import { BASE_PACKAGES, installMissingPackages } from '../../qemu/setup/system-packages.ts';
import { findObstacle } from './adapter-parts.ts';
import { describeResults } from './document.ts';
import { mergeResults, readResults, writeResults } from './results.ts';
import { runPeerSuites } from './run-peers.ts';
import { type ForeignOptions, type ForeignRun, runForeignSuites } from './run-suites.ts';
import { ADAPTERS, type AdapterName, type ForeignResult, isJudged, needsPeers, SUITES } from './suites.ts';

interface Options {
  readonly only: string;
  readonly adapter?: string;
  readonly short?: boolean;
  readonly write?: boolean;
  readonly log?: boolean;
}

const DOCUMENT = new URL('../../docs/FOREIGN.md', import.meta.url);

await runEntry(async () => {
  const script = defineScript('npm run test:foreign --', "Lets Debian's RDMA software judge the adapters.")
    .option('--only <SUITES>', `Only these suites, with commas between: ${SUITES.join(', ')}.`, SUITES.join())
    .option('--adapter <NAME>', `One adapter: ${[...ADAPTERS, 'vuhca'].join(', ')}.`)
    .option('--short', 'A few tests of each suite.')
    .option('--write', 'Keeps the results and writes docs/FOREIGN.md.')
    .option('--log', "Prints the log of the guests' kernels.");
  const { only, adapter: wanted, short = false, write = false, log = false } = readOptions<Options>(script);
  const suites = SUITES.filter((name) => only.split(',').includes(name));
  const adapters = wanted === undefined ? ADAPTERS : [wanted as AdapterName];
  await installMissingPackages(BASE_PACKAGES);
  let kept = readResults();
  let [passed, failed] = [0, 0];
  for (const adapter of adapters) {
    const obstacle = findObstacle(adapter);
    if (obstacle !== undefined) {
      process.stdout.write(`skipped ${adapter}: ${obstacle}\n`);
      continue;
    }
    process.stdout.write(`== ${adapter}: ${suites.join(', ')}\n`);
    const { results, faults, seconds } = await runAll({
      adapter,
      suites,
      short,
      onResult: print,
      ...(log ? { onKernelLine: (line: string) => process.stdout.write(`| ${line}\n`) } : {}),
    });
    for (const fault of faults) process.stdout.write(`fault: ${fault}\n`);
    const counts = (['pass', 'skip', 'fail'] as const).map((verdict) =>
      results.filter((one) => one.verdict === verdict),
    );
    process.stdout.write(`${adapter}: ${counts.map((list) => list.length).join(', ')} passed, skipped, failed; `);
    process.stdout.write(`${faults.length} faults, ${seconds.toFixed(0)} s\n`);
    passed += counts[0].length;
    if (isJudged(adapter)) failed += counts[2].length + faults.length;
    kept = mergeResults(kept, adapter, results);
  }
  if (write) {
    writeResults(kept);
    writeFileSync(DOCUMENT, describeResults(kept));
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  process.exitCode = failed > 0 ? 1 : 0;
});

/** The suites of one guest, then those between two guests. */
async function runAll(options: ForeignOptions): Promise<ForeignRun> {
  const lone = options.suites.filter((suite) => !needsPeers(suite));
  const peers = options.suites.filter(needsPeers);
  const runs = [
    ...(lone.length > 0 ? [await runForeignSuites({ ...options, suites: lone })] : []),
    ...(peers.length > 0 ? [await runPeerSuites({ ...options, suites: peers })] : []),
  ];
  return {
    results: runs.flatMap(({ results }) => results),
    faults: runs.flatMap(({ faults }) => faults),
    seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}

function print({ suite, name, verdict, reason, diagnostics }: ForeignResult, seconds: number): void {
  const word = { pass: 'ok     ', skip: 'skipped', fail: 'NOT OK ' }[verdict];
  process.stdout.write(`${seconds.toFixed(1).padStart(7)} ${word} ${suite}/${name} ${reason ?? ''}\n`);
  if (verdict === 'fail') for (const line of diagnostics) process.stdout.write(`            ${line}\n`);
}
