// SPDX-License-Identifier: Apache-2.0
/**
 * The part of a key lookup (IBTA 10.6) that the keys of all personalities have: none is on demand
 * or may be flushed, and no request of the adapter's own form binds a window or fills a region.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { PageFaults } from '../../hca/protection/page-faults.ts';

export abstract class PlainKeys {
  fault: FaultKind = FaultKind.NONE;
  /** NaN, because V8 must not take it for a small integer at first. */
  address = Number.NaN;
  readonly pageFaults = new PageFaults();

  at(address: number): this {
    this.address = address;
    return this;
  }

  checkWhole(): undefined {
    return this.refuse(FaultKind.KEY_ACCESS);
  }

  bind(): FaultKind {
    return FaultKind.KEY_INVALID;
  }

  findRegistrable(): undefined {
    return this.refuse(FaultKind.KEY_INVALID);
  }

  protected refuse(fault: FaultKind): undefined {
    this.fault = fault;
    return undefined;
  }
}
