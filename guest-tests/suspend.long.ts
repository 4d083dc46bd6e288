// SPDX-License-Identifier: Apache-2.0
/**
 * The system of a guest sleeps under traffic (docs/PROGRAMMING.md, Power states): suspend to idle,
 * to memory, its self tests and hibernation. cases/sleep.sh has the checks.
 */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import { runGuest } from './harness/guest-run.ts';
import { requestProgram } from './harness/host-requests.ts';
import { makeCaseJob } from './harness/kernel-cases.ts';
import { report } from './harness/report.ts';
import { makeSleepOptions } from './sleeping-guest.ts';

const SWAP_BYTES = 2 ** 31;
/** Modules of the kernel for the button that wakes a guest, and for the disk of its image. */
const STOCK = ['button', 'virtio_blk'];
/** Results that the script prints. */
const CHECKS = 12;

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('hazard 55: the system sleeps in every way under traffic', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-sleep-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const swap = join(directory, 'swap');
  writeFileSync(swap, '');
  truncateSync(swap, SWAP_BYTES);
  const disk = ['-drive', `if=none,id=swap,file=${swap},format=raw`, '-device', 'virtio-blk-pci,drive=swap'];
  const job = await makeCaseJob({ script: 'sleep.sh', modules: ['driver', 'traffic'] });
  const stock = await provideStockModules(await provideGuestKernel(), STOCK);
  const run = await runGuest(
    {
      ...job,
      modules: stock.map((module) => ({ kind: 'stock', ...module })),
      files: [...(job.files ?? []), requestProgram()],
    },
    makeSleepOptions(disk),
  );
  report(t, run);
  t.equal(run.results.filter(({ step }) => step === undefined).length, CHECKS, 'all checks did run');
  t.comment(`${run.seconds.toFixed(1)} s`);
});
