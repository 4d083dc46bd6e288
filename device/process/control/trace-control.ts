// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of a live adapter for its host, over the control socket (docs/DEBUGGING.md): QPs of any
 * function, QPs to come, and the timeline. Command blocks are sent unchanged, in base64. Nothing
 * here reaches a guest or a recording; `TraceObserver` keeps the traces.
 */

import {
  TRACE_BLOCKS_MAX_LOG2,
  TRACE_SNAP_LENGTH,
  TRACE_SNAP_LENGTH_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_QPN_MASK, DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { TimelineStep } from '../../hca/function/timeline.ts';
import { RULE_SERVICES, type RuleService } from '../../hca/trace/rule-services.ts';
import { TraceRing } from '../../hca/trace/trace-ring.ts';
import type { ServedNode } from '../host/adapter-process.ts';
import type { WatchedAdapter } from '../trace/conditions.ts';
import { type ObserverSettings, TraceObserver, type TraceRule } from '../trace/trace-observer.ts';
import { type SnapshotHead, type SnapshotPart, TraceSnapshot } from '../trace/trace-snapshot.ts';
import type { ControlRequest } from './control-protocol.ts';
import type { ControlClientHandle, ControlCommand } from './control-server.ts';

type Parameters = ControlRequest['parameters'];

const QPN_MAX = DOORBELL_QPN_MASK >>> DOORBELL_QPN_SHIFT;
const LID_MAX = 0xffff;
const FUNCTION_MAX = 0xffff;
const TIMELINE_LOG2_MAX = 22;
const BYTES_MAX = 2 ** 40;
const PROCESS_MAX = 0xffffffff;
const KEEP_MAX_NS = 2 ** 52;

/** State of the trace of one QP. */
interface TraceState {
  /** Number of the trace; 0 for a trace of a guest. */
  readonly id: number;
  readonly qp: number;
  readonly functionNumber: number;
  readonly blocks: number;
  readonly snapLength: number;
  readonly byGuest: boolean;
  readonly stopped: boolean;
  /** Its QP is gone; the blocks are kept. */
  readonly ended: boolean;
  readonly head: number;
  readonly tail: number;
  readonly lost: number;
}

export interface TraceStatus {
  readonly traces: readonly TraceState[];
  /** QPs to come that will be traced. */
  readonly rules: readonly TraceRule[];
  readonly paused: boolean;
  /** Time since 1970 when the adapter's clock stood at 0, in ns. */
  readonly wallTimeNs: number;
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
interface TracedProcess {
  readonly served: readonly ServedNode[];
  nowNs(): number;
  findAdapter(name: unknown): ServedNode;
  /** Time since 1970 when the clock stood at 0, in ns. */
  readonly wallTimeNs: number;
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
    ['trace-status', ({ parameters }) => this.#status(this.#find(parameters))],
    ['trace-on', ({ parameters }) => this.#enable(parameters)],
    ['trace-off', ({ parameters }) => this.#disable(parameters)],
    ['trace-pause', ({ parameters }) => this.#change(parameters, (observer) => observer.pause())],
    ['trace-resume', ({ parameters }) => this.#change(parameters, (observer) => observer.resume())],
    ['trace-read', ({ parameters }) => this.#read(parameters)],
    ['trace-snapshot', (_, client) => this.#takeSnapshot(client)],
    ['trace-part', ({ parameters }, client) => this.#readPart(parameters, client)],
    ['timeline-on', ({ parameters }) => this.#startTimeline(parameters)],
    ['timeline-off', ({ parameters }) => this.#change(parameters, (observer) => observer.stopTimeline())],
    ['timeline-read', ({ parameters }) => this.#readTimeline(parameters)],
  ]);
  readonly #process: TracedProcess;
  readonly #observers = new Map<ServedNode, TraceObserver>();
  /** At most one for each client. */
  readonly #snapshots = new Map<ControlClientHandle, TraceSnapshot>();

  constructor(process: TracedProcess) {
    this.#process = process;
  }

  /** All adapters with timelines, which are started where none is: conditions read them. */
  watchAll(): WatchedAdapter[] {
    return this.#process.served.map((adapter) => {
      const observer = this.#observerOf(adapter);
      if (observer.timeline === undefined) observer.startTimeline(TIMELINE_LOG2);
      return { name: adapter.name, core: adapter.core, observer };
    });
  }

  #status({ observer }: { readonly observer: TraceObserver }): TraceStatus {
    const traces = observer.traces.map((one) => {
      const { id, qp, functionNumber, trace, ended } = one;
      const { stopped, settings, ring } = trace;
      const { blocks, snapLength, head, lost } = ring;
      const { byGuest } = settings;
      const tail = observer.getTail(one);
      return { id, qp, functionNumber, blocks, snapLength, byGuest, stopped, ended, head, tail, lost };
    });
    const { timeline, rules, paused } = observer;
    const { wallTimeNs } = this.#process;
    return { traces, rules, paused, wallTimeNs, timeline: timeline && { head: timeline.head, tail: timeline.tail } };
  }

  #enable(parameters: Parameters): TraceStatus {
    const found = this.#find(parameters);
    const settings = readSettings(parameters);
    const { rule, process } = parameters;
    if (process !== undefined) found.observer.observeProcess(readInteger(parameters, 'process', PROCESS_MAX), settings);
    else if (rule === undefined) found.observer.observe(this.#findQueuePair(found.adapter, parameters), settings);
    else found.observer.addRule(readRule(rule), settings);
    return this.#status(found);
  }

  #disable(parameters: Parameters): TraceStatus {
    return this.#change(parameters, (observer) => {
      if (parameters.rules === true) observer.clearRules();
      else if (parameters.process !== undefined) observer.dropProcess(readInteger(parameters, 'process', PROCESS_MAX));
      else observer.drop(readInteger(parameters, 'qp', QPN_MAX));
    });
  }

  #change(parameters: Parameters, action: (observer: TraceObserver) => void): TraceStatus {
    const found = this.#find(parameters);
    action(found.observer);
    return this.#status(found);
  }

  /** Blocks of the trace with this number, or of the newest trace of a QP. */
  #read(parameters: Parameters): TracePart {
    const { observer } = this.#find(parameters);
    const id = readInteger(parameters, 'trace', BYTES_MAX, 0);
    const qp = id > 0 ? undefined : readInteger(parameters, 'qp', QPN_MAX);
    const one = observer.traces.findLast((trace) => (qp === undefined ? trace.id === id : trace.qp === qp));
    if (one === undefined)
      throw new Refusal(
        qp === undefined ? `there is no trace ${id}` : `QP ${qp} is not traced; begin with \`vuhca trace on\``,
      );
    const parts: Buffer[] = [];
    let used = 0;
    const { count, next } = observer.readBlocks(
      one,
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

  #takeSnapshot(client: ControlClientHandle): SnapshotHead {
    const adapters = this.#process.served.map((adapter) => ({
      name: adapter.name,
      observer: this.#observerOf(adapter),
    }));
    const snapshot = new TraceSnapshot(adapters, this.#process.wallTimeNs, this.#process.nowNs());
    if (!this.#snapshots.has(client)) client.onClose(() => this.#snapshots.delete(client));
    this.#snapshots.set(client, snapshot);
    return snapshot.head;
  }

  #readPart(parameters: Parameters, client: ControlClientHandle): SnapshotPart {
    const snapshot = this.#snapshots.get(client);
    if (snapshot === undefined) throw new Refusal('there is no snapshot; `trace-snapshot` takes one');
    return snapshot.getPart(readInteger(parameters, 'part', 2 ** 32));
  }

  #startTimeline(parameters: Parameters): TraceStatus {
    const log2 = readInteger(parameters, 'stepsLog2', TIMELINE_LOG2_MAX, TIMELINE_LOG2);
    const keepNs = readKeepNs(parameters);
    return this.#change(parameters, (observer) => observer.startTimeline(log2, keepNs));
  }

  #readTimeline(parameters: Parameters): readonly TimelineStep[] {
    const { observer } = this.#find(parameters);
    return observer.readSteps(readInteger(parameters, 'position', 2 ** 52, 0), PART_STEPS);
  }

  #find({ adapter: name }: Parameters): { adapter: ServedNode; observer: TraceObserver } {
    const adapter = this.#process.findAdapter(name);
    return { adapter, observer: this.#observerOf(adapter) };
  }

  #observerOf(adapter: ServedNode): TraceObserver {
    const known = this.#observers.get(adapter);
    if (known !== undefined) return known;
    const observer = new TraceObserver(adapter.core, () => this.#process.nowNs());
    this.#observers.set(adapter, observer);
    return observer;
  }

  #findQueuePair({ core }: ServedNode, parameters: Parameters) {
    const number = readInteger(parameters, 'qp', QPN_MAX);
    const qp = core.tables.queuePairs.get(number);
    if (qp === undefined) throw new Refusal(`there is no QP ${number}`);
    return qp;
  }
}

/** `bytes` bounds the ring instead of `blocksLog2`: the largest ring that fits. */
function readSettings(parameters: Parameters): ObserverSettings {
  const snapLength = readInteger(parameters, 'snapLength', TRACE_SNAP_LENGTH_MAX, TRACE_SNAP_LENGTH);
  const stopOnError = parameters.stopOnError === true;
  const blocksLog2 = readInteger(parameters, 'blocksLog2', TRACE_BLOCKS_MAX_LOG2, BLOCKS_LOG2);
  const settings = { snapLength, stopOnError, keepNs: readKeepNs(parameters) };
  if (parameters.bytes === undefined) return { ...settings, blocksLog2 };
  const bytes = readInteger(parameters, 'bytes', BYTES_MAX);
  const block = TraceRing.sizeBytes(0, snapLength);
  if (bytes < block)
    throw new Refusal(`${bytes} bytes are less than one command block, ${block} bytes; use a smaller snap length`);
  return { ...settings, blocksLog2: Math.min(Math.floor(Math.log2(bytes / block)), TRACE_BLOCKS_MAX_LOG2) };
}

function readKeepNs(parameters: Parameters): number | undefined {
  return parameters.keepNs === undefined ? undefined : readInteger(parameters, 'keepNs', KEEP_MAX_NS);
}

function readRule(given: unknown): TraceRule {
  if (typeof given !== 'object' || given === null) throw new Refusal('rule must be an object');
  const rule = given as Parameters;
  const { service } = rule;
  if (service !== undefined && !RULE_SERVICES.includes(service as RuleService))
    throw new Refusal(`service must be one of ${RULE_SERVICES.join(', ')}`);
  return {
    ...(service !== undefined && { service: service as RuleService }),
    ...(rule.functionNumber !== undefined && { functionNumber: readInteger(rule, 'functionNumber', FUNCTION_MAX) }),
    ...(rule.peerLid !== undefined && { peerLid: readInteger(rule, 'peerLid', LID_MAX) }),
    ...(rule.peerQp !== undefined && { peerQp: readInteger(rule, 'peerQp', QPN_MAX) }),
    ...(rule.process !== undefined && { process: readInteger(rule, 'process', PROCESS_MAX) }),
  };
}

/** A whole number from 0 to `high`. */
function readInteger(parameters: Parameters, name: string, high: number, ifMissing?: number): number {
  const value = parameters[name] ?? ifMissing;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= high) return value;
  throw new Refusal(`${name} must be a whole number from 0 to ${high}`);
}
