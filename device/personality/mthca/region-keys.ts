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
import { PageFaults } from '../../hca/protection/page-faults.ts';
import type { ProtectionDomain } from '../../hca/protection/protection-domain.ts';
import { rightsFor } from '../shared/key-rights.ts';
import type { MemoryRegions } from './memory/memory-regions.ts';
import type { Region } from './memory/region.ts';

export class RegionKeys implements KeyLookup {
  fault: FaultKind = FaultKind.NONE;
  /** NaN, because V8 must not take it for a small integer at first. */
  address = Number.NaN;
  /** Regions of this front end are never on demand. */
  readonly pageFaults = new PageFaults();
  readonly #regions: MemoryRegions;

  constructor(regions: MemoryRegions) {
    this.#regions = regions;
  }

  at(address: number): this {
    this.address = address;
    return this;
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

  /** No entry has the right to be flushed. */
  checkWhole(): undefined {
    this.fault = FaultKind.KEY_ACCESS;
    return undefined;
  }

  invalidate(): boolean {
    return false;
  }

  bind(): FaultKind {
    return FaultKind.KEY_INVALID;
  }

  findRegistrable(): undefined {
    this.fault = FaultKind.KEY_INVALID;
    return undefined;
  }
}
