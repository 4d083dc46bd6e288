// SPDX-License-Identifier: Apache-2.0
/**
 * Judges the parts of `vuhca trace show` that are no single sentence: the counts of a headline, the
 * order of the packets, and losses that no story tells, by the log of the model (model-log.ts).
 * Tests only.
 */
import { OpcodeFlag, opcodeFlags } from '../../../protocol/infiniband/opcodes.ts';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import type { Found } from './judged-line.ts';
import type { Fact, ModelLog } from './model-log.ts';
import { isResponse } from './story-judge.ts';

/** The first line that tells a packet before one that came earlier, among those of one end. */
export function findWrongOrder(lines: readonly { readonly text: string; readonly facts: Found }[]): string | undefined {
  let last = -1;
  for (const { text, facts } of lines) {
    const moves = facts.filter(({ kind }) => kind === 'out' || kind === 'in').map(({ order }) => order);
    if (moves.length === 0 || text.startsWith('command complete')) continue;
    const next = moves.find((order) => order > last);
    if (next === undefined) return `"${text}" is told behind a later packet`;
    last = next;
  }
  return undefined;
}

/** Requests that left a port and never came to one whole. */
export function countLostRequests(log: ModelLog): number {
  const requests = log.facts.filter(({ opcode }) => opcode !== undefined && !isResponse(opcode as number));
  const count = (wanted: string): number => requests.filter(({ kind }) => kind === wanted).length;
  const damaged = requests.filter(({ cause }) => cause === 'malformed').length;
  return count('out') - count('in') + damaged;
}

/** What the headline counts, against the packets at the ports. */
export function findWrongCounts(
  { block }: { readonly block: Readonly<TraceBlock> },
  log: ModelLog,
): string | undefined {
  if (block.receive === 1 || block.packetsTotal === 0) return undefined;
  const isOwn = ({ kind, to, psn, opcode }: Fact): boolean =>
    kind === 'out' && to === block.remoteQpn && isBetween(psn as number, block) && !isResponse(opcode as number);
  const sent = log.facts.filter((fact) => isOwn(fact) && fact.timeNs >= block.beginTime);
  const inTime = sent.filter(({ timeNs }) => block.complete === 0 || timeNs <= block.endTime);
  const first = new Set(inTime.map(({ psn }) => psn));
  const packets = (opcodeFlags[(inTime[0]?.opcode as number) ?? 0] & OpcodeFlag.READ_REQUEST) !== 0 ? 1 : first.size;
  if (packets !== block.packetsTotal) return `${packets} packets were sent, and ${block.packetsTotal} are told`;
  const again = inTime.length - packets;
  return again === block.retriesTotal ? undefined : `${again} were sent again, and ${block.retriesTotal} are told`;
}

function isBetween(psn: number, { firstPsn, lastPsn }: Readonly<TraceBlock>): boolean {
  return psn >= firstPsn && psn <= lastPsn;
}
