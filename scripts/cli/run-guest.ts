// SPDX-License-Identifier: Apache-2.0
//
// Turns the arguments of `vuhca run` into a guest.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { GuestDisk, GuestOptions } from '../../qemu/guest-options.ts';
import { readAdapterOptions, readLinks, readOrdering } from './adapter-arguments.ts';
import { type Arguments, UsageError } from './command.ts';
import { buildCaseImage, buildShellImage, provideModules } from './guest-image.ts';
import { LOG_LEVELS } from './log.ts';
import { findMemoryObjection } from './shared-memory.ts';

const FILES = ['kernel', 'initramfs', 'disk', 'case'] as const;
const LOADED = ['vuhca', 'vuhca_test'];
const MEMORY_MAX_MIB = 1 << 20;
const CPUS_MAX = 255;
/** Slots of a q35's root bus that are free for root ports, when a disk has one too. */
const GUEST_FUNCTIONS_MAX = 28;

/** Finds what is wrong with the arguments before anything is started. Throws UsageError. */
export function checkRun(args: Arguments): void {
  const { functionCount } = readAdapterOptions(args);
  if (functionCount > GUEST_FUNCTIONS_MAX)
    throw new UsageError(
      `option --functions is ${functionCount}; one guest has room for ${GUEST_FUNCTIONS_MAX}, more need \`vuhca device\``,
    );
  readLinks(args);
  readOrdering(args);
  args.choice('log-level', LOG_LEVELS);
  args.integer('memory', 64, MEMORY_MAX_MIB);
  args.integer('cpus', 1, CPUS_MAX);
  for (const name of FILES) {
    const path = args.text(name);
    if (path !== undefined && !existsSync(path))
      throw new UsageError(`option --${name} names ${path}, which does not exist`);
  }
  for (const name of ['initramfs', 'disk']) {
    if (args.has('case') && args.has(name))
      throw new UsageError(`--case runs in our own guest, so --${name} cannot be given with it`);
  }
  if (args.has('append') && bootsFromDisk(args))
    throw new UsageError('--append needs --kernel: a disk boots with the command line of its own boot loader');
  const objection = findMemoryObjection(args.rest ?? []);
  if (objection !== undefined) throw new UsageError(objection);
}

/** The guest that was asked for; makes our own image when none was named. */
export async function prepareGuest(args: Arguments): Promise<GuestOptions> {
  const interactive = !args.has('case');
  const options: Partial<Record<keyof GuestOptions, unknown>> = {
    kernel: resolved(args, 'kernel'),
    initramfs: await chooseInitramfs(args),
    disk: describeDisk(args),
    bootFromDisk: bootsFromDisk(args) || undefined,
    append: args.text('append'),
    patient: args.has('inspect') || args.has('gdb') || undefined,
    memoryMiB: args.integer('memory', 64, MEMORY_MAX_MIB),
    cpus: args.integer('cpus', 1, CPUS_MAX),
    gdb: args.text('gdb'),
    paused: args.has('paused') || undefined,
    consoleLog: resolved(args, 'console-log'),
    interactive,
    extraArguments: args.rest,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

async function chooseInitramfs(args: Arguments): Promise<string> {
  const own = resolved(args, 'initramfs');
  if (own !== undefined) return own;
  if (args.has('disk')) return '';
  const path = args.text('case');
  // Our modules are compiled for the stock kernel and for no other.
  const modules = args.has('kernel') ? [] : await provideModules(['driver', 'kernel', 'traffic'], LOADED);
  if (path !== undefined) return buildCaseImage(modules, readFileSync(path, 'utf8'));
  return buildShellImage(modules, args.has('gdb'));
}

function describeDisk(args: Arguments): GuestDisk | undefined {
  const path = resolved(args, 'disk');
  if (path === undefined) return undefined;
  return { path, format: path.endsWith('.qcow2') ? 'qcow2' : 'raw', snapshot: args.has('snapshot') };
}

function bootsFromDisk(args: Arguments): boolean {
  return args.has('disk') && !args.has('kernel');
}

function resolved(args: Arguments, name: string): string | undefined {
  const path = args.text(name);
  return path === undefined ? undefined : resolve(path);
}
