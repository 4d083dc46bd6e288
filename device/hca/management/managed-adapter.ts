// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter as the service processor manages it: objects, units and shares that management
 * commands read and change. `adapter/adapter.ts` has all of it.
 */
import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { CollectUnit } from '../collect/collect-unit.ts';
import type { DedicatedCollectBuffer } from '../collect/dedicated-collect-buffer.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { SendContexts } from '../pio/send-contexts.ts';
import type { EventModeration } from '../queues/event-moderation.ts';
import type { ObjectTables } from '../queues/object-tables.ts';
import type { SendQueueScheduler } from '../scheduler/send-queue-scheduler.ts';
import type { ShareManager } from '../shares/share-manager.ts';
import type { Traces } from '../trace/traces.ts';
import type { TransportEngine } from '../transport/engine/engine.ts';
import type { CommandProgress } from './command-progress.ts';

/** The channel adapter that a function is part of, as the subnet sees it (docs/FABRIC.md). */
export interface ChannelAdapter {
  readonly nodeGuid: Uint8Array;
  /** The description of the node at power-on. */
  readonly description: string;
  /** Ports by number; port 1 is the first. */
  readonly ports: readonly Port[];
  readonly mads: MadInterface;
}

/** One function of the adapter. */
export interface ManagedFunction extends ChannelAdapter {
  readonly underlying: UnderlyingFunction;
  /**
   * Software of the function may change what its ports offer, and has their QP0 and QP1: the
   * physical function, and each function that has ports of its own.
   */
  readonly managesPorts: boolean;
  /** No other function uses its ports. */
  readonly hasOwnPorts: boolean;
  readonly collect: CollectUnit;
  /**
   * The dedicated collect buffers with commands that wait for the service processor, in the order
   * in which they were complete.
   */
  readonly pendingManagement: DedicatedCollectBuffer[];
  /** Of the first of these commands. */
  readonly progress: CommandProgress;
}

export interface ManagedAdapter {
  readonly functions: readonly ManagedFunction[];
  readonly tables: ObjectTables;
  readonly moderation: EventModeration;
  readonly collectBuffers: PcbAllocator;
  readonly lanes: TransmitVirtualLanes;
  readonly scheduler: SendQueueScheduler;
  readonly engine: TransportEngine;
  readonly sendContexts: SendContexts;
  readonly traces: Traces;
  readonly shareManager: ShareManager;
  /** See `AdapterOptions.pollsPause`. */
  readonly pollsPause: boolean;
}
