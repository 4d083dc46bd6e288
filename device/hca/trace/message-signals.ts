// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of a timeline behind the end of a traced message: a completion by CQ and count, an
 * event by the count and the arming of its CQ, an interrupt by EQ, EQE and vector
 * (IPCOM000126453D par. 2-4). `vuhca trace` tells stories from them.
 */
import { CompletionStatus, EventType, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { Step, type TimelineStep } from '../function/timeline.ts';
import { EventCause } from '../function/timeline-values.ts';
import type { MessageEnd } from './adapter-trace.ts';
import { findLaunch, stepsOf } from './message-life.ts';

/** The event by which software learns of a completion. */
export interface EventOfCompletion {
  readonly step: TimelineStep;
  /** Why it was posted; `later`: with a CQE behind this one. */
  readonly cause: EventCause;
  readonly later: boolean;
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
  /** The message of the vector waits, and is sent. */
  readonly wait: TimelineStep | undefined;
  readonly interrupt: TimelineStep | undefined;
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
  const all = stepsOf(end);
  const posted = hasCompletion(end) ? findPosted(all, end) : undefined;
  const reset = posted && all.findIndex(({ step, index }) => step === Step.FUNCTION_RESET && index > posted.index);
  const steps = reset === undefined || reset < 0 ? all : all.slice(0, reset);
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
  wait: undefined,
  interrupt: undefined,
};

/** The CQE of the message: the first one of its number, before the number begins another life. */
export function findPosted(steps: readonly TimelineStep[], end: MessageEnd): TimelineStep | undefined {
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
 * counts this CQE needs no event for it, an earlier one does (IBTA 11.4.2.2). Another CQ with this
 * number ends the search.
 */
function findEvent(
  steps: readonly TimelineStep[],
  { index, b: cq, c: count }: TimelineStep,
): Partial<Pick<Signals, 'event' | 'noEvent' | 'taken'>> {
  let noEvent: TimelineStep | undefined;
  for (const one of steps) {
    const { step, object, a, b, c, e } = one;
    if (one.index <= index) continue;
    if (step === Step.EQE && a === EventType.COMPLETION && b === cq) {
      const cause = e as EventCause;
      return {
        event: { step: one, cause, later: cause === EventCause.COMPLETION && c !== count },
        ...(noEvent && { noEvent }),
      };
    }
    if (object !== cq) continue;
    if (step === Step.CQ_BEGIN) break;
    if (step === Step.NO_EVENT && a === count) noEvent ??= one;
    if (step === Step.ARM && ((a - count) | 0) >= 0) return { taken: one, ...(noEvent && { noEvent }) };
  }
  return noEvent === undefined ? {} : { noEvent };
}

/** Summary bytes and interrupt of an event, up to the next EQE of its EQ. */
function findInterrupt(
  steps: readonly TimelineStep[],
  { index, object: eq, d: number }: TimelineStep,
): Pick<Signals, 'summaries' | 'request' | 'noInterrupt' | 'wait' | 'interrupt'> {
  const later = steps.filter((one) => one.index > index);
  const end = later.findIndex(({ step, object }) => step === Step.EQ_BEGIN && object === eq);
  const behind = end < 0 ? later : later.slice(0, end);
  const next = behind.find(({ step, object }) => step === Step.EQE && object === eq)?.index ?? Number.POSITIVE_INFINITY;
  const summaries = behind.filter((one) => one.step === Step.SUMMARY && one.object === eq && one.index < next);
  const request = behind.find(({ step, a, b }) => step === Step.INTERRUPT_REQUEST && a === eq && b === number);
  const noInterrupt = behind.find(({ step, object, a }) => step === Step.NO_INTERRUPT && object === eq && a === number);
  // Requests before the message is sent count as one: the next one of the vector is that of all.
  const ofVector = (kind: Step): TimelineStep | undefined =>
    request && later.find((one) => one.step === kind && one.object === request.object && one.index > request.index);
  const interrupt = ofVector(Step.INTERRUPT);
  const wait = ofVector(Step.INTERRUPT_WAIT);
  const waits = wait !== undefined && wait.index < (interrupt?.index ?? Number.POSITIVE_INFINITY);
  return { summaries, request, noInterrupt, wait: waits ? wait : undefined, interrupt };
}
