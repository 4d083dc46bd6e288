// SPDX-License-Identifier: Apache-2.0
/**
 * Packs an initramfs: busybox with its applets as links, init.sh, kernel modules, the case to run,
 * and further files. The result is cached by content, so the same request costs a hash. It is not
 * compressed: under TCG unpacking takes the guest longer than copying takes QEMU. Called by
 * launch.ts and by every caller with a guest of its own.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CpioEntry, writeCpio } from './cpio.ts';
import { type Busybox, provideBusybox } from './setup/busybox.ts';
import { provide } from './setup/cache.ts';
import type { KernelModule } from './setup/guest-kernel.ts';

/** A file to put into the guest. */
export interface GuestFile {
  /** Absolute path in the guest; folders are made as needed. */
  readonly path: string;
  /** Text, bytes, or the host path to copy from. */
  readonly content: string | Buffer | { readonly from: string };
  /** Permission bits; 0o755 when absent. */
  readonly mode?: number;
}

/** A module to load at start, in the order given. */
export interface GuestModule {
  readonly name: string;
  /** The plain .ko file on the host. */
  readonly path: string;
  /** Module parameters, as insmod takes them. */
  readonly parameters?: string;
  /** False packs the module as /modules/NAME.ko without loading it. */
  readonly load?: boolean;
}

/** The content of the initramfs beside busybox. */
export interface InitramfsOptions {
  readonly modules?: readonly GuestModule[];
  /** Modules that init loads before it looks for the guest's ports; see KernelChoice. */
  readonly bootModules?: readonly KernelModule[];
  readonly files?: readonly GuestFile[];
  /**
   * The shell script that init runs as /case; its output is the report. Does nothing when absent.
   */
  readonly caseScript?: string;
  /** Replaces init.sh. */
  readonly init?: string;
}

const INIT = join(dirname(fileURLToPath(import.meta.url)), 'init.sh');
const BOOT_MODULES = join(dirname(INIT), 'boot-modules.sh');
const DIRECTORIES = ['bin', 'dev', 'etc', 'modules', 'proc', 'run', 'sys', 'tmp'];
const OUTPUT = 'initramfs.cpio';
/** QEMU reads an image when it starts. */
const IN_USE_MS = 600_000;

/** The images of this process whose first process is init.sh. */
const withOurInit = new Set<string>();

/** Whether the first process of the guest with this image is init.sh. */
export function hasOurInit(initramfs: string): boolean {
  return withOurInit.has(initramfs);
}

/** The path of an initramfs with the given content. */
export async function buildInitramfs(options: InitramfsOptions = {}): Promise<string> {
  const archive = writeCpio(listEntries(options, await provideBusybox()));
  const directory = await provide({
    name: 'initramfs',
    key: createHash('sha256').update(archive).digest('hex'),
    outputs: [OUTPUT],
    keep: 8,
    inUseMs: IN_USE_MS,
    build: async (target) => writeFileSync(join(target, OUTPUT), archive),
  });
  const path = join(directory, OUTPUT);
  if (options.init === undefined) withOurInit.add(path);
  return path;
}

/** The entries of the archive in order; exported for tests. */
export function listEntries(options: InitramfsOptions, busybox: Busybox): CpioEntry[] {
  const files: CpioEntry[] = [
    file('bin/busybox', readFileSync(busybox.path)),
    file('init', options.init ?? readFileSync(INIT, 'utf8')),
    file('case', options.caseScript ?? '#!/bin/sh\n'),
    file('etc/modules', moduleList(options.modules ?? []), 0o644),
    ...packBootModules(options.bootModules ?? []),
    ...(options.modules ?? []).map((module) => file(`modules/${module.name}.ko`, readFileSync(module.path), 0o644)),
    ...(options.files ?? []).map(packFile),
  ];
  const applets = busybox.applets.filter((name) => name !== 'busybox');
  const links = applets.map((name): CpioEntry => ({ kind: 'link', path: `bin/${name}`, target: 'busybox' }));
  const console: CpioEntry = { kind: 'character-device', path: 'dev/console', major: 5, minor: 1 };
  return [...directoriesOf(files), console, ...links, ...files];
}

function moduleList(modules: readonly GuestModule[]): string {
  const loaded = modules.filter((module) => module.load !== false);
  return loaded
    .map((module) => `${module.name} ${module.parameters ?? ''}`.trimEnd())
    .join('\n')
    .concat('\n')
    .trimStart();
}

/** Nothing when there are none. */
function packBootModules(modules: readonly KernelModule[]): CpioEntry[] {
  if (modules.length === 0) return [];
  const packed = modules.map(({ name, path }) => file(`modules/boot/${name}.ko`, readFileSync(path), 0o644));
  const script = file('boot-modules.sh', readFileSync(BOOT_MODULES, 'utf8'));
  return [script, file('etc/boot-modules', moduleList(modules), 0o644), ...packed];
}

function packFile({ path, content, mode }: GuestFile): CpioEntry {
  const inside = path.replace(/^\/+/, '');
  const isPlain = typeof content === 'string' || Buffer.isBuffer(content);
  return file(inside, isPlain ? content : readFileSync(content.from), mode);
}

function file(path: string, content: string | Buffer, mode = 0o755): CpioEntry {
  return { kind: 'file', path, content: Buffer.isBuffer(content) ? content : Buffer.from(content), mode };
}

/** Every folder the entries need, each after its parent. */
function directoriesOf(entries: readonly CpioEntry[]): CpioEntry[] {
  const paths = new Set(DIRECTORIES);
  for (const entry of entries) {
    const parts = entry.path.split('/').slice(0, -1);
    for (const i of parts.keys()) paths.add(parts.slice(0, i + 1).join('/'));
  }
  return [...paths].sort().map((path) => ({ kind: 'directory', path }));
}
