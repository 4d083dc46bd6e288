// SPDX-License-Identifier: Apache-2.0
/**
 * Rules for partition keys (IBTA 10.9.3) and queue keys (IBTA 10.2.5, 9.6.1.4.3). Ports and
 * transport call them for each packet.
 */

/** P_Key bit of a full member; a limited member has it clear. */
export const PKEY_FULL_MEMBER = 0x8000;

/** Initial P_Key of every port: full member of the default partition. */
export const DEFAULT_PKEY = 0xffff;

/** Q_Key of all general services QPs (QP1). */
export const GSI_QKEY = 0x80010000;

/** Only privileged software may set a Q_Key with this bit. */
const QKEY_CONTROLLED = 0x80000000;

/** True for the same, valid partition and at least one full member. */
export function pKeysMatch(a: number, b: number): boolean {
  return ((a ^ b) & 0x7fff) === 0 && (a & 0x7fff) !== 0 && ((a | b) & PKEY_FULL_MEMBER) !== 0;
}

/** Q_Key of a datagram: that of the QP if the work request requests a controlled one. */
export function effectiveQKey(requested: number, ownQKey: number): number {
  return ((requested & QKEY_CONTROLLED) === 0 ? requested : ownQKey) >>> 0;
}
