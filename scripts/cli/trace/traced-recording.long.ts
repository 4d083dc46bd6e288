// SPDX-License-Identifier: Apache-2.0
/**
 * Host and guest trace a guest's queue pairs while the session is recorded: tracing crosses the
 * seam, so the replay is identical, even one that traces all queue pairs itself (IPCOM000010133D
 * par. 1). The guest runs suites of the in-kernel tests.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runGuestCases } from '../../../guest-tests/harness/kernel-cases.ts';
import { report } from '../../../guest-tests/harness/report.ts';
import { ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { traceWhileItRuns } from '../testing/host-tracer.ts';
import { runCli } from '../testing/run-cli.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('queue pairs that the host traces while the run is recorded: the replay is identical', async (t) => {
  const directory = t.testdir();
  const path = join(directory, 'traced.rec');
  let traced: Promise<number> | undefined;
  const run = await runGuestCases({
    suites: ['connected', 'trace'],
    count: 500,
    deviceArguments: ['--record', path],
    onDevice: ({ child }) => {
      traced = traceWhileItRuns(child.controlPath);
    },
  });
  report(t, run);
  const messages = (await traced) ?? 0;
  t.ok(messages > 10, `${messages} messages were traced`);
  const identical = { status: 0, stdout: /traced\.rec: identical: / };
  t.match(await runCli(['replay', path]), identical);
  const exported = join(directory, 'messages.json');
  t.match(await runCli(['replay', '--export', exported, '--format', 'json', path]), { status: 0 }, 'identical');
  const lines = readFileSync(exported, 'utf8').trimEnd().split('\n');
  const services = new Set(lines.map((line) => JSON.parse(line).serviceType));
  for (const name of ['RC', 'UC', 'UD'] as const)
    t.ok(services.has(ServiceType[name]), `the replay traced messages of ${name}`);
});
