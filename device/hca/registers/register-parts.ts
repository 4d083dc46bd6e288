// SPDX-License-Identifier: Apache-2.0
/**
 * The units that the registers of one function show and control: its own, and those that all
 * functions of the adapter share. `adapter/pcie-function.ts` has all of it.
 */

import type { Port } from '../../fabric/port/port.ts';
import type { ResetKind } from '../../host.ts';
import type { CollectUnit } from '../collect/collect-unit.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { VcbSpace } from '../collect/vcb-space.ts';
import type { DmaTiming } from '../function/dma-timing.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { SendContexts } from '../pio/send-contexts.ts';
import type { EventDoorbells } from '../queues/event-doorbells.ts';
import type { DoorbellUnit } from '../scheduler/doorbell-unit.ts';
import type { RegisterFile } from './register-file.ts';

/** The send pipeline as registers show it. */
export interface PipelineCounts {
  readonly stage: {
    readonly functionCounts: Int32Array;
  };
}

/** The mapping table in host memory as registers show it. */
export interface LaneTableState {
  address: number;
  readonly reads: number;
  reset(): void;
}

/** Credits that the division gives to no lane. */
interface UnallocatedCredits {
  readonly executionUnallocated: number;
  readonly completionUnallocated: number;
}

/** Of the adapter as a whole. */
export interface SharedRegisterParts {
  /** ADAPTER_CONTROL. */
  control: number;
  /** The physical function has disabled the adapter. */
  readonly disabled: boolean;
  readonly vcbSpace: VcbSpace;
  readonly collectBuffers: PcbAllocator;
  readonly schedulerBuffers: PcbAllocator;
  readonly lanes: TransmitVirtualLanes;
  readonly laneTable: LaneTableState;
  readonly unallocatedCredits: UnallocatedCredits;
  readonly sendContexts: SendContexts;
  readonly dmaTiming: DmaTiming;
  readonly engine: { readonly pipeline: PipelineCounts };
}

/** Of one function. */
export interface RegisterParts {
  readonly underlying: UnderlyingFunction;
  /** The ports that the function sees. */
  readonly ports: readonly Port[];
  readonly registers: RegisterFile;
  readonly collect: CollectUnit;
  readonly doorbells: DoorbellUnit;
  readonly eventDoorbells: EventDoorbells;
  readonly shared: SharedRegisterParts;
  /** DEVICE_CONTROL.reset. */
  reset(kind: ResetKind): void;
  /** A write to SEND_DOORBELL. */
  ringExplicit(low: number, high: number): void;
}
