// SPDX-License-Identifier: Apache-2.0
/**
 * The firmware of a device of another vendor after a fatal error: it goes on to execute commands,
 * ends each with an error, or ends none. A personality knows some of them.
 */
export const Firmware = { WORKS: 'works', REFUSES: 'refuses', SILENT: 'silent' } as const;
export type Firmware = (typeof Firmware)[keyof typeof Firmware];
