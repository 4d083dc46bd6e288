// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of a timeline that belong to one traced message, each by identity: a command by QP and
 * sequence number within one life of its queue, a completion by CQ and count, an event by the
 * arming of its CQ, an interrupt by EQ, EQE and vector (IPCOM000126453D par. 2-4). A step that only
 * comes later than the message is not one of its own. `vuhca trace` tells stories from them.
 */
import { AethKind } from '../../protocol/infiniband/gen/values.gen.ts';
import { psnDistance } from '../../protocol/infiniband/psn.ts';
import { splitSyndrome } from '../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, EventType, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import { Step, type TimelineStep } from '../function/timeline.ts';
import type { MessageEnd } from './adapter-trace.ts';

/** Commands of a QP whose sequence numbers differ by so much are not in its queue together. */
const SEQUENCES_APART = 1 << 14;
const SEQUENCE_BITS = 0xffff;

/** The event by which software learns of a completion. */
export interface EventOfCompletion {
  readonly step: TimelineStep;
  /** Posted with the CQE itself, when software armed the CQ, or with a later CQE. */
  readonly cause: 'completion' | 'arming' | 'later completion';
}

/** The steps behind a completion. */
export interface Signals {
  readonly posted: TimelineStep | undefined;
  /** The CQE caused no event at once, and why. */
  readonly noEvent: TimelineStep | undefined;
  /** Software armed the CQ when it had taken the CQE: no event is due. */
  readonly taken: TimelineStep | undefined;
  readonly event: EventOfCompletion | undefined;
  readonly summaries: readonly TimelineStep[];
  readonly noInterrupt: TimelineStep | undefined;
  readonly request: TimelineStep | undefined;
  readonly interrupt: TimelineStep | undefined;
}

/** The function of the QP whose message it is. */
function functionOf({ adapter, message }: MessageEnd): number | undefined {
  return adapter.queuePairs.find(({ qp }) => qp === message.block.qpn)?.functionNumber;
}

/** Steps of the end's QP and of other objects of its function. */
function stepsOf(end: MessageEnd): readonly TimelineStep[] {
  const own = functionOf(end);
  return end.adapter.steps.filter(({ functionNumber }) => functionNumber === own);
}

/** The way of a sent command: from the first store or doorbell to its last launch. */
export function findCommandSteps(end: MessageEnd): readonly TimelineStep[] {
  const { block } = end.message;
  if (block.receive === 1) return [];
  const steps = stepsOf(end);
  const launch = findLaunch(steps, end);
  if (launch === undefined) return [];
  const before = steps.filter(({ index }) => index <= launch.index);
  const first = before.findLast((step) => isOtherLife(step, block.qpn, block.sequence))?.index ?? -1;
  const own = before.filter(
    ({ step, object, a, index }) =>
      (step === Step.CANCEL || (step >= Step.KICK && step <= Step.LAUNCH)) &&
      object === block.qpn &&
      a === block.sequence &&
      index > first,
  );
  const binds = own.flatMap((copy) => findBind(before, copy) ?? []);
  const began = own[0]?.index ?? launch.index;
  const lists = before.filter(({ step, object, index }) => isList(step) && object === block.qpn && index > began);
  const asked = findAsked(steps, launch);
  return [...binds, ...own, ...lists, ...asked].sort((one, other) => one.index - other.index);
}

/** The first store of a copy of the command: its VCB got a PCB. */
function findBind(steps: readonly TimelineStep[], copy: TimelineStep): TimelineStep | undefined {
  if (copy.step !== Step.KICK && copy.step !== Step.CANCEL) return undefined;
  return steps.findLast(({ step, object, index }) => step === Step.BIND && object === copy.b && index < copy.index);
}

/**
 * What happens to the function while a sent command is under way: spilling, sweeps, its share, and
 * the lane from which the command was launched.
 */
export function findFunctionSteps(end: MessageEnd): readonly TimelineStep[] {
  const way = findCommandSteps(end);
  const [first] = way;
  if (first === undefined) return [];
  const lane = way.find(({ step }) => step === Step.LAUNCH)?.b;
  const { complete, endTime } = end.message.block;
  return stepsOf(end).filter(
    ({ step, object, index, timeNs }) =>
      (functionWide.has(step) || (step === Step.LANE && object === lane)) &&
      index > first.index &&
      !(complete === 1 && timeNs > endTime),
  );
}

const functionWide: ReadonlySet<Step> = new Set<Step>([Step.SPILL_BEGIN, Step.SPILL_END, Step.SWEEP, Step.SHARE]);

/** The receive WQE of a message with its SGEs: the last one of its number before its completion. */
export function findEntrySteps(end: MessageEnd): readonly TimelineStep[] {
  const { receive, qpn, sequence } = end.message.block;
  const steps = stepsOf(end);
  const posted = receive === 1 && hasCompletion(end) ? findPosted(steps, end) : undefined;
  if (posted === undefined) return [];
  const place = steps.findLastIndex(
    ({ step, object, a, index }) => step === Step.ENTRY && object === qpn && a === sequence && index < posted.index,
  );
  if (place < 0) return [];
  // The completion ends them at the latest.
  const behind = steps.slice(place + 1);
  const count = behind.findIndex(({ step }) => step !== Step.ENTRY_SGE);
  return [steps[place], ...behind.slice(0, count)];
}

function isList(step: Step): boolean {
  return step === Step.LIST_ENTER || step === Step.LIST_LEAVE;
}

/** What the command asks for: noted together with its launch. */
function findAsked(steps: readonly TimelineStep[], launch: TimelineStep): TimelineStep[] {
  const isAsked = ({ step }: TimelineStep): boolean => step === Step.COMMAND || step === Step.SGE;
  const behind = steps.filter(({ index }) => index > launch.index);
  const end = behind.findIndex((step) => !isAsked(step));
  return end < 0 ? behind : behind.slice(0, end);
}

function findLaunch(steps: readonly TimelineStep[], { message: { block } }: MessageEnd): TimelineStep | undefined {
  return steps.findLast(
    ({ step, object, a, timeNs }) =>
      step === Step.LAUNCH && object === block.qpn && a === block.sequence && timeNs <= block.beginTime,
  );
}

/** What comes before this step concerns another command with the same sequence number. */
function isOtherLife({ step, object, a }: TimelineStep, qpn: number, sequence: number): boolean {
  if (object !== qpn) return false;
  if (step === Step.QP_RESET || (step === Step.SEND_COMPLETION && a === sequence)) return true;
  const apart = Math.abs((((a - sequence + SEQUENCE_BITS / 2) & SEQUENCE_BITS) - SEQUENCE_BITS / 2) | 0);
  return step === Step.LAUNCH && apart > SEQUENCES_APART;
}

/** Acknowledgements, NAKs, waits, timeouts and packets sent again that concern the message. */
export function findTransportSteps(end: MessageEnd, sinceNs: number): readonly TimelineStep[] {
  const { qpn, receive, firstPsn, lastPsn, packets, complete, endTime } = end.message.block;
  if (receive === 0 && packets === 0) return [];
  const isSent = receive === 0;
  const steps = stepsOf(end).filter(
    ({ step, object, a, timeNs }) =>
      object === qpn &&
      timeNs >= sinceNs &&
      psnDistance(firstPsn, a) >= 0 &&
      (isSent
        ? step >= Step.ANSWER && step <= Step.RESEND && !(complete === 1 && timeNs > endTime)
        : step === Step.ANSWER_SENT),
  );
  // The first ACK behind the last packet answers the message, too.
  const last = steps.find(
    (step) => isAck(step) && psnDistance(lastPsn, step.a) >= 0 && (isSent || step.timeNs >= endTime),
  );
  return steps.filter(
    (step) => step === last || (psnDistance(step.a, lastPsn) >= 0 && !(last && step.index > last.index)),
  );
}

function isAck({ step, b }: TimelineStep): boolean {
  return (step === Step.ANSWER || step === Step.ANSWER_SENT) && splitSyndrome(b).kind === AethKind.ACK;
}

/** True when the end of the message is reported by a CQE, unless its command is unsignaled. */
export function hasCompletion({ message: { block } }: MessageEnd): boolean {
  if (block.complete === 0) return false;
  if (block.receive === 0) return true;
  // A message that a reset ended has none.
  if (block.status === CompletionStatus.FLUSHED) return false;
  return (
    block.opcode === SendOpcode.SEND ||
    block.opcode === SendOpcode.SEND_IMMEDIATE ||
    block.opcode === SendOpcode.SEND_INVALIDATE ||
    block.opcode === SendOpcode.RDMA_WRITE_IMMEDIATE
  );
}

export function findSignals(end: MessageEnd): Signals {
  const steps = stepsOf(end);
  const posted = hasCompletion(end) ? findPosted(steps, end) : undefined;
  const found = posted === undefined ? {} : findEvent(steps, posted);
  return { ...noSignals, posted, ...found, ...(found.event && findInterrupt(steps, found.event.step)) };
}

const noSignals: Signals = {
  posted: undefined,
  noEvent: undefined,
  taken: undefined,
  event: undefined,
  summaries: [],
  noInterrupt: undefined,
  request: undefined,
  interrupt: undefined,
};

/** The CQE of the message: the first one of its number, before the number begins another life. */
function findPosted(steps: readonly TimelineStep[], end: MessageEnd): TimelineStep | undefined {
  const { qpn, receive, sequence, beginTime } = end.message.block;
  const kind = receive === 1 ? Step.RECEIVE_COMPLETION : Step.SEND_COMPLETION;
  const launch = receive === 1 ? undefined : findLaunch(steps, end);
  const behind = steps.filter(({ index, timeNs }) => (launch ? index > launch.index : timeNs >= beginTime));
  const ended = behind.find(
    ({ step, object, a }) =>
      object === qpn && (step === Step.QP_RESET || (receive === 0 && step === Step.LAUNCH && a === sequence)),
  );
  const posted = behind.find(({ step, object, a }) => step === kind && object === qpn && a === sequence);
  return posted !== undefined && ended !== undefined && ended.index < posted.index ? undefined : posted;
}

/**
 * The event that reports the CQE. Software arms a CQ with its count of CQEs taken: an arming that
 * counts this CQE needs no event for it, an earlier one does (IBTA 11.4.2.2).
 */
function findEvent(
  steps: readonly TimelineStep[],
  { index, b: cq, c: count }: TimelineStep,
): Partial<Pick<Signals, 'event' | 'noEvent' | 'taken'>> {
  let noEvent: TimelineStep | undefined;
  let cause: EventOfCompletion['cause'] = 'completion';
  for (const one of steps) {
    const { step, object, a, b } = one;
    if (one.index <= index) continue;
    if (step === Step.EQE && a === EventType.COMPLETION && b === cq)
      return { event: { step: one, cause }, ...(noEvent && { noEvent }) };
    if ((step === Step.RECEIVE_COMPLETION || step === Step.SEND_COMPLETION) && b === cq) cause = 'later completion';
    if (object !== cq) continue;
    if (step === Step.NO_EVENT && a === count) noEvent ??= one;
    if (step !== Step.ARM) continue;
    if (((a - count) | 0) >= 0) return { taken: one, ...(noEvent && { noEvent }) };
    cause = 'arming';
  }
  return noEvent === undefined ? {} : { noEvent };
}

/** Summary bytes and interrupt of an event, up to the next EQE of its EQ. */
function findInterrupt(
  steps: readonly TimelineStep[],
  { index, object: eq, d: number }: TimelineStep,
): Pick<Signals, 'summaries' | 'request' | 'noInterrupt' | 'interrupt'> {
  const behind = steps.filter((one) => one.index > index);
  const next = behind.find(({ step, object }) => step === Step.EQE && object === eq)?.index ?? Number.POSITIVE_INFINITY;
  const summaries = behind.filter((one) => one.step === Step.SUMMARY && one.object === eq && one.index < next);
  const request = behind.find(({ step, a, b }) => step === Step.INTERRUPT_REQUEST && a === eq && b === number);
  const noInterrupt = behind.find(({ step, object, a }) => step === Step.NO_INTERRUPT && object === eq && a === number);
  // Requests before the message is sent count as one: the next one of the vector is that of all.
  const interrupt =
    request &&
    behind.find((one) => one.step === Step.INTERRUPT && one.object === request.object && one.index > request.index);
  return { summaries, request, noInterrupt, interrupt };
}
