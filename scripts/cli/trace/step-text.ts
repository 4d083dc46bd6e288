// SPDX-License-Identifier: Apache-2.0
/**
 * The words of `vuhca trace show` for the steps of a message: its way to the launch, and the report
 * of its end to software. wire-text.ts has those of packets, trace-lines.ts orders them.
 */
import { requestName } from '../../../device/hca/function/request-opcodes.ts';
import { Step, type TimelineStep } from '../../../device/hca/function/timeline.ts';
import { stepName } from '../../../device/hca/function/timeline-names.ts';
import {
  CommandFlag,
  DoorbellSource,
  EventCause,
  InterruptWait,
  KEY_LENGTH_MAX,
  NO_VCB,
  NoEvent,
  NoInterrupt,
} from '../../../device/hca/function/timeline-values.ts';
import type { MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import {
  type EventOfCompletion,
  findSignals,
  hasCompletion,
  type Signals,
} from '../../../device/hca/trace/message-signals.ts';
import { findCommandSteps } from '../../../device/hca/trace/message-steps.ts';
import { RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import { CompletionStatus, ResourceKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';

import { describeWireStep, hex } from './wire-text.ts';

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

/** A text with its time, and the place of its step in the timeline, which orders equal times. */
export interface TimedText {
  readonly timeNs: number;
  readonly index?: number;
  readonly text: string;
}

/** A step of a command before its launch, of the wire, or a launch. */
export function describeStep(one: TimelineStep): string {
  const { step, object, a, b } = one;
  switch (step) {
    case Step.COMMAND:
      return describeCommand(one);
    case Step.KEY_CHANGED:
      return describeKey(one);
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
    default:
      return describeWireStep(one) ?? stepName(step);
  }
}

/** A doorbell of software, a tail in place of one, or a doorbell in place of a copy. */
function describeDoorbell(sequence: number, source: number): string {
  if (source === DoorbellSource.SOFTWARE) return `doorbell for command ${sequence}`;
  if (source === DoorbellSource.TAIL) return `tail found behind command ${sequence}, without a doorbell`;
  const why = source === DoorbellSource.NO_PCB ? 'found no PCB' : 'cannot be taken';
  return `the copy of command ${sequence} ${why}: a doorbell takes its place`;
}

/** Opcode and flags; the R_Key of an operation on remote memory. */
function describeCommand({ b: opcode, c: flags, d: rkey }: TimelineStep): string {
  const names = Object.entries(CommandFlag).flatMap(([name, bit]) => (flags & bit ? [name.toLowerCase()] : []));
  const remote = REMOTE.includes(opcode) ? [`R_Key ${hex(rkey)}`] : [];
  return `  ${[requestName(opcode), ...names, ...remote].join(', ')}`;
}

function describeSge({ b: lkey, c: length, d: low, e: high }: TimelineStep): string {
  return `SGE: ${length} bytes at ${hex(high * 2 ** 32 + low)}, L_Key ${hex(lkey)}`;
}

function describeKey({ b: key, c: length, d: low, e: high }: TimelineStep): string {
  if (length === 0) return `key ${hex(key)} is free: nothing may be accessed by it`;
  const bytes = length === KEY_LENGTH_MAX ? `${length} bytes or more` : `${length} bytes`;
  return `key ${hex(key)} stands for ${bytes} at ${hex(high * 2 ** 32 + low)}`;
}

/** A changed part of the function's share. */
function describeShare({ object: resource, a: amount, b: qosLevel }: TimelineStep): string {
  const names: Partial<Record<number, string>> = {
    [ResourceKind.VCBS]: 'VCBs',
    [ResourceKind.PCBS]: 'PCBs',
    [ResourceKind.SCHEDULER_BUFFERS]: 'scheduler buffers',
    [ResourceKind.TVLS]: 'lanes',
    [ResourceKind.SEND_CONTEXTS]: 'send contexts',
    [ResourceKind.SEND_BLOCKS]: 'send blocks',
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

/** The report of the end of the message to software, or the reason why there is none. */
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
    ...(event ? [say(event.step, `event of CQ ${cq} written to EQ ${event.step.object}${describeCause(event)}`)] : []),
    ...describeInterrupt(signals),
  ];
}

const causes: Readonly<Record<EventCause, string>> = {
  [EventCause.COMPLETION]: '',
  [EventCause.ARMING]: ', when software armed the CQ',
  [EventCause.CLEARING]: ', when software cleared EQ pending of the CQ',
  [EventCause.TIME]: ', when its moderation time had passed',
  [EventCause.CHANGE]: ', when software changed the CQ',
  [EventCause.TAKING]: ', when software had taken the earlier event of the CQ',
};

function describeCause({ cause, later }: EventOfCompletion): string {
  return later ? ', with a later completion' : causes[cause];
}

/** Only a complete timeline shows that there is no CQE. */
function describeSilence(end: MessageEnd, isCovered: boolean): TimedText[] {
  const { receive, status, endTime } = end.message.block;
  if (!isCovered || !hasCompletion(end) || receive === 1 || status !== CompletionStatus.SUCCESS) return [];
  const command = findCommandSteps(end).find(({ step }) => step === Step.COMMAND);
  if (command === undefined || command.c & CommandFlag.SIGNALED) return [];
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

const interruptWaits: Readonly<Record<number, string>> = {
  [InterruptWait.MASKED]: 'it is masked, or MSI-X is disabled',
  [InterruptWait.NO_BUS_MASTER]: 'bus mastering is off',
};

function describeInterrupt({ summaries, noInterrupt, request, wait, interrupt }: Signals): TimedText[] {
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
  return [
    ...bytes,
    ...why,
    ...(wait ? [say(wait, `vector ${vector} is pending: ${interruptWaits[wait.a]}`)] : []),
    ...(interrupt ? [say(interrupt, `interrupt: MSI-X vector ${vector}`)] : []),
  ];
}

function describeNoInterrupt({ object: eq, b: reason }: TimelineStep): string {
  if (reason === NoInterrupt.BEFORE_STAMP) return `no interrupt: EQ ${eq} holds events, and its time stamp lies ahead`;
  if (reason === NoInterrupt.POLL_ONLY) return `no interrupt: the delay of EQ ${eq} says that software polls`;
  return `no interrupt: the event controls of EQ ${eq} ask for none`;
}

export function say({ timeNs, index }: TimelineStep, text: string): TimedText {
  return { timeNs, index, text };
}
