// SPDX-License-Identifier: Apache-2.0
/**
 * The script or program that a user gives for a guest: read, and refused with a remedy when the
 * guest could not run it. Otherwise the kernel of the guest would only report that a file of ours
 * is not found. Called by `vuhca test` and `vuhca run` before anything starts.
 */
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { printable } from '../../../protocol/system/printable.mjs';
import type { GuestFile } from '../../../qemu/initramfs.ts';
import { UsageError } from '../options/usage-error.ts';

/**
 * Root in which the script runs: that of our guest with busybox and the user's files, or Debian's.
 */
export type ScriptPlace = { readonly files: readonly GuestFile[] } | 'distribution';

export interface GuestScript {
  readonly name: string;
  readonly text: Buffer;
}

/** Applets of busybox that can interpret a script. */
const APPLETS = ['sh', 'ash', 'hush', 'busybox', 'awk', 'sed'];
const ENV = '/bin/env';
const ELF_MAGIC = '\x7fELF';
/** The program header that names the dynamic loader. */
const PT_INTERP = 3;
const MARKS: readonly (readonly [bytes: readonly number[], what: string])[] = [
  [[0xef, 0xbb, 0xbf], 'a byte order mark'],
  [[0xff, 0xfe], 'the mark of UTF-16'],
  [[0xfe, 0xff], 'the mark of UTF-16'],
];

/** Reads the file that `option` names. Throws UsageError. */
export function readScript(option: string, path: string, place: ScriptPlace): GuestScript {
  const refuse = (reason: string): never => {
    throw new UsageError(`${option.startsWith('--') ? 'option ' : ''}${option} names ${printable(path)}, ${reason}`);
  };
  const content = readFile(path, refuse);
  if (content.length === 0) refuse('which is empty: write commands into it');
  const mark = MARKS.find(([bytes]) => bytes.every((byte, at) => content[at] === byte));
  if (mark !== undefined) refuse(`which begins with ${mark[1]}, so no interpreter takes it: save it as plain UTF-8`);
  const isProgram = content.toString('latin1', 0, ELF_MAGIC.length) === ELF_MAGIC;
  if (!isProgram && content.includes('\r\n'))
    refuse(
      `whose lines end with carriage returns (CRLF), which a shell takes for parts of words: sed -i 's/\\r$//' FILE`,
    );
  const [interpreter, ...others] = isProgram ? readLoader(content) : readInterpreter(content);
  if (interpreter !== undefined && place !== 'distribution') {
    const missing = [interpreter, ...(interpreter === ENV ? others.slice(0, 1).map((name) => `/bin/${name}`) : [])];
    const absent = missing.find((name) => !isInGuest(name, place.files));
    const advice = isProgram ? 'link it with -static' : 'begin it with #!/bin/sh';
    if (absent !== undefined)
      refuse(
        `whose interpreter ${printable(absent)} the guest does not have: ${advice}, or bring it along by --files HOST:${printable(absent)}`,
      );
  }
  return { name: printable(basename(path)), text: content };
}

function readFile(path: string, refuse: (reason: string) => never): Buffer {
  const status = statSync(path, { throwIfNoEntry: false });
  if (status === undefined) return refuse('which does not exist');
  if (!status.isFile())
    return refuse(status.isDirectory() ? 'which is a folder: name a file in it' : 'which is no file');
  try {
    return readFileSync(path);
  } catch (error) {
    return refuse(`which cannot be read (${(error as NodeJS.ErrnoException).code}): see its permissions`);
  }
}

/** The words of the first line, if it names an interpreter; a shell runs other scripts. */
function readInterpreter(content: Buffer): string[] {
  const [line] = content.toString('latin1', 0, 4096).split('\n', 1);
  return line.startsWith('#!') ? line.slice(2).trim().split(/\s+/) : [];
}

/** The dynamic loader of an ELF program of this machine; none when it is linked statically. */
function readLoader(content: Buffer): string[] {
  try {
    const [table, size, count] = [
      Number(content.readBigUInt64LE(32)),
      content.readUInt16LE(54),
      content.readUInt16LE(56),
    ];
    for (let at = table; at < table + size * count; at += size) {
      if (content.readUInt32LE(at) !== PT_INTERP) continue;
      const start = Number(content.readBigUInt64LE(at + 8));
      return [content.toString('latin1', start, content.indexOf(0, start))];
    }
  } catch {
    // The program is damaged; the guest reports that.
  }
  return [];
}

function isInGuest(path: string, files: readonly GuestFile[]): boolean {
  if (path === ENV || APPLETS.some((name) => path === `/bin/${name}`)) return true;
  return files.some((file) => file.path === path);
}
