// SPDX-License-Identifier: Apache-2.0
/**
 * What a collect unit is made of, what it calls, and the states of its pages (US 8,484,392 par.
 * 95-101). The PCIe function puts the parts together.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ContextOrKernel } from '../queues/collect-context.ts';
import type { DedicatedCollectBuffer } from './dedicated-collect-buffer.ts';
import type { PcbAllocator } from './pcb-allocator.ts';
import type { PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import type { RefusedCommand } from './refused-command.ts';
import type { VcbSpace } from './vcb-space.ts';

/**
 * Receives the commands and doorbells that arrive in the collect BAR. Dwords are signed. `context`
 * is that of the page.
 */
export interface CollectSink {
  /** A send command is complete. The sink now owns the PCB. */
  kickSend(buffer: PhysicalCollectBuffer, context: ContextOrKernel): void;
  /** A command found no PCB; its first 8 bytes are the doorbell. */
  ringImplicit(low: number, high: number, context: ContextOrKernel): void;
  ringExplicit(low: number, high: number, context: ContextOrKernel): void;
  stop(low: number, context: ContextOrKernel): void;
  notify(low: number, high: number, context: ContextOrKernel): void;
  /** A management command is complete. */
  kickManagement(buffer: DedicatedCollectBuffer): void;
}

/** Constructor arguments of a collect unit. */
export interface CollectParts {
  readonly owner: Pick<UnderlyingFunction, 'number' | 'faults' | 'timeline'>;
  /** Number of VCB pages for which the collect BAR has room. */
  readonly pageCount: number;
  /** Number of dedicated collect buffers. */
  readonly dedicatedCount: number;
  readonly space: VcbSpace;
  readonly allocator: PcbAllocator;
  readonly sink: CollectSink;
}

/** State of a VCB: undefined while idle, a bound PCB, or a refused command (send-queue mode). */
export type Collecting = PhysicalCollectBuffer | RefusedCommand | undefined;
