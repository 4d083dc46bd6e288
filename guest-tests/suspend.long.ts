// SPDX-License-Identifier: Apache-2.0
/**
 * The system of a guest sleeps (docs/PROGRAMMING.md, Power states): suspend to idle, to memory, its
 * self tests and hibernation, under traffic; to memory and hibernation under users of verbs; with
 * several functions, and a recording that replays; the stock driver of mlx5; and that of mthca,
 * which has no power management.
 */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Adapter } from '../device/hca/adapter/adapter.ts';
import { Replay } from '../device/hosts/replay.ts';
import { provideGuestKernel, provideStockModules, STOCK_DRIVERS } from '../qemu/setup/guest-kernel.ts';
import { asStock, type GuestJob } from './harness/guest-image.ts';
import { type GuestRunOptions, runGuest } from './harness/guest-run.ts';
import { requestProgram } from './harness/host-requests.ts';
import { makeCaseJob } from './harness/kernel-cases.ts';
import { runPastOthersFaults } from './harness/others-faults.ts';
import { report } from './harness/report.ts';
import { makeSleepOptions } from './sleeping-guest.ts';
import { reportPart, runPart } from './verbs-run.ts';

const SCRIPT = 'sleep.sh';
const SWAP_BYTES = 2 ** 31;
/** Modules of the kernel for the button that wakes a guest, and for the disk of its image. */
const STOCK = ['button', 'virtio_blk'];
/** Number of results of each way to run the script. */
const CHECKS = { ways: 11, again: 5, stock: 5, other: 4 } as const;
/** Number of runs that faults of others may spoil. */
const ATTEMPTS = 4;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-sleep-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** Runs the script with the modules of the job, in their order. */
async function sleepWith(
  t: Test,
  way: keyof typeof CHECKS,
  job: GuestJob,
  options: GuestRunOptions,
  disk: readonly string[] = [],
): Promise<void> {
  const modules = (job.packed ?? []).map(({ name }) => name).join(' ');
  const whole: GuestJob = {
    ...job,
    files: [
      ...(job.files ?? []),
      requestProgram(),
      { path: '/etc/vuhca-sleep', content: `RUN=${way}\nMODULES="${modules}"\n`, mode: 0o644 },
    ],
    script: { name: SCRIPT, text: readFileSync(new URL(`cases/${SCRIPT}`, import.meta.url), 'utf8') },
  };
  const run = await runPastOthersFaults(t, ATTEMPTS, () => runGuest(whole, { ...makeSleepOptions(disk), ...options }));
  report(t, run, CHECKS[way]);
  t.comment(`${run.seconds.toFixed(1)} s`);
}

/** Arguments of QEMU for a disk with room for an image of memory. */
function makeSwap(t: Test): string[] {
  const swap = join(makeDirectory(t), 'swap');
  writeFileSync(swap, '');
  truncateSync(swap, SWAP_BYTES);
  return ['-drive', `if=none,id=swap,file=${swap},format=raw`, '-device', 'virtio-blk-pci,drive=swap'];
}

t.test('hazard 55: the system sleeps in every way under traffic', async (t) => {
  const job = await makeCaseJob({ script: SCRIPT, modules: ['driver', 'traffic'] });
  const stock = await provideStockModules(await provideGuestKernel(), STOCK);
  const modules = stock.map(asStock);
  await sleepWith(t, 'ways', { ...job, modules }, {}, makeSwap(t));
});

t.test('the system sleeps under users of verbs', async (t) => {
  const options = makeSleepOptions(makeSwap(t));
  reportPart(t, await runPastOthersFaults(t, ATTEMPTS, () => runPart('asleep', options)), 'asleep');
});

t.test('several functions sleep; the recording replays', async (t) => {
  const recording = join(makeDirectory(t), 'sleep.rec');
  const device = { arguments: ['--functions', '2', '--record', recording] };
  await sleepWith(t, 'again', await makeCaseJob({ script: SCRIPT }), { device });
  const replay = new Replay(readFileSync(recording), (options, clock, hosts) => new Adapter(options, clock, hosts));
  t.match(replay.run(), { truncated: false, divergence: undefined });
});

t.test('a stock driver sleeps', async (t) => {
  const packed = await provideStockModules(await provideGuestKernel(), STOCK_DRIVERS.mlx5);
  const adapters = { m: { sockets: ['m.sock'], personality: 'mlx5' }, v: { sockets: ['v.sock'] } };
  const topology = { adapters, links: [{ ports: ['m:1', 'v:1'] }], subnet: 'fixed' };
  await sleepWith(t, 'stock', { packed }, { device: { topology }, functions: [0] });
});

t.test('a driver without power management leaves the adapter alive', async (t) => {
  const packed = await provideStockModules(await provideGuestKernel(), STOCK_DRIVERS.mthca);
  await sleepWith(t, 'other', { packed }, { device: { arguments: ['--personality', 'mthca'] }, cleared: true });
});
