// SPDX-License-Identifier: Apache-2.0
/**
 * The kept results of foreign software: one file, a row for each test, so that a run of one adapter
 * or suite leaves the rest as it was. docs/verbs/FOREIGN.md is written from it. Called by main.ts.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AdapterName, type ForeignResult, SUITES } from './suites.ts';

/** `ok`, `FAIL`, `skip: REASON` or `driver: REASON`; by adapter, suite and name. */
export type KeptResults = Partial<Record<AdapterName, Record<string, Record<string, string>>>>;

/** Begins the reason of a test that failed, and whose cause is the driver. */
const DRIVER = 'driver: ';
const FILE = new URL('results.json', import.meta.url);

export function readResults(): KeptResults {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as KeptResults) : {};
}

export function writeResults(kept: KeptResults): void {
  writeFileSync(FILE, `${JSON.stringify(kept, null, 2)}\n`);
}

/** Replaces the suites of `adapter` that have run. */
export function mergeResults(kept: KeptResults, adapter: AdapterName, results: readonly ForeignResult[]): KeptResults {
  const suites = { ...kept[adapter] };
  for (const suite of SUITES) {
    const own = results.filter((result) => result.suite === suite);
    if (own.length > 0) suites[suite] = Object.fromEntries(own.map((result) => [result.name, describe(result)]));
  }
  return { ...kept, [adapter]: suites };
}

/** Files of pyverbs of which no test passes on `adapter`, as far as it was kept. */
export function filesWithoutPasses(kept: KeptResults, adapter: AdapterName): string[] {
  const files = new Map<string, boolean>();
  for (const [name, text] of Object.entries(kept[adapter]?.pyverbs ?? {})) {
    const [file = ''] = name.split('.');
    files.set(file, files.get(file) === true || text === 'ok');
  }
  return [...files].filter(([, passes]) => !passes).map(([file]) => file);
}

function describe({ verdict, reason = '' }: ForeignResult): string {
  if (verdict === 'skip') return reason.startsWith(DRIVER) ? reason : `skip: ${reason}`;
  return verdict === 'pass' ? 'ok' : 'FAIL';
}
