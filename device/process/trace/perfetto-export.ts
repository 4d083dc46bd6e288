// SPDX-License-Identifier: Apache-2.0
/**
 * Exports traces in the Chrome trace format, which Perfetto opens (docs/DEBUGGING.md): a track for
 * the steps of each function, tracks for the sends and receives of each QP, and a flow from a
 * message's first packet at its sender to that at its receiver. Times are those of the first
 * adapter; `otherData.startTime` and the arguments have the time of the host.
 */
import type { TimelineStep } from '../../hca/function/timeline.ts';
import { nameStepNumbers, stepName } from '../../hca/function/timeline-names.ts';
import { type AdapterTrace, clockOffsetNs, findOtherSide, type MessageEnd } from '../../hca/trace/adapter-trace.ts';
import { describeMessage, formatWallTime, identify, restorePacket } from './trace-export.ts';

const NS_PER_US = 1000;
/** Process numbers of an adapter: its timeline, then its QPs by QPN. QP 0 has the last one. */
const PIDS_PER_ADAPTER = 2 ** 25;
const TIMELINE_PID = 0;
const QP_0_PID = 2 ** 24;
/** Duration of the slice that a flow begins or ends in. */
const SLICE_US = 0.001;

/** An event of the Chrome trace format. */
export interface ChromeEvent {
  readonly name: string;
  /**
   * `b` and `e`: begin and end of a message; `i`: a step, or a packet; `X`, `s` and `f`: begin and
   * end of a flow, each in a slice; `M`: a name.
   */
  readonly ph: 'b' | 'e' | 'i' | 'X' | 's' | 'f' | 'M';
  /** Microseconds. */
  readonly ts: number;
  readonly pid: number;
  readonly tid: number;
  readonly cat?: string;
  readonly id?: string;
  readonly s?: 't';
  readonly dur?: number;
  readonly bp?: 'e';
  readonly args?: Readonly<Record<string, unknown>>;
}

export interface ChromeTrace {
  readonly traceEvents: ChromeEvent[];
  readonly otherData: Readonly<Record<string, string>>;
}

/** The document. A message that has not ended is left out. */
export function toChromeTrace(adapters: readonly AdapterTrace[]): ChromeTrace {
  const [first] = adapters;
  const all = adapters.map((adapter) => ({
    ...adapter,
    messages: adapter.messages.filter(({ block }) => block.complete === 1),
  }));
  const names = all.flatMap((adapter, place) => nameTracks(adapter, place, all.length));
  const events = all.flatMap((adapter, place) => {
    const place0 = { pid: place * PIDS_PER_ADAPTER, offsetNs: first === undefined ? 0 : clockOffsetNs(adapter, first) };
    return [
      ...adapter.messages.flatMap((message) => messageEvents({ adapter, message }, all, place0)),
      ...adapter.steps.map((step) => stepEvent(step, place0)),
    ];
  });
  events.sort((one, other) => one.ts - other.ts);
  const otherData = first === undefined ? {} : { startTime: formatWallTime(first, 0) };
  return { traceEvents: [...names, ...events], otherData };
}

/** Place of the events of an adapter: its first process number, and the offset of its clock. */
interface Place {
  readonly pid: number;
  readonly offsetNs: number;
}

function nameTracks({ name: adapter, messages, steps }: AdapterTrace, place: number, of: number): ChromeEvent[] {
  const first = place * PIDS_PER_ADAPTER;
  const name = (kind: 'process_name' | 'thread_name', pid: number, tid: number, text: string): ChromeEvent => ({
    name: kind,
    ph: 'M',
    ts: 0,
    pid: first + pid,
    tid,
    args: { name: text },
  });
  const whose = of > 1 ? `${adapter} ` : '';
  const functions = [...new Set(steps.map(({ functionNumber }) => functionNumber))];
  const qpns = [...new Set(messages.map(({ block }) => block.qpn))];
  return [
    name('process_name', TIMELINE_PID, 0, `${whose}adapter`),
    ...functions.map((number) => name('thread_name', TIMELINE_PID, number, `function ${number}`)),
    ...qpns.flatMap((qpn) => [
      name('process_name', pidOf(qpn), 0, `${whose}QP ${qpn}`),
      name('thread_name', pidOf(qpn), 0, 'sends'),
      name('thread_name', pidOf(qpn), 1, 'receives'),
    ]),
  ];
}

function pidOf(qpn: number): number {
  return qpn || QP_0_PID;
}

function stepEvent(step: TimelineStep, { pid, offsetNs }: Place): ChromeEvent {
  return {
    name: stepName(step.step),
    ph: 'i',
    ts: (step.timeNs + offsetNs) / NS_PER_US,
    pid: pid + TIMELINE_PID,
    tid: step.functionNumber,
    s: 't',
    args: nameStepNumbers(step),
  };
}

/** Events of a message: its begin, the kept packets, its end, and its part of the flow. */
function messageEvents(end: MessageEnd, all: readonly AdapterTrace[], { pid, offsetNs }: Place): ChromeEvent[] {
  const { adapter, message } = end;
  const { block, packets } = message;
  const { payload, headers, ...fields } = describeMessage(message);
  const { end: other } = findOtherSide(end, all);
  const track = { pid: pid + pidOf(block.qpn), tid: block.receive };
  const nameOf = (one: MessageEnd): string => `${one.adapter.name}.${one.message.block.qpn}.${one.message.block.index}`;
  const at = (timeNs: number): number => (timeNs + offsetNs) / NS_PER_US;
  const id = identify(end, other);
  const common = {
    name: `${block.receive ? 'receive' : 'send'} ${fields.opcode}`,
    cat: 'message',
    id: nameOf(end),
    ...track,
  };
  const wallTime = formatWallTime(adapter, block.beginTime);
  const args = { ...fields, message: id, wallTime, ...(other && { otherSide: nameOf(other) }) };
  const [first] = packets;
  return [
    { ...common, ph: 'b', ts: at(block.beginTime), args },
    ...packets.map((packet): ChromeEvent => {
      const { name, psn, payloadBytes } = restorePacket(packet);
      return { ...track, name, ph: 'i', ts: at(packet.timeNs), s: 't', args: { psn, payloadBytes } };
    }),
    ...(other === undefined || first === undefined ? [] : flowEvents(block.receive, id, at(first.timeNs), track)),
    { ...common, ph: 'e', ts: at(block.endTime) },
  ];
}

/** A flow joins slices: the one around its event, which has no duration of its own. */
function flowEvents(receive: number, id: string, ts: number, track: { pid: number; tid: number }): ChromeEvent[] {
  const common = { ...track, name: `message ${id}`, cat: 'message flow', ts };
  return [
    { ...common, ph: 'X', dur: SLICE_US },
    receive === 1 ? { ...common, ph: 'f', id, bp: 'e' } : { ...common, ph: 's', id },
  ];
}
