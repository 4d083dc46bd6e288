// SPDX-License-Identifier: Apache-2.0
/**
 * Disk images that users name, for QEMU. The name says the format, not the content: a guest that
 * may write a raw image could make it one of another format, which names files of the host. Called
 * by `vuhca run --disk` and for nodes of a cluster.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { checkInput } from './named-files.ts';
import { UsageError } from './usage-error.ts';

const SECTOR = 512;
const QCOW2_MAGIC = Buffer.from('QFI\xfb', 'latin1');
/** The end of a sector that a BIOS boots from. */
const BOOT_SIGNATURE = 0xaa55;

export function diskFormat(path: string): 'qcow2' | 'raw' {
  return path.endsWith('.qcow2') ? 'qcow2' : 'raw';
}

/** Throws UsageError for what is no disk; with `boots`, for one that no machine boots from. */
export function checkDisk(name: string, path: string, boots = false): void {
  checkInput(name, path, { blockDevice: true });
  const first = Buffer.alloc(SECTOR);
  const file = openSync(path, 'r');
  readSync(file, first);
  closeSync(file);
  const isQcow2 = first.subarray(0, QCOW2_MAGIC.length).equals(QCOW2_MAGIC);
  if (diskFormat(path) === 'qcow2') {
    if (!isQcow2) throw new UsageError(`${name} names ${path}, which is no qcow2 image`);
  } else if (isQcow2) throw new UsageError(`${name} names ${path}, a qcow2 image: its name must end in .qcow2`);
  else if (boots && first.readUInt16LE(SECTOR - 2) !== BOOT_SIGNATURE)
    throw new UsageError(`${name} names ${path}, which is neither a qcow2 image nor a disk with a boot sector`);
}
