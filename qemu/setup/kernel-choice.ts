// SPDX-License-Identifier: Apache-2.0
/**
 * The kernel that a user names for a guest: one of Debian's (kernel-list.ts has the forms of
 * names), or one of the user's own as a build folder or a bzImage, with what compiles modules for
 * it and the modules that came with it. Called by the commands that take `--kernel` and
 * `--headers`, and by set-up.
 */
import { existsSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type GuestKernel, type KernelModule, provideGuestKernel, provideStockModules } from './guest-kernel.ts';
import { isBuildFolder, readKernelBuild } from './kernel-build.ts';
import { DEFAULT_KERNEL } from './kernel-list.ts';
import { type KernelToolchain, provideKernelToolchain, toolchainOf } from './kernel-toolchain.ts';
import { readModuleInfo } from './module-info.ts';
import { UsageError } from './tools/errors.ts';

/** A kernel for a guest. */
export interface KernelChoice {
  /** As `uname -r` prints it in the guest. */
  readonly release: string;
  /** The bzImage, for QEMU's -kernel. */
  readonly imagePath: string;
  /**
   * Modules that init loads first: the guest's ports, where they are not built in. Empty for a
   * file, which must have virtio built in.
   */
  readonly bootModules: readonly KernelModule[];
  /** Debian's kernel, or that of a build folder; absent for a file of the user. */
  readonly stock?: GuestKernel;
  /** The toolchain for its modules. Throws UsageError for a file without headers. */
  provideToolchain(): Promise<KernelToolchain>;
  /**
   * Stock modules and their dependencies, in loading order. Throws UsageError for a name that there
   * is not, and for a file.
   */
  provideModules(names: readonly string[]): Promise<KernelModule[]>;
}

/** Built into Debian's kernels since Linux 6.12. */
const BOOT_MODULES = ['virtio_pci', 'virtio_console'];

/**
 * Resolves the kernel called `wanted`: a name or version of Debian's, the folder in which a kernel
 * was built, or the path of a bzImage, to which `headers`, its build folder, may belong. Throws
 * UsageError.
 */
export async function resolveGuestKernel(wanted = DEFAULT_KERNEL, headers?: string): Promise<KernelChoice> {
  if (isPath(wanted)) return chooseFile(wanted, headers);
  if (headers !== undefined) {
    throw new UsageError(`kernel ${wanted} has headers; give other headers with the bzImage of their kernel.`);
  }
  const stock = await provideGuestKernel(wanted);
  return {
    release: stock.release,
    imagePath: stock.imagePath,
    bootModules: await provideStockModules(stock, BOOT_MODULES),
    stock,
    provideToolchain: () => provideKernelToolchain(wanted),
    provideModules: (names) => provideStockModules(stock, names),
  };
}

/** Throws UsageError when the compiled module at `path` is not for `kernel`. */
export function checkModuleRelease(path: string, kernel: KernelChoice): void {
  const release = readModuleInfo(path).vermagic.split(' ')[0];
  if (release === kernel.release) return;
  const advice = 'compile it for that kernel, or name another kernel';
  if (release === '') throw new UsageError(`${path} is no kernel module; name a .ko file.`);
  throw new UsageError(`${path} is compiled for Linux ${release}, the guest has ${kernel.release}; ${advice}.`);
}

/** The release in the header of a bzImage (Documentation/arch/x86/boot.rst), or undefined. */
export function readImageRelease(path: string): string | undefined {
  const start = Buffer.alloc(READ_BYTES);
  const length = readSync(openSync(path, 'r'), start, 0, READ_BYTES, 0);
  if (length < SETUP_END || start.toString('latin1', MAGIC_AT, MAGIC_AT + 4) !== 'HdrS') return undefined;
  const at = start.readUInt16LE(VERSION_AT) + SETUP_START;
  return start.toString('latin1', at, at + 128).split(/[ \0]/)[0];
}

const [MAGIC_AT, VERSION_AT, SETUP_START, SETUP_END] = [0x202, 0x20e, 0x200, 0x210];
const READ_BYTES = 0x10000;

/** A name never contains a slash, and is no file here. */
function isPath(wanted: string): boolean {
  if (isBuildFolder(wanted)) return false;
  return wanted.includes('/') || statSync(wanted, { throwIfNoEntry: false })?.isFile() === true;
}

function chooseFile(wanted: string, headers: string | undefined): KernelChoice {
  const imagePath = resolve(wanted);
  if (!existsSync(imagePath)) throw new UsageError(`there is no kernel ${wanted}; correct the path.`);
  const release = readImageRelease(imagePath);
  if (release === undefined) throw new UsageError(`${wanted} is no bzImage; name arch/x86/boot/bzImage of a kernel.`);
  const toolchain = headers === undefined ? undefined : readToolchain(headers, release);
  return {
    release,
    imagePath,
    bootModules: [],
    provideToolchain: async () => {
      if (toolchain !== undefined) return toolchain;
      const advice = 'give the build folder of that kernel with --headers, or modules that are compiled already (.ko)';
      throw new UsageError(`no headers belong to ${wanted}, so modules cannot be compiled for it; ${advice}.`);
    },
    provideModules: async ([name]) => {
      throw new UsageError(`no modules belong to ${wanted}; give the file of ${name} as a module (.ko).`);
    },
  };
}

/** The toolchain for modules of the kernel `release` that was built in `headers`. */
function readToolchain(headers: string, release: string): KernelToolchain {
  const build = readKernelBuild(headers);
  if (build.release !== release) {
    throw new UsageError(
      `the headers in ${build.directory} are those of Linux ${build.release}, the kernel is ${release}.`,
    );
  }
  return toolchainOf(build);
}
