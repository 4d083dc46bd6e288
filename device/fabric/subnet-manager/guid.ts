// SPDX-License-Identifier: Apache-2.0
/**
 * GUIDs and GIDs in the memory of the subnet manager: strings of hexadecimal digits, so that they
 * are keys of maps and compare like the numbers (IBTA 4.1). The files of this folder convert them
 * here.
 */

/** 16 hexadecimal digits. */
export type Guid = string;
/** 32 hexadecimal digits: the prefix of the subnet, and the GUID of the port. */
export type Gid = string;

/** The GUID that no port has. */
export const NO_GUID: Guid = '0'.repeat(16);

export function readGuid(view: DataView, offset: number): Guid {
  return (
    view.getUint32(offset).toString(16).padStart(8, '0') +
    view
      .getUint32(offset + 4)
      .toString(16)
      .padStart(8, '0')
  );
}

export function writeGuid(view: DataView, offset: number, guid: Guid): void {
  view.setUint32(offset, Number.parseInt(guid.slice(0, 8), 16));
  view.setUint32(offset + 4, Number.parseInt(guid.slice(8, 16), 16));
}

export function readGid(view: DataView, offset: number): Gid {
  return readGuid(view, offset) + readGuid(view, offset + 8);
}

export function writeGidText(view: DataView, offset: number, gid: Gid): void {
  writeGuid(view, offset, gid.slice(0, 16));
  writeGuid(view, offset + 8, gid.slice(16));
}

/** True if both hold the same bytes. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  return one.every((byte, index) => byte === other[index]);
}
