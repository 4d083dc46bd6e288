// SPDX-License-Identifier: Apache-2.0
/**
 * The words of `vuhca trace show` for the steps of a message: its way to the launch, answers and
 * repetitions on the wire, and how software learns of its end. trace-screen.ts orders the lines.
 */
import {
  CommandFlag,
  DoorbellSource,
  NO_VCB,
  NoEvent,
  NoInterrupt,
  Step,
  stepName,
  type TimelineStep,
} from '../../device/function/timeline.ts';
import type { MessageEnd } from '../../device/trace/adapter-trace.ts';
import { findSignals, hasCompletion, type Signals } from '../../device/trace/message-steps.ts';
import { AethKind, nakCodeName } from '../../protocol/infiniband/gen/values.gen.ts';
import { rnrTimerNs, splitSyndrome } from '../../protocol/infiniband/syndrome.ts';
import { RESOURCE_NO_LEVEL } from '../../protocol/layout/gen/constants.gen.ts';
import { CompletionStatus, ResourceKind, SendOpcode, sendOpcodeName } from '../../protocol/layout/gen/values.gen.ts';

const NS_PER_US = 1000;
/** Opcodes that name remote memory. */
const REMOTE: readonly number[] = [
  SendOpcode.RDMA_WRITE,
  SendOpcode.RDMA_WRITE_IMMEDIATE,
  SendOpcode.RDMA_READ,
  SendOpcode.COMPARE_SWAP,
  SendOpcode.FETCH_ADD,
  SendOpcode.FLUSH,
  SendOpcode.ATOMIC_WRITE,
];

/** A text with its time. */
export interface TimedText {
  readonly timeNs: number;
  readonly text: string;
}

/** A step of a command before its launch, of the wire, or a launch. */
export function describeStep(one: TimelineStep): string {
  const { step, object, a, b, c, d } = one;
  switch (step) {
    case Step.COMMAND:
      return describeCommand(one);
    case Step.ENTRY:
      return `receive WQE ${a} taken`;
    case Step.SHARE:
      return describeShare(one);
    case Step.LANE:
      return describeLane(one);
    case Step.CANCEL:
      return describeCancel(one);
    case Step.SPILL_BEGIN:
      return `the function begins to spill doorbells: ${object} entries of its buffer are free`;
    case Step.SPILL_END:
      return `the function ends spilling: ${object} entries of its buffer are free`;
    case Step.SWEEP:
      return 'a doorbell of the function was lost: all its send queues are searched (sweep)';
    case Step.SGE:
    case Step.ENTRY_SGE:
      return `  ${describeSge(one)}`;
    case Step.LIST_ENTER:
      return `send queue enters the scheduler list of level ${a}`;
    case Step.LIST_LEAVE:
      return `send queue leaves the scheduler list of level ${a}`;
    case Step.BIND:
      return `first store to VCB ${object}, which gets PCB ${a}`;
    case Step.KICK:
      return `command ${a} is whole in VCB ${b} (the kick)`;
    case Step.DOORBELL:
      return describeDoorbell(a, b);
    case Step.SPILL:
      return 'doorbell spilled to the overflow buffer in guest memory';
    case Step.DRAIN:
      return 'doorbell read back (drain)';
    case Step.FETCH:
      return `command ${a} read from the send queue in guest memory (fetch)`;
    case Step.LAUNCH:
      return `command ${a} launched from lane ${b}`;
    case Step.ANSWER_SENT:
      return `${describeAnswer(a, b)} sent`;
    case Step.ANSWER:
      return `${describeAnswer(a, b)} received`;
    case Step.RNR_WAIT:
      return `waits ${microseconds(b)} us for a receive WQE of the peer (RNR)`;
    case Step.TIMEOUT:
      return `local ACK timeout: no answer to PSN ${a}`;
    case Step.RETRY:
      return `sends again from PSN ${a} on; ${b === 1 ? '1 retry is' : `${b} retries are`} left`;
    case Step.PAGE_FAULT:
      return `misses the page of ${hex(c * 2 ** 32 + b)} to ${d === 1 ? 'write' : 'read'} it: page fault of region ${a}`;
    case Step.PAGE_ANSWERED:
      return b === 1 ? `the page fault of region ${a} is refused` : `goes on: the awaited page of region ${a} has come`;
    case Step.PAGES_RESOLVED:
      return `region ${object}: ${d === 1 ? 'faults refused' : `${c} pages present`} from ${hex(b * 2 ** 32 + a)} on`;
    case Step.PAGES_INVALIDATED:
      return `region ${object}: ${c} pages taken back from ${hex(b * 2 ** 32 + a)} on`;
    case Step.RESEND:
      return `packet sent again: PSN ${a}`;
    default:
      return stepName(step);
  }
}

/** A doorbell of software, or one that takes the place of a copy. */
function describeDoorbell(sequence: number, source: number): string {
  if (source === DoorbellSource.SOFTWARE) return `doorbell for command ${sequence}`;
  const why = source === DoorbellSource.NO_PCB ? 'found no PCB' : 'cannot be taken';
  return `the copy of command ${sequence} ${why}: a doorbell takes its place`;
}

/** Opcode and flags; the R_Key of an operation on remote memory. */
function describeCommand({ b: opcode, c: flags, d: rkey }: TimelineStep): string {
  const names = Object.entries(CommandFlag).flatMap(([name, bit]) => (flags & bit ? [name.toLowerCase()] : []));
  const remote = REMOTE.includes(opcode) ? [`R_Key ${hex(rkey)}`] : [];
  return `  ${[sendOpcodeName(opcode), ...names, ...remote].join(', ')}`;
}

function describeSge({ b: lkey, c: length, d: low, e: high }: TimelineStep): string {
  return `SGE: ${length} bytes at ${hex(high * 2 ** 32 + low)}, L_Key ${hex(lkey)}`;
}

/** A changed part of the function's share. */
function describeShare({ object: resource, a: amount, b: qosLevel }: TimelineStep): string {
  const names: Partial<Record<number, string>> = {
    [ResourceKind.VCBS]: 'VCBs',
    [ResourceKind.PCBS]: 'PCBs',
    [ResourceKind.SCHEDULER_BUFFERS]: 'scheduler buffers',
    [ResourceKind.TVLS]: 'lanes',
  };
  const whose = qosLevel === RESOURCE_NO_LEVEL ? 'the function' : `level ${qosLevel} of the function`;
  return `share of ${whose} changes: ${amount} ${names[resource]}`;
}

const laneValues: Partial<Record<number, (amount: number) => string>> = {
  [ResourceKind.TVL_EXECUTION_CREDITS]: (amount) => `${amount} execution credits of its own`,
  [ResourceKind.TVL_COMPLETION_CREDITS]: (amount) => `${amount} completion credits of its own`,
  [ResourceKind.TVL_SHARED_CREDITS]: (amount) => `takes ${sharedCredits[amount]}`,
  [ResourceKind.TVL_LIST_SIZE]: (amount) => `room for ${amount} commands`,
  [ResourceKind.TVL_WEIGHT]: (amount) => `weight ${amount}`,
};
const sharedCredits = [
  'no shared credits',
  'shared execution credits',
  'shared completion credits',
  'shared credits of both kinds',
];

/** A changed part of the lane that the command is launched from. */
function describeLane({ object: lane, a: resource, b: amount }: TimelineStep): string {
  return `lane ${lane} changes: ${laneValues[resource]?.(amount)}`;
}

function describeCancel({ a: sequence, b: vcb }: TimelineStep): string {
  const where = vcb === NO_VCB ? 'which found no PCB' : `in VCB ${vcb}`;
  return `software cancels its copy of command ${sequence}, ${where}`;
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

/** An acknowledgement with its syndrome (IBTA 9.7.5.2.1). */
function describeAnswer(psn: number, syndrome: number): string {
  const { kind, value } = splitSyndrome(syndrome);
  if (kind === AethKind.ACK) return `ACK up to PSN ${psn}`;
  if (kind === AethKind.RNR_NAK) return `RNR NAK of PSN ${psn} (wait ${microseconds(rnrTimerNs(value))} us)`;
  return `NAK of PSN ${psn} (${nakCodeName(value)})`;
}

/** How software learns of the end of the message; or why it does not. */
export function describeSignals(end: MessageEnd, isCovered: boolean): TimedText[] {
  const signals = findSignals(end);
  const { posted, noEvent, event, taken } = signals;
  if (posted === undefined) return describeSilence(end, isCovered);
  const cq = posted.b;
  return [
    say(posted, `completion written to CQ ${cq}`),
    ...(noEvent ? [say(noEvent, `no event${event ? ' yet' : ''}: ${describeNoEvent(noEvent)}`)] : []),
    ...(taken && noEvent?.b !== NoEvent.NO_QUEUE
      ? [say(taken, `software arms CQ ${cq}; it has taken the completion by now`)]
      : []),
    ...(event ? [say(event.step, `event of CQ ${cq} written to EQ ${event.step.object}${causes[event.cause]}`)] : []),
    ...describeInterrupt(signals),
  ];
}

const causes = {
  completion: '',
  arming: ', when software armed the CQ',
  'later completion': ', with a later completion',
} as const;

/** Only a complete timeline shows that there is no CQE. */
function describeSilence(end: MessageEnd, isCovered: boolean): TimedText[] {
  const { receive, status, endTime } = end.message.block;
  if (!isCovered || !hasCompletion(end) || receive === 1 || status !== CompletionStatus.SUCCESS) return [];
  return [{ timeNs: endTime, text: 'no completion: the command asked for none (unsignaled)' }];
}

function describeNoEvent({ object: cq, b: reason }: TimelineStep): string {
  switch (reason) {
    case NoEvent.UNARMED:
      return `CQ ${cq} is not armed`;
    case NoEvent.TRIGGERED:
      return `CQ ${cq} is not armed again since its last event`;
    case NoEvent.SOLICITED_ONLY:
      return `CQ ${cq} is armed for solicited completions only`;
    case NoEvent.PENDING:
      return `an earlier event of CQ ${cq} is pending`;
    case NoEvent.NO_QUEUE:
      return `CQ ${cq} has no EQ`;
    case NoEvent.MODERATED:
      return `moderation of CQ ${cq} lets its event wait`;
    default:
      return `the EQ of CQ ${cq} is full or in error`;
  }
}

function describeInterrupt({ event, summaries, noInterrupt, request, interrupt }: Signals): TimedText[] {
  const bytes = summaries.map((step) =>
    say(
      step,
      step.a === 0
        ? `primary summary byte of EQ ${step.object} set`
        : `secondary summary byte ${step.a - 1} of EQ ${step.object} set`,
    ),
  );
  if (noInterrupt !== undefined) return [...bytes, say(noInterrupt, describeNoInterrupt(noInterrupt))];
  if (request === undefined) return bytes;
  const { object: vector, a: eq, c: late } = request;
  const why =
    late === 1 ? [say(request, `EQ ${eq} held events, and its time stamp has passed: the driver is late`)] : [];
  const sent =
    interrupt !== undefined
      ? say(interrupt, `interrupt: MSI-X vector ${vector}`)
      : say(event?.step ?? request, `vector ${vector} is pending: masked, MSI-X disabled or no bus mastering`);
  return [...bytes, ...why, sent];
}

function describeNoInterrupt({ object: eq, b: reason }: TimelineStep): string {
  if (reason === NoInterrupt.BEFORE_STAMP) return `no interrupt: EQ ${eq} holds events, and its time stamp lies ahead`;
  if (reason === NoInterrupt.POLL_ONLY) return `no interrupt: the delay of EQ ${eq} says that software polls`;
  return `no interrupt: the event controls of EQ ${eq} ask for none`;
}

function say({ timeNs }: TimelineStep, text: string): TimedText {
  return { timeNs, text };
}

export function microseconds(ns: number): string {
  return (ns / NS_PER_US).toFixed(3);
}
