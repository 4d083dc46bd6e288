// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses between KVM and TCG. /dev/kvm may open and still be unable to boot a kernel (nested
 * virtual machines), so KVM counts as working only after it has booted the stock kernel to init
 * once. The answer is remembered for this boot of the machine, this QEMU and this kernel.
 * VUHCA_ACCEL=kvm|tcg decides without a trial. Called by launch.ts.
 */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Guest } from './guest.ts';
import type { Accelerator } from './guest-options.ts';
import { cacheRoot, hashOf } from './setup/cache.ts';
import { SetupError } from './setup/errors.ts';
import { withProgress } from './setup/progress.ts';
import type { Qemu } from './setup/qemu.ts';

const PROBE_BOUND_MS = 10_000;

/** The accelerator to use with this QEMU and kernel. */
export async function chooseAccelerator(
  qemu: Qemu,
  kernel: string,
  initramfs: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Accelerator> {
  const chosen = environment.VUHCA_ACCEL;
  if (chosen === 'kvm' || chosen === 'tcg') return chosen;
  if (chosen) throw new SetupError(`VUHCA_ACCEL is ${chosen}; set it to kvm or tcg, or unset it.`);
  if (!canOpenKvm()) return 'tcg';
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const memory = join(cacheRoot(), 'resolved', `accelerator-${hashOf([bootId, qemu.path, kernel])}.json`);
  if (existsSync(memory)) return JSON.parse(readFileSync(memory, 'utf8')) as Accelerator;
  const works = await withProgress('trying whether KVM boots a guest', () => bootsWithKvm(qemu, kernel, initramfs));
  const accelerator: Accelerator = works ? 'kvm' : 'tcg';
  mkdirSync(join(cacheRoot(), 'resolved'), { recursive: true });
  writeFileSync(memory, JSON.stringify(accelerator));
  return accelerator;
}

function canOpenKvm(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Boots to init's first line, or finds that QEMU stops, ends or stays silent. */
async function bootsWithKvm(qemu: Qemu, kernel: string, initramfs: string): Promise<boolean> {
  let guest: Guest;
  try {
    guest = await Guest.start(qemu, { kernel, initramfs, accelerator: 'kvm', cpus: 1 });
  } catch (error) {
    if (error instanceof SetupError) return false;
    throw error;
  }
  const verdict = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), PROBE_BOUND_MS);
    const settle = (works: boolean): void => {
      clearTimeout(timer);
      resolve(works);
    };
    guest.port().onLine((line) => line.startsWith('@vuhca init') && settle(true));
    // QEMU stops the machine when KVM reports an internal error.
    guest.qmp.onEvent(({ event }) => event === 'STOP' && settle(false));
    void guest.whenExited.then(() => settle(false));
  });
  await guest.quit();
  return verdict;
}
