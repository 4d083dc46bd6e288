// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca run --stepwise`: a guest boots while the adapter runs, gets answers from the device while
 * it stands still, and continues after steps and a run to an interrupt. The recording replays.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

// Only the machine's own bound ends a slow guest.
t.setTimeout(0);

/** Reads of configuration space, with pauses of a quarter of a second. */
const READS = 32;
const CASE = `#!/bin/sh
insmod /modules/vuhca_traffic.ko || exit 2
until grep -q '^port 1 collected [1-9]' /sys/kernel/debug/vuhca-traffic/counters; do usleep 100000; done
echo booted
n=0
while [ $n -lt ${READS} ]; do
  cat /sys/bus/pci/drivers/vuhca/0*/config >/dev/null || exit 3
  n=$((n+1))
  echo "read $n"
  usleep 250000
done
`;

t.test('a guest with an adapter that is stepped', async (t) => {
  const directory = makeDirectory(t);
  const [script, control, recording] = ['case.sh', 'c', 'x.rec'].map((name) => join(directory, name));
  writeFileSync(script, CASE);
  const run = new CliProcess(['run', '--stepwise', '--control', control, '--record', recording, '--case', script]);
  t.teardown(() => run.child.kill('SIGKILL'));
  await run.until(/the adapter is process/);
  const step = async (...words: readonly string[]): Promise<string> =>
    (await runWords(['step', ...words, '--control', control])).stdout;
  const status = async (): Promise<StatusReport> =>
    JSON.parse((await runWords(['status', '--json', '--control', control])).stdout);
  const stepping = async () => (await status()).stepping as NonNullable<StatusReport['stepping']>;
  const countRequests = async () => (await status()).adapters[0].sockets[0].requests;
  t.match(await stepping(), { going: 'still', steps: 0 });
  t.equal(await step('--go'), 'the adapter runs\n');
  await run.until(/^booted$/m);
  await step('--stop');
  const { steps } = await stepping();
  const requests = await countRequests();
  await run.until(new RegExp(`^read ${READS - 4}$`, 'm'));
  t.match(await stepping(), { going: 'still', steps }, 'the guest goes on beside an adapter that stands still');
  t.ok((await countRequests()) > requests + READS / 2);
  t.equal(await step('25'), `the adapter stands still after ${steps + 25} steps\n`);
  await step('--until', 'interrupt');
  let seen = await stepping();
  while (seen.going === 'seeks') {
    await new Promise((done) => setTimeout(done, 100));
    seen = await stepping();
  }
  t.match(seen, { going: 'still', condition: 'interrupt', reached: true });
  await step('--go');
  t.equal(await run.whenExited, 0, run.stderr);
  t.match(await runWords(['replay', recording]), { status: 0, stdout: /identical: / });
});
