// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run test:foreign`: suites of foreign software in guests with Debian's user space, on each
 * adapter (docs/verbs/FOREIGN.md). Prints each result as it arrives, and ends with the line "N
 * passed, N failed" and a non-zero status when a test of a judged adapter failed.
 */
import { writeFileSync } from 'node:fs';
import { BASE_PACKAGES, installMissingPackages } from '../../qemu/setup/system-packages.ts';
import { runEntry, SetupError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { table } from '../console/table.ts';
import { describeResults } from './document.ts';
import { FigureReader, type KeptFigures, readFigures, tabulateFigures, writeFigures } from './figures.ts';
import { mergeResults, readResults, writeResults } from './results.ts';
import { runAll } from './run-all.ts';
import {
  ADAPTERS,
  type AdapterName,
  concerns,
  type ForeignResult,
  isJudged,
  readNames,
  SUITES,
  type SuiteName,
} from './suites.ts';

interface Options {
  readonly only: string;
  readonly adapter: string;
  readonly far?: string;
  readonly tests?: string;
  readonly short?: boolean;
  readonly write?: boolean;
  readonly log?: boolean;
}

const DOCUMENT = new URL('../../docs/verbs/FOREIGN.md', import.meta.url);

await runEntry(async () => {
  const script = defineScript('npm run test:foreign --', "Lets Debian's RDMA software judge the adapters.")
    .option('--only <SUITES>', `Only these suites, with commas between: ${SUITES.join(', ')}.`, SUITES.join())
    .option('--adapter <NAMES>', `Only these adapters: ${ADAPTERS.join(', ')}.`, ADAPTERS.join())
    .option('--far <NAME>', 'The adapter of the far one of two guests, when it is another one.')
    .option('--tests <EXPRESSION>', 'Only tests whose names match it, as grep -E does; of pyverbs: names of files.')
    .option('--short', 'A few tests of each suite.')
    .option('--write', 'Keeps the results and writes docs/verbs/FOREIGN.md.')
    .option('--log', "Prints the log of the guests' kernels.");
  const options = readOptions<Options>(script);
  const isPart = options.short || options.tests !== undefined || options.far !== undefined;
  if (options.write && isPart)
    throw new SetupError('--write keeps whole suites of one adapter: leave out --short, --tests and --far');
  const adapters = readNames('--adapter', options.adapter, ADAPTERS);
  const suites = readNames('--only', options.only, SUITES);
  const far = options.far === undefined ? [] : readNames('--far', options.far, ADAPTERS.filter(isJudged));
  if (far.length > 0 && adapters.includes('rxe'))
    throw new SetupError('--far needs adapters on one fabric: leave rxe out of --adapter');
  await installMissingPackages(BASE_PACKAGES);
  let [passed, failed] = [0, 0];
  for (const together of groupAdapters(adapters, suites)) {
    const counts = await runGroup(together, { suites, ...(far[0] === undefined ? {} : { far: far[0] }) }, options);
    passed += counts.passed;
    failed += counts.failed;
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  process.exitCode = failed > 0 ? 1 : 0;
});

/** The suites that run on each adapter, and the far one. */
type Choice = Pick<Parameters<typeof runAll>[0], 'suites' | 'far'>;

/** Adapters whose figures are compared share a guest; others have one each. */
function groupAdapters(adapters: readonly AdapterName[], suites: readonly SuiteName[]): AdapterName[][] {
  const judged = adapters.filter(isJudged);
  const isMeasured = suites.every((suite) => suite === 'figures' || suite === 'turns');
  return isMeasured && judged.length > 0 ? [judged] : adapters.map((adapter) => [adapter]);
}

/**
 * Runs the suites on the adapters of one guest and keeps the results, so that a later fault loses
 * nothing.
 */
async function runGroup(
  adapters: readonly AdapterName[],
  choice: Choice,
  { tests, short = false, write = false, log = false }: Options,
): Promise<{ readonly passed: number; readonly failed: number }> {
  const suites = SUITES.filter((name) => choice.suites.includes(name) && concerns(name, adapters));
  const title = adapters.join(', ');
  process.stdout.write(`== ${title}: ${suites.join(', ')}\n`);
  const figures = new FigureReader();
  const { results, faults, othersFaults, seconds } = await runAll({
    ...choice,
    adapters,
    suites,
    short,
    onResult: print,
    onReport: (line) => figures.push(line),
    ...(tests === undefined ? {} : { tests }),
    ...(log ? { onKernelLine: (line: string) => process.stdout.write(`| ${line}\n`) } : {}),
  });
  for (const fault of othersFaults) process.stdout.write(`not of the adapter: ${fault}\n`);
  for (const fault of faults) process.stdout.write(`fault: ${fault}\n`);
  const [passed, skipped, failed] = (['pass', 'skip', 'fail'] as const).map(
    (verdict) => results.filter((one) => one.verdict === verdict).length,
  ) as [number, number, number];
  const measured = measure(figures, adapters);
  if (Object.keys(measured).length > 0) process.stdout.write(table(tabulateFigures(measured), 1));
  process.stdout.write(`${title}: ${passed}, ${skipped}, ${failed} passed, skipped, failed; `);
  process.stdout.write(`${faults.length} faults, ${seconds.toFixed(0)} s\n`);
  if (write) for (const adapter of adapters) keep(adapter, resultsOf(adapter, adapters, results), measured);
  return { passed, failed: adapters.some(isJudged) ? failed + faults.length : 0 };
}

/** The results of one of `adapters`, and those of its references. */
function resultsOf(
  adapter: AdapterName,
  adapters: readonly AdapterName[],
  results: readonly ForeignResult[],
): ForeignResult[] {
  const others = adapters.filter((other) => other !== adapter);
  return results.filter(
    ({ suite, name }) => concerns(suite, [adapter]) && !others.some((other) => name.split('-').includes(other)),
  );
}

/** Measurements of the adapters, and without a fabric. */
function measure(figures: FigureReader, adapters: readonly AdapterName[]): KeptFigures {
  const ratios = ([...adapters, 'vuhca-single', 'loop', 'loop-single'] as const).map(
    (name) => [name, figures.ratios(name)] as const,
  );
  return Object.fromEntries(ratios.filter(([, measured]) => Object.keys(measured).length > 0));
}

function keep(adapter: AdapterName, results: readonly ForeignResult[], measured: KeptFigures): void {
  const kept = mergeResults(readResults(), adapter, results);
  const figures = { ...readFigures(), ...measured };
  writeResults(kept);
  if (Object.keys(measured).length > 0) writeFigures(figures);
  writeFileSync(DOCUMENT, describeResults(kept, figures));
}

function print({ suite, name, verdict, reason, diagnostics }: ForeignResult, seconds: number): void {
  const word = { pass: 'ok     ', skip: 'skipped', fail: 'NOT OK ' }[verdict];
  process.stdout.write(`${seconds.toFixed(1).padStart(7)} ${word} ${suite}/${name} ${reason ?? ''}\n`);
  if (verdict === 'fail') for (const line of diagnostics) process.stdout.write(`            ${line}\n`);
}
