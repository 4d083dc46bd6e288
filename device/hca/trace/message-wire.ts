// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of a timeline that belong to the packets of a traced message (IPCOM000010133D par. 1):
 * answers, waits, refusals, drops and losses by the PSNs of the message, within one life of its QP.
 * `vuhca trace` tells stories from them.
 */
import { isLidOfPort } from '../../../protocol/infiniband/addresses.ts';
import { AethKind } from '../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag, opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import { addPsn, psnDistance } from '../../../protocol/infiniband/psn.ts';
import { splitSyndrome } from '../../../protocol/infiniband/syndrome.ts';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { CompletionStatus, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { Step, type TimelineStep } from '../function/timeline.ts';
import { PagePart } from '../function/timeline-values.ts';
import type { AdapterTrace, MessageEnd } from './adapter-trace.ts';
import { splitLids } from './loss-notes.ts';
import { stepsOfLife } from './message-life.ts';

type Block = Readonly<TraceBlock>;

/** Steps of a requester and of a responder whose first number is a PSN. */
const requesterSteps: ReadonlySet<Step> = new Set<Step>([Step.ANSWER, Step.RNR_WAIT, Step.TIMEOUT, Step.RETRY]);
const responderSteps: ReadonlySet<Step> = new Set<Step>([Step.ANSWER_SENT, Step.NO_RECEIVE_ENTRY, Step.PACKET_REFUSED]);
const requesterParts: readonly number[] = [PagePart.PAYLOAD, PagePart.RESPONSE];
const responderParts: readonly number[] = [PagePart.REQUEST, PagePart.ANSWER];

/** The steps of one end. `sinceNs`: when the first of both ends begins, on its clock. */
export function findWireSteps(end: MessageEnd, sinceNs: number): readonly TimelineStep[] {
  const { block } = end.message;
  if (block.receive === 0 && block.packets === 0) return [];
  const steps = stepsOfLife(end).filter(({ timeNs }) => timeNs >= sinceNs);
  const answers = block.receive === 0 ? findAnswers(steps, block) : findAnswersSent(steps, block);
  const others = steps.filter(
    (step) => isPageStep(step, block) || isDropped(step, block) || isLost(step, end) || isDown(step, block),
  );
  // A fault that the wait has raised follows it.
  const faults = steps.filter(
    ({ step, index }) =>
      step === Step.PAGE_FAULT && others.some((one) => one.step === Step.PAGE_WAIT && one.index === index - 1),
  );
  return [...answers, ...others, ...faults].sort((one, other) => one.index - other.index);
}

/** What the adapter of the other end noted of a sent message of which it has no block. */
export function findPeerSteps(
  { adapter, message: { block } }: MessageEnd,
  peer: AdapterTrace,
  offsetNs: number,
): readonly TimelineStep[] {
  const { remoteQpn, serviceType, beginTime, endTime, complete } = block;
  if (block.receive === 1 || block.packets === 0) return [];
  const untilNs = complete === 1 && isReliable(serviceType) ? endTime + offsetNs : Number.POSITIVE_INFINITY;
  const behind = peer.steps.filter(({ timeNs }) => timeNs >= beginTime + offsetNs && timeNs <= untilNs);
  const reset = behind.findIndex(({ step, object }) => step === Step.QP_RESET && object === remoteQpn);
  const life = reset < 0 ? behind : behind.slice(0, reset);
  const isSource = (lid: number): boolean =>
    adapter.ports.some((port) => port.number === block.port && isLidOfPort(lid, port.lid, port.lmc));
  const own = life.filter(({ step, object, a, b, c, d, e }) => {
    if (object !== remoteQpn) return false;
    if (step === Step.PACKET_DROPPED)
      return isWithin(a, block) && isSource(c) && !isResponse(e) && (!isDatagram(serviceType) || d === block.qpn);
    if (isDatagram(serviceType)) return false;
    return step === Step.PAGE_WAIT
      ? responderParts.includes(a) && isWithin(b, block)
      : responderSteps.has(step) && isWithin(a, block);
  });
  // PSNs of unreliable services come again: only the first step is surely of this message.
  return isReliable(serviceType) ? own : own.slice(0, 1);
}

/** Up to the answer that acknowledges the last packet: an ACK of it, or any to a later one. */
function findAnswers(steps: readonly TimelineStep[], block: Block): TimelineStep[] {
  const { qpn, lastPsn, complete, endTime } = block;
  const own = steps.filter(
    ({ step, object, a, timeNs }) =>
      requesterSteps.has(step) &&
      object === qpn &&
      psnDistance(block.firstPsn, a) >= 0 &&
      !(complete === 1 && timeNs > endTime),
  );
  const last = own.find(
    ({ step, a, b }) => step === Step.ANSWER && psnDistance(isAck(b) ? lastPsn : addPsn(lastPsn, 1), a) >= 0,
  );
  return own.filter((one) => one === last || (psnDistance(one.a, lastPsn) >= 0 && !(last && one.index > last.index)));
}

/** Up to the first ACK behind the message that covers it. A refusal follows a failed message. */
function findAnswersSent(steps: readonly TimelineStep[], block: Block): TimelineStep[] {
  const { qpn, firstPsn, lastPsn, status, endTime } = block;
  const end = status === CompletionStatus.SUCCESS ? lastPsn : addPsn(lastPsn, 1);
  const own = steps.filter(
    ({ step, object, a }) => responderSteps.has(step) && object === qpn && psnDistance(firstPsn, a) >= 0,
  );
  const last = own.find(
    ({ step, a, b, timeNs }) =>
      step === Step.ANSWER_SENT && isAck(b) && psnDistance(lastPsn, a) >= 0 && timeNs >= endTime,
  );
  return own.filter((one) => one === last || (psnDistance(one.a, end) >= 0 && !(last && one.index > last.index)));
}

function isAck(syndrome: number): boolean {
  return splitSyndrome(syndrome).kind === AethKind.ACK;
}

/** A wait for a page, or its end: by PSN, or a datagram's by its command. */
function isPageStep({ step, object, a, b, c, d }: TimelineStep, block: Block): boolean {
  if (object !== block.qpn || (step !== Step.PAGE_WAIT && step !== Step.PAGE_ANSWERED)) return false;
  const [part, number] = step === Step.PAGE_WAIT ? [a, b] : [c, d];
  const parts = block.receive === 1 ? responderParts : requesterParts;
  return parts.includes(part) && isWithin(number, block);
}

/** The QP drops a packet of the other end. Behind the completion nothing is answered any more. */
function isDropped({ step, timeNs, object, a, c, d, e }: TimelineStep, block: Block): boolean {
  return (
    step === Step.PACKET_DROPPED &&
    object === block.qpn &&
    !(block.receive === 0 && block.complete === 1 && timeNs > block.endTime) &&
    isWithin(a, block) &&
    c === block.remoteLid &&
    isResponse(e) === (block.receive === 0) &&
    (!isDatagram(block.serviceType) || d === block.remoteQpn)
  );
}

/** A packet of this end is lost on its way. */
function isLost({ step, object, a, c, d, e }: TimelineStep, { adapter, message: { block } }: MessageEnd): boolean {
  if (step !== Step.PACKET_LOST || object !== block.remoteQpn || !isWithin(a, block)) return false;
  const { slid, dlid } = splitLids(c);
  return (
    dlid === block.remoteLid &&
    adapter.ports.some(({ number, lid, lmc }) => number === block.port && isLidOfPort(slid, lid, lmc)) &&
    isResponse(e) === (block.receive === 1) &&
    (!isDatagram(block.serviceType) || d === block.qpn)
  );
}

/** The link of the port goes down while the message is under way. */
function isDown({ step, object, timeNs }: TimelineStep, { port, complete, endTime }: Block): boolean {
  return step === Step.LINK_DOWN && object === port && !(complete === 1 && timeNs > endTime);
}

function isResponse(opcode: number): boolean {
  return (opcodeFlags[opcode] & OpcodeFlag.RESPONSE) !== 0;
}

function isWithin(psn: number, { firstPsn, lastPsn }: Block): boolean {
  return psnDistance(firstPsn, psn) >= 0 && psnDistance(psn, lastPsn) >= 0;
}

/** True when an acknowledgement completes commands of the service. */
export function isReliable(serviceType: number): boolean {
  return serviceType !== ServiceType.UC && !isDatagram(serviceType);
}

function isDatagram(serviceType: number): boolean {
  return serviceType === ServiceType.UD || serviceType === ServiceType.SMI || serviceType === ServiceType.GSI;
}
