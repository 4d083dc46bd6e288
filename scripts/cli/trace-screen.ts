// SPDX-License-Identifier: Apache-2.0
/**
 * The texts of `vuhca trace show` and `vuhca trace status`: the story of one message, from its
 * doorbell to its completion, on both sides. Pure: blocks and steps in, text out.
 */
import { Step, stepName, type TimelineStep } from '../../device/function/timeline.ts';
import type { TraceStatus } from '../../device/main/trace-control.ts';
import { describeMessage, restorePacket } from '../../device/main/trace-export.ts';
import { findOtherSide, type TracedMessage } from '../../device/trace/traced-message.ts';
import type { TraceBlock } from '../../protocol/layout/gen/trace-block.gen.ts';
import {
  CompletionStatus,
  completionStatusName,
  SendOpcode,
  ServiceType,
} from '../../protocol/layout/gen/values.gen.ts';

const PREVIEW_BYTES = 32;
const NS_PER_US = 1000;
const WHO_WIDTH = 'QP 16777215 receives'.length;
/** Packets of one side at most. */
const PACKETS_SHOWN = 8;

/** A line of the story. */
interface Line {
  readonly timeNs: number;
  readonly block: Readonly<TraceBlock>;
  readonly text: string;
}

export function renderTraceStatus({ traces, timeline }: TraceStatus): string {
  const lines = traces.map(
    ({ qp, functionNumber, blocks, snapLength, head, tail, lost, stopped, byGuest }) =>
      `QP ${qp} of function ${functionNumber}: ${head - tail} of ${blocks} blocks of ${snapLength} bytes, ${head} begun, ${lost} lost${stopped ? ', stopped on an error' : ''}${byGuest ? ', by its guest' : ''}`,
  );
  if (traces.length === 0) lines.push('no QP is traced');
  lines.push(
    timeline === undefined ? 'the timeline is off' : `the timeline has ${timeline.head - timeline.tail} steps`,
  );
  return `${lines.join('\n')}\n`;
}

/** The story of `message`: both sides if both are traced, then the events in the order of time. */
export function renderMessage(
  message: TracedMessage,
  messages: readonly TracedMessage[],
  steps: readonly TimelineStep[],
): string {
  const other = findOtherSide(message, messages);
  const sides = [message, ...(other === undefined ? [] : [other])];
  const lines = sides.flatMap((side) => [...commandLines(side, steps), ...packetLines(side), ...endLines(side, steps)]);
  const ordered = lines.sort((a, b) => a.timeNs - b.timeNs);
  const startNs = ordered[0]?.timeNs ?? 0;
  const story = ordered.map(({ timeNs, block, text }) => {
    const who = `QP ${block.qpn} ${block.receive ? 'receives' : 'sends'}`;
    return `${microseconds(timeNs - startNs).padStart(12)} us  ${who.padEnd(WHO_WIDTH)} ${text}`;
  });
  return `${[...sides.map(headline), ...story, ...remarks(message, other, steps)].join('\n')}\n`;
}

function headline(side: TracedMessage): string {
  const { block, payload } = side;
  const { opcode, status } = describeMessage(side);
  const preview = Buffer.from(payload.subarray(0, PREVIEW_BYTES)).toString('hex');
  const more = block.messageLength > PREVIEW_BYTES ? '...' : '';
  const again = block.retries === 0 ? '' : `, ${block.retries} packets sent again`;
  return [
    `${block.receive ? 'received' : 'sent'} by QP ${block.qpn}: ${opcode} number ${block.messageSequence}, ${block.messageLength} bytes in ${count(block.packets, 'packet')}, ${status}`,
    `  ${block.receive ? 'from' : 'to'} QP ${block.remoteQpn} at LID ${block.remoteLid}, port ${block.port}, PSN ${block.firstPsn} to ${block.lastPsn}${again}`,
    ...(preview === '' ? [] : [`  ${preview}${more}`]),
  ].join('\n');
}

/** The way of the command to its launch. */
function commandLines({ block }: TracedMessage, steps: readonly TimelineStep[]): Line[] {
  if (block.receive) return [];
  const own = steps.filter(
    ({ step, object, a, timeNs }) =>
      step >= Step.KICK &&
      step <= Step.LAUNCH &&
      object === block.qpn &&
      a === block.sequence &&
      timeNs <= block.beginTime,
  );
  const kick = own.find(({ step }) => step === Step.KICK);
  const bind =
    kick && steps.findLast(({ step, object, index }) => step === Step.BIND && object === kick.b && index < kick.index);
  const lines = [...(bind ? [bind] : []), ...own].map((step) => ({
    timeNs: step.timeNs,
    block,
    text: describeStep(step),
  }));
  if (own.some(({ step }) => step === Step.LAUNCH)) return lines;
  return [...lines, { timeNs: block.beginTime, block, text: `command ${block.sequence} launched` }];
}

function describeStep({ step, object, a, b }: TimelineStep): string {
  switch (step) {
    case Step.BIND:
      return `first store to VCB ${object}, which gets PCB ${a}`;
    case Step.KICK:
      return `command ${a} is whole in VCB ${b} (the kick)`;
    case Step.DOORBELL:
      return `doorbell for command ${a}`;
    case Step.SPILL:
      return 'doorbell spilled to the overflow buffer in guest memory';
    case Step.DRAIN:
      return 'doorbell read back (drain)';
    case Step.FETCH:
      return `command ${a} read from the send queue in guest memory (fetch)`;
    case Step.LAUNCH:
      return `command ${a} launched from lane ${b}`;
    default:
      return stepName(step);
  }
}

/** The packets that were kept, at most the first PACKETS_SHOWN. */
function packetLines({ block, packets }: TracedMessage): Line[] {
  return packets.slice(0, PACKETS_SHOWN).map((packet, place) => {
    const { name, psn: number, isAnswer } = restorePacket(packet);
    const verb = (block.receive === 1) === isAnswer ? 'sent' : 'received';
    const left = block.packets - PACKETS_SHOWN;
    const more = place === PACKETS_SHOWN - 1 && left > 0 ? `; ${count(left, 'more packet')}` : '';
    const text = `packet ${verb}: ${name}, PSN ${number}, ${packet.payload.length} bytes${more}`;
    return { timeNs: packet.timeNs, block, text };
  });
}

/** The end of the message, and its signs to software: completion, event, interrupt. */
function endLines({ block }: TracedMessage, steps: readonly TimelineStep[]): Line[] {
  const { qpn, receive, sequence, complete, beginTime, endTime } = block;
  const kind = receive ? Step.RECEIVE_COMPLETION : Step.SEND_COMPLETION;
  const posted = steps.find(
    ({ step, object, a, timeNs }) => step === kind && object === qpn && a === sequence && timeNs >= beginTime,
  );
  const after = (wanted: Step, from: TimelineStep | undefined, is: (step: TimelineStep) => boolean) =>
    from && steps.find((step) => step.step === wanted && step.index > from.index && is(step));
  const event = after(Step.EQE, posted, ({ b }) => b === posted?.b);
  const interrupt = after(Step.INTERRUPT, event, ({ functionNumber }) => functionNumber === event?.functionNumber);
  return [
    complete === 1 && { timeNs: endTime, block, text: describeEnd(block) },
    posted && { timeNs: posted.timeNs, block, text: `completion written to CQ ${posted.b}` },
    event && { timeNs: event.timeNs, block, text: `event of CQ ${event.b} written to EQ ${event.object}` },
    interrupt && { timeNs: interrupt.timeNs, block, text: `interrupt: MSI-X vector ${interrupt.object}` },
  ].filter((line) => line !== undefined && line !== false);
}

function describeEnd({ receive, opcode, serviceType, status }: Readonly<TraceBlock>): string {
  if (status !== CompletionStatus.SUCCESS) return `it ends: ${completionStatusName(status)}`;
  const fetches =
    opcode === SendOpcode.RDMA_READ || opcode === SendOpcode.COMPARE_SWAP || opcode === SendOpcode.FETCH_ADD;
  if (receive) return fetches ? 'all of the answer is sent' : 'message complete: all of it is in memory';
  if (fetches) return 'command complete: all of the answer is in memory';
  return serviceType === ServiceType.RC ? 'command complete: acknowledged' : 'command complete: all of it is sent';
}

/** The duration, and the traces that would add to the story. */
function remarks(
  { block }: TracedMessage,
  other: TracedMessage | undefined,
  steps: readonly TimelineStep[],
): readonly string[] {
  const first = commandLines({ block, packets: [], payload: new Uint8Array(0) }, steps)[0]?.timeNs ?? block.beginTime;
  const took = microseconds(block.endTime - first);
  return [
    ...(block.complete === 1
      ? [`${took} us from the first of these to the end on QP ${block.qpn}`]
      : ['it has not ended yet']),
    ...(other === undefined
      ? [`the other side is not traced: \`vuhca trace on --qp ${block.remoteQpn}\` adds it to later messages`]
      : []),
    ...(steps.length === 0
      ? ['doorbells, launches, completions and interrupts are missing: `vuhca trace on --timeline` adds them']
      : []),
  ];
}

function microseconds(ns: number): string {
  return (ns / NS_PER_US).toFixed(3);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
