// SPDX-License-Identifier: Apache-2.0
/** Limits of size of the files that an adapter process writes while it serves guests. */

/** A recording or a capture ends at this size, in bytes, unless its owner says another one. */
export const FILE_LIMIT_BYTES = 2 ** 30;
/** Largest limit of a recording: Node reads no longer file as one piece, and replay does that. */
export const RECORDING_LIMIT_MAX_BYTES = 2 ** 31 - 2 ** 20;
