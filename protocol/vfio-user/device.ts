// SPDX-License-Identifier: Apache-2.0
/**
 * Description of one PCI function, which a caller gives to `VfioUserContext`: identity, BARs,
 * capabilities, and the callbacks of the device.
 */
import type { Capability } from './capabilities.ts';
import type { PciIds } from './config-space.ts';
import type { ResetKind } from './constants.ts';
import type { DmaRegionInfo } from './dma-region.ts';
import type { LogTarget } from './log.ts';
import type { RegionHandler } from './region.ts';

/** A part of a BAR that the client may map and then access without messages. */
export interface MappableArea {
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface BarOptions {
  /** 0 to 5; a 64-bit BAR also takes the next index. */
  readonly index: number;
  /** Size in bytes: a power of two, at least 16. */
  readonly sizeBytes: number;
  readonly handler: RegionHandler;
  /** True for a 64-bit address. */
  readonly wide?: boolean;
  readonly prefetchable?: boolean;
  /**
   * A file whose bytes [offset, offset + sizeBytes) are the BAR. Accesses inside `areas` (by
   * default the whole BAR) do not reach `handler`. With a mappable area QEMU posts no write of the
   * device any more: it waits for each reply.
   */
  readonly mappable?: { readonly fd: number; readonly offset?: number; readonly areas?: readonly MappableArea[] };
}

/** Callbacks of the device. They run inside the pump, must not block or destroy their pump. */
export interface DeviceCallbacks {
  /**
   * Reset to the initial state, after configuration space; without DMA if the connection is lost.
   */
  reset(kind: ResetKind): void;
  /**
   * The bus master bit or the power state changed: the device may send now, or no longer. While it
   * may not send, it does no DMA and raises no interrupt.
   */
  busMaster?(enabled: boolean): void;
  /** MSI-X was enabled, disabled, or masked as a whole. */
  msix?(enabled: boolean, allMasked: boolean): void;
  /** Vectors [first, first + count) got eventfds (pending ones can be raised) or lost them. */
  vectors?(first: number, count: number, deliverable: boolean): void;
  /** `context.memory` has a new region. A region with `hostAddress` 0 is not accessible. */
  dmaRegister?(region: DmaRegionInfo): void;
  /** `context.memory` loses a region: this callback is the last that can read and write it. */
  dmaUnregister?(region: DmaRegionInfo): void;
  /**
   * Asked before requests of the client are handled, and after each write to a BAR; false leaves
   * all further ones waiting. The question is then repeated, so the answer must become true after a
   * while.
   */
  takesRequest?(): boolean;
  /** The guest wrote to configuration space. */
  configWritten?(offset: number, lengthBytes: number): void;
  /**
   * Called before memory or state changes. Returns true if the device is quiet, or false and calls
   * `context.quiesced()` later, within the 5 s that QEMU waits. Not needed if device and pump share
   * a thread: changes are then synchronous.
   */
  quiesce?(): boolean;
  /** A client has attached, or has disconnected (after `reset('lost-connection')`). */
  attached?(): void;
  detached?(): void;
  /**
   * A callback or a handler threw; the client has got a default answer, all ones for a read. When
   * absent the error is logged, and the device goes on. A device that cannot passes it to
   * `Pump.fail`.
   */
  failed?(where: string, error: unknown): void;
}

export interface DeviceOptions {
  readonly socketPath: string;
  /**
   * Mode of the socket file, 0600 by default. A client can read everything that the device reads.
   */
  readonly socketMode?: number;
  readonly ids: PciIds;
  readonly bars: readonly BarOptions[];
  /** In list order. The MSI-X capability sets the number of interrupt vectors. */
  readonly capabilities: readonly Capability[];
  readonly callbacks: DeviceCallbacks;
  readonly log: LogTarget;
}
