// SPDX-License-Identifier: Apache-2.0
/** MTU codes 1 to 5 (`MtuCode`) and the payload bytes they stand for, 256 to 4096 (IBA 14.2.5.6). */
import { MtuCode } from './gen/values.gen.ts';

/** Bytes of the largest payload. */
export const LARGEST_MTU_BYTES = 4096;

/** Payload bytes of a code; 0 for a code that is not one. */
export function mtuBytes(code: number): number {
  return code >= MtuCode.MTU_256 && code <= MtuCode.MTU_4096 ? 128 << code : 0;
}

/** Code of the largest MTU that is not above `bytes`; 0 when `bytes` is below 256. */
export function mtuCode(bytes: number): number {
  for (let code: number = MtuCode.MTU_4096; code >= MtuCode.MTU_256; code--) {
    if (bytes >= 128 << code) return code;
  }
  return 0;
}

/** Packets a message of `lengthBytes` takes at an MTU; a message of no bytes takes one. */
export function packetCount(lengthBytes: number, mtu: number): number {
  return lengthBytes <= mtu ? 1 : Math.ceil(lengthBytes / mtu);
}
