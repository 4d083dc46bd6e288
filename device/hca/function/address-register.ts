// SPDX-License-Identifier: Apache-2.0
/**
 * Guest address that many calls need. V8 allocates a heap number for each argument and each
 * result of 2^31 or more, unless it inlines the call; a field that always held such numbers is
 * overwritten in place. Therefore units set this register and pass the object. It is a class of its
 * own, because V8 lays out all literals `{ value }` of a process alike. Part of `Dma` and of the
 * in-process host; no document rules it.
 */
import type { BusAddress } from '../../host.ts';

export class AddressRegister implements BusAddress {
  /**
   * NaN at first: a field that began with a small integer would change its representation at the
   * first large one.
   */
  value = Number.NaN;
}
