// SPDX-License-Identifier: Apache-2.0
/**
 * The folder in which somebody has built a kernel: its image, its modules, and what compiles
 * modules for it. Called by guest-kernel.ts, kernel-toolchain.ts and kernel-choice.ts.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { UsageError } from './tools/errors.ts';

/** A kernel as `make bzImage modules` leaves it. */
export interface KernelBuild {
  /** As `uname -r` prints it. */
  readonly release: string;
  readonly directory: string;
  /** Changes when the kernel is built again. */
  readonly identity: string;
}

const NEEDED = ['Makefile', 'include/generated/utsrelease.h', 'Module.symvers'];

/** Whether `wanted`, the value of an option, is a folder and no name of a kernel. */
export function isBuildFolder(wanted: string): boolean {
  return statSync(wanted, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The build in `folder`. Throws UsageError when it lacks a file. */
export function readKernelBuild(folder: string): KernelBuild {
  const directory = resolve(folder);
  const missing = NEEDED.find((path) => !existsSync(join(directory, path)));
  if (missing !== undefined) {
    const advice = 'name the folder in which that kernel and its modules were built';
    throw new UsageError(`${directory} has no ${basename(missing)}; ${advice}.`);
  }
  const header = readFileSync(join(directory, 'include/generated/utsrelease.h'), 'utf8');
  const release = /UTS_RELEASE "([^"]*)"/.exec(header)?.[1] ?? '';
  const { mtimeMs, size } = statSync(join(directory, 'Module.symvers'));
  return { release, directory, identity: `${directory} ${mtimeMs} ${size}` };
}

/** The image and the configuration of a build. Throws UsageError when it has no image. */
export function findImage({ directory }: KernelBuild): { imagePath: string; configPath: string } {
  const imagePath = join(directory, 'arch/x86/boot/bzImage');
  if (!existsSync(imagePath))
    throw new UsageError(`${directory} has no bzImage; build it with \`make bzImage modules\`.`);
  return { imagePath, configPath: join(directory, '.config') };
}

/** Paths of the modules from the folder, and the names of those that are built in. */
export function listModules({ directory }: KernelBuild): { modules: string[]; builtin: string[] } {
  const read = (name: string): string[] => {
    const path = join(directory, name);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  };
  return {
    modules: read('modules.order').map((line) => line.replace(/\.o$/, '.ko')),
    builtin: read('modules.builtin').map((line) => basename(line)),
  };
}
