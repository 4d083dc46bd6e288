// SPDX-License-Identifier: Apache-2.0
/**
 * Local and global identifiers: ranges of LIDs (IBA 4.1.3) and forms of GIDs (IBA 4.1.1). GIDs are 16 bytes in the
 * order of the wire.
 */

/** First LID of the multicast range. */
export const MULTICAST_LID_BASE = 0xc000;

/** The LID every port takes for its own, used for directed route packets. */
export const PERMISSIVE_LID = 0xffff;

/** QP number that multicast datagrams name. */
export const MULTICAST_QPN = 0xffffff;

/** Bytes of a GID. */
export const GID_SIZE = 16;

/** 1 to 0xbfff */
export function isUnicastLid(lid: number): boolean {
  return lid > 0 && lid < MULTICAST_LID_BASE;
}

/** 0xc000 to 0xfffe */
export function isMulticastLid(lid: number): boolean {
  return lid >= MULTICAST_LID_BASE && lid < PERMISSIVE_LID;
}

/** Is `lid` one of the 2^`lmc` LIDs of the port whose base LID is `baseLid`? */
export function isLidOfPort(lid: number, baseLid: number, lmc: number): boolean {
  return lid >>> lmc === baseLid >>> lmc && isUnicastLid(lid);
}

/** ff00::/8 */
export function isMulticastGid(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === 0xff;
}

/** fe80::/10 */
export function isLinkLocalGid(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === 0xfe && (bytes[offset + 1] & 0xc0) === 0x80;
}

/** Are the two GIDs the same? */
export function gidsEqual(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number): boolean {
  for (let index = 0; index < GID_SIZE; index++) {
    if (a[aOffset + index] !== b[bOffset + index]) return false;
  }
  return true;
}

/** Writes the GID made of a subnet prefix and a port GUID, each 8 bytes in wire order. */
export function writeGid(into: Uint8Array, offset: number, subnetPrefix: Uint8Array, portGuid: Uint8Array): void {
  for (let index = 0; index < 8; index++) {
    into[offset + index] = subnetPrefix[index];
    into[offset + 8 + index] = portGuid[index];
  }
}

/** Writes ::ffff:a.b.c.d, the GID that stands for an IPv4 address on a RoCE network. */
export function writeIpv4Gid(into: Uint8Array, offset: number, address: number): void {
  into.fill(0, offset, offset + 10);
  into[offset + 10] = 0xff;
  into[offset + 11] = 0xff;
  for (let index = 0; index < 4; index++) into[offset + 12 + index] = address >>> (24 - 8 * index);
}

/** Eight groups of four hexadecimal digits, for messages; allocates. */
export function formatGid(bytes: Uint8Array, offset = 0): string {
  const groups = Array.from({ length: 8 }, (_, index) => {
    const group = bytes[offset + 2 * index] * 256 + bytes[offset + 2 * index + 1];
    return group.toString(16).padStart(4, '0');
  });
  return groups.join(':');
}
