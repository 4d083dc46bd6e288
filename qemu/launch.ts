// SPDX-License-Identifier: Apache-2.0
/**
 * Launches a guest and fills in every option that is absent: QEMU as found or provided, Debian's
 * stock kernel, an initramfs that only powers off, the faster accelerator that works. The entry
 * point of qemu/ for sessions, tests and examples.
 */
import { chooseAccelerator } from './accelerator.ts';
import { Guest } from './guest.ts';
import type { GuestOptions, GuestPlan } from './guest-options.ts';
import { buildInitramfs } from './initramfs.ts';
import { type GuestKernel, provideGuestKernel } from './setup/guest-kernel.ts';
import { provideQemu, type Qemu } from './setup/qemu.ts';

/** The tools of every guest; provided once per process. */
export interface GuestTools {
  readonly qemu: Qemu;
  readonly kernel: GuestKernel;
}

let tools: Promise<GuestTools> | undefined;

/** QEMU and the stock kernel, from the cache or built now. */
export function provideGuestTools(): Promise<GuestTools> {
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
  const plan: GuestPlan = {
    ...options,
    kernel: options.kernel ?? kernel.imagePath,
    initramfs: options.initramfs ?? plain,
    accelerator: options.accelerator ?? (await chooseAccelerator(qemu, kernel.imagePath, plain)),
  };
  return Guest.start(qemu, plan);
}
