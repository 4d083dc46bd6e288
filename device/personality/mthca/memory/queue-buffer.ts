// SPDX-License-Identifier: Apache-2.0
/**
 * The memory of work queues, which software names by a key: reads of work requests go through the
 * memory region and its rights. Send queues, receive queues and SRQs own one each.
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import type { RequestBlock, RequestMemory } from '../../shared/request-block.ts';
import type { MemoryRegions } from './memory-regions.ts';
import type { Region } from './region.ts';

/** Unit of strides and of the size of requests. */
export const REQUEST_UNIT_BYTES = 16;

export class QueueBuffer implements RequestMemory {
  readonly key: number;
  readonly #regions: MemoryRegions;
  readonly #pd: number;
  readonly #start: number;

  /** `start`: virtual address of the first byte. */
  constructor(regions: MemoryRegions, key: number, pd: number, start: number) {
    this.key = key;
    this.#regions = regions;
    this.#pd = pd;
    this.#start = start;
  }

  /** Virtual address of a byte. */
  addressOf(offset: number): number {
    return this.#start + offset;
  }

  /**
   * Sets the address of `dma` to that of a request, for a look. Returns how many of `lengthBytes`
   * lie in one page; 0 when the request cannot be read.
   */
  locate(subject: FaultSubject, offset: number, lengthBytes: number): number {
    const { owner } = this.#regions;
    const address = this.#start + offset;
    const fault = this.#regions.check(this.key, this.#pd, KeyRight.LOCAL_READ, address, lengthBytes);
    return fault === FaultKind.NONE
      ? (this.#regions.find(this.key) as Region).locate(owner.dma.at(address), subject, lengthBytes)
      : 0;
  }

  /** Reads a request. Returns NONE, or the fault of `subject`, which has been reported. */
  read(subject: FaultSubject, offset: number, lengthBytes: number, target: RequestBlock): FaultKind {
    const address = this.#start + offset;
    const fault = this.#regions.check(this.key, this.#pd, KeyRight.LOCAL_READ, address, lengthBytes);
    const { owner } = this.#regions;
    if (fault !== FaultKind.NONE) {
      owner.faults.report(fault, subject, address);
      return fault;
    }
    const region = this.#regions.find(this.key) as Region;
    return region.read(owner.dma.at(address), subject, lengthBytes, target, 0) ? FaultKind.NONE : FaultKind.DMA_READ;
  }
}
