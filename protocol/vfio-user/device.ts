// SPDX-License-Identifier: Apache-2.0
// How a caller describes one PCI function to `VfioUserContext`: what it looks like and whom the library calls.

import type { Capability } from './capabilities.ts';
import type { PciIds } from './config-space.ts';
import type { ResetKind } from './constants.ts';
import type { DmaRegionInfo } from './dma-region.ts';
import type { LogTarget } from './log.ts';
import type { RegionHandler } from './region.ts';

/** A part of a BAR that the client may map and then access without any message. */
export interface MappableArea {
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface BarOptions {
  /** 0 to 5; a 64-bit BAR also takes the next one. */
  readonly index: number;
  /** A power of two, at least 16. */
  readonly sizeBytes: number;
  readonly handler: RegionHandler;
  /** 64-bit address. */
  readonly wide?: boolean;
  readonly prefetchable?: boolean;
  /**
   * A file whose bytes [offset, offset + sizeBytes) are the BAR. Accesses inside `areas` (all of it when left out) then
   * never reach `handler`. Mappable memory makes QEMU wait for every write of the device (vfio-user.md section 1.2).
   */
  readonly mappable?: { readonly fd: number; readonly offset?: number; readonly areas?: readonly MappableArea[] };
}

/** What the device is told. Each runs inside the pump, must not block, and must not call `destroy` of its pump. */
export interface DeviceCallbacks {
  /** Back to the initial state. Configuration space has been reset already; on a lost connection all DMA is gone. */
  reset(kind: ResetKind): void;
  /** The bus master bit changed. Without it a device does no DMA and raises no interrupt. */
  busMaster?(enabled: boolean): void;
  /** MSI-X was enabled, disabled, or masked as a whole. */
  msix?(enabled: boolean, allMasked: boolean): void;
  /** Vectors [first, first + count) got an eventfd (raise what is pending) or lost it (keep it pending). */
  vectors?(first: number, count: number, deliverable: boolean): void;
  /** Guest memory appeared; `context.memory` knows it already. `hostAddress` 0 means that it cannot be accessed. */
  dmaRegister?(region: DmaRegionInfo): void;
  /** Guest memory is going; `context.memory` has dropped it already. */
  dmaUnregister?(region: DmaRegionInfo): void;
  /** The guest wrote to configuration space. */
  configWritten?(offset: number, lengthBytes: number): void;
  /**
   * Before memory or state changes: true when the device is quiet now, false when `context.quiesced()` will follow, within
   * the client's 5 s. Left out, everything is synchronous, which is right when device and pump share a thread.
   */
  quiesce?(): boolean;
  /** A client has attached, or left (after `reset('lost-connection')`). */
  attached?(): void;
  detached?(): void;
}

export interface DeviceOptions {
  readonly socketPath: string;
  /** Permissions of the socket file; 0600 when left out. Who can connect can read what the device reads. */
  readonly socketMode?: number;
  readonly ids: PciIds;
  readonly bars: readonly BarOptions[];
  /** In list order. The number of interrupt vectors is that of the MSI-X capability among them. */
  readonly capabilities: readonly Capability[];
  readonly callbacks: DeviceCallbacks;
  readonly log: LogTarget;
}
