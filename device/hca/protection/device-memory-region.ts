// SPDX-License-Identifier: Apache-2.0
/**
 * Memory region of kind DEVICE: a part of a range of device memory (docs/FEATURES.md, Device
 * memory). The key check is that of other regions; accesses stay in the adapter, so they need no
 * bus mastering and cannot fail.
 */
import { AccessFlag, MrKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { DeviceMemoryRange } from './device-memory-range.ts';
import { MemoryRegion } from './memory-region.ts';
import type { ProtectionDomain } from './protection-domain.ts';

export class DeviceMemoryRegion extends MemoryRegion {
  readonly range: DeviceMemoryRange;
  /** Offset of its first byte in the range. */
  readonly offset: number;

  constructor(number: number, pd: ProtectionDomain, range: DeviceMemoryRange, offset: number) {
    super(number, pd);
    this.kind = MrKind.DEVICE;
    this.range = range;
    this.offset = offset;
    range.regions++;
  }

  /** The region is deregistered. */
  release(): void {
    this.range.regions--;
  }

  override read(
    { address }: Dma,
    _subject: FaultSubject,
    lengthBytes: number,
    target: WordBlock,
    targetOffset: number,
  ): boolean {
    this.owner.deviceMemory.read(this.#place(address), lengthBytes, target, targetOffset);
    return true;
  }

  override write(
    { address }: Dma,
    _subject: FaultSubject,
    lengthBytes: number,
    source: WordBlock,
    sourceOffset: number,
  ): boolean {
    this.owner.deviceMemory.write(this.#place(address), lengthBytes, source, sourceOffset);
    return true;
  }

  /** Offset of a virtual address in the device memory of the function. */
  #place(address: number): number {
    const start = this.access & AccessFlag.ZERO_BASED ? 0 : this.startAddress;
    return this.range.offset + this.offset + address - start;
  }
}
