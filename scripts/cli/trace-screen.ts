// SPDX-License-Identifier: Apache-2.0
/**
 * The texts of `vuhca trace show` and `vuhca trace status`: the story of one message, from its
 * doorbell to its completion, on both sides. Pure: traces of adapters in, text out.
 */
import type { TraceStatus } from '../../device/main/trace-control.ts';
import { describeMessage, formatWallTime, restorePacket } from '../../device/main/trace-export.ts';
import type { TraceRule } from '../../device/main/trace-observer.ts';
import {
  type AdapterTrace,
  clockOffsetNs,
  findOtherSide,
  type MessageEnd,
  type OtherSide,
} from '../../device/trace/adapter-trace.ts';
import {
  findCommandSteps,
  findEntrySteps,
  findFunctionSteps,
  findTransportSteps,
} from '../../device/trace/message-steps.ts';
import type { TracedMessage } from '../../device/trace/traced-message.ts';
import type { TraceBlock } from '../../protocol/layout/gen/trace-block.gen.ts';
import {
  CompletionStatus,
  completionStatusName,
  SendOpcode,
  ServiceType,
} from '../../protocol/layout/gen/values.gen.ts';
import { describeSignals, describeStep, microseconds, type TimedText } from './trace-words.ts';

const PREVIEW_BYTES = 32;
const WHO_WIDTH = 'QP 16777215 receives'.length;
/** Packets of one side at most. */
const PACKETS_SHOWN = 8;

export function renderTraceStatus({ traces, rules, paused, timeline }: TraceStatus): string {
  const lines = traces.map(
    ({ qp, functionNumber, blocks, snapLength, head, tail, lost, stopped, ended, byGuest }) =>
      `QP ${qp} of function ${functionNumber}: ${head - tail} of ${blocks} blocks of ${snapLength} bytes, ${head} begun, ${lost} lost${stopped && !paused ? ', stopped on an error' : ''}${byGuest ? ', by its guest' : ''}${ended ? ', ended' : ''}`,
  );
  if (traces.length === 0) lines.push('no QP is traced');
  lines.push(...rules.map((rule) => `QPs to come are traced: ${describeRule(rule)}`));
  lines.push(
    timeline === undefined ? 'the timeline is off' : `the timeline has ${timeline.head - timeline.tail} steps`,
  );
  if (paused) lines.push('all of this is paused; `vuhca trace resume` goes on');
  return `${lines.join('\n')}\n`;
}

function describeRule({ service, functionNumber, peerLid, peerQp, process }: TraceRule): string {
  const parts = [
    ...(service === undefined ? [] : [service]),
    ...(functionNumber === undefined ? [] : [`of function ${functionNumber}`]),
    ...(peerQp === undefined ? [] : [`connected to QP ${peerQp}`]),
    ...(peerLid === undefined ? [] : [`connected to LID ${peerLid}`]),
    ...(process === undefined ? [] : [`of process ${process}`]),
  ];
  return parts.join(', ') || 'all';
}

/** The story of a message over all adapters that were read: both ends, in the order of time. */
export function renderMessage(end: MessageEnd, all: readonly AdapterTrace[]): string {
  const { ends, lines, remarks } = tellStory(end, all);
  const width = Math.max(WHO_WIDTH, ...lines.map(({ who }) => who.length));
  const story = lines.map(
    ({ timeNs, who, text }) => `${microseconds(timeNs).padStart(12)} us  ${who.padEnd(width)} ${text}`,
  );
  return `${[...ends.map((one) => headline(one, all)), ...story, ...remarks].join('\n')}\n`;
}

/** The same for programs: the message at each end, and the lines with their times. */
export function describeStory(end: MessageEnd, all: readonly AdapterTrace[]): Record<string, unknown> {
  const { ends, lines, remarks, startNs } = tellStory(end, all);
  return {
    wallTime: formatWallTime(end.adapter, startNs),
    ends: ends.map(({ adapter, message }) => ({ adapter: adapter.name, ...describeMessage(message) })),
    story: lines.map((line) => ({ ...line, text: line.text.trim() })),
    remarks,
  };
}

interface Story {
  readonly ends: readonly MessageEnd[];
  /** Times count from the first line. */
  readonly lines: readonly Line[];
  readonly remarks: readonly string[];
  /** Time of the first line on the clock of the adapter that was asked for. */
  readonly startNs: number;
}

function tellStory(end: MessageEnd, all: readonly AdapterTrace[]): Story {
  const other = findOtherSide(end, all);
  const ends = [end, ...(other.end === undefined ? [] : [other.end])];
  const offsetOf = ({ adapter }: MessageEnd): number => clockOffsetNs(adapter, end.adapter);
  const beginNs = Math.min(...ends.map((one) => one.message.block.beginTime + offsetOf(one)));
  const lines = ends.flatMap((one) => tell(one, beginNs, offsetOf(one), nameEnd(one, all)));
  const ordered = lines.sort((a, b) => a.timeNs - b.timeNs);
  const startNs = ordered[0]?.timeNs ?? 0;
  return {
    ends,
    lines: ordered.map((line) => ({ ...line, timeNs: line.timeNs - startNs })),
    remarks: describeRest(end, other, startNs),
    startNs,
  };
}

/** A line of the story, on the clock of all. */
interface Line extends TimedText {
  readonly who: string;
}

/** The lines of one end; `sinceNs`: when the first of both ends begins, on the common clock. */
function tell(end: MessageEnd, sinceNs: number, offsetNs: number, name: string): Line[] {
  const { message } = end;
  const { block } = message;
  const who = `${name} ${block.receive ? 'receives' : 'sends'}`;
  const texts = [
    ...commandTexts(end),
    ...[...findFunctionSteps(end), ...findEntrySteps(end)].map((step) => ({
      timeNs: step.timeNs,
      text: describeStep(step),
    })),
    ...packetTexts(message),
    ...findTransportSteps(end, sinceNs - offsetNs).map((step) => ({ timeNs: step.timeNs, text: describeStep(step) })),
    ...(block.complete === 1 ? [{ timeNs: block.endTime, text: describeEnd(block) }] : []),
    ...describeSignals(end, isCovered(end)),
  ];
  return texts.map(({ timeNs, text }) => ({ timeNs: timeNs + offsetNs, text, who }));
}

/** A QP, with its adapter when there are several. */
function nameEnd({ adapter, message }: MessageEnd, all: readonly AdapterTrace[]): string {
  return `${all.length > 1 ? `${adapter.name} ` : ''}QP ${message.block.qpn}`;
}

/** The timeline has all steps since the message began. */
function isCovered({ adapter, message }: MessageEnd): boolean {
  return adapter.stepsSinceNs !== undefined && adapter.stepsSinceNs <= message.block.beginTime;
}

function headline(end: MessageEnd, all: readonly AdapterTrace[]): string {
  const { message } = end;
  const { block, payload } = message;
  const { opcode, status } = describeMessage(message);
  const preview = Buffer.from(payload.subarray(0, PREVIEW_BYTES)).toString('hex');
  const more = block.messageLength > PREVIEW_BYTES ? '...' : '';
  const again = block.retries === 0 ? '' : `, ${count(block.retries, 'packet')} sent again`;
  return [
    `${block.receive ? 'received' : 'sent'} by ${nameEnd(end, all)}: ${opcode} number ${block.messageSequence}, ${block.messageLength} bytes in ${count(block.packets, 'packet')}, ${status}`,
    ...(block.receive === 0 && block.packets === 0
      ? []
      : [
          `  ${block.receive ? 'from' : 'to'} QP ${block.remoteQpn} at LID ${block.remoteLid}, port ${block.port}, PSN ${block.firstPsn} to ${block.lastPsn}${again}`,
        ]),
    ...(preview === '' ? [] : [`  ${preview}${more}`]),
  ].join('\n');
}

/** The way of the command to its launch. */
function commandTexts(end: MessageEnd): TimedText[] {
  const { block } = end.message;
  if (block.receive === 1) return [];
  const steps = findCommandSteps(end).map((step) => ({ timeNs: step.timeNs, text: describeStep(step) }));
  return steps.length > 0 ? steps : [{ timeNs: block.beginTime, text: `command ${block.sequence} launched` }];
}

/** The packets that were kept, at most the first PACKETS_SHOWN. */
function packetTexts({ block, packets }: TracedMessage): TimedText[] {
  return packets.slice(0, PACKETS_SHOWN).map((packet, place) => {
    const { name, psn: number, isAnswer, payloadBytes } = restorePacket(packet);
    const verb = (block.receive === 1) === isAnswer ? 'sent' : 'received';
    const shown = Math.min(packets.length, PACKETS_SHOWN);
    const left = Math.max(packets.length, block.packets) - shown;
    const more = place === shown - 1 && left > 0 ? `; ${count(left, 'more packet')}` : '';
    const text = `packet ${verb}: ${name}, PSN ${number}, ${payloadBytes} bytes${more}`;
    return { timeNs: packet.timeNs, text };
  });
}

function describeEnd({ receive, opcode, serviceType, status, packets }: Readonly<TraceBlock>): string {
  if (status !== CompletionStatus.SUCCESS) return `it ends: ${completionStatusName(status)}`;
  const fetches =
    opcode === SendOpcode.RDMA_READ || opcode === SendOpcode.COMPARE_SWAP || opcode === SendOpcode.FETCH_ADD;
  if (opcode === SendOpcode.FLUSH)
    return receive ? 'all writes before it are in memory, and the answer is sent' : 'command complete: it is answered';
  if (receive) return fetches ? 'all of the answer is sent' : 'message complete: all of it is in memory';
  if (fetches) return 'command complete: all of the answer is in memory';
  if (opcode === SendOpcode.ATOMIC_WRITE) return 'command complete: it is answered';
  if (packets === 0) return 'command complete: it sends nothing';
  return serviceType === ServiceType.RC ? 'command complete: acknowledged' : 'command complete: all of it is sent';
}

/** The duration, and the traces that would add to the story. */
function describeRest(end: MessageEnd, other: OtherSide, startNs: number): readonly string[] {
  const { adapter, message } = end;
  const { block } = message;
  const took = microseconds(block.endTime - startNs);
  const missing = describeMissing(other, block);
  return [
    ...(block.complete === 1
      ? [`${took} us from the first of these to the end on QP ${block.qpn}`]
      : ['it has not ended yet']),
    ...(missing === undefined ? [] : [missing]),
    ...(adapter.steps.length === 0
      ? ['doorbells, launches, completions and interrupts are missing: `vuhca trace on --timeline` adds them']
      : isCovered(end)
        ? []
        : ['the timeline begins within this message: steps before that are missing']),
  ];
}

/** Why the story has one side only, and what adds the other one. */
function describeMissing(
  { missing, adapter }: OtherSide,
  { remoteQpn: qp, remoteLid: lid, firstPsn: psn, receive }: Readonly<TraceBlock>,
): string | undefined {
  const name = adapter?.name;
  switch (missing) {
    case undefined:
      return undefined;
    case 'packet':
      return receive ? undefined : 'no packet of it was sent: there is no other side';
    case 'unicast':
      return `LID ${lid} is multicast: the receivers are the QPs attached to the group`;
    case 'adapter':
      return `the other side is not among the adapters that were read: none has LID ${lid}; --with SOCKET reads those of a linked process`;
    case 'queue pair':
      return `the other side is gone: adapter ${name} has no QP ${qp}`;
    case 'trace':
      return `the other side is not traced: \`vuhca trace on ${optionsOf(adapter)} --qp ${qp}\` adds it to later messages`;
    default: {
      const lost = adapter?.queuePairs.find((one) => one.qp === qp)?.overwritten ?? 0;
      return `the other side is traced, but has no message with PSN ${psn}: ${lost > 0 ? `${lost} blocks were overwritten, or ` : ''}it began before the trace, or its packets were lost`;
    }
  }
}

/** The options by which `vuhca trace` finds an adapter. */
function optionsOf(adapter: AdapterTrace | undefined): string {
  if (adapter === undefined) return '';
  const { name, ownName = name, control } = adapter;
  return `${control === undefined ? '' : `--control ${control} `}--adapter ${ownName}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
