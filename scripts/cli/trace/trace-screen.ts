// SPDX-License-Identifier: Apache-2.0
/**
 * The texts of `vuhca trace show` and `vuhca trace status`: the story of one message, from its
 * doorbell to its completion, on both sides. Pure: traces of adapters in, text out.
 */

import {
  type AdapterTrace,
  clockOffsetNs,
  findOtherSide,
  type MessageEnd,
  type OtherSide,
} from '../../../device/hca/trace/adapter-trace.ts';
import { findPeerSteps } from '../../../device/hca/trace/message-wire.ts';
import type { TraceStatus } from '../../../device/process/control/trace-control.ts';
import { describeMessage, formatWallTime } from '../../../device/process/trace/trace-export.ts';
import type { TraceRule } from '../../../device/process/trace/trace-observer.ts';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { microseconds } from '../../picture/text.ts';
import { describeStep, say, type TimedText } from './step-text.ts';
import { compareTexts, endTimeNs, isCovered, tellEnd } from './trace-lines.ts';

/** Opcodes with a request and an answer. */
const ANSWERED: readonly number[] = [
  SendOpcode.RDMA_READ,
  SendOpcode.COMPARE_SWAP,
  SendOpcode.FETCH_ADD,
  SendOpcode.FLUSH,
  SendOpcode.ATOMIC_WRITE,
];
const PREVIEW_BYTES = 32;
const WHO_WIDTH = 'QP 16777215 receives'.length;

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

/** The same as data: the message at each end, and the lines with their times. */
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
  /** Time of the first line on the clock of the requested adapter. */
  readonly startNs: number;
}

function tellStory(end: MessageEnd, all: readonly AdapterTrace[]): Story {
  const other = findOtherSide(end, all);
  const ends = [end, ...(other.end === undefined ? [] : [other.end])];
  const offsetOf = ({ adapter }: MessageEnd): number => clockOffsetNs(adapter, end.adapter);
  const beginNs = Math.min(...ends.map((one) => one.message.block.beginTime + offsetOf(one)));
  const lines = [
    ...ends.flatMap((one) => tell(one, beginNs, offsetOf(one), nameEnd(one, all))),
    ...tellPeer(end, other, all),
  ];
  // Steps of two adapters with equal times stay in the order of the ends.
  const isOne = new Set(ends.map(({ adapter }) => adapter)).size === 1;
  const ordered = lines.sort(isOne ? compareTexts : (one, next) => one.timeNs - next.timeNs);
  const startNs = ordered[0]?.timeNs ?? 0;
  return {
    ends,
    lines: ordered.map(({ timeNs, who, text }) => ({ timeNs: timeNs - startNs, who, text })),
    remarks: describeRest(end, other, startNs),
    startNs,
  };
}

/** A line of the story, on the clock of all. */
interface Line extends TimedText {
  readonly who: string;
}

/**
 * The lines of one end; `sinceNs`: time at which the first of both ends begins, on the common
 * clock.
 */
function tell(end: MessageEnd, sinceNs: number, offsetNs: number, name: string): Line[] {
  const who = `${name} ${end.message.block.receive ? 'receives' : 'sends'}`;
  return tellEnd(end, sinceNs - offsetNs).map((line) => ({ ...line, timeNs: line.timeNs + offsetNs, who }));
}

/** Notes of the other adapter, when it has no block of the message. */
function tellPeer(end: MessageEnd, { missing, adapter }: OtherSide, all: readonly AdapterTrace[]): Line[] {
  if (adapter === undefined || (missing !== 'block' && missing !== 'trace')) return [];
  const offsetNs = clockOffsetNs(end.adapter, adapter);
  const who = `${all.length > 1 ? `${adapter.name} ` : ''}QP ${end.message.block.remoteQpn} receives`;
  return findPeerSteps(end, adapter, offsetNs).map((step) => ({
    ...say(step, describeStep(step)),
    timeNs: step.timeNs - offsetNs,
    who,
  }));
}

/** A QP, with its adapter when there are several. */
function nameEnd({ adapter, message }: MessageEnd, all: readonly AdapterTrace[]): string {
  return `${all.length > 1 ? `${adapter.name} ` : ''}QP ${message.block.qpn}`;
}

function headline(end: MessageEnd, all: readonly AdapterTrace[]): string {
  const { message } = end;
  const { block, payload } = message;
  const { opcode, status } = describeMessage(message);
  const preview = Buffer.from(payload.subarray(0, PREVIEW_BYTES)).toString('hex');
  const more = block.messageLength > PREVIEW_BYTES ? '...' : '';
  const again = block.retriesTotal === 0 ? '' : `, ${count(block.retriesTotal, 'packet')} sent again`;
  return [
    `${block.receive ? 'received' : 'sent'} by ${nameEnd(end, all)}: ${opcode} number ${block.messageSequence}, ${describePackets(block)}, ${status}`,
    ...(block.receive === 0 && block.packets === 0
      ? []
      : [
          `  ${block.receive ? 'from' : 'to'} QP ${block.remoteQpn} at LID ${block.remoteLid}, port ${block.port}, PSN ${block.firstPsn} to ${block.lastPsn}${again}`,
        ]),
    ...(preview === '' ? [] : [`  ${preview}${more}`]),
  ].join('\n');
}

/** Bytes and packets; those of an answer beside its request. */
function describePackets({ receive, opcode, messageLength, packetsTotal, answers }: Readonly<TraceBlock>): string {
  if (receive === 1 && packetsTotal === 0) return 'refused with its first packet';
  if (!ANSWERED.includes(opcode) || packetsTotal === 0)
    return `${messageLength} bytes in ${count(packetsTotal, 'packet')}`;
  return `${messageLength} bytes, request in ${count(packetsTotal, 'packet')}, answer in ${count(answers, 'packet')}`;
}

/** The duration, and the traces that would add to the story. */
function describeRest(end: MessageEnd, other: OtherSide, startNs: number): readonly string[] {
  const { adapter, message } = end;
  const { block } = message;
  const took = microseconds(endTimeNs(end) - startNs);
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

/** Reason why the story has only one side, and the option that adds the other one. */
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
      const some = lost === 0 ? '' : `; ${lost} of its blocks were overwritten`;
      return `the other side is traced, but has no message with PSN ${psn}${some}`;
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
