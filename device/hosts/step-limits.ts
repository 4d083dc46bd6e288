// SPDX-License-Identifier: Apache-2.0
/**
 * Bounds of steps of a running process. The control socket keeps them, and the command line says
 * them without the adapter's code.
 */

/** Of one request: the adapter answers guests again within some tenths of a second. */
export const STEPS_MAX = 10_000;
