// SPDX-License-Identifier: Apache-2.0
/**
 * Judges each sentence of `vuhca trace show` by the log of the model (model-log.ts): a sentence
 * needs a fact of its time. Unknown sentences are wrong, too. Tests only.
 */

import { AethKind, bthOpcodeName, nakCodeName } from '../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag, opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import { rnrTimerNs, splitSyndrome } from '../../../protocol/infiniband/syndrome.ts';
import { NotifyState } from '../../../protocol/layout/gen/values.gen.ts';
import { commandRules } from './command-judge.ts';
import { type Found, type JudgedLine, one, type Rule } from './judged-line.ts';
import type { Fact, ModelLog } from './model-log.ts';

const WAITS: Readonly<Record<string, number>> = {
  'its fence is for READs and atomics that are not answered': 2,
  'as many READs and atomics are not answered as the QP may have': 3,
  'the peer has granted no end-to-end credit': 4,
  'too many packets are not acknowledged': 6,
};
const RNR = 1;
const PS_PER_US = 1000;

const DROPS: Readonly<Record<string, readonly string[]>> = {
  'wrong Q_Key': ['qkey'],
  'wrong P_Key': ['pkey'],
  'there is no receive WQE': ['noReceiveEntry', 'requests'],
  'a page of its memory is not present': ['pageAbsent', 'requests'],
  'an earlier packet is missing': ['requests'],
  'another part of its message is missing': ['requests'],
  'it comes again, and its answer is kept no longer': ['requests'],
  'it is refused': ['requests'],
  // Only these are counted.
  'it answers nothing that is open': ['ghosts', 'undefined'],
  'the QP does not take it in its state, at this port or by its service': ['wrongService', 'undefined'],
};

/** The first rule whose expression matches judges. */
const rules: readonly (readonly [RegExp, Rule])[] = [
  [/^packet (sent|sent again|received): (\w+), PSN (\d+), (\d+) bytes$/, judgePacket],
  [/^(\d+) packets (sent|sent again|received): PSN (\d+) to (\d+), within ([\d.]+) us$/, judgeRun],
  [/^(ACK up to|NAK of|RNR NAK of) PSN (\d+)(?: \((.*)\))? (sent|received)$/, judgeAnswer],
  [/^waits ([\d.]+) us: the peer is not ready \(RNR\)$/, judgeRnr],
  [
    /^local ACK timeout: no answer to PSN (\d+)$/,
    (line, log, psn) => one(line, log, 'timeout', { qp: line.qp, psn: +psn }),
  ],
  [
    /^sends again from PSN (\d+) on; (\d+) retr(?:y is|ies are) left$/,
    (line, log, psn, retriesLeft) => one(line, log, 'again', { qp: line.qp, psn: +psn, retriesLeft: +retriesLeft }),
  ],
  [
    /^command \d+ waits at admit: (.*)$/,
    (line, log, why) => one(line, log, 'wait', { qp: line.qp, reason: WAITS[why] }),
  ],
  [
    /^command (\d+) waits in lane (\d+), which lacks an? (execution|completion) credit$/,
    (line, log, sequence, lane, credit) =>
      one(line, log, 'starved', { qp: line.qp, sequence: +sequence, lane: +lane, credit }),
  ],
  [
    /^commands from (\d+) on return to the send queue$/,
    (line, log, sequence) => one(line, log, 'return', { qp: line.qp, sequence: +sequence }),
  ],
  [/^no receive WQE for PSN (\d+)$/, (line, log, psn) => one(line, log, 'no entry', { qp: line.qp, psn: +psn })],
  [
    /^packet refused: (\w+), PSN (\d+), \w+ at [\w ]+$/,
    (line, log, opcode, psn) =>
      log.at(line.timeNs).filter((fact) => fact.kind === 'in' && names(fact, opcode, psn) && fact.to === line.qp),
  ],
  [/^packet dropped: (\w+), PSN (\d+), (.*)$/, judgeDrop],
  [/^packet lost: (\w+), PSN (\d+), (.*)$/, judgeLoss],
  [
    /^(?:request|response|payload|data|datagram) .* waits for the page of 0x[0-9a-f]+ in region \d+$/,
    (line, log) => one(line, log, 'page wait', { qp: line.qp }),
  ],
  [
    /waits no longer: software .* region (\d+)$/,
    (line, log, region) => one(line, log, 'page answer', { region: +region }),
  ],
  [/^page fault of region (\d+)/, (line, log) => one(line, log, 'page wait', { qp: line.qp })],
  [
    /^command (\d+) launched from lane (\d+)$/,
    (line, log, sequence, lane) => one(line, log, 'launch', { qp: line.qp, sequence: +sequence, lane: +lane }),
  ],
  [
    /^completion written to CQ (\d+)$/,
    (line, log, cq) => one(line, log, 'cqe', { qp: line.qp, cq: +cq, receive: Number(line.receives) }),
  ],
  [/^event of CQ (\d+) written to EQ (\d+)(.*)$/, judgeEvent],
  [/^no event(?: yet)?: (.*)$/, judgeNoEvent],
  [/^software arms CQ (\d+); /, (line, log, cq) => one(line, log, 'arm', { cq: +cq })],
  [/^interrupt: MSI-X vector (\d+)$/, (line, log, vector) => one(line, log, 'interrupt', { vector: +vector })],
  [
    /^vector (\d+) is pending: it is masked, or MSI-X is disabled$/,
    (line, log, vector) => one(line, log, 'no interrupt', { vector: +vector }),
  ],
  [/^command complete: acknowledged$/, judgeAcknowledged],
  [/^it ends: \w+$/, () => true],
  [/^(?:message complete|command complete|all of the answer is sent|all writes before)/, () => true],
  ...commandRules,
  [/^ *SGE: |^receive WQE \d+ taken$|^no completion: /, () => true],
];

/** Verdict on a line: the reason why it is not true, or the facts that show it. */
export interface Verdict {
  readonly untruth: string | undefined;
  readonly facts: Found;
}

export function judgeLine(line: JudgedLine, log: ModelLog): Verdict {
  const text = line.text.trim();
  for (const [pattern, rule] of rules) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const found = rule(line, log, ...match.slice(1).map((part) => part ?? ''));
    const facts = typeof found === 'boolean' ? [] : found;
    const isTrue = found === true || facts.length > 0;
    const untruth = isTrue ? undefined : `no fact at ${line.timeNs} ns says "${text}" of QP ${line.qp}`;
    return { untruth, facts };
  }
  return { untruth: `"${text}" is no sentence that the judge knows`, facts: [] };
}

function names({ opcode, psn }: Fact, name: string, number: string): boolean {
  return opcode !== undefined && bthOpcodeName(opcode as number) === name && psn === Number(number);
}

/** Of the first time, and of later ones, the log has the earlier packet. */
function judgePacket(line: JudgedLine, log: ModelLog, verb: string, name: string, psn: string, bytes: string): Found {
  const isReceived = verb === 'received';
  const facts = log.at(line.timeNs).filter((fact) => {
    const isMoved = fact.kind === (isReceived ? 'in' : 'out') && fact.to === (isReceived ? line.qp : line.peer);
    return isMoved && names(fact, name, psn) && fact.bytes === Number(bytes);
  });
  if (isReceived) return facts;
  return facts.filter((fact) => wasSent(fact, log) === (verb === 'sent again'));
}

/** A packet of this kind with this PSN, or the READ request that requested it, was sent before. */
function wasSent({ order, opcode, to, psn, slid }: Fact, log: ModelLog): boolean {
  return log.facts.some(
    (fact) =>
      fact.kind === 'out' &&
      fact.order < order &&
      fact.to === to &&
      fact.slid === slid &&
      isResponse(fact.opcode as number) === isResponse(opcode as number) &&
      isAcknowledge(fact.opcode as number) === isAcknowledge(opcode as number) &&
      (psn as number) >= (fact.psn as number) &&
      (psn as number) < (fact.psn as number) + Math.max(1, fact.asked as number),
  );
}

function judgeRun(
  line: JudgedLine,
  log: ModelLog,
  count: string,
  verb: string,
  first: string,
  last: string,
  us: string,
): boolean {
  const untilNs = line.timeNs + Number(us) * PS_PER_US;
  const isReceived = verb === 'received';
  const facts = log.facts.filter(
    ({ kind, to, psn, timeNs }) =>
      kind === (isReceived ? 'in' : 'out') &&
      to === (isReceived ? line.qp : line.peer) &&
      timeNs >= line.timeNs &&
      timeNs <= untilNs + 1 &&
      (psn as number) >= Number(first) &&
      (psn as number) <= Number(last),
  );
  return (
    Number(count) === Number(last) - Number(first) + 1 && new Set(facts.map(({ psn }) => psn)).size === Number(count)
  );
}

function judgeAnswer(line: JudgedLine, log: ModelLog, kind: string, psn: string, detail: string, verb: string): Found {
  return log.at(line.timeNs).filter((fact) => {
    const isReceived = verb === 'received';
    if (fact.kind !== (isReceived ? 'in' : 'out') || fact.to !== (isReceived ? line.qp : line.peer)) return false;
    if (fact.psn !== Number(psn) || (fact.syndrome as number) < 0) return false;
    const { kind: told, value } = splitSyndrome(fact.syndrome as number);
    if (kind === 'ACK up to') return told === AethKind.ACK;
    if (kind === 'NAK of') return told === AethKind.NAK && nakCodeName(value) === detail;
    return told === AethKind.RNR_NAK && detail === `wait ${(rnrTimerNs(value) / PS_PER_US).toFixed(3)} us`;
  });
}

function judgeRnr(line: JudgedLine, log: ModelLog, us: string): boolean {
  const facts = log.at(line.timeNs);
  const waits = facts.some(({ kind, qp, reason }) => kind === 'wait' && qp === line.qp && reason === RNR);
  return (
    waits &&
    facts.some(({ kind, to, syndrome }) => {
      if (kind !== 'in' || to !== line.qp || (syndrome as number) < 0) return false;
      const { kind: told, value } = splitSyndrome(syndrome as number);
      return told === AethKind.RNR_NAK && (rnrTimerNs(value) / PS_PER_US).toFixed(3) === us;
    })
  );
}

function judgeDrop(line: JudgedLine, log: ModelLog, name: string, psn: string, why: string): Found {
  const causes = DROPS[why] ?? [];
  return log
    .at(line.timeNs)
    .filter(
      (fact) =>
        fact.kind === 'drop' && fact.to === line.qp && names(fact, name, psn) && causes.includes(`${fact.cause}`),
    );
}

/** The packet left its port, and did not arrive whole within the run, as often as it left. */
function judgeLoss(line: JudgedLine, log: ModelLog, name: string, psn: string): boolean {
  const ofPacket = log.facts.filter((fact) => names(fact, name, psn) && fact.to === line.peer);
  const sent = ofPacket.filter(({ kind }) => kind === 'out').length;
  const damaged = ofPacket.filter(({ kind, cause }) => kind === 'drop' && cause === 'malformed').length;
  const arrived = ofPacket.filter(({ kind }) => kind === 'in').length - damaged;
  return sent > arrived;
}

function judgeEvent(line: JudgedLine, log: ModelLog, cq: string, eq: string, why: string): Found {
  const causes: Readonly<Record<string, string>> = {
    '': 'completion',
    ', with a later completion': 'completion',
    ', when software armed the CQ': 'arming',
    ', when software cleared EQ pending of the CQ': 'clearing',
    ', when its moderation time had passed': 'time',
    ', when software changed the CQ': 'change',
  };
  return one(line, log, 'event', { cq: Number(cq), eq: Number(eq), cause: causes[why] });
}

/** Reason why a CQE had no event, by the state of its CQ before it. */
function judgeNoEvent(line: JudgedLine, log: ModelLog, why: string): Found {
  const cq = Number(/CQ (\d+)/.exec(why)?.[1]);
  return log.at(line.timeNs).filter((fact) => {
    if (fact.cq !== cq) return false;
    // Moderation and a pending event are noted at an arming, too.
    if (fact.kind === 'arm') return /moderation|pending/.test(why);
    if (fact.kind !== 'cqe' || fact.hasEvent) return false;
    if (/is not armed$/.test(why)) return fact.notifyState === NotifyState.UNARMED;
    if (/not armed again/.test(why)) return fact.notifyState === NotifyState.TRIGGERED;
    if (/solicited/.test(why)) return fact.notifyState === NotifyState.ARMED_SOLICITED;
    const isArmed = fact.notifyState === NotifyState.ARMED_ALL || fact.notifyState === NotifyState.ARMED_SOLICITED;
    if (/pending/.test(why)) return isArmed && fact.eqPending === true;
    return isArmed && fact.eqPending === false;
  });
}

/** An answer of the peer arrived at this time. */
function judgeAcknowledged(line: JudgedLine, log: ModelLog): Found {
  return log
    .at(line.timeNs)
    .filter(({ kind, to, opcode }) => kind === 'in' && to === line.qp && isResponse(opcode as number));
}

export function isResponse(opcode: number): boolean {
  return (opcodeFlags[opcode] & OpcodeFlag.RESPONSE) !== 0;
}

function isAcknowledge(opcode: number): boolean {
  return (opcodeFlags[opcode] & OpcodeFlag.ACKNOWLEDGE) !== 0;
}
