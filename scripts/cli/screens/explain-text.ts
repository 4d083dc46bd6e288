// SPDX-License-Identifier: Apache-2.0
/**
 * The words of `vuhca explain` for numbers and names: what the status and the vendor error of a
 * completion, a fault and the status of a management command mean. Pure. Called by
 * explain-action.ts; explain-queue-pair.ts has those for failed queue pairs.
 */
import { completionHints } from '../../../protocol/layout/completion-hints.ts';
import { completionStatus, faultKind, managementStatus } from '../../../protocol/layout/values.ts';
import { UsageError } from '../options/usage-error.ts';
import { paragraph } from './screen-text.ts';

export type Value = (typeof faultKind.values)[number];

interface StatusRule {
  /** Name in libibverbs, without `IBV_WC_`. */
  readonly verbs: string;
  /** Clause of the InfiniBand specification, and its content. */
  readonly rule: string;
  readonly check?: string;
}

const LOCAL = 'IBTA 11.6.2: this end found it before the peer was asked';
const STATUS_RULES: Readonly<Record<string, StatusRule>> = {
  SUCCESS: { verbs: 'SUCCESS', rule: 'IBTA 11.6.2' },
  LOCAL_LENGTH_ERROR: {
    verbs: 'LOC_LEN_ERR',
    rule: 'IBTA 11.6.2: a receive buffer, or the path MTU of a datagram, is too short',
    check: 'the sum of the SGEs on both sides; datagrams need 40 bytes more for the GRH',
  },
  LOCAL_QP_OPERATION_ERROR: { verbs: 'LOC_QP_OP_ERR', rule: LOCAL },
  LOCAL_PROTECTION_ERROR: { verbs: 'LOC_PROT_ERR', rule: `${LOCAL}; keys are those of 10.6.3` },
  FLUSHED: {
    verbs: 'WR_FLUSH_ERR',
    rule: 'IBTA 10.3.1: the QP was in ERR or SQE, so the request was not executed',
    check: 'the first completion of this QP with another status, or who moved the QP to ERR',
  },
  WINDOW_BIND_ERROR: { verbs: 'MW_BIND_ERR', rule: 'IBTA 10.6.7: the window cannot be bound like this' },
  BAD_RESPONSE_ERROR: { verbs: 'BAD_RESP_ERR', rule: 'IBTA 9.9.2: the answer does not fit the request' },
  LOCAL_ACCESS_ERROR: { verbs: 'LOC_ACCESS_ERR', rule: 'IBTA 11.6.2: what the peer wrote could not be stored' },
  REMOTE_INVALID_REQUEST_ERROR: {
    verbs: 'REM_INV_REQ_ERR',
    rule: 'IBTA 9.7.5.2, 9.9.3: the responder answered with a NAK for an invalid request',
    check: 'service, opcode and length at the peer; its maxReadsServed; its receive buffers',
  },
  REMOTE_ACCESS_ERROR: {
    verbs: 'REM_ACCESS_ERR',
    rule: 'IBTA 9.7.5.2, 9.9.3: the responder answered with a NAK for a remote access error',
    check: 'R_Key, address and length against the region of the peer; access flags of region and QP',
  },
  REMOTE_OPERATION_ERROR: {
    verbs: 'REM_OP_ERR',
    rule: 'IBTA 9.7.5.2, 9.9.3: the responder answered with a NAK for a remote operational error',
    check: 'the receive WQE of the peer, and its memory',
  },
  RETRY_EXCEEDED: {
    verbs: 'RETRY_EXC_ERR',
    rule: 'IBTA 9.7.6.1.3: no answer came within the timeout, retry_cnt times',
    check: 'the state of the peer (RTR or RTS), its QPN and LID, PSNs of both ends, links; whether it is alive',
  },
  RNR_RETRY_EXCEEDED: {
    verbs: 'RNR_RETRY_EXC_ERR',
    rule: 'IBTA 9.7.5.2.8: the responder had no receive WQE, rnr_retry times',
    check: 'receives that the peer posts before it is sent to; rnr_retry 7 repeats without end',
  },
  FATAL: { verbs: 'FATAL_ERR', rule: 'IBTA 11.6.2: the device failed' },
  GENERAL: { verbs: 'GENERAL_ERR', rule: 'IBTA 11.6.2' },
};

/** Words that name the list of a number. */
const LISTS = {
  completion: { title: 'status of a completion', values: completionStatus.values, explain: explainCompletion },
  fault: { title: 'fault', values: faultKind.values, explain: explainFaultKind },
  management: { title: 'status of a management command', values: managementStatus.values, explain: explainManagement },
} as const;

/**
 * The meaning of a number or name: of a completion, with its vendor error if that is given, of a
 * fault or of a management command. A number alone is a completion's; `fault 2` and `management 5`
 * are of the other lists, and names of all lists stand alone. Throws UsageError.
 */
export function explainWords(first: string, second?: string): string {
  const list = Object.entries(LISTS).find(([word]) => word === first.toLowerCase())?.[1];
  if (list !== undefined) {
    if (second === undefined)
      throw new UsageError(`${first} needs a number or a name: ${first} ${list.values[1]?.name}`);
    return list.explain(second);
  }
  if (second !== undefined) return explainCompletion(first, second);
  const known = Object.values(LISTS).find(({ values }) => search(values, first) !== undefined);
  if (Number.isNaN(Number(first))) return (known ?? LISTS.completion).explain(first);
  const others = [LISTS.fault, LISTS.management].flatMap(({ title, values }) => {
    const found = search(values, first);
    return found === undefined ? [] : [`${title} ${found.name}`];
  });
  const elsewhere = others.length === 0 ? [] : [paragraph('or', others.join('; '))];
  const isCompletion = search(completionStatus.values, first) !== undefined;
  return `${isCompletion || known === undefined ? explainCompletion(first) : ''}${joined(elsewhere)}`;
}

function explainFaultKind(text: string): string {
  const fault = find(faultKind.values, text, 'a fault');
  return joined([`fault ${fault.name} (${fault.value}): ${fault.doc}`, ...explainFault(fault)]);
}

function explainManagement(text: string): string {
  const status = find(managementStatus.values, text, 'a status of a management command');
  return joined([`management status ${status.name} (${status.value}): ${status.doc}`]);
}

/** The status of a completion, and its vendor error if it is given; both by number or name. */
export function explainCompletion(statusText: string, vendorText?: string): string {
  const status = find(completionStatus.values, statusText, 'a status of a completion');
  const lines = [`${status.name} (${status.value}): ${status.doc}`, ...explainStatus(status.name)];
  if (vendorText === undefined) return joined(lines);
  const fault = find(faultKind.values, vendorText, 'a vendor error');
  return joined([
    ...lines,
    paragraph('vendor_err', `${fault.value}, ${fault.name}: ${fault.doc}`),
    ...explainFault(fault),
  ]);
}

/** The clause that rules a status, and the checks. */
export function explainStatus(name: string): string[] {
  const known = STATUS_RULES[name];
  if (known === undefined) return [];
  const { verbs, rule, check } = known;
  return [
    paragraph('libibverbs', `IBV_WC_${verbs}`),
    paragraph('rule', rule),
    ...(check === undefined ? [] : [paragraph('check', check)]),
  ];
}

/** Checks for a fault that an adapter detected. */
export function explainFault({ name }: Value): string[] {
  const hint = completionHints[name];
  if (hint === undefined) return [];
  return [paragraph('check', hint.replaceAll('`', ''))];
}

/** A value by number, name, or the name of libibverbs. Throws UsageError when there is none. */
function find(values: readonly Value[], text: string, what: string): Value {
  const found = search(values, text);
  if (found === undefined) throw new UsageError(`${text} is not ${what}; docs/DEBUGGING.md lists them`);
  return found;
}

function search(values: readonly Value[], text: string): Value | undefined {
  const bare = text.toUpperCase().replace(/^IBV_WC_/, '');
  const isVerbs = (name: string): boolean => values === completionStatus.values && STATUS_RULES[name]?.verbs === bare;
  return values.find(
    ({ name, value }) => name === bare || isVerbs(name) || (text.trim() !== '' && value === Number(text)),
  );
}

/** Lines as a text. */
export function joined(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
