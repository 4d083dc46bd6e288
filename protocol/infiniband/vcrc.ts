// SPDX-License-Identifier: Apache-2.0
/**
 * The variant CRC: 16 bits over all bytes of a packet from LRH to ICRC, as sent on one link (IBTA
 * 7.8.2). It is stored little-endian in the last two bytes. Packet builder, parser, ports and links
 * call these functions.
 */
import { continueVcrc } from './crc.ts';

/** Size of the VCRC field in bytes. */
export const VCRC_SIZE = 2;

/** VCRC of the bytes [lrhOffset, vcrcOffset). */
export function computeVcrc(view: DataView, lrhOffset: number, vcrcOffset: number): number {
  return ~continueVcrc(0xffff, view, lrhOffset, vcrcOffset) & 0xffff;
}

/** Reads the VCRC field. */
export function getVcrc(view: DataView, vcrcOffset: number): number {
  return view.getUint16(vcrcOffset, true);
}

/** Writes the VCRC field. */
export function setVcrc(view: DataView, vcrcOffset: number, vcrc: number): void {
  view.setUint16(vcrcOffset, vcrc, true);
}
