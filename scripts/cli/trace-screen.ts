// SPDX-License-Identifier: Apache-2.0
//
// What `vuhca trace show` and `status` print: the story of one message, from its doorbell to its completion, on both sides.

import type { TraceStatus } from '../../device/main/trace-control.ts';
import { describeMessage } from '../../device/main/trace-export.ts';
import { Step, stepName, type TimelineStep } from '../../device/observe/trace/timeline.ts';
import { findOtherSide, type TracedMessage } from '../../device/observe/trace/traced-message.ts';

const PREVIEW_BYTES = 32;
const HEX_DIGITS = 6;

/** A line of the story. */
interface Line {
  readonly timeNs: number;
  readonly qp: number;
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

/** The story of `message`. */
export function renderMessage(
  message: TracedMessage,
  messages: readonly TracedMessage[],
  steps: readonly TimelineStep[],
): string {
  const other = findOtherSide(message, messages);
  const sides = [message, ...(other === undefined ? [] : [other])];
  const lines = sides.flatMap((side) => [...stepLines(side, steps), ...blockLines(side)]);
  const ordered = lines.sort((a, b) => a.timeNs - b.timeNs);
  const startNs = ordered[0]?.timeNs ?? 0;
  const story = ordered.map(
    ({ timeNs, qp, text }) =>
      `${((timeNs - startNs) / 1000).toFixed(3).padStart(12)} us  QP ${`${qp}`.padEnd(8)} ${text}`,
  );
  return `${[...sides.map(headline), ...story].join('\n')}\n`;
}

function headline(side: TracedMessage): string {
  const { block, payload } = side;
  const { opcode, status } = describeMessage(side);
  const preview = Buffer.from(payload.subarray(0, PREVIEW_BYTES)).toString('hex');
  const more = block.messageLength > PREVIEW_BYTES ? '...' : '';
  return [
    `${block.receive ? 'received' : 'sent'} by QP ${block.qpn}: ${opcode} number ${block.messageSequence}, ${block.messageLength} bytes in ${block.packets} packets, ${status}`,
    `  PSN ${psn(block.firstPsn)} to ${psn(block.lastPsn)}, ${block.receive ? 'from' : 'to'} QP ${block.remoteQpn} at LID ${block.remoteLid}, port ${block.port}, ${block.retries} packets sent again`,
    ...(preview === '' ? [] : [`  ${preview}${more}`]),
  ].join('\n');
}

function blockLines({ block }: TracedMessage): Line[] {
  const { qpn: qp, receive, sequence } = block;
  const begin = receive ? 'first packet received' : `command ${sequence} launched`;
  const lines = [{ timeNs: block.beginTime, qp, text: begin }];
  if (block.complete === 1)
    lines.push({ timeNs: block.endTime, qp, text: receive ? 'message complete' : 'command complete' });
  return lines;
}

/** Steps of the message's own command or receive entry, then the event and the interrupt that told of its completion. */
function stepLines({ block }: TracedMessage, steps: readonly TimelineStep[]): Line[] {
  const { qpn: qp, sequence, receive } = block;
  const own = steps.filter(({ step, object, a, timeNs }) => {
    if (object !== qp || a !== sequence) return false;
    if (receive) return step === Step.RECEIVE_COMPLETION && timeNs >= block.beginTime;
    if (step === Step.SEND_COMPLETION) return timeNs >= block.beginTime;
    const isWay = step >= Step.KICK && step <= Step.LAUNCH;
    return isWay && timeNs <= block.beginTime;
  });
  const posted = own.find(({ step }) => step === Step.SEND_COMPLETION || step === Step.RECEIVE_COMPLETION);
  const event =
    posted && steps.find(({ step, b, index }) => step === Step.EQE && b === posted.b && index > posted.index);
  const interrupt =
    event &&
    steps.find(
      ({ step, index, functionNumber }) =>
        step === Step.INTERRUPT && index > event.index && functionNumber === event.functionNumber,
    );
  const lines = own.map(({ step, timeNs, b }) => ({ timeNs, qp, text: describeStep(step, b) }));
  if (event) lines.push({ timeNs: event.timeNs, qp, text: `event posted to EQ ${event.object}` });
  if (interrupt) lines.push({ timeNs: interrupt.timeNs, qp, text: `interrupt of vector ${interrupt.object}` });
  return lines;
}

function describeStep(step: number, b: number): string {
  switch (step) {
    case Step.KICK:
      return `kick of VCB ${b}`;
    case Step.LAUNCH:
      return `launch from lane ${b}`;
    case Step.SEND_COMPLETION:
    case Step.RECEIVE_COMPLETION:
      return `completion posted to CQ ${b}`;
    default:
      return stepName(step);
  }
}

function psn(value: number): string {
  return value.toString(16).padStart(HEX_DIGITS, '0');
}
