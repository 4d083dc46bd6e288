// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of a live adapter for its host, over the control socket (docs/DEBUGGING.md): QPs of any
 * function, and the timeline. Command blocks are sent unchanged, in base64. Switching the trace of
 * a QP crosses the seam, so that a recording has it: the guest may read the blocks. Reading from
 * here changes nothing, and the timeline never reaches a guest.
 */
import {
  TRACE_BLOCKS_MAX_LOG2,
  TRACE_SNAP_LENGTH,
  TRACE_SNAP_LENGTH_MAX,
} from '../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_QPN_MASK, DOORBELL_QPN_SHIFT } from '../../protocol/layout/gen/doorbell.gen.ts';
import {
  encodeTraceAttributes,
  newTraceAttributes,
  TRACE_ATTRIBUTES_SIZE,
  type TraceAttributes,
} from '../../protocol/layout/gen/trace-attributes.gen.ts';
import { ManagementStatus, managementStatusName } from '../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../adapter/adapter.ts';
import { TimelineRing, type TimelineStep } from '../function/timeline.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { ServedAdapter } from './adapter-process.ts';
import type { ControlRequest } from './control-protocol.ts';
import type { ControlCommand } from './control-server.ts';

type Parameters = ControlRequest['parameters'];

const QPN_MAX = DOORBELL_QPN_MASK >>> DOORBELL_QPN_SHIFT;

/** State of the trace of one QP. */
export interface TraceState {
  readonly qp: number;
  readonly functionNumber: number;
  readonly blocks: number;
  readonly snapLength: number;
  readonly byGuest: boolean;
  readonly stopped: boolean;
  readonly head: number;
  readonly tail: number;
  readonly lost: number;
}

export interface TraceStatus {
  readonly traces: readonly TraceState[];
  /** Undefined while it is off. */
  readonly timeline: { readonly head: number; readonly tail: number } | undefined;
}

/** Consecutive blocks in base64. */
export interface TracePart {
  readonly count: number;
  readonly next: number;
  readonly blocks: string;
}

/** The process whose adapters are traced. */
export interface TracedProcess {
  nowNs(): number;
  findAdapter(name: unknown): ServedAdapter;
  /** Crosses the seam; returns a management status. */
  requestTrace(adapter: ServedAdapter, functionNumber: number, qpn: number, attributes: Uint8Array): number;
}

/**
 * 64 messages of 4 KiB at both ends fit the processor's cache; four times as many cost a long
 * message some percent more.
 */
const BLOCKS_LOG2 = 6;
const TIMELINE_LOG2 = 16;
/** Most bytes that one answer carries. */
const PART_BYTES = 128 * 1024;
const PART_STEPS = 2000;

export class TraceControl {
  readonly table: ReadonlyMap<string, ControlCommand> = new Map<string, ControlCommand>([
    ['trace-status', ({ parameters }) => this.#status(this.#process.findAdapter(parameters.adapter).core)],
    ['trace-on', ({ parameters }) => this.#enable(parameters)],
    ['trace-off', ({ parameters }) => this.#disable(parameters)],
    ['trace-read', ({ parameters }) => this.#read(parameters)],
    ['timeline-on', ({ parameters }) => this.#startTimeline(parameters)],
    ['timeline-off', ({ parameters }) => this.#stopTimeline(parameters)],
    ['timeline-read', ({ parameters }) => this.#readTimeline(parameters)],
  ]);
  readonly #process: TracedProcess;
  readonly #timelines = new Map<Adapter, TimelineRing>();

  constructor(process: TracedProcess) {
    this.#process = process;
  }

  #status(adapter: Adapter): TraceStatus {
    const traces: TraceState[] = [];
    adapter.tables.queuePairs.forEach(({ number, owner, trace }) => {
      if (trace === undefined) return;
      const { stopped, settings, ring } = trace;
      const { blocks, snapLength, head, tail, lost } = ring;
      const { byGuest } = settings;
      traces.push({ qp: number, functionNumber: owner.number, blocks, snapLength, byGuest, stopped, head, tail, lost });
    });
    const timeline = this.#timelines.get(adapter);
    return { traces, timeline: timeline && { head: timeline.head, tail: timeline.tail } };
  }

  #enable(parameters: Parameters): TraceStatus {
    const blocksLog2 = readInteger(parameters, 'blocksLog2', TRACE_BLOCKS_MAX_LOG2, BLOCKS_LOG2);
    const snapLength = readInteger(parameters, 'snapLength', TRACE_SNAP_LENGTH_MAX, TRACE_SNAP_LENGTH);
    const stopOnError = parameters.stopOnError === true ? 1 : 0;
    return this.#switch(parameters, { enable: 1, blocksLog2, snapLength, stopOnError });
  }

  #disable(parameters: Parameters): TraceStatus {
    return this.#switch(parameters, { enable: 0 });
  }

  #switch(parameters: Parameters, asked: Partial<TraceAttributes>): TraceStatus {
    const { adapter, qp } = this.#find(parameters);
    const { number } = qp.owner;
    const bytes = new Uint8Array(TRACE_ATTRIBUTES_SIZE);
    encodeTraceAttributes(new DataView(bytes.buffer), 0, { ...newTraceAttributes(), ...asked });
    const status = this.#process.requestTrace(adapter, number, qp.number, bytes);
    if (status === ManagementStatus.NO_RESOURCES)
      throw new Error(
        `${2 ** (asked.blocksLog2 ?? 0)} blocks of ${asked.snapLength} bytes are more than function ${number} has left for traces`,
      );
    if (status !== ManagementStatus.OK)
      throw new Error(`QP ${qp.number}: the trace was refused (${managementStatusName(status)})`);
    return this.#status(adapter.core);
  }

  #read(parameters: Parameters): TracePart {
    const { adapter, qp } = this.#find(parameters);
    const { trace } = qp;
    if (trace === undefined) throw new Error(`QP ${qp.number} is not traced; begin with \`vuhca trace on\``);
    const parts: Buffer[] = [];
    let used = 0;
    const { count, next } = adapter.core.traces.read(
      trace,
      readInteger(parameters, 'position', 2 ** 52, 0),
      (bytes, length) => {
        if (used > 0 && used + length > PART_BYTES) return false;
        used += length;
        parts.push(Buffer.from(bytes.subarray(0, length)));
        return true;
      },
    );
    return { count, next, blocks: Buffer.concat(parts).toString('base64') };
  }

  #startTimeline({ adapter: name }: Parameters): TraceStatus {
    const adapter = this.#process.findAdapter(name).core;
    const timeline = new TimelineRing(TIMELINE_LOG2, () => this.#process.nowNs());
    this.#timelines.set(adapter, timeline);
    adapter.attachTimeline(timeline);
    return this.#status(adapter);
  }

  #stopTimeline({ adapter: name }: Parameters): TraceStatus {
    const adapter = this.#process.findAdapter(name).core;
    this.#timelines.delete(adapter);
    adapter.attachTimeline(undefined);
    return this.#status(adapter);
  }

  #readTimeline(parameters: Parameters): readonly TimelineStep[] {
    const timeline = this.#timelines.get(this.#process.findAdapter(parameters.adapter).core);
    return timeline?.read(readInteger(parameters, 'position', 2 ** 52, 0), PART_STEPS) ?? [];
  }

  #find(parameters: Parameters): { adapter: ServedAdapter; qp: QueuePair } {
    const adapter = this.#process.findAdapter(parameters.adapter);
    const number = readInteger(parameters, 'qp', QPN_MAX);
    const qp = adapter.core.tables.queuePairs.get(number);
    if (qp === undefined) throw new Error(`there is no QP ${number}`);
    return { adapter, qp };
  }
}

/** A whole number from 0 to `high`. */
function readInteger(parameters: Parameters, name: string, high: number, ifMissing?: number): number {
  const value = parameters[name] ?? ifMissing;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= high) return value;
  throw new Error(`${name} must be a whole number from 0 to ${high}`);
}
