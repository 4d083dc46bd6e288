// SPDX-License-Identifier: Apache-2.0
/**
 * The events of one message between its two ends, for a sequence diagram (IPCOM000010133D par. 1):
 * packets with the fate of each, waits, and the records of both ends. Each comes from a step of a
 * timeline. Pure; ladder-picture.ts draws them.
 */
import { Step, type TimelineStep } from '../../../device/hca/function/timeline.ts';
import { PacketMove } from '../../../device/hca/function/timeline-values.ts';
import {
  type AdapterTrace,
  clockOffsetNs,
  findOtherSide,
  type MessageEnd,
} from '../../../device/hca/trace/adapter-trace.ts';
import { findBlockSteps } from '../../../device/hca/trace/message-life.ts';
import { findPeerSteps, findWireSteps } from '../../../device/hca/trace/message-wire.ts';
import { describeMessage, restorePacket } from '../../../device/process/trace/trace-export.ts';
import { bthOpcodeName } from '../../../protocol/infiniband/gen/values.gen.ts';
import { completionStatusName } from '../../../protocol/layout/gen/values.gen.ts';
import type {
  Sequence,
  SequenceNote,
  SequencePacket,
  SequencePoint,
  SequenceSide,
  SequenceWait,
} from '../../picture/sequence.ts';
import { isCovered } from './trace-lines.ts';
import { describeLoss, describeWireStep } from './wire-text.ts';

/** A message, and its events. */
export interface Ladder extends Sequence {
  readonly title: string;
}

/** The events of a message. Times begin with the first one. */
export function makeLadder(end: MessageEnd, all: readonly AdapterTrace[]): Ladder {
  const other = findOtherSide(end, all);
  const both = end.message.block.receive === 0 ? [end, other.end] : [other.end, end];
  const offsetOf = (one: MessageEnd): number => clockOffsetNs(one.adapter, end.adapter);
  const present = both.filter((one) => one !== undefined);
  const beginNs = Math.min(...present.map((one) => one.message.block.beginTime + offsetOf(one)));
  const steps = both.map((one) => (one === undefined ? [] : stepsOf(one, beginNs, offsetOf(one))));
  const isOnlySender = both[1] === undefined && other.adapter !== undefined;
  if (isOnlySender && (other.missing === 'block' || other.missing === 'trace')) {
    const offsetNs = clockOffsetNs(end.adapter, other.adapter);
    steps[1] = findPeerSteps(end, other.adapter, offsetNs).map((step) => shift(step, -offsetNs));
  }
  return {
    title: describeTitle(end),
    ends: [nameEnd(0, both[0], end, all), nameEnd(1, both[1], end, all)],
    packets: [...pairPackets(steps, 0), ...pairPackets(steps, 1)],
    waits: ([0, 1] as const).flatMap((side) => findWaits(steps[side] ?? [], side)),
    notes: ([0, 1] as const).flatMap((side) => findNotes(steps[side] ?? [], side)),
  };
}

/** The steps of one end on the common clock; those of the kept packets without a timeline. */
function stepsOf(end: MessageEnd, beginNs: number, offsetNs: number): TimelineStep[] {
  const own = isCovered(end) ? [...findBlockSteps(end), ...findWireSteps(end, beginNs - offsetNs)] : keptSteps(end);
  return own
    .map((step) => shift(step, offsetNs))
    .sort((one, next) => one.timeNs - next.timeNs || one.index - next.index);
}

function shift(step: TimelineStep, offsetNs: number): TimelineStep {
  return { ...step, timeNs: step.timeNs + offsetNs };
}

/** The packets that the block keeps, as steps. */
function keptSteps({ message: { block, packets } }: MessageEnd): TimelineStep[] {
  return packets.map((packet, index) => {
    const { psn, isAnswer, opcode, payloadBytes } = restorePacket(packet);
    const isSent = (block.receive === 1) === isAnswer;
    return {
      ...{ index, timeNs: packet.timeNs, step: Step.PACKET, functionNumber: 0, object: block.qpn, a: block.index },
      ...{ b: psn, c: opcode, d: payloadBytes, e: isSent ? PacketMove.SENT : PacketMove.RECEIVED },
    };
  });
}

type Sent = Pick<SequencePacket, 'sent' | 'name' | 'psn' | 'isAgain'> & { readonly key: string };
type Ended = { readonly at: SequencePoint; readonly key: string } & Pick<SequencePacket, 'end' | 'cause'>;

/**
 * The packets that one side sends. The fate of a packet belongs to the last one sent before with
 * its PSN; a second arrival is that of a duplicate.
 */
export function pairPackets(steps: readonly (readonly TimelineStep[])[], from: SequenceSide): SequencePacket[] {
  const [own = [], other = []] = from === 0 ? steps : steps.toReversed();
  const sent = own.flatMap((step) => readSent(step) ?? []);
  const ended = [...own.flatMap((step) => readLost(step) ?? []), ...other.flatMap((step) => readArrival(step) ?? [])];
  const byKey = new Map<string, Sent[]>();
  for (const one of sent) {
    const others = byKey.get(one.key);
    if (others === undefined) byKey.set(one.key, [one]);
    else others.push(one);
  }
  const fates = new Map<Sent, Ended>();
  const copies: SequencePacket[] = [];
  for (const fate of ended.sort((one, next) => one.at.timeNs - next.at.timeNs)) {
    const before = (byKey.get(fate.key) ?? []).filter(({ sent: { timeNs } }) => timeNs <= fate.at.timeNs);
    const open = before.findLast((one) => !fates.has(one));
    const last = before.at(-1);
    if (open !== undefined) fates.set(open, fate);
    else if (last !== undefined && fate.end !== 'lost')
      copies.push({ ...last, from, ended: fate.at, end: fate.end, cause: fate.cause });
  }
  const packets = sent.map((one): SequencePacket => {
    const fate = fates.get(one);
    return { ...one, from, ended: fate?.at, end: fate?.end ?? 'unknown', cause: fate?.cause ?? '' };
  });
  return [...packets, ...copies];
}

/** Acknowledgements have the PSNs of requests. */
function keyOf(psn: number, isAcknowledge: boolean): string {
  return `${isAcknowledge ? 'acknowledge' : 'packet'} ${psn}`;
}

function readSent(step: TimelineStep): Sent | undefined {
  const { timeNs, index, a, b, c, e } = step;
  const sent = { timeNs, index };
  if (step.step === Step.ANSWER_SENT)
    return { sent, psn: a, isAgain: false, key: keyOf(a, true), name: describeAnswer(step) };
  if (step.step !== Step.PACKET || e === PacketMove.RECEIVED) return undefined;
  return { sent, psn: b, isAgain: e === PacketMove.SENT_AGAIN, key: keyOf(b, false), name: bthOpcodeName(c) };
}

/** `ACK up to PSN 1`, without its fate. */
function describeAnswer(step: TimelineStep): string {
  return (describeWireStep(step) ?? '').replace(/ PSN \d+| sent$/g, '').replace(/ (?:up to|of)(?= |$)/, '');
}

function readLost(step: TimelineStep): Ended | undefined {
  if (step.step !== Step.PACKET_LOST) return undefined;
  const isAcknowledge = /(?<!ATOMIC)_ACKNOWLEDGE$/.test(bthOpcodeName(step.e));
  const at = { timeNs: step.timeNs, index: step.index };
  return { at, key: keyOf(step.a, isAcknowledge), end: 'lost', cause: describeLoss(step) };
}

function readArrival(step: TimelineStep): Ended | undefined {
  const { timeNs, index, a, b, e } = step;
  const at = { timeNs, index };
  const cause = (): string => (describeWireStep(step) ?? '').replace(/^packet (?:dropped|refused): \w+, PSN \d+, /, '');
  switch (step.step) {
    case Step.PACKET:
      return e === PacketMove.RECEIVED ? { at, key: keyOf(b, false), end: 'arrives', cause: '' } : undefined;
    case Step.ANSWER:
      return { at, key: keyOf(a, true), end: 'arrives', cause: '' };
    case Step.NO_RECEIVE_ENTRY:
      return { at, key: keyOf(a, false), end: 'dropped', cause: 'no receive WQE' };
    case Step.PACKET_DROPPED:
    case Step.PACKET_REFUSED:
      return { at, key: keyOf(a, false), end: 'dropped', cause: cause() };
    default:
      return undefined;
  }
}

/** An ACK timeout runs from the last packet on, an RNR wait for the time that it gives. */
function findWaits(steps: readonly TimelineStep[], side: SequenceSide): SequenceWait[] {
  return steps.flatMap((step, place): SequenceWait[] => {
    const { timeNs, index, b } = step;
    const at = { timeNs, index };
    const wait = (from: SequencePoint, to: SequencePoint, text: string): SequenceWait[] => [{ side, from, to, text }];
    switch (step.step) {
      case Step.TIMEOUT: {
        const last = steps.slice(0, place).findLast((one) => readSent(one) !== undefined);
        return last === undefined ? [] : wait(last, at, 'local ACK timeout');
      }
      case Step.RNR_WAIT:
        return wait(at, { timeNs: timeNs + b, index }, 'RNR wait');
      case Step.PAGE_WAIT: {
        const answered = steps.slice(place).find((one) => one.step === Step.PAGE_ANSWERED);
        return answered === undefined ? [] : wait(at, answered, 'page fault');
      }
      default:
        return [];
    }
  });
}

function findNotes(steps: readonly TimelineStep[], side: SequenceSide): SequenceNote[] {
  return steps.flatMap((step) => {
    const { timeNs, index, b: left } = step;
    const at = { timeNs, index };
    if (step.step === Step.LINK_DOWN) return [{ side, at, text: 'the link goes down' }];
    if (step.step === Step.RETRY) return [{ side, at, text: `sends again; retries left: ${left}` }];
    return step.step === Step.MESSAGE_END ? [{ side, at, text: `ends: ${completionStatusName(step.b)}` }] : [];
  });
}

function describeTitle({ message }: MessageEnd): string {
  const { block } = message;
  const { opcode, status } = describeMessage(message);
  return `${opcode} number ${block.messageSequence}, ${block.messageLength} bytes: ${status}`;
}

function nameEnd(
  side: SequenceSide,
  end: MessageEnd | undefined,
  known: MessageEnd,
  all: readonly AdapterTrace[],
): string {
  const { remoteQpn, remoteLid } = known.message.block;
  const verb = side === 0 ? 'sends' : 'receives';
  if (end === undefined) return `QP ${remoteQpn} at LID ${remoteLid} ${verb}`;
  return `${all.length > 1 ? `${end.adapter.name} ` : ''}QP ${end.message.block.qpn} ${verb}`;
}
