// SPDX-License-Identifier: Apache-2.0
/**
 * Timeline of an adapter: a ring of the steps of its units other than packets, with their times.
 * Steps are, for example, the bind of a collect buffer, a kick, a spilled doorbell, a launch, an
 * interrupt. The host switches it on (`vuhca trace on --timeline`); otherwise every hook of a unit
 * is one test of `undefined`. The ring holds numbers only, has a fixed size, and overwrites its
 * oldest step. Its clock is the host's own, so a recording does not notice it.
 */
import { NotifyState } from '../../protocol/layout/gen/values.gen.ts';

/** Kinds of steps. `stepFields` names the numbers of each. */
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
  /** The queues of a QP were emptied: its sequence numbers begin again. */
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
} as const;
export type Step = (typeof Step)[keyof typeof Step];

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

/**
 * Names of `object` and `a` to `e` of each step. `count`: CQEs of the CQ, this one included, which
 * identifies a CQE; `number`: EQEs of the EQ, likewise.
 */
const stepFields: Readonly<Record<Step, readonly string[]>> = {
  [Step.BIND]: ['vcb', 'pcb'],
  [Step.REFUSE]: ['page'],
  [Step.KICK]: ['qp', 'sequence', 'vcb'],
  [Step.DOORBELL]: ['qp', 'sequence', 'source'],
  [Step.SPILL]: ['qp', 'sequence'],
  [Step.DRAIN]: ['qp', 'sequence'],
  [Step.FETCH]: ['qp', 'sequence'],
  [Step.LAUNCH]: ['qp', 'sequence', 'lane'],
  [Step.RELEASE_EXECUTION]: ['lane'],
  [Step.RELEASE_COMPLETION]: ['lane'],
  [Step.SEND_COMPLETION]: ['qp', 'sequence', 'cq', 'count'],
  [Step.RECEIVE_COMPLETION]: ['qp', 'entry', 'cq', 'count'],
  [Step.EQE]: ['eq', 'event', 'object', 'count', 'number'],
  [Step.INTERRUPT]: ['vector'],
  [Step.CREDIT_RETURN]: ['context', 'freed'],
  [Step.ARM]: ['cq', 'consumed', 'solicited'],
  [Step.NO_EVENT]: ['cq', 'count', 'reason'],
  [Step.SUMMARY]: ['eq', 'byte'],
  [Step.INTERRUPT_REQUEST]: ['vector', 'eq', 'number', 'late'],
  [Step.NO_INTERRUPT]: ['eq', 'number', 'reason'],
  [Step.ANSWER_SENT]: ['qp', 'psn', 'syndrome'],
  [Step.ANSWER]: ['qp', 'psn', 'syndrome'],
  [Step.RNR_WAIT]: ['qp', 'psn', 'waitNs'],
  [Step.TIMEOUT]: ['qp', 'psn'],
  [Step.RETRY]: ['qp', 'psn', 'retriesLeft'],
  [Step.RESEND]: ['qp', 'psn'],
  [Step.QP_RESET]: ['qp'],
  [Step.COMMAND]: ['qp', 'sequence', 'opcode', 'flags', 'rkey'],
  [Step.SGE]: ['qp', 'sequence', 'lkey', 'length', 'addressLow', 'addressHigh'],
  [Step.LIST_ENTER]: ['qp', 'level'],
  [Step.LIST_LEAVE]: ['qp', 'level'],
  [Step.SPILL_BEGIN]: ['free'],
  [Step.SPILL_END]: ['free'],
  [Step.SWEEP]: ['sweep'],
  [Step.CANCEL]: ['qp', 'sequence', 'vcb'],
  [Step.SHARE]: ['resource', 'amount', 'level'],
  [Step.LANE]: ['lane', 'resource', 'amount'],
  [Step.PAGE_FAULT]: ['qp', 'mr', 'addressLow', 'addressHigh', 'write'],
  [Step.PAGES_RESOLVED]: ['mr', 'addressLow', 'addressHigh', 'pages', 'refused'],
  [Step.PAGE_ANSWERED]: ['qp', 'mr', 'refused'],
  [Step.PAGES_INVALIDATED]: ['mr', 'addressLow', 'addressHigh', 'pages'],
  [Step.ENTRY]: ['qp', 'entry'],
  [Step.ENTRY_SGE]: ['qp', 'entry', 'lkey', 'length', 'addressLow', 'addressHigh'],
};

const names = new Map<number, string>(
  Object.entries(Step).map(([name, step]) => [step, name.toLowerCase().replaceAll('_', ' ')]),
);

/** The name of a step in words, e.g. `send completion`. */
export function stepName(step: number): string {
  return names.get(step) ?? `step ${step}`;
}

/** The numbers of a step by name, e.g. `{ qp: 2, sequence: 0, lane: 5 }`. */
export function nameStepNumbers({ step, object, a, b, c, d, e }: TimelineStep): Record<string, number> {
  const values = [object, a, b, c, d, e];
  return Object.fromEntries(stepFields[step].map((name, place) => [name, values[place] as number]));
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
  a: number,
  b = 0,
): void {
  const { owner } = object;
  owner.timeline?.note(step, owner.number, object.number, a, b);
}
