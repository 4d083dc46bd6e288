// SPDX-License-Identifier: Apache-2.0
/**
 * Keys of memory regions as the transport checks them (IBTA 10.6): L_Keys of scatter/gather lists
 * and R_Keys of packets name the same entries. Devices of this kind have no memory windows and no
 * fast registration here, so requests for them are refused.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { KeyHolder } from '../../hca/protection/key-holder.ts';
import type { KeyLookup } from '../../hca/protection/key-lookup.ts';
import type { ProtectionDomain } from '../../hca/protection/protection-domain.ts';
import { rightsFor } from '../shared/key-rights.ts';
import { PlainKeys } from '../shared/plain-keys.ts';
import type { MemoryRegions } from './memory/memory-regions.ts';
import type { Region } from './memory/region.ts';

export class RegionKeys extends PlainKeys implements KeyLookup {
  readonly #regions: MemoryRegions;

  constructor(regions: MemoryRegions) {
    super();
    this.#regions = regions;
  }

  check(
    _owner: UnderlyingFunction,
    pd: ProtectionDomain,
    key: number,
    lengthBytes: number,
    access: number,
  ): Region | undefined {
    this.fault = this.#regions.check(key >>> 0, pd.number, rightsFor(access), this.address, lengthBytes);
    return this.fault === FaultKind.NONE ? this.#regions.find(key >>> 0) : undefined;
  }

  checkRemote(
    qp: KeyHolder,
    rkey: number,
    lengthBytes: number,
    access: number,
    pd: ProtectionDomain = qp.pd,
  ): Region | undefined {
    return this.check(qp.owner, pd, rkey, lengthBytes, access);
  }

  invalidate(): boolean {
    return false;
  }
}
