// SPDX-License-Identifier: Apache-2.0
/**
 * Provides everything that a run needs, on a machine with nothing: Debian packages, libvfio-user,
 * QEMU, the kernel and user space of guests, the kernel's compiler, and a check whether KVM works.
 * A warm cache answers in well under a second. Called by the entry files (`npm start`, `npm test`,
 * benchmarks, demonstrations) before their work.
 */
import { chooseAccelerator } from '../../qemu/accelerator.ts';
import type { Accelerator } from '../../qemu/guest-options.ts';
import { buildInitramfs } from '../../qemu/initramfs.ts';
import { type GuestKernel, provideGuestKernel } from '../../qemu/setup/guest-kernel.ts';
import { type KernelToolchain, provideKernelToolchain } from '../../qemu/setup/kernel-toolchain.ts';
import { provideLibrary, type VfioUserLibrary } from '../../qemu/setup/library.ts';
import { provideQemu, type Qemu } from '../../qemu/setup/qemu.ts';
import { BASE_PACKAGES, installMissingPackages, TEST_PACKAGES } from '../../qemu/setup/system-packages.ts';

/** The tools that set-up found or built. */
export interface Installation {
  readonly library: VfioUserLibrary;
  readonly qemu: Qemu;
  readonly kernel: GuestKernel;
  readonly toolchain: KernelToolchain;
  readonly accelerator: Accelerator;
}

/** Provides everything; for the purpose `test` also the packages that only tests need. */
export async function setUp(purpose: 'start' | 'test'): Promise<Installation> {
  await installMissingPackages(purpose === 'test' ? [...BASE_PACKAGES, ...TEST_PACKAGES] : BASE_PACKAGES);
  const library = await provideLibrary();
  const qemu = await provideQemu();
  const kernel = await provideGuestKernel();
  const toolchain = await provideKernelToolchain();
  const accelerator = await chooseAccelerator(qemu, kernel.imagePath, await buildInitramfs());
  return { library, qemu, kernel, toolchain, accelerator };
}
