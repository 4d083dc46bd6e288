// SPDX-License-Identifier: Apache-2.0
/**
 * The part of the timeline that has the steps of a traced message: of its function, from its launch
 * on, within one life of its queue pair, because numbers begin again with the next one. The other
 * files of messages search there.
 */
import { Step, type TimelineStep } from '../function/timeline.ts';
import type { MessageEnd } from './adapter-trace.ts';

/** The function of the QP whose message it is. */
function functionOf({ adapter, message }: MessageEnd): number | undefined {
  return adapter.queuePairs.find(({ qp }) => qp === message.block.qpn)?.functionNumber;
}

/** Steps of the end's QP and of other objects of its function. */
export function stepsOf(end: MessageEnd): readonly TimelineStep[] {
  const own = functionOf(end);
  return end.adapter.steps.filter(({ functionNumber }) => functionNumber === own);
}

export function findLaunch(
  steps: readonly TimelineStep[],
  { message: { block } }: MessageEnd,
): TimelineStep | undefined {
  return steps.findLast(
    ({ step, object, a, timeNs }) =>
      step === Step.LAUNCH && object === block.qpn && a === block.sequence && timeNs <= block.beginTime,
  );
}

/** The packets of the message, and its end: they name its command block. */
export function findBlockSteps(end: MessageEnd): readonly TimelineStep[] {
  const { qpn, index: block, beginTime } = end.message.block;
  const steps = stepsOf(end).filter(({ timeNs }) => timeNs >= beginTime);
  const own = steps.filter(
    ({ step, object, a }) => (step === Step.PACKET || step === Step.MESSAGE_END) && object === qpn && a === block,
  );
  const next = steps.find((one) => endsLife(one, qpn) && one.index > (own[0]?.index ?? 0))?.index;
  const ended = own.findIndex(({ step }) => step === Step.MESSAGE_END);
  // Packets may be sent again behind the end, but not in another life.
  return own.filter(
    ({ step, index }, place) => !(index > (next ?? index)) && !(step === Step.MESSAGE_END && place > ended),
  );
}

/** Steps of all functions within the life of the QP in which the message began. */
export function stepsOfLife(end: MessageEnd): readonly TimelineStep[] {
  const { qpn, beginTime } = end.message.block;
  const { steps } = end.adapter;
  const own = functionOf(end);
  const anchor = findBlockSteps(end)[0]?.index ?? steps.findLast(({ timeNs }) => timeNs <= beginTime)?.index ?? 0;
  const ends = steps.filter((one) => one.functionNumber === own && endsLife(one, qpn));
  const first = ends.findLast(({ index }) => index < anchor)?.index ?? -1;
  const last = ends.find(({ index }) => index > anchor)?.index ?? Number.POSITIVE_INFINITY;
  return steps.filter(({ index }) => index > first && index < last);
}

function endsLife({ step, object }: TimelineStep, qpn: number): boolean {
  return step === Step.FUNCTION_RESET || (step === Step.QP_RESET && object === qpn);
}
