// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of the views of `vuhca show`: flat records, so that a table and JSON have the same columns.
 * `null` stands for a value that an entry does not have. All views of this folder only read.
 */
import { serviceTypeName } from '../../../../protocol/layout/gen/values.gen.ts';
import type { HostPort } from '../../../host.ts';
import { PcbState, type PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { Adapter } from '../adapter.ts';

export type Cell = string | number | boolean | null;
export type Row = Readonly<Record<string, Cell>>;

/** An adapter, and the memory of its guests: read around the adapter, which must not notice. */
export interface ShownAdapter {
  readonly adapter: Adapter;
  /** By function number. */
  readonly hosts: readonly Pick<HostPort, 'readMemory'>[];
}

/** All rows of a view, in the order of the adapter. */
export type View = (shown: ShownAdapter) => Row[];

const states: Readonly<Record<PcbState, string>> = {
  [PcbState.FREE]: 'free',
  [PcbState.COLLECTING]: 'collecting',
  [PcbState.KICKED]: 'kicked',
  [PcbState.LAUNCHED]: 'launched',
};

export function pcbStateName(state: PcbState): string {
  return states[state];
}

/** A pool of buffers that hold commands. */
interface Pool {
  readonly buffers: readonly PhysicalCollectBuffer[];
}

/** The pools of PCBs: those of VCBs, and the dedicated ones of the scheduler. */
export interface Pools {
  readonly collectBuffers: Pool;
  readonly schedulerBuffers: Pool;
}

/** Name of the pool of a PCB. */
export function poolOf({ collectBuffers }: Pools, buffer: PhysicalCollectBuffer): string {
  return collectBuffers.buffers[buffer.index] === buffer ? 'collect' : 'scheduler';
}

/** Transport service of a queue pair: RC, UC or UD. */
export function serviceOf(qp: QueuePair): string {
  return serviceTypeName(qp.serviceType);
}
