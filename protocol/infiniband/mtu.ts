// SPDX-License-Identifier: Apache-2.0
/** MTU codes 1 to 5 (`MtuCode`) and their payload sizes, 256 to 4096 bytes (IBTA 14.2.5.6). */
import { MtuCode } from './gen/values.gen.ts';

/** Largest payload of a packet in bytes. */
export const LARGEST_MTU_BYTES = 4096;

/** Payload size of a code in bytes; 0 for an invalid code. */
export function mtuBytes(code: number): number {
  return code >= MtuCode.MTU_256 && code <= MtuCode.MTU_4096 ? 128 << code : 0;
}

/** Code of the largest MTU up to `bytes`; 0 if `bytes` is below 256. */
export function mtuCode(bytes: number): number {
  for (let code: number = MtuCode.MTU_4096; code >= MtuCode.MTU_256; code--) {
    if (bytes >= 128 << code) return code;
  }
  return 0;
}

/** Packets of a message of `lengthBytes` at an MTU; an empty message takes one. */
export function packetCount(lengthBytes: number, mtu: number): number {
  return lengthBytes <= mtu ? 1 : Math.ceil(lengthBytes / mtu);
}
