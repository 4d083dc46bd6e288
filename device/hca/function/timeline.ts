// SPDX-License-Identifier: Apache-2.0
/**
 * Timeline of an adapter: a ring of the steps of its units, with their times. Packets are among
 * them only as far as they belong to a traced message, or are lost, dropped or refused.
 * Steps are, for example, the bind of a collect buffer, a kick, a spilled doorbell, a launch, an
 * interrupt. The host switches it on (`vuhca trace on --timeline`); otherwise every hook of a unit
 * is one test of `undefined`. The ring holds numbers only, has a fixed size, and overwrites its
 * oldest step. Its clock is the host's own, so a recording does not notice it.
 */

/** Kinds of steps. timeline-names.ts names the numbers of each; timeline-values.ts has values. */
export const Step = {
  /** A VCB was bound to a PCB. */
  BIND: 0,
  /** No PCB was free for a collect page. */
  REFUSE: 1,
  /** A command in a collect buffer is complete. */
  KICK: 2,
  DOORBELL: 3,
  /** A doorbell was written to the overflow buffer. */
  SPILL: 4,
  /** A doorbell was read back from the overflow buffer. */
  DRAIN: 5,
  /** A command was read from the send queue. */
  FETCH: 6,
  LAUNCH: 7,
  /** A command released its execution credit. */
  RELEASE_EXECUTION: 8,
  /** A command released its completion credit. */
  RELEASE_COMPLETION: 9,
  SEND_COMPLETION: 10,
  RECEIVE_COMPLETION: 11,
  EQE: 12,
  INTERRUPT: 13,
  /** A send context returned its count of freed blocks. */
  CREDIT_RETURN: 14,
  /** Software asked for the next event of a CQ. */
  ARM: 15,
  /** A CQE caused no event; `reason` is a `NoEvent`. */
  NO_EVENT: 16,
  /** A summary byte was set: 0 the primary one of the EQ, otherwise 1 + a secondary one's index. */
  SUMMARY: 17,
  /** An EQE requested its interrupt. */
  INTERRUPT_REQUEST: 18,
  /** An EQE requested no interrupt; `reason` is a `NoInterrupt`. */
  NO_INTERRUPT: 19,
  /** An ACK, NAK or RNR NAK was sent. */
  ANSWER_SENT: 20,
  /** An ACK, NAK or RNR NAK arrived. */
  ANSWER: 21,
  /** A requester waits, because its peer has no receive WQE. */
  RNR_WAIT: 22,
  /** The local ACK timeout expired. */
  TIMEOUT: 23,
  /** A requester begins to send again from a PSN on. */
  RETRY: 24,
  /** A packet was sent again. */
  RESEND: 25,
  /** The queues of a QP were emptied, or it is gone: its sequence numbers begin again. */
  QP_RESET: 26,
  /** What a launched command asks for; `flags` are bits of `CommandFlag`. */
  COMMAND: 27,
  /** An SGE of a launched command. */
  SGE: 28,
  /** A send queue entered a scheduler list, or left it. */
  LIST_ENTER: 29,
  LIST_LEAVE: 30,
  /** A function begins to spill doorbells to its overflow buffer, or ends it. */
  SPILL_BEGIN: 31,
  SPILL_END: 32,
  /** A sweep of the function's send queues begins: a doorbell was lost. */
  SWEEP: 33,
  /**
   * A command in a collect buffer was cancelled; QP 0 and sequence 0 before its first 8 bytes, and
   * NO_VCB if it found no PCB.
   */
  CANCEL: 34,
  /** A part of a function's share has changed; `resource` is a `ResourceKind`. */
  SHARE: 35,
  /** A receive WQE was taken; its SGEs follow. */
  ENTRY: 36,
  ENTRY_SGE: 37,
  /** Credits, list size or weight of a lane have changed; `resource` is a `ResourceKind`. */
  LANE: 38,
  /** An access is the first to miss a page of an on-demand region. */
  PAGE_FAULT: 39,
  /** Software made pages present, or refused the faults on them. */
  PAGES_RESOLVED: 40,
  /** Software took pages back. */
  PAGES_INVALIDATED: 41,
  /** A queue pair that waits for a page goes on: it may be present, or its fault was refused. */
  PAGE_ANSWERED: 42,
  /** A queue pair waits for a page; `part` is a `PagePart`, `number` a PSN or sequence number. */
  PAGE_WAIT: 43,
  /** A packet of a traced message; `block` is its command block, `move` a `PacketMove`. */
  PACKET: 44,
  /** The message of a command block has ended. */
  MESSAGE_END: 45,
  /** A message may not begin yet; `reason` is a `CommandWait`, `state` a `RequesterStep`. */
  COMMAND_WAIT: 46,
  /** Commands from this one on return to the send queue. */
  COMMANDS_RETURNED: 47,
  /** A command waits in a lane that lacks a credit; `credit` is a `LaneCredit`. */
  CREDIT_WAIT: 48,
  /** A request finds no receive WQE. */
  NO_RECEIVE_ENTRY: 49,
  /** A responder refuses a packet; `check` is the `ResponderStep` at which it does. */
  PACKET_REFUSED: 50,
  /** A receiver drops a packet; `cause` is a `PacketDrop`. */
  PACKET_DROPPED: 51,
  /**
   * A port or link loses or damages a packet; `cause` is a `PacketLoss` of the port. It belongs to
   * no function.
   */
  PACKET_LOST: 52,
  /** A requested interrupt cannot be sent yet; `reason` is an `InterruptWait`. */
  INTERRUPT_WAIT: 53,
  /** A new CQ or EQ has this number: its counts begin again. */
  CQ_BEGIN: 54,
  EQ_BEGIN: 55,
  /** The function returns to the state of power-on: what was requested is forgotten. */
  FUNCTION_RESET: 56,
  /**
   * The link of a port goes down, and what is under way on it is lost: over a socket link no port
   * can say which packets. It belongs to no function.
   */
  LINK_DOWN: 57,
  /**
   * A request has changed a key of a personality; `length` is 0 when the key is free now, and at
   * most KEY_LENGTH_MAX.
   */
  KEY_CHANGED: 58,
} as const;
export type Step = (typeof Step)[keyof typeof Step];

/** One step, as `TimelineRing.read` (timeline-ring.ts) returns it. */
export interface TimelineStep {
  readonly index: number;
  readonly timeNs: number;
  readonly step: Step;
  readonly functionNumber: number;
  readonly object: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly d: number;
  readonly e: number;
}

/** Receives the steps of the units. */
export interface Timeline {
  note(
    step: Step,
    functionNumber: number,
    object: number,
    a?: number,
    b?: number,
    c?: number,
    d?: number,
    e?: number,
  ): void;
}

/** The function of a unit, with the timeline that takes the unit's steps. */
export interface TimelineOwner {
  readonly number: number;
  readonly timeline: Timeline | undefined;
}

/** Notes a step of a QP, or of another object with an owner, while a timeline is attached. */
export function noteStep(
  object: { readonly owner: TimelineOwner; readonly number: number },
  step: Step,
  a = 0,
  b = 0,
  c = 0,
  d = 0,
  e = 0,
): void {
  const { owner } = object;
  owner.timeline?.note(step, owner.number, object.number, a, b, c, d, e);
}
