// SPDX-License-Identifier: Apache-2.0
/**
 * Numbers in fields of objects of which there are thousands. V8 keeps a small integer (below 2^31)
 * in the field itself, but each other number, and each result of `**` and of arithmetic with such
 * numbers, in an object of its own. That is a further cache line, and a miss of 100 ns when a queue
 * pair is one of thousands. Queues keep their addresses and sizes by these functions.
 */

/** Addresses of records, descriptors and queues are multiples of it. */
const UNIT_BYTES = 8;

/** The same number, as a small integer if it is one. */
export function compact(value: number): number {
  const small = value | 0;
  return small === value ? small : value;
}

/** A guest address, as a number to keep: a small integer for multiples of 8 below 16 GiB. */
export function packAddress(address: number): number {
  return compact(address / UNIT_BYTES);
}

/** The address that `packAddress` packed, whatever it was: the division was exact. */
export function unpackAddress(packed: number): number {
  return packed * UNIT_BYTES;
}
