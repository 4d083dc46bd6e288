// SPDX-License-Identifier: Apache-2.0
/**
 * Version of the firmware: that of no real one, with a major number that user-space software knows
 * for this device. The initialising segment, the health buffer and the registers of management tell
 * it.
 */

export const FIRMWARE_MAJOR = 16;
export const FIRMWARE_MINOR = 99;
export const FIRMWARE_SUBMINOR = 0;
const SUBMINOR_DIGITS = 4;

/** All three in a number: major << 24 | minor << 16 | subminor. */
export const FIRMWARE_VERSION = FIRMWARE_MAJOR * 2 ** 24 + FIRMWARE_MINOR * 2 ** 16 + FIRMWARE_SUBMINOR;

/** As drivers print it. */
export const FIRMWARE_TEXT = [
  FIRMWARE_MAJOR,
  FIRMWARE_MINOR,
  String(FIRMWARE_SUBMINOR).padStart(SUBMINOR_DIGITS, '0'),
].join('.');
