// SPDX-License-Identifier: Apache-2.0
/**
 * Virtual addresses of work requests and packets as Numbers (IBTA 10.6.2). Software may give a
 * registration any address of 64 bits: NFS over RDMA puts a transaction identifier into the high
 * dword. A Number is exact below 2^53, so higher addresses are folded into the range from 2^52 to
 * 2^53, above all regions of memory. Two of them that differ by a multiple of 2^52 count as the
 * same address of a region. Scatter/gather lists, responder and atomic unit join the dwords; a
 * function that did so would make a heap number of each address.
 */

/** High dwords of addresses from 2^53 and 2^52 on. */
const INEXACT = 2 ** 21;
const FOLDED = 2 ** 20;

/** The high dword of an address that a Number holds exactly. */
export function foldHigh(high: number): number {
  return high < INEXACT ? high : (high & (FOLDED - 1)) | FOLDED;
}
