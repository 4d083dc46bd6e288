// SPDX-License-Identifier: Apache-2.0
/**
 * Writes cpio archives in the "newc" format, which the Linux kernel unpacks as an initramfs
 * (Documentation/driver-api/early-userspace/buffer-format.rst). Times, owners and inode numbers are
 * fixed, so the same entries give the same bytes. Called by initramfs.ts.
 */

/** One entry of an archive. Paths have no leading slash. */
export type CpioEntry =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string; readonly content: Buffer; readonly mode: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | { readonly kind: 'character-device'; readonly path: string; readonly major: number; readonly minor: number };

const TYPE = { directory: 0o040000, file: 0o100000, link: 0o120000, 'character-device': 0o020000 } as const;

/** The archive of `entries` in their order, which must name a directory before its entries. */
export function writeCpio(entries: readonly CpioEntry[]): Buffer {
  const parts: Buffer[] = [];
  let inode = 1;
  for (const entry of entries) parts.push(...encode(entry, inode++));
  parts.push(...encodeFields('TRAILER!!!', { inode: 0, mode: 0, links: 1, major: 0, minor: 0 }, Buffer.alloc(0)));
  return Buffer.concat(parts);
}

function encode(entry: CpioEntry, inode: number): Buffer[] {
  const fields = { inode, mode: TYPE[entry.kind] | 0o755, links: 1, major: 0, minor: 0 };
  switch (entry.kind) {
    case 'directory':
      return encodeFields(entry.path, { ...fields, links: 2 }, Buffer.alloc(0));
    case 'file':
      return encodeFields(entry.path, { ...fields, mode: TYPE.file | entry.mode }, entry.content);
    case 'link':
      return encodeFields(entry.path, { ...fields, mode: TYPE.link | 0o777 }, Buffer.from(entry.target));
    case 'character-device':
      return encodeFields(entry.path, { ...fields, major: entry.major, minor: entry.minor }, Buffer.alloc(0));
  }
}

interface Fields {
  readonly inode: number;
  readonly mode: number;
  readonly links: number;
  readonly major: number;
  readonly minor: number;
}

function encodeFields(path: string, fields: Fields, content: Buffer): Buffer[] {
  const name = Buffer.from(`${path}\0`);
  const { inode, mode, links, major, minor } = fields;
  // inode, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor,
  // namesize, check
  const numbers = [inode, mode, 0, 0, links, 0, content.length, 0, 0, major, minor, name.length, 0];
  const header = Buffer.from(`070701${numbers.map((value) => value.toString(16).padStart(8, '0')).join('')}`);
  return [header, name, padding(header.length + name.length), content, padding(content.length)];
}

function padding(lengthBytes: number): Buffer {
  return Buffer.alloc((4 - (lengthBytes % 4)) % 4);
}
