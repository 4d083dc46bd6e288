// SPDX-License-Identifier: Apache-2.0
//
// Everything a run needs, from nothing: Debian packages, libvfio-user, QEMU, the guest's kernel and user space, the
// kernel's compiler, and whether KVM works. A warm cache answers in well under a second. Called by the entry scripts
// (`npm start`, `npm test`) before they do their work.

import { chooseAccelerator } from '../../qemu/accelerator.ts';
import type { Accelerator } from '../../qemu/guest-options.ts';
import { buildInitramfs } from '../../qemu/initramfs.ts';
import { type GuestKernel, provideGuestKernel } from '../../qemu/setup/guest-kernel.ts';
import { type KernelToolchain, provideKernelToolchain } from '../../qemu/setup/kernel-toolchain.ts';
import { provideLibrary, type VfioUserLibrary } from '../../qemu/setup/library.ts';
import { provideQemu, type Qemu } from '../../qemu/setup/qemu.ts';
import { BASE_PACKAGES, installMissingPackages, TEST_PACKAGES } from '../../qemu/setup/system-packages.ts';

/** What set-up made or found. */
export interface Installation {
  readonly library: VfioUserLibrary;
  readonly qemu: Qemu;
  readonly kernel: GuestKernel;
  readonly toolchain: KernelToolchain;
  readonly accelerator: Accelerator;
}

/** Provides everything; `purpose` decides whether the machine also gets what only tests need. */
export async function setUp(purpose: 'start' | 'test'): Promise<Installation> {
  await installMissingPackages(purpose === 'test' ? [...BASE_PACKAGES, ...TEST_PACKAGES] : BASE_PACKAGES);
  const library = await provideLibrary();
  const qemu = await provideQemu();
  const kernel = await provideGuestKernel();
  const toolchain = await provideKernelToolchain();
  const accelerator = await chooseAccelerator(qemu, kernel.imagePath, await buildInitramfs());
  return { library, qemu, kernel, toolchain, accelerator };
}
