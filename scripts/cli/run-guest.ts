// SPDX-License-Identifier: Apache-2.0
/**
 * Turns the arguments of `vuhca run` into a guest, and finds mistakes in them before anything
 * starts. Called by run-action.ts.
 */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { GuestDisk, GuestOptions } from '../../qemu/guest-options.ts';
import { readAdapterOptions, readLinks } from './adapter-options.ts';
import { buildCaseImage, buildShellImage, provideModules } from './guest-image.ts';
import type { RunArguments } from './run-command.ts';
import { findMemoryObjection } from './shared-memory.ts';
import { UsageError } from './usage-error.ts';

const FILES = ['kernel', 'initramfs', 'disk', 'case'] as const;
const LOADED = ['vuhca', 'vuhca_test'];
/** Slots of a q35's root bus that are free for root ports, when a disk has one too. */
const GUEST_FUNCTIONS_MAX = 28;

/** Throws UsageError for arguments that are wrong, or that contradict each other. */
export function checkRun(given: RunArguments, qemuArguments: readonly string[] = []): void {
  const { functionCount } = readAdapterOptions(given);
  if (functionCount > GUEST_FUNCTIONS_MAX)
    throw new UsageError(
      `option --functions is ${functionCount}; one guest has room for ${GUEST_FUNCTIONS_MAX}, more need \`vuhca device\``,
    );
  readLinks(given);
  for (const name of FILES) {
    const path = given[name];
    if (path !== undefined && !existsSync(path))
      throw new UsageError(`option --${name} names ${path}, which does not exist`);
  }
  for (const name of ['initramfs', 'disk'] as const) {
    if (given.case !== undefined && given[name] !== undefined)
      throw new UsageError(`--case runs in our own guest, so --${name} cannot be given with it`);
  }
  if (given.append !== undefined && bootsFromDisk(given))
    throw new UsageError('--append needs --kernel: a disk boots with the command line of its own boot loader');
  const objection = findMemoryObjection(qemuArguments);
  if (objection !== undefined) throw new UsageError(objection);
}

/** The guest. Builds our own image when no other is named. */
export async function prepareGuest(given: RunArguments, qemuArguments?: readonly string[]): Promise<GuestOptions> {
  const options: Partial<Record<keyof GuestOptions, unknown>> = {
    kernel: resolved(given.kernel),
    initramfs: await chooseInitramfs(given),
    disk: describeDisk(given),
    bootFromDisk: bootsFromDisk(given) || undefined,
    append: given.append,
    patient: given.inspect !== undefined || given.gdb !== undefined || undefined,
    memoryMiB: given.memory,
    cpus: given.cpus,
    gdb: given.gdb,
    paused: given.paused,
    consoleLog: resolved(given.consoleLog),
    interactive: given.case === undefined,
    extraArguments: qemuArguments,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

async function chooseInitramfs(given: RunArguments): Promise<string> {
  if (given.initramfs !== undefined) return resolve(given.initramfs);
  if (given.disk !== undefined) return '';
  // Our modules are compiled for the stock kernel only.
  const modules = given.kernel === undefined ? await provideModules(['driver', 'kernel', 'traffic'], LOADED) : [];
  if (given.case !== undefined) return buildCaseImage(modules, readFileSync(given.case, 'utf8'));
  return buildShellImage(modules, given.gdb !== undefined);
}

function describeDisk({ disk, snapshot = false }: RunArguments): GuestDisk | undefined {
  if (disk === undefined) return undefined;
  const path = resolve(disk);
  return { path, format: path.endsWith('.qcow2') ? 'qcow2' : 'raw', snapshot };
}

function bootsFromDisk({ disk, kernel }: RunArguments): boolean {
  return disk !== undefined && kernel === undefined;
}

function resolved(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(path);
}
