// SPDX-License-Identifier: Apache-2.0
/**
 * Names of the steps of a timeline (timeline.ts) and of their numbers, for exports and screens.
 */
import { Step, type TimelineStep } from './timeline.ts';

/**
 * Names of `object` and `a` to `e` of each step. `count`: CQEs of the CQ, this one included, which
 * identifies a CQE; `number`: EQEs of the EQ, likewise. `from`, `to` and `place`: blocks of a send
 * queue that is filled by its record, else 0.
 */
const stepFields: Readonly<Record<Step, readonly string[]>> = {
  [Step.BIND]: ['vcb', 'pcb'],
  [Step.REFUSE]: ['page'],
  [Step.KICK]: ['qp', 'sequence', 'vcb'],
  [Step.DOORBELL]: ['qp', 'sequence', 'source', 'from', 'to'],
  [Step.SPILL]: ['qp', 'sequence'],
  [Step.DRAIN]: ['qp', 'sequence'],
  [Step.FETCH]: ['qp', 'sequence', 'place'],
  [Step.LAUNCH]: ['qp', 'sequence', 'lane'],
  [Step.RELEASE_EXECUTION]: ['lane'],
  [Step.RELEASE_COMPLETION]: ['lane'],
  [Step.SEND_COMPLETION]: ['qp', 'sequence', 'cq', 'count'],
  [Step.RECEIVE_COMPLETION]: ['qp', 'entry', 'cq', 'count'],
  [Step.EQE]: ['eq', 'event', 'object', 'count', 'number', 'cause'],
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
  [Step.PAGE_ANSWERED]: ['qp', 'mr', 'refused', 'part', 'number'],
  [Step.PAGE_WAIT]: ['qp', 'part', 'number', 'mr', 'addressLow', 'addressHigh'],
  [Step.PACKET]: ['qp', 'block', 'psn', 'opcode', 'bytes', 'move'],
  [Step.MESSAGE_END]: ['qp', 'block', 'status'],
  [Step.COMMAND_WAIT]: ['qp', 'sequence', 'reason', 'state'],
  [Step.COMMANDS_RETURNED]: ['qp', 'sequence'],
  [Step.CREDIT_WAIT]: ['qp', 'sequence', 'lane', 'credit'],
  [Step.NO_RECEIVE_ENTRY]: ['qp', 'psn'],
  [Step.PACKET_REFUSED]: ['qp', 'psn', 'fault', 'opcode', 'check'],
  [Step.PACKET_DROPPED]: ['qp', 'psn', 'cause', 'slid', 'sourceQp', 'opcode'],
  [Step.PACKET_LOST]: ['destinationQp', 'psn', 'cause', 'lids', 'sourceQp', 'opcode'],
  [Step.INTERRUPT_WAIT]: ['vector', 'reason'],
  [Step.CQ_BEGIN]: ['cq'],
  [Step.EQ_BEGIN]: ['eq'],
  [Step.FUNCTION_RESET]: ['kind'],
  [Step.LINK_DOWN]: ['port'],
  [Step.KEY_CHANGED]: ['qp', 'sequence', 'key', 'length', 'addressLow', 'addressHigh'],
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
