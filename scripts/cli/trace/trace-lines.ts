// SPDX-License-Identifier: Apache-2.0
/**
 * The lines of `vuhca trace show` for one end of a message, each from a step of the timeline or
 * from its command block. Lines of one adapter with equal times are in the order of their steps.
 * trace-screen.ts puts both ends together.
 */
import { Step, type TimelineStep } from '../../../device/hca/function/timeline.ts';
import { PacketMove } from '../../../device/hca/function/timeline-values.ts';
import type { MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import { findBlockSteps } from '../../../device/hca/trace/message-life.ts';
import { findCommandSteps, findEntrySteps, findFunctionSteps } from '../../../device/hca/trace/message-steps.ts';
import { findWireSteps, isReliable } from '../../../device/hca/trace/message-wire.ts';
import type { TracedMessage } from '../../../device/hca/trace/traced-message.ts';
import { restorePacket } from '../../../device/process/trace/trace-export.ts';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { CompletionStatus, completionStatusName, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { microseconds } from '../../picture/text.ts';
import { describeSignals, describeStep, say, type TimedText } from './step-text.ts';

/** Packets of one end that have a line each; runs of further ones share lines. */
const PACKETS_SHOWN = 8;

/** Opcodes whose answer ends them. */
const FETCHES: readonly number[] = [SendOpcode.RDMA_READ, SendOpcode.COMPARE_SWAP, SendOpcode.FETCH_ADD];

/**
 * The lines of one end, in order. `sinceNs`: time at which the first of both ends begins, on its
 * clock.
 */
export function tellEnd(end: MessageEnd, sinceNs: number): TimedText[] {
  const { block } = end.message;
  const blockSteps = isCovered(end) ? findBlockSteps(end) : [];
  const texts = [
    ...commandTexts(end),
    ...[...findFunctionSteps(end), ...findEntrySteps(end), ...findWireSteps(end, sinceNs)].map(sayStep),
    ...endTexts(block, blockSteps),
    ...describeSignals(end, isCovered(end)),
  ];
  const packets = blockSteps.length > 0 ? packetTexts(blockSteps, texts) : keptTexts(end.message);
  return [...texts, ...packets].sort(compareTexts);
}

/** By time, and by step where both have one. */
export function compareTexts(one: TimedText, other: TimedText): number {
  return one.timeNs - other.timeNs || (one.index ?? 0) - (other.index ?? 0);
}

/** The timeline has all steps since the message began. */
export function isCovered({ adapter, message }: MessageEnd): boolean {
  return adapter.stepsSinceNs !== undefined && adapter.stepsSinceNs <= message.block.beginTime;
}

/** Time at which the message ended, by its lines. */
export function endTimeNs(end: MessageEnd): number {
  const ended = isCovered(end) ? findBlockSteps(end).find(({ step }) => step === Step.MESSAGE_END) : undefined;
  return ended?.timeNs ?? end.message.block.endTime;
}

function sayStep(step: TimelineStep): TimedText {
  return say(step, describeStep(step));
}

/** The way of the command to its launch. */
function commandTexts(end: MessageEnd): TimedText[] {
  const { block } = end.message;
  if (block.receive === 1) return [];
  const steps = findCommandSteps(end).map(sayStep);
  return steps.length > 0 ? steps : [{ timeNs: block.beginTime, text: `command ${block.sequence} launched` }];
}

/** Every packet: the first ones in a line each, then runs that no other line interrupts. */
function packetTexts(blockSteps: readonly TimelineStep[], others: readonly TimedText[]): TimedText[] {
  const packets = blockSteps.filter(({ step }) => step === Step.PACKET);
  const runs = packets.slice(PACKETS_SHOWN).reduce<TimelineStep[][]>((all, one) => {
    const run = all.at(-1);
    if (run !== undefined && continues(run.at(-1), one, others)) run.push(one);
    else all.push([one]);
    return all;
  }, []);
  return [...packets.slice(0, PACKETS_SHOWN).map(sayStep), ...runs.map(sayRun)];
}

/** True for two packets with adjacent PSNs and no other line of their end between them. */
function continues(last: TimelineStep | undefined, next: TimelineStep, others: readonly TimedText[]): boolean {
  if (last === undefined || last.e !== next.e || last.b + 1 !== next.b) return false;
  return !others.some(({ index }) => index !== undefined && index > last.index && index < next.index);
}

function sayRun(run: readonly TimelineStep[]): TimedText {
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined || run.length === 1) return sayStep(first as TimelineStep);
  const verb = { [PacketMove.SENT]: 'sent', [PacketMove.SENT_AGAIN]: 'sent again', [PacketMove.RECEIVED]: 'received' };
  const took = microseconds(last.timeNs - first.timeNs);
  return say(
    first,
    `${run.length} packets ${verb[first.e as PacketMove]}: PSN ${first.b} to ${last.b}, within ${took} us`,
  );
}

/** The packets that the block keeps, when the timeline lacks some: at most the first ones. */
function keptTexts({ block, packets }: TracedMessage): TimedText[] {
  return packets.slice(0, PACKETS_SHOWN).map((packet) => {
    const { name, psn, isAnswer, payloadBytes } = restorePacket(packet);
    const verb = (block.receive === 1) === isAnswer ? 'sent' : 'received';
    return { timeNs: packet.timeNs, text: `packet ${verb}: ${name}, PSN ${psn}, ${payloadBytes} bytes` };
  });
}

function endTexts(block: Readonly<TraceBlock>, blockSteps: readonly TimelineStep[]): TimedText[] {
  if (block.complete === 0) return [];
  const step = blockSteps.find((one) => one.step === Step.MESSAGE_END);
  const text = describeEnd(block);
  return [step === undefined ? { timeNs: block.endTime, text } : say(step, text)];
}

function describeEnd({ receive, opcode, serviceType, status, packets }: Readonly<TraceBlock>): string {
  if (status !== CompletionStatus.SUCCESS) return `it ends: ${completionStatusName(status)}`;
  const fetches = FETCHES.includes(opcode);
  if (opcode === SendOpcode.FLUSH)
    return receive ? 'all writes before it are in memory, and the answer is sent' : 'command complete: it is answered';
  if (receive) return fetches ? 'all of the answer is sent' : 'message complete: all of it is in memory';
  if (fetches) return 'command complete: all of the answer is in memory';
  if (opcode === SendOpcode.ATOMIC_WRITE) return 'command complete: it is answered';
  if (packets === 0) return 'command complete: it sends nothing';
  return isReliable(serviceType) ? 'command complete: acknowledged' : 'command complete: all of it is sent';
}
