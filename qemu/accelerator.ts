// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses between KVM and TCG. /dev/kvm may open and still boot no kernel, or emulate it slowly (in
 * virtual machines), so both boot the stock kernel at the same time, and the first one at init is
 * chosen: a trial without a bound of time, whatever the pace of the machine. The answer is
 * remembered for this boot of the machine, this QEMU and this kernel. VUHCA_ACCEL=kvm|tcg decides
 * without a trial. Called by launch.ts.
 */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Guest } from './guest.ts';
import type { Accelerator, GuestPlan } from './guest-options.ts';
import { cacheRoot, hashOf } from './setup/cache.ts';
import { withProgress } from './setup/progress.ts';
import type { Qemu } from './setup/qemu.ts';
import { SetupError } from './setup/tools/errors.ts';

const CANDIDATES: readonly Accelerator[] = ['kvm', 'tcg'];

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
  const accelerator = await withProgress('trying KVM', () => findFaster(qemu, kernel, initramfs));
  mkdirSync(join(cacheRoot(), 'resolved'), { recursive: true });
  writeFileSync(memory, JSON.stringify(accelerator));
  return accelerator;
}

/** The accelerator whose guest is at init first; TCG if neither gets there. Exported for tests. */
export async function findFaster(qemu: Qemu, kernel: string, initramfs: string): Promise<Accelerator> {
  const guests = CANDIDATES.map((accelerator) => startTrial(qemu, { kernel, initramfs, accelerator, cpus: 1 }));
  const faster = await Promise.any(guests.map(awaitInit)).catch((): Accelerator => 'tcg');
  await Promise.all(guests.map(async (guest) => (await guest)?.kill()));
  return faster;
}

function canOpenKvm(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Undefined when QEMU does not start. */
async function startTrial(qemu: Qemu, plan: GuestPlan): Promise<Guest | undefined> {
  try {
    return await Guest.start(qemu, plan);
  } catch (error) {
    if (error instanceof SetupError) return undefined;
    throw error;
  }
}

/** Resolves at init's first line; rejects when QEMU does not start, stops or ends. */
async function awaitInit(starting: Promise<Guest | undefined>): Promise<Accelerator> {
  const guest = await starting;
  if (guest === undefined) throw new Error('QEMU did not start');
  return new Promise((resolve, reject) => {
    guest.port().onLine((line) => line.startsWith('@vuhca init') && resolve(guest.accelerator));
    // QEMU stops the machine when KVM reports an internal error, which may have happened already.
    const stopped = (): void => reject(new Error('QEMU stopped the guest'));
    guest.qmp.onEvent(({ event }) => event === 'STOP' && stopped());
    guest.qmp.execute('query-status').then((status) => (status as { running: boolean }).running || stopped(), reject);
    void guest.whenExited.then(() => reject(new Error('QEMU ended')));
  });
}
