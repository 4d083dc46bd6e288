// SPDX-License-Identifier: Apache-2.0
/**
 * The host traces a guest's queue pairs while the session is recorded: tracing crosses the seam, so
 * the replay is identical. The guest runs a suite of the in-kernel tests.
 */
import { join } from 'node:path';
import t from 'tap';
import { runGuestCases } from '../../guest-tests/harness/kernel-cases.ts';
import { report } from '../../guest-tests/harness/report.ts';
import { traceWhileItRuns } from './testing/host-tracer.ts';
import { runCli } from './testing/run-cli.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('queue pairs that the host traces while the run is recorded: the replay is identical', async (t) => {
  const path = join(t.testdir(), 'traced.rec');
  let traced: Promise<number> | undefined;
  const run = await runGuestCases({
    suites: ['connected'],
    count: 500,
    deviceArguments: ['--record', path],
    onDevice: ({ child }) => {
      traced = traceWhileItRuns(child.controlPath);
    },
  });
  report(t, run);
  const messages = (await traced) ?? 0;
  t.ok(messages > 10, `${messages} messages were traced`);
  t.match(await runCli(['replay', path]), { status: 0, stdout: /traced\.rec: identical: / });
});
