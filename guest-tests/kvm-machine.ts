// SPDX-License-Identifier: Apache-2.0
/**
 * A machine in which KVM works, on any host: QEMU's TCG emulates an AMD processor with SVM and
 * nested paging, and Debian's kvm-amd uses them. It has Debian's user space with Node.js and the
 * packages that set-up names, and copies of this clone and of the cache. Called by kvm.long.ts.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTER_WITH_CASE, provideDistributionParts } from '../qemu/distribution-guest.ts';
import type { Guest } from '../qemu/guest.ts';
import type { GuestFile } from '../qemu/initramfs.ts';
import { launchGuest } from '../qemu/launch.ts';
import { cacheRoot } from '../qemu/setup/cache.ts';
import { packFolders } from '../qemu/setup/distribution.ts';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import { provideQemu } from '../qemu/setup/qemu.ts';
import { asStock, packJob } from './harness/guest-image.ts';

/** The root of the clone; commands run in it. */
export const CLONE = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

/** The exit status of a command, and all its output. */
export interface MachineResult {
  readonly status: number;
  readonly output: string;
}

const SCRIPT = fileURLToPath(new URL('cases/kvm-machine.sh', import.meta.url));
/** Below the root of the cache. */
const CACHED = ['artifacts', 'resolved'];
/** Paths that no command reads. */
const LEFT_OUT = [`${relative('/', CLONE)}/.git`, 'folders.erofs', '*.rec', 'artifacts/distribution*'];
const MEMORY_MIB = 4096;
const BEGIN = /^@kvm begin /;
const END = /^@kvm end \d+ (\d+)$/;

/**
 * Runs the commands one after the other, with VUHCA_ACCEL=kvm; `onLine` gets each line of their
 * output. Commands that did not run have no result. `directory` is for files of this host.
 */
export async function runUnderKvm(
  commands: readonly string[],
  directory: string,
  onLine: (line: string) => void,
): Promise<MachineResult[]> {
  // The machine has no QEMU on PATH.
  await provideQemu({ PATH: '' });
  const kernel = await provideGuestKernel();
  const cache = cacheRoot();
  const parts = await provideDistributionParts(kernel, {
    set: 'host',
    caseText: readFileSync(SCRIPT, 'utf8'),
    files: [
      file('folders', [CLONE, cache]),
      file('settings', [`CLONE='${CLONE}'`, `XDG_CACHE_HOME='${dirname(cache)}'`]),
      file('commands', commands),
    ],
  });
  const stock = [...parts.modules, ...(await provideStockModules(kernel, ['kvm_amd']))];
  const initramfs = await packJob({
    modules: stock.map(asStock),
    files: parts.files,
    script: { name: 'kvm', text: ENTER_WITH_CASE },
  });
  const image = join(directory, 'folders.erofs');
  await packFolders(image, [CLONE, ...CACHED.map((name) => join(cache, name))], LEFT_OUT);
  const guest = await launchGuest({
    initramfs,
    disk: parts.disk,
    memoryMiB: MEMORY_MIB,
    accelerator: 'tcg',
    extraArguments: secondDisk(image),
  });
  return collect(guest, onLine);
}

function file(name: string, lines: readonly string[]): GuestFile {
  return { path: `/etc/vuhca/${name}`, content: lines.map((line) => `${line}\n`).join(''), mode: 0o644 };
}

function secondDisk(image: string): string[] {
  const drive = `if=none,id=folders,format=raw,readonly=on,file=${image.replaceAll(',', ',,')}`;
  return ['-drive', drive, '-device', 'virtio-blk-pci,drive=folders'];
}

/** Reads the output of kvm-machine.sh, until the machine ends. */
async function collect(guest: Guest, onLine: (line: string) => void): Promise<MachineResult[]> {
  const results: MachineResult[] = [];
  let output = '';
  guest.port().onLine((line) => {
    const status = END.exec(line)?.[1];
    if (status !== undefined) results.push({ status: Number(status), output });
    else if (BEGIN.test(line)) output = '';
    else {
      output += `${line}\n`;
      onLine(line);
    }
  });
  await guest.whenExited;
  return results;
}
