// SPDX-License-Identifier: Apache-2.0
/**
 * Launches a guest and fills in every option that is absent: QEMU as found or provided, Debian's
 * stock kernel, an initramfs that only powers off, the faster accelerator that works. The entry
 * point of qemu/ for sessions, tests and examples.
 */
import { chooseAccelerator } from './accelerator.ts';
import { Guest } from './guest.ts';
import type { GuestOptions, GuestPlan, TscClock } from './guest-options.ts';
import { buildInitramfs, hasOurInit } from './initramfs.ts';
import { type GuestKernel, provideGuestKernel } from './setup/guest-kernel.ts';
import { provideKernelElf, readTickHz } from './setup/kernel-elf.ts';
import { provideQemu, type Qemu } from './setup/qemu.ts';
import { readTscKhz } from './tsc-rate.ts';

/** The tools of every guest; provided once per process. */
export interface GuestTools {
  readonly qemu: Qemu;
  readonly kernel: GuestKernel;
}

let tools: Promise<GuestTools> | undefined;

/** QEMU and the stock kernel, from the cache or built now. */
function provideGuestTools(): Promise<GuestTools> {
  tools ??= (async () => ({ qemu: await provideQemu(), kernel: await provideGuestKernel() }))();
  return tools;
}

/**
 * Starts a guest and returns when QEMU has made its machine; the devices' sockets must be served by
 * then, or QEMU ends. Throws SetupError, with QEMU's own message, when it does not start.
 */
export async function launchGuest(options: GuestOptions = {}): Promise<Guest> {
  const { qemu, kernel } = await provideGuestTools();
  const plain = await buildInitramfs();
  const imagePath = options.kernel ?? kernel.imagePath;
  const initramfs = options.initramfs ?? plain;
  const accelerator = options.accelerator ?? (await chooseAccelerator(qemu, kernel.imagePath, plain));
  // What only guests of ours are known to bear.
  const isOurs = accelerator === 'tcg' && hasOurInit(initramfs);
  const faster = isOurs ? await speedUp(imagePath, options.sleeps ?? false) : {};
  return Guest.start(qemu, { ...options, kernel: imagePath, initramfs, accelerator, ...faster } satisfies GuestPlan);
}

/**
 * The kernel unpacked, and the clock that costs little. A system that sleeps in memory needs the
 * image: at the wake-up QEMU loads the file again, an unpacked one over the kernel that slept.
 */
async function speedUp(imagePath: string, sleeps: boolean): Promise<{ kernel: string; tsc?: TscClock }> {
  const [khz, tickHz] = [await readTscKhz(), readTickHz(imagePath)];
  const clock = khz === undefined || tickHz === undefined ? {} : { tsc: { khz, tickHz } };
  return { kernel: sleeps ? imagePath : await provideKernelElf(imagePath), ...clock };
}
