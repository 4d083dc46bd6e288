// SPDX-License-Identifier: Apache-2.0
/**
 * Values in the steps of a timeline (timeline.ts): why something waits, is dropped or causes no
 * event, and where it comes from. Units note them; `vuhca trace` puts them in words.
 */
import { NotifyState } from '../../../protocol/layout/gen/values.gen.ts';

/** VCB of a command that found no PCB. */
export const NO_VCB = 0xffffffff;

/** Flags of a command, as bits. */
export const CommandFlag = { SIGNALED: 1, SOLICITED: 2, FENCE: 4, INLINE: 8 } as const;

/** Where a doorbell comes from. */
export const DoorbellSource = {
  SOFTWARE: 0,
  /** A command that found no PCB. */
  NO_PCB: 1,
  /** A copy that is early, damaged or spilled, or whose kick list is full. */
  COPY: 2,
  /** A tail that the adapter found: software has rung no doorbell. */
  TAIL: 3,
} as const;
export type DoorbellSource = (typeof DoorbellSource)[keyof typeof DoorbellSource];

/** Why a CQE caused no event. */
export const NoEvent = {
  /** Software has never asked for one. */
  UNARMED: 0,
  /** Software has not asked again since the last one. */
  TRIGGERED: 1,
  /** Software asked for the event of a solicited or failed message only. */
  SOLICITED_ONLY: 2,
  /** The EQ pending bit of the CQ is set. */
  PENDING: 3,
  NO_QUEUE: 4,
  /** The EQ is full or in error. */
  QUEUE_FAILED: 5,
  /** It waits for more completions, or for its time. */
  MODERATED: 6,
} as const;
export type NoEvent = (typeof NoEvent)[keyof typeof NoEvent];

/** Why a CQE causes no event in a state of its CQ that it does not satisfy. */
export const quietStates: Readonly<Record<NotifyState, NoEvent>> = {
  [NotifyState.UNARMED]: NoEvent.UNARMED,
  [NotifyState.TRIGGERED]: NoEvent.TRIGGERED,
  [NotifyState.ARMED_SOLICITED]: NoEvent.SOLICITED_ONLY,
  [NotifyState.ARMED_ALL]: NoEvent.UNARMED,
};

/** Why an EQE requested no interrupt (IPCOM000126453D par. 3-4). */
export const NoInterrupt = {
  /** The EQ held completion events, and its next interrupt time stamp has not passed. */
  BEFORE_STAMP: 0,
  /** The event controls ask for none. */
  CONTROLS: 1,
  /** The next interrupt delay has its largest value: software polls. */
  POLL_ONLY: 2,
} as const;
export type NoInterrupt = (typeof NoInterrupt)[keyof typeof NoInterrupt];

/** What posts the event of a CQ. */
export const EventCause = {
  /** A CQE. */
  COMPLETION: 0,
  /** Software arms the CQ. */
  ARMING: 1,
  /** Software clears the EQ pending bit. */
  CLEARING: 2,
  /** The moderation time has passed. */
  TIME: 3,
  /** Software changes moderation or event queue. */
  CHANGE: 4,
  /** Software has taken the last event of the CQ from the EQ. */
  TAKING: 5,
} as const;
export type EventCause = (typeof EventCause)[keyof typeof EventCause];

/** Why the message of an MSI-X vector stays pending. */
export const InterruptWait = { MASKED: 0, NO_BUS_MASTER: 1 } as const;

/** Why a message may not begin (IBTA 9.7.7.2, 10.8.3.3). */
export const CommandWait = {
  /** A fenced command waits for READs and atomics. */
  FENCE: 2,
  /** READs and atomics are outstanding up to the initiator depth. */
  READS: 3,
  /** The responder has granted no end-to-end credit. */
  CREDIT: 4,
  /** Too many packets are unacknowledged. */
  WINDOW: 6,
} as const;

/** The credit that a lane lacks. */
export const LaneCredit = { EXECUTION: 0, COMPLETION: 1 } as const;

/** Which access waits for a page. */
export const PagePart = {
  /** A requester reads payload, or writes a response: `number` is the PSN of the packet. */
  PAYLOAD: 0,
  RESPONSE: 1,
  /** A responder executes a request, or reads the data of a READ: likewise. */
  REQUEST: 2,
  ANSWER: 3,
  /** A datagram is sent: `number` is that of its command. */
  DATAGRAM: 4,
  /** A datagram has arrived: `number` is that of its receive WQE. */
  ARRIVAL: 5,
} as const;
export type PagePart = (typeof PagePart)[keyof typeof PagePart];

export const PacketMove = { SENT: 0, SENT_AGAIN: 1, RECEIVED: 2 } as const;
export type PacketMove = (typeof PacketMove)[keyof typeof PacketMove];

/** Why a receiver drops a packet. */
export const PacketDrop = {
  /** The QP takes no packets, or not of this service or at this port. */
  SERVICE: 0,
  PKEY: 1,
  QKEY: 2,
  NO_RECEIVE_ENTRY: 3,
  PAGE_ABSENT: 4,
  LID: 5,
  GID: 6,
  /** A request behind a lost or refused one. */
  SEQUENCE: 7,
  /** A part of an unreliable message of which another part is missing. */
  PART: 8,
  /** A request once more, whose answer is no longer kept. */
  DUPLICATE: 9,
  /** A response that answers nothing, or nothing new. */
  RESPONSE: 10,
  /** A part of an unreliable message that is refused. */
  REFUSED: 11,
} as const;
export type PacketDrop = (typeof PacketDrop)[keyof typeof PacketDrop];

/** Function of a step that belongs to none. */
export const NO_FUNCTION = 0xffffffff;

/** Length of a changed key of so many bytes or more. */
export const KEY_LENGTH_MAX = 0xffffffff;
