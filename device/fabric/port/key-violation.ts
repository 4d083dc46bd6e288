// SPDX-License-Identifier: Apache-2.0
/**
 * A packet with a wrong partition or queue key, as traps 257 to 259 describe it (IBTA 14.2.5.1).
 * Receivers make one where a port has an owner that listens.
 */
export interface KeyViolation {
  readonly slid: number;
  readonly dlid: number;
  readonly serviceLevel: number;
  readonly sourceQpn: number;
  readonly destQpn: number;
  /** The wrong key. */
  readonly key: number;
  /** GIDs of 16 bytes of a global packet. */
  readonly sgid?: Uint8Array;
  readonly dgid?: Uint8Array;
}
