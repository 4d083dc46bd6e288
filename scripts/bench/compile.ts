// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- compile`: how long the modules of a guest take to compile, by the clock and in
 * processor time, with the kernel's headers and compiler in the cache and everything else cold: a
 * module of one's own, the driver, what `vuhca run` packs, and the same after small changes. The
 * compiled modules go into a folder that is removed. docs/MEASUREMENTS.md has the figures.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEBIAN_KERNELS } from '../../qemu/setup/kernel-list.ts';
import { type BuildOptions, buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import { provideKernelToolchain } from '../../qemu/setup/kernel-toolchain.ts';
import { BASE_PACKAGES, installMissingPackages } from '../../qemu/setup/system-packages.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { table } from '../console/table.ts';

const GUEST_TESTS = fileURLToPath(new URL('../../guest-tests/', import.meta.url));
/** The kernel counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;
/** Of all that has ended: fields of /proc/PID/stat behind the name of the program. */
const [CHILDREN_USER, CHILDREN_SYSTEM] = [13, 14];

interface Arguments {
  readonly kernel?: string;
  readonly separate?: boolean;
}

/** A row of the table: what is compiled, after a change. */
interface Row {
  readonly name: string;
  readonly folders: readonly string[];
  change?(): void;
}

await runEntry(async () => {
  const script = defineScript('npm run bench -- compile', 'Measures how long kernel modules take to compile.')
    .option('--kernel <VERSION>', "The kernel; each of Debian's three by default")
    .option('--separate', 'Compiles each file by itself, for comparison');
  const { kernel, separate } = readOptions<Arguments>(script);
  await installMissingPackages(BASE_PACKAGES);
  const rows: (string | number)[][] = [['kernel', 'module', 'clock s', 'processor s']];
  for (const wanted of kernel === undefined ? DEBIAN_KERNELS : [kernel]) {
    const toolchain = await provideKernelToolchain(wanted);
    rows.push(...(await measureAll({ toolchain, joined: separate !== true })));
  }
  process.stdout.write(table(rows, 2));
});

async function measureAll(options: BuildOptions): Promise<(string | number)[][]> {
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-compile-'));
  const [cache, sources] = [process.env.XDG_CACHE_HOME, join(folder, 'guest-tests')];
  try {
    for (const name of ['driver', 'traffic', 'kernel', 'example'])
      cpSync(join(GUEST_TESTS, name), join(sources, name), { recursive: true });
    process.env.XDG_CACHE_HOME = join(folder, 'cache');
    const rows: (string | number)[][] = [];
    for (const row of listRows(sources))
      rows.push([options.toolchain?.release ?? '', ...(await measure(row, sources, options))]);
    return rows;
  } finally {
    if (cache === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = cache;
    rmSync(folder, { recursive: true });
  }
}

function listRows(sources: string): Row[] {
  const edit = (path: string, from: RegExp, to: string) => (): void => {
    const whole = join(sources, path);
    writeFileSync(whole, readFileSync(whole, 'utf8').replace(from, to));
  };
  const run = ['driver', 'traffic'];
  return [
    { name: 'a driver of its own, which includes a header of ours', folders: ['example'] },
    { name: 'our driver', folders: ['driver'] },
    { name: 'traffic', folders: run },
    { name: 'kernel tests', folders: ['driver', 'kernel'] },
    { name: 'driver and traffic, nothing changed', folders: run },
    { name: 'the same, a line changed', folders: run, change: edit('driver/vuhca_csr.c', /$/, '\n/* changed */\n') },
    {
      name: 'the same, a register changed',
      folders: run,
      change: edit('driver/vuhca_hw.h', /(#define VUHCA_LAYOUT_HASH_LOW) .*/, '$1 1u'),
    },
    { name: 'the driver of its own then', folders: ['example'] },
  ];
}

async function measure(
  { name, folders, change }: Row,
  sources: string,
  options: BuildOptions,
): Promise<(string | number)[]> {
  change?.();
  const [start, before] = [performance.now(), readChildrenSeconds()];
  await buildKernelModules(
    folders.map((folder) => join(sources, folder)),
    { ...options, mayUse: [join(sources, 'driver')], strict: () => true },
  );
  const clock = (performance.now() - start) / 1000;
  return [name, clock.toFixed(1), (readChildrenSeconds() - before).toFixed(1)];
}

/** Processor time of all programs that this process has started and that have ended. */
function readChildrenSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  return ((fields[CHILDREN_USER] as number) + (fields[CHILDREN_SYSTEM] as number)) / TICKS_PER_SECOND;
}
