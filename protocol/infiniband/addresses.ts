// SPDX-License-Identifier: Apache-2.0
/**
 * Local and global identifiers: ranges of LIDs (IBTA 4.1.3) and forms of GIDs (IBTA 4.1.1). A GID
 * is 16 bytes in wire order. Ports, transport and management call these functions.
 */

/** First LID of the multicast range. */
export const MULTICAST_LID_BASE = 0xc000;

/**
 * Permissive LID: every port accepts it, for directed-route packets; in their route it marks a part
 * that is not routed by LID.
 */
export const PERMISSIVE_LID = 0xffff;

/** Destination QP number of multicast datagrams. */
export const MULTICAST_QPN = 0xffffff;

/** Numbers of the special QPs of a port (IBTA 3.9.3, 13.5.1). */
export const SUBNET_MANAGEMENT_QPN = 0;
export const GENERAL_SERVICES_QPN = 1;

/** Size of a GID in bytes. */
export const GID_SIZE = 16;

/** True for 1 to 0xbfff. */
export function isUnicastLid(lid: number): boolean {
  return lid > 0 && lid < MULTICAST_LID_BASE;
}

/** True for 0xc000 to 0xfffe. */
export function isMulticastLid(lid: number): boolean {
  return lid >= MULTICAST_LID_BASE && lid < PERMISSIVE_LID;
}

/** True if `lid` is one of the 2^`lmc` LIDs of a port with base LID `baseLid`. */
export function isLidOfPort(lid: number, baseLid: number, lmc: number): boolean {
  return lid >>> lmc === baseLid >>> lmc && isUnicastLid(lid);
}

/** True for ff00::/8. */
export function isMulticastGid(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === 0xff;
}

/** True for fe80::/10. */
export function isLinkLocalGid(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === 0xfe && (bytes[offset + 1] & 0xc0) === 0x80;
}

/** True if the two GIDs are equal. */
export function gidsEqual(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number): boolean {
  for (let index = 0; index < GID_SIZE; index++) {
    if (a[aOffset + index] !== b[bOffset + index]) return false;
  }
  return true;
}

/** Writes the GID of a subnet prefix and a port GUID, each 8 bytes in wire order. */
export function writeGid(into: Uint8Array, offset: number, subnetPrefix: Uint8Array, portGuid: Uint8Array): void {
  for (let index = 0; index < 8; index++) {
    into[offset + index] = subnetPrefix[index];
    into[offset + 8 + index] = portGuid[index];
  }
}

/** Writes ::ffff:a.b.c.d, the GID of an IPv4 address on a RoCE network. */
export function writeIpv4Gid(into: Uint8Array, offset: number, address: number): void {
  into.fill(0, offset, offset + 10);
  into[offset + 10] = 0xff;
  into[offset + 11] = 0xff;
  for (let index = 0; index < 4; index++) into[offset + 12 + index] = address >>> (24 - 8 * index);
}

/** Formats a GID as eight groups of four hexadecimal digits, for messages; allocates. */
export function formatGid(bytes: Uint8Array, offset = 0): string {
  const groups = Array.from({ length: 8 }, (_, index) => {
    const group = bytes[offset + 2 * index] * 256 + bytes[offset + 2 * index + 1];
    return group.toString(16).padStart(4, '0');
  });
  return groups.join(':');
}
