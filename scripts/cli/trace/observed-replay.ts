// SPDX-License-Identifier: Apache-2.0
/**
 * The adapters of a replay by name, and traces of all their queue pairs and units, even if the
 * recorded session had none. Used by `vuhca replay` and by `vuhca view`.
 */
import { Fabric } from '../../../device/fabric/link/fabric.ts';
import { Adapter } from '../../../device/hca/adapter/adapter.ts';
import { isFabricPlan } from '../../../device/hosts/recording-format.ts';
import { Replay } from '../../../device/hosts/replay.ts';
import { TraceObserver } from '../../../device/process/trace/trace-observer.ts';
import { LONE_NAME } from '../../../device/topology/lone-fabric.ts';
import type { NamedAdapter } from '../../../device/topology/named-nodes.ts';
import { isAdapter } from '../../../device/topology/node-kinds.ts';
import { printable } from '../../../protocol/system/printable.mjs';

/** Size of a trace: messages of each QP and steps of each adapter, as powers of 2. */
export interface TraceDepth {
  readonly blocksLog2: number;
  readonly timelineLog2: number;
  /** Memory of all messages of an adapter. */
  readonly bytesMax?: number;
}

const DEFAULT_DEPTH: TraceDepth = { blocksLog2: 10, timelineLog2: 18 };
/** The first bytes of each message. */
const SNAP_BYTES = 64;

/** An adapter of the replay, and the observer of its traces. */
export interface ObservedAdapter extends NamedAdapter {
  /** The node of function 0 of its device, in another function. */
  readonly functionOf: string | undefined;
  readonly observer: TraceObserver;
}

/** The replay of a recording, before its first step. Throws RecordingDamage. */
export function openReplay(recording: Uint8Array): Replay {
  return new Replay(recording, (options, clock, hosts) => new Adapter(options, clock, hosts));
}

/** Traces every QP from RTR on, and all units, from here on. */
export function observeReplay(replay: Replay, depth = DEFAULT_DEPTH): ObservedAdapter[] {
  return listAdapters(replay).map((one) => ({ ...one, observer: observe(replay, one, depth) }));
}

function listAdapters({ adapter, header: { plan } }: Replay): Omit<ObservedAdapter, 'observer'>[] {
  if (!(adapter instanceof Fabric)) return [{ name: LONE_NAME, functionOf: undefined, core: adapter as Adapter }];
  const named = isFabricPlan(plan) ? plan.adapters : [];
  return adapter.nodes.filter(isAdapter).map((core, index) => {
    const { name = `${index}`, functionOf } = named[index] ?? {};
    return { name: printable(name), functionOf: functionOf && printable(functionOf), core };
  });
}

/** The observer takes the time of the last record: it reads none. */
function observe(
  replay: Replay,
  { core }: NamedAdapter,
  { blocksLog2, timelineLog2, bytesMax }: TraceDepth,
): TraceObserver {
  const observer = new TraceObserver(core, () => replay.timeNs, bytesMax);
  observer.addRule({}, { blocksLog2, snapLength: SNAP_BYTES, stopOnError: false });
  observer.startTimeline(timelineLog2);
  return observer;
}
