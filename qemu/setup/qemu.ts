// SPDX-License-Identifier: Apache-2.0
/**
 * Finds or provides a QEMU that has the vfio-user-pci device: the one named by QEMU, else
 * qemu-system-x86_64 on PATH when it is new enough, else Debian's from trixie-backports in a
 * private prefix. A QEMU that the user named and that lacks the device is refused with the reason.
 * Called by set-up; qemu/ launches the program that this returns.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheRoot, hashOf, provide } from './cache.ts';
import { findProgram } from './find-program.ts';
import { dropFiles, fetchFiles, withRequest } from './packages.ts';
import { makePrefix } from './prefix.ts';
import { tryRun } from './tools/command.ts';
import { SetupError } from './tools/errors.ts';

/** A QEMU that can attach the device, and how to start it. */
export interface Qemu {
  readonly path: string;
  /** As the program prints it: `11.1.3`. */
  readonly version: string;
  /** Arguments that must come first (firmware folders of a private prefix). */
  readonly arguments: readonly string[];
  /** Environment variables to add. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The version and devices of a QEMU program. */
export interface QemuAbilities {
  /** Empty when the program is no QEMU. */
  readonly version: string;
  readonly hasVfioUser: boolean;
}

const OLDEST = [10, 1] as const;
const RECIPE_VERSION = 1;
const PROGRAM = 'qemu-system-x86_64';
const EXPLANATION = 'vuhca needs QEMU 10.1 or newer with the vfio-user-pci device';
const REMEDY = 'name another by QEMU=/path/to/qemu-system-x86_64, or unset QEMU to have one provided';

/** The QEMU to use. Throws SetupError when QEMU names one that cannot attach the device. */
export async function provideQemu(environment: NodeJS.ProcessEnv = process.env): Promise<Qemu> {
  const chosen = environment.QEMU;
  if (chosen) {
    const path = findProgram(chosen, environment.PATH ?? '');
    if (path === undefined) throw new SetupError(`QEMU names ${chosen}, which is not a program; ${REMEDY}.`);
    const abilities = await readAbilities(path);
    const objection = findObjection(path, abilities);
    if (objection !== undefined) throw new SetupError(objection);
    return { path, version: abilities.version, arguments: [], environment: {} };
  }
  const installed = findProgram(PROGRAM, environment.PATH ?? '');
  if (installed !== undefined) {
    const abilities = await readAbilities(installed);
    if (findObjection(installed, abilities) === undefined) {
      return { path: installed, version: abilities.version, arguments: [], environment: {} };
    }
  }
  return providePrivateQemu();
}

/**
 * Why the QEMU at `path` cannot be used, as a sentence that says what to do; undefined when it can.
 */
export function findObjection(path: string, abilities: QemuAbilities): string | undefined {
  const version = parseVersion(abilities.version);
  if (version === undefined) return `${path} does not print a QEMU version; ${EXPLANATION}: ${REMEDY}.`;
  if (version[0] < OLDEST[0] || (version[0] === OLDEST[0] && version[1] < OLDEST[1])) {
    return `${path} is QEMU ${abilities.version}, which is too old; ${EXPLANATION}: ${REMEDY}.`;
  }
  if (!abilities.hasVfioUser) {
    return `${path} is QEMU ${abilities.version} built without vfio-user-pci; ${EXPLANATION}: ${REMEDY}.`;
  }
  return undefined;
}

/** The version in what `qemu-system-x86_64 --version` prints, or an empty string. */
export function readVersion(text: string): string {
  return /QEMU emulator version ([0-9]+\.[0-9]+(?:\.[0-9]+)?)/.exec(text)?.[1] ?? '';
}

function parseVersion(version: string): [number, number] | undefined {
  const match = /^([0-9]+)\.([0-9]+)/.exec(version);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

async function providePrivateQemu(): Promise<Qemu> {
  const request = { kind: 'closure', names: ['qemu-system-x86'], suite: 'trixie-backports' } as const;
  const directory = await withRequest('qemu', request, (files) =>
    provide({
      name: 'qemu',
      key: [RECIPE_VERSION, files.map((file) => file.sha256)],
      outputs: [`usr/bin/${PROGRAM}`, 'usr/share/seabios/bios-256k.bin', 'usr/share/qemu/linuxboot_dma.bin'],
      build: async (target, finalTarget) => {
        await makePrefix(await fetchFiles(files), target, finalTarget);
        dropFiles(files);
      },
    }),
  );
  const firmware = ['usr/share/qemu', 'usr/share/seabios', 'usr/lib/ipxe/qemu'].map((path) => join(directory, path));
  const qemu = {
    path: join(directory, 'usr/bin', PROGRAM),
    arguments: firmware.flatMap((path) => ['-L', path]),
    environment: { QEMU_MODULE_DIR: join(directory, 'usr/lib/x86_64-linux-gnu/qemu') },
  };
  const abilities = await readAbilities(qemu.path);
  const objection = findObjection(qemu.path, abilities);
  if (objection !== undefined) throw new SetupError(objection);
  return { ...qemu, version: abilities.version };
}

/** Asks a QEMU program once; the answer is kept for a file of the same path, size and time. */
async function readAbilities(path: string): Promise<QemuAbilities> {
  const real = realpathSync(path);
  const { size, mtimeMs } = statSync(real);
  const memory = join(cacheRoot(), 'resolved', `qemu-abilities-${hashOf([real, size, mtimeMs])}.json`);
  if (existsSync(memory)) return JSON.parse(readFileSync(memory, 'utf8')) as QemuAbilities;
  const version = readVersion((await tryRun(path, ['--version'])).stdout);
  const devices = await tryRun(path, ['-machine', 'none', '-device', 'help'], { timeoutMs: 20_000 });
  const abilities = { version, hasVfioUser: /"vfio-user-pci"/.test(devices.stdout + devices.stderr) };
  mkdirSync(join(cacheRoot(), 'resolved'), { recursive: true });
  writeFileSync(memory, JSON.stringify(abilities));
  return abilities;
}
