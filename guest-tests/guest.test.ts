// SPDX-License-Identifier: Apache-2.0
//
// The in-kernel tests against the real thing: stock kernel in QEMU, our driver, the adapter in a process of its own. Each kernel
// test is a subtest; one that fails shows what it complained about and the end of the kernel log it made.

import t, { type Test } from 'tap';
import { type GuestRun, runGuestCases } from './guest-run.ts';
import type { KtapResult } from './ktap.ts';

/** Lines of kernel log shown with a failure. */
const LOG_TAIL = 40;
/** What a run is given on a busy machine, compilation included. */
const BOUND_MS = 600_000;

/** As few buffers and credits as there can be: commands are refused, wait and fall back everywhere. */
const SCARCE = [
  ...['--pcbs', '4', '--pcb-guaranteed', '2,1', '--scheduler-buffers', '1'],
  ...['--execution-credits', '1', '--completion-credits', '1', '--port-queue', '2'],
];

t.setTimeout(BOUND_MS);

t.test('every suite, with the adapter as it comes', { timeout: BOUND_MS }, async (t) => {
  const run = await runGuestCases();
  report(t, run);
  t.comment(`${run.results.length} results in ${run.seconds.toFixed(1)} s`);
});

t.test('commands and their copies, with hardly any resources', { timeout: BOUND_MS }, async (t) => {
  const suites = ['datagram', 'collect', 'copies', 'parallel', 'flush', 'connected_bulk', 'connected_breaks'];
  const run = await runGuestCases({ suites, count: 1000, seed: 2, deviceArguments: SCARCE });
  report(t, run);
  const refused = run.results.find(({ path }) => path.join('/') === 'copies/refused');
  t.equal(refused?.skipped, undefined, 'the case for refused commands did run');
  t.comment(`${run.results.length} results in ${run.seconds.toFixed(1)} s`);
});

t.test('an adapter that dies under the driver', { timeout: BOUND_MS }, async (t) => {
  const run = await runGuestCases({ script: 'gone.sh' });
  report(t, run);
});

/** One subtest for each suite, in it one for each case, and one for the run itself. */
function report(t: Test, run: GuestRun): void {
  const suites = new Map<string, KtapResult[]>();
  for (const result of run.results) {
    const [suite = ''] = result.path;
    const cases = suites.get(suite) ?? [];
    if (!result.parent) cases.push(result);
    suites.set(suite, cases);
  }
  for (const [suite, cases] of suites) {
    t.test(suite, (t) => {
      for (const result of cases) reportCase(t, run, suite, result);
      t.end();
    });
  }
  t.same(run.faults, [], 'the run itself', { log: run.faults.length > 0 ? run.kernelLog().slice(-LOG_TAIL) : [] });
}

function reportCase(t: Test, run: GuestRun, suite: string, result: KtapResult): void {
  const name = result.path.slice(1).join('/') || suite;
  if (result.skipped !== undefined) t.pass(name, { skip: result.skipped });
  else if (result.ok) t.pass(name);
  else t.fail(name, { diagnostics: result.diagnostics, kernelLog: run.kernelLog(suite, name).slice(-LOG_TAIL) });
}
