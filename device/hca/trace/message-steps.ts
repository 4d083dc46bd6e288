// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of a timeline that belong to the command or the receive WQE of a traced message
 * (IPCOM000010133D par. 1): a command by QP and sequence number within one life of its queue. A
 * step that only comes later than the message is not one of its own. message-wire.ts has the steps
 * of its packets, message-signals.ts those behind its completion.
 */
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { Step, type TimelineStep } from '../function/timeline.ts';
import type { MessageEnd } from './adapter-trace.ts';
import { findLaunch, stepsOf } from './message-life.ts';
import { findPosted, hasCompletion } from './message-signals.ts';

/** Commands of a QP whose sequence numbers differ by so much are not in its queue together. */
const SEQUENCES_APART = 1 << 14;
const SEQUENCE_BITS = 0xffff;

/**
 * The way of a sent command: from the first store or doorbell to its last launch, with the key that
 * it changes.
 */
export function findCommandSteps(end: MessageEnd): readonly TimelineStep[] {
  const { block } = end.message;
  if (block.receive === 1) return [];
  const steps = stepsOf(end);
  const launch = findLaunch(steps, end);
  if (launch === undefined) return [];
  const before = steps.filter(({ index }) => index <= launch.index);
  const first = before.findLast((step) => isOtherLife(step, block.qpn, block.sequence))?.index ?? -1;
  const lived = before.filter(({ step, object, index }) => isOfCommand(step) && object === block.qpn && index > first);
  const fetched = lived.findLast(({ step, a }) => step === Step.FETCH && a === block.sequence);
  const own = lived.filter((step) => (namesPlaces(step) ? names(step, fetched) : step.a === block.sequence));
  const binds = own.flatMap((copy) => findBind(before, copy) ?? []);
  const began = own[0]?.index ?? launch.index;
  const lists = before.filter(({ step, object, index }) => isList(step) && object === block.qpn && index > began);
  const returns = before.filter((one) => isReturn(one, block) && one.index > began);
  const asked = findAsked(steps, launch);
  const changes = steps.filter((one) => isChange(one, block) && one.index > launch.index).slice(0, 1);
  return [...binds, ...own, ...lists, ...returns, ...asked, ...changes].sort((one, other) => one.index - other.index);
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

function isOfCommand(step: Step): boolean {
  return (
    step === Step.CANCEL ||
    step === Step.COMMAND_WAIT ||
    step === Step.CREDIT_WAIT ||
    (step >= Step.KICK && step <= Step.LAUNCH)
  );
}

/** A doorbell that tells how far its send queue is filled, not which commands are there. */
function namesPlaces({ step, c, d }: TimelineStep): boolean {
  return step === Step.DOORBELL && c !== d;
}

/** True when a doorbell has named the place from which the command was read afterwards. */
function names({ index, c, d }: TimelineStep, fetched: TimelineStep | undefined): boolean {
  if (fetched === undefined || fetched.index < index) return false;
  return ((fetched.b - c) & SEQUENCE_BITS) < ((d - c) & SEQUENCE_BITS);
}

/** The command, or one not far before it, and all behind that return to the send queue. */
function isReturn({ step, object, a }: TimelineStep, { qpn, sequence }: Readonly<TraceBlock>): boolean {
  return step === Step.COMMANDS_RETURNED && object === qpn && ((sequence - a) & SEQUENCE_BITS) < SEQUENCES_APART;
}

/** The command has changed a key: it is executed after those before it. */
function isChange({ step, object, a }: TimelineStep, { qpn, sequence }: Readonly<TraceBlock>): boolean {
  return step === Step.KEY_CHANGED && object === qpn && a === sequence;
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

/** What comes before this step concerns another command with the same sequence number. */
function isOtherLife({ step, object, a }: TimelineStep, qpn: number, sequence: number): boolean {
  if (object !== qpn) return false;
  if (step === Step.QP_RESET || (step === Step.SEND_COMPLETION && a === sequence)) return true;
  const apart = Math.abs((((a - sequence + SEQUENCE_BITS / 2) & SEQUENCE_BITS) - SEQUENCE_BITS / 2) | 0);
  return step === Step.LAUNCH && apart > SEQUENCES_APART;
}
