// SPDX-License-Identifier: Apache-2.0
/**
 * A private prefix of Debian packages that runs on Debian 12 and 13, without root or chroot:
 * packages and their dependencies are unpacked side by side, and each program gets the prefix's own
 * dynamic linker and library path. So a program of trixie never uses the machine's older C library.
 * Called by qemu.ts and kernel-toolchain.ts.
 */
import { closeSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from './packages.ts';
import { withProgress } from './progress.ts';
import { run } from './tools/command.ts';

const LIBRARIES = 'usr/lib/x86_64-linux-gnu';
const UNWANTED = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info', 'usr/share/lintian'];

/** Unpacks `packages` into `directory` and makes their programs run from `finalDirectory`. */
export async function makePrefix(
  packages: readonly string[],
  directory: string,
  finalDirectory: string,
): Promise<void> {
  await unpackPackages(packages, directory);
  for (const path of UNWANTED) rmSync(join(directory, path), { recursive: true, force: true });
  const programs = listFiles(directory).filter(isDynamicProgram);
  const libraries = join(finalDirectory, LIBRARIES);
  const linker = join(libraries, 'ld-linux-x86-64.so.2');
  // DT_RPATH, unlike DT_RUNPATH, also holds for the libraries that libraries need.
  const args = ['--set-interpreter', linker, '--force-rpath', '--set-rpath', libraries, ...programs];
  await withProgress(`giving ${programs.length} programs their own C library`, () => run('patchelf', args));
}

function listFiles(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

const PT_INTERP = 3;

/** Whether the file is a program: a 64-bit ELF file that names a dynamic linker. */
function isDynamicProgram(path: string): boolean {
  const header = readStart(path, 4096);
  if (header.length < 64 || header.readUInt32BE(0) !== 0x7f454c46 || header[4] !== 2) return false;
  const offset = Number(header.readBigUInt64LE(0x20));
  const size = header.readUInt16LE(0x36);
  const count = header.readUInt16LE(0x38);
  for (let i = 0; i < count; i++) {
    const at = offset + i * size;
    if (at + 4 <= header.length && header.readUInt32LE(at) === PT_INTERP) return true;
  }
  return false;
}

function readStart(path: string, lengthBytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(lengthBytes);
    return buffer.subarray(0, readSync(file, buffer, 0, lengthBytes, 0));
  } finally {
    closeSync(file);
  }
}
