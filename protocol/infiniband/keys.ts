// SPDX-License-Identifier: Apache-2.0
/** The rules for partition keys (IBA 10.9.3) and queue keys (IBA 10.2.5, 9.6.1.4.3). */

/** P_Key bit that says full member; without it a limited member. */
export const PKEY_FULL_MEMBER = 0x8000;

/** The P_Key every port has at first: full member of the default partition. */
export const DEFAULT_PKEY = 0xffff;

/** Q_Key of all general services QPs (QP1). */
export const GSI_QKEY = 0x80010000;

/** Q_Keys with this bit may only be set by privileged software. */
const QKEY_CONTROLLED = 0x80000000;

/** Same partition, not the invalid one, and not both limited members. */
export function pKeysMatch(a: number, b: number): boolean {
  return ((a ^ b) & 0x7fff) === 0 && (a & 0x7fff) !== 0 && ((a | b) & PKEY_FULL_MEMBER) !== 0;
}

/** The Q_Key a datagram carries: the QP's own when the work request asks for a controlled one. */
export function effectiveQKey(requested: number, ownQKey: number): number {
  return ((requested & QKEY_CONTROLLED) === 0 ? requested : ownQKey) >>> 0;
}
