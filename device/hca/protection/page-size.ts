// SPDX-License-Identifier: Apache-2.0
/**
 * Sizes of pages by their log2, for accesses to memory: V8 calls the C library for a power whose
 * exponent is a variable, which takes as long as the rest of a translation.
 */

/** One more than the largest log2 that a field of any adapter can have. */
const SHIFTS = 64;

/** `PAGE_SIZES[shift]` is `2 ** shift`. */
export const PAGE_SIZES: Readonly<Float64Array> = Float64Array.from({ length: SHIFTS }, (_, shift) => 2 ** shift);
