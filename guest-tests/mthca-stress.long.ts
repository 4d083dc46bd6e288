// SPDX-License-Identifier: Apache-2.0
/**
 * Debian's ib_mthca under stress: 100 times removed and loaded, 100 programs killed in the middle
 * of traffic, 50 link flaps and four fatal errors under IPoIB, with nothing left in device or
 * kernel afterwards and no complaint of the kernel. `MTHCA_STRESS` has fewer rounds of each:
 * 3,4,5,1.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { ControlClient } from '../device/main/control-client.ts';
import { answerGuest } from '../device/main/guest-requests.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../qemu/distribution-guest.ts';
import type { GuestJob } from './harness/guest-image.ts';
import { runGuest } from './harness/guest-run.ts';
import { requestProgram } from './harness/host-requests.ts';
import { report } from './harness/report.ts';

const SCRIPT = 'stock-driver-stress.sh';
const MEMORY_MIB = 1024;
/** Results that the script prints. */
const CHECKS = 9;
const SILENCE_SECONDS = 1200;
const CAUSES = ['internal', 'bus', 'memory', 'parity'];
const [reloads = 100, kills = 100, flaps = 50, failures = CAUSES.length] = (process.env.MTHCA_STRESS ?? '')
  .split(',')
  .filter(Boolean)
  .map(Number);

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the stock driver under stress', async (t) => {
  const causes = CAUSES.slice(0, failures).join(' ');
  const settings = `RELOADS=${reloads}\nKILLS=${kills}\nFLAPS=${flaps}\nCAUSES="${causes}"\n`;
  const parts = await provideDistributionParts(undefined, {
    files: [requestProgram('/usr/bin/adapter'), { path: '/etc/vuhca/stress', content: settings, mode: 0o644 }],
    caseText: readFileSync(new URL(`cases/${SCRIPT}`, import.meta.url), 'utf8'),
  });
  const job: GuestJob = {
    modules: parts.modules.map((module) => ({ kind: 'stock', ...module })),
    files: parts.files,
    script: { name: SCRIPT, text: ENTER_WITH_CASE },
  };
  let client: ControlClient | undefined;
  const run = await runGuest(job, {
    guest: { memoryMiB: MEMORY_MIB, disk: parts.disk },
    device: { arguments: ['--personality=mthca', '--fabric=switch'] },
    cleared: true,
    silenceSeconds: SILENCE_SECONDS,
    onReport: (line) => t.comment(line),
    onDevice: async ({ child }) => {
      client = await ControlClient.connect(child.controlPath);
    },
    answer: (words) => answerGuest(client as ControlClient)(words),
  });
  client?.close();
  report(t, run);
  t.equal(run.results.filter(({ step }) => step === undefined).length, CHECKS, 'all checks did run');
  t.comment(`${run.seconds.toFixed(1)} s`);
});
