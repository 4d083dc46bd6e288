// SPDX-License-Identifier: Apache-2.0
/**
 * The words of `vuhca trace show` for the fate of the packets of a message (sent, received, lost,
 * dropped or refused), and for the waits of a queue pair. step-text.ts has the other steps.
 */

import { PacketLoss } from '../../../device/fabric/port/packet-loss.ts';
import { DropCause } from '../../../device/fabric/switch/drop-causes.ts';
import { Step, type TimelineStep } from '../../../device/hca/function/timeline.ts';
import {
  CommandWait,
  LaneCredit,
  PacketDrop,
  PacketMove,
  PagePart,
} from '../../../device/hca/function/timeline-values.ts';
import { type RequesterStep, requesterStepNames } from '../../../device/hca/transport/state/requester-state.ts';
import { type ResponderStep, responderStepNames } from '../../../device/hca/transport/state/responder-state.ts';
import { AethKind, bthOpcodeName, nakCodeName } from '../../../protocol/infiniband/gen/values.gen.ts';
import { rnrTimerNs, splitSyndrome } from '../../../protocol/infiniband/syndrome.ts';
import { faultKindName } from '../../../protocol/layout/gen/values.gen.ts';
import { microseconds } from '../../picture/text.ts';

const HIGH_DWORD = 2 ** 32;

type Describe = (step: TimelineStep) => string;

const wireWords: Partial<Record<Step, Describe>> = {
  [Step.PACKET]: ({ b: psn, c: opcode, d: bytes, e: move }) =>
    `packet ${moves[move as PacketMove]}: ${bthOpcodeName(opcode)}, PSN ${psn}, ${bytes} bytes`,
  [Step.ANSWER_SENT]: ({ a: psn, b: syndrome }) => `${describeAnswer(psn, syndrome)} sent`,
  [Step.ANSWER]: ({ a: psn, b: syndrome }) => `${describeAnswer(psn, syndrome)} received`,
  [Step.RNR_WAIT]: ({ b: waitNs }) => `waits ${microseconds(waitNs)} us: the peer is not ready (RNR)`,
  [Step.TIMEOUT]: ({ a: psn }) => `local ACK timeout: no answer to PSN ${psn}`,
  [Step.RETRY]: ({ a: psn, b: left }) =>
    `sends again from PSN ${psn} on; ${left === 1 ? '1 retry is' : `${left} retries are`} left`,
  [Step.COMMAND_WAIT]: ({ a: sequence, b: reason, c: state }) =>
    `command ${sequence} waits at ${requesterStepNames[state as RequesterStep]}: ${commandWaits[reason]}`,
  [Step.CREDIT_WAIT]: ({ a: sequence, b: lane, c: credit }) =>
    `command ${sequence} waits in lane ${lane}, which lacks ${credit === LaneCredit.EXECUTION ? 'an execution' : 'a completion'} credit`,
  [Step.COMMANDS_RETURNED]: ({ a: sequence }) => `commands from ${sequence} on return to the send queue`,
  [Step.NO_RECEIVE_ENTRY]: ({ a: psn }) => `no receive WQE for PSN ${psn}`,
  [Step.PACKET_REFUSED]: ({ a: psn, b: fault, c: opcode, d: check }) =>
    `packet refused: ${bthOpcodeName(opcode)}, PSN ${psn}, ${faultKindName(fault)} at ${responderStepNames[check as ResponderStep]}`,
  [Step.PACKET_DROPPED]: ({ a: psn, b: cause, e: opcode }) =>
    `packet dropped: ${bthOpcodeName(opcode)}, PSN ${psn}, ${drops[cause as PacketDrop]}`,
  [Step.PACKET_LOST]: (step) => `packet lost: ${bthOpcodeName(step.e)}, PSN ${step.a}, ${describeLoss(step)}`,
  [Step.LINK_DOWN]: ({ object: port }) => `the link of port ${port} goes down: what is under way on it is lost`,
  [Step.PAGE_FAULT]: ({ a: region, b: low, c: high, d: write }) =>
    `page fault of region ${region}: ${hex(high * HIGH_DWORD + low)} is to be ${write === 1 ? 'written' : 'read'}`,
  [Step.PAGE_WAIT]: ({ a: part, b: number, c: region, d: low, e: high }) =>
    `${parts[part as PagePart](number)} waits for the page of ${hex(high * HIGH_DWORD + low)} in region ${region}`,
  [Step.PAGE_ANSWERED]: ({ a: region, b: isRefused, c: part, d: number }) =>
    `${parts[part as PagePart](number)} waits no longer: ${isRefused === 1 ? 'software refuses the page' : 'software has answered for the page'} in region ${region}`,
};

const moves: Readonly<Record<PacketMove, string>> = {
  [PacketMove.SENT]: 'sent',
  [PacketMove.SENT_AGAIN]: 'sent again',
  [PacketMove.RECEIVED]: 'received',
};

const commandWaits: Readonly<Record<number, string>> = {
  [CommandWait.FENCE]: 'its fence is for READs and atomics that are not answered',
  [CommandWait.READS]: 'as many READs and atomics are not answered as the QP may have',
  [CommandWait.CREDIT]: 'the peer has granted no end-to-end credit',
  [CommandWait.WINDOW]: 'too many packets are not acknowledged',
};

const drops: Readonly<Record<PacketDrop, string>> = {
  [PacketDrop.SERVICE]: 'the QP does not take it in its state, at this port or by its service',
  [PacketDrop.PKEY]: 'wrong P_Key',
  [PacketDrop.QKEY]: 'wrong Q_Key',
  [PacketDrop.NO_RECEIVE_ENTRY]: 'there is no receive WQE',
  [PacketDrop.PAGE_ABSENT]: 'a page of its memory is not present',
  [PacketDrop.LID]: 'it is not from the peer, or not for this port',
  [PacketDrop.GID]: 'its GIDs are not those of the path',
  [PacketDrop.SEQUENCE]: 'an earlier packet is missing',
  [PacketDrop.PART]: 'another part of its message is missing',
  [PacketDrop.DUPLICATE]: 'it comes again, and its answer is kept no longer',
  [PacketDrop.RESPONSE]: 'it answers nothing that is open',
  [PacketDrop.REFUSED]: 'it is refused',
};

const losses: Readonly<Partial<Record<PacketLoss, string>>> = {
  [PacketLoss.DROPPED]: 'the link drops it',
  [PacketLoss.TOO_LONG]: 'it is longer than the link carries',
  [PacketLoss.DAMAGED]: 'the link damages it',
  [PacketLoss.LINK_DOWN]: 'the link goes down',
  [PacketLoss.PORT]: 'the port does not send it',
};

const parts: Readonly<Record<PagePart, (number: number) => string>> = {
  [PagePart.PAYLOAD]: (psn) => `payload of PSN ${psn}`,
  [PagePart.RESPONSE]: (psn) => `response with PSN ${psn}`,
  [PagePart.REQUEST]: (psn) => `request with PSN ${psn}`,
  [PagePart.ANSWER]: (psn) => `data of PSN ${psn}`,
  [PagePart.DATAGRAM]: (sequence) => `datagram of command ${sequence}`,
  [PagePart.ARRIVAL]: (entry) => `datagram for receive WQE ${entry}`,
};

/** The words for a step of the wire; undefined for other steps. */
export function describeWireStep(step: TimelineStep): string | undefined {
  return wireWords[step.step]?.(step);
}

/** Reasons why a switch drops a packet. */
const switchDrops: Readonly<Record<DropCause, string>> = {
  [DropCause.INPUT_INACTIVE]: 'its port of arrival is not active',
  [DropCause.DAMAGED]: 'it is damaged',
  [DropCause.MALFORMED]: 'its length is wrong, or longer than the MTU of the port of arrival',
  [DropCause.INPUT_PARTITION]: 'its P_Key is not one of the port of arrival',
  [DropCause.INPUT_RAW]: 'the port of arrival filters raw packets',
  [DropCause.NO_ROUTE]: 'it has no route to the LID',
  [DropCause.LOOP]: 'its route leads back to the port of arrival',
  [DropCause.NO_LANE]: 'its service level has no lane at the port of exit',
  [DropCause.NO_MEMBER]: 'the multicast group has no other port',
  [DropCause.OUTPUT_INACTIVE]: 'its port of exit is not active',
  [DropCause.LIFE_TIME]: 'it waited longer than the life time of the switch',
  [DropCause.TOO_LONG]: 'it is longer than the MTU of the port of exit',
  [DropCause.OUTPUT_PARTITION]: 'its P_Key is not one of the port of exit',
  [DropCause.OUTPUT_RAW]: 'the port of exit filters raw packets',
  [DropCause.HEAD_OF_QUEUE]: 'it waited too long at the port of exit',
  [DropCause.NO_MANAGEMENT_ROOM]: 'there is no room for management packets',
};

/** Cause of the loss of a packet: the words of a `PACKET_LOST` step. */
export function describeLoss({ b: loss }: TimelineStep): string {
  return losses[loss as PacketLoss] ?? `a switch drops it: ${switchDrops[(loss - PacketLoss.SWITCH) as DropCause]}`;
}

/** An acknowledgement with its syndrome (IBTA 9.7.5.2.1). */
function describeAnswer(psn: number, syndrome: number): string {
  const { kind, value } = splitSyndrome(syndrome);
  if (kind === AethKind.ACK) return `ACK up to PSN ${psn}`;
  if (kind === AethKind.RNR_NAK) return `RNR NAK of PSN ${psn} (wait ${microseconds(rnrTimerNs(value))} us)`;
  return `NAK of PSN ${psn} (${nakCodeName(value)})`;
}

export function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
