// SPDX-License-Identifier: Apache-2.0
/**
 * The variant CRC: 16 bits over every byte of a packet from the LRH to the ICRC as sent on one link (IBA 7.8.2), stored
 * little-endian as the last two bytes.
 */
import { continueVcrc } from './crc.ts';

/** Bytes of the field. */
export const VCRC_SIZE = 2;

/** VCRC of the bytes from `lrhOffset` to before `vcrcOffset`. */
export function computeVcrc(view: DataView, lrhOffset: number, vcrcOffset: number): number {
  return ~continueVcrc(0xffff, view, lrhOffset, vcrcOffset) & 0xffff;
}

/** The VCRC field. */
export function getVcrc(view: DataView, vcrcOffset: number): number {
  return view.getUint16(vcrcOffset, true);
}

/** Stores a VCRC. */
export function setVcrc(view: DataView, vcrcOffset: number, vcrc: number): void {
  view.setUint16(vcrcOffset, vcrc, true);
}
