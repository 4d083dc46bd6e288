// SPDX-License-Identifier: Apache-2.0
/**
 * The list of `vuhca trace show --messages`: a line for each message, or the same data as JSON.
 * Pure.
 */
import { requestName } from '../../../device/hca/function/request-opcodes.ts';
import { Step } from '../../../device/hca/function/timeline.ts';
import { PacketMove } from '../../../device/hca/function/timeline-values.ts';
import type { AdapterTrace, MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import { findBlockSteps } from '../../../device/hca/trace/message-life.ts';
import { formatWallTime } from '../../../device/process/trace/trace-export.ts';
import { completionStatusName, serviceTypeName } from '../../../protocol/layout/gen/values.gen.ts';
import { table } from '../../console/table.ts';
import { microseconds } from '../../picture/text.ts';
import { seconds } from '../screens/screen-text.ts';
import { durationNs } from './message-choice.ts';
import { isCovered } from './trace-lines.ts';

/** A message of the list. */
export interface MessageRow {
  readonly adapter: string;
  readonly qp: number;
  /** Number of the command block, for `--message`. */
  readonly message: number;
  readonly side: 'send' | 'receive';
  readonly service: string;
  readonly operation: string;
  readonly bytes: number;
  /** Absent when no packet of it was sent. */
  readonly firstPsn?: number;
  readonly lastPsn?: number;
  /** Adapter time, and time of the host. */
  readonly beginNs: number;
  readonly wallTime: string;
  /** Absent while it is in progress. */
  readonly durationNs?: number;
  readonly packetsSentAgain: number;
  /** Largest number of transmissions of one of its packets. */
  readonly tries: number;
  readonly status: string;
}

const HEADER = ['QP', 'message', 'operation', 'bytes', 'PSNs', 'begin s', 'took us', 'tries', 'status'];
const LEGEND = '`--qp N --message M` tells the story of one; begin is adapter time';

export function describeRows(ends: readonly MessageEnd[]): MessageRow[] {
  return ends.map(describeRow);
}

/** The list as a text. With several adapters each line begins with the name of one. */
export function renderList(ends: readonly MessageEnd[], all: readonly AdapterTrace[]): string {
  const isOne = all.length === 1;
  const rows = ends.map(describeRow).map((row) => {
    const { qp, message, side, operation, bytes, firstPsn, lastPsn, beginNs, tries, status } = row;
    const psns = firstPsn === undefined ? '' : firstPsn === lastPsn ? `${firstPsn}` : `${firstPsn}-${lastPsn}`;
    const cells = [
      qp,
      message,
      side === 'send' ? operation : `${operation} received`,
      bytes,
      psns,
      seconds(beginNs),
      row.durationNs === undefined ? '' : microseconds(row.durationNs),
      tries,
      status,
    ];
    return isOne ? cells : [row.adapter, ...cells];
  });
  const header = isOne ? HEADER : ['adapter', ...HEADER];
  const left = ['adapter', 'operation', 'status'].map((name) => header.indexOf(name));
  return `${table([header, ...rows], left)}${LEGEND}\n`;
}

function describeRow(end: MessageEnd): MessageRow {
  const { adapter, message } = end;
  const { block } = message;
  const { receive, packetsTotal, firstPsn, lastPsn, complete } = block;
  return {
    adapter: adapter.name,
    qp: block.qpn,
    message: block.index,
    side: receive === 1 ? 'receive' : 'send',
    service: serviceTypeName(block.serviceType),
    operation: requestName(block.opcode),
    bytes: block.messageLength,
    ...(packetsTotal > 0 && { firstPsn, lastPsn }),
    beginNs: block.beginTime,
    wallTime: formatWallTime(adapter, block.beginTime),
    ...(complete === 1 && { durationNs: durationNs(end) }),
    packetsSentAgain: block.retriesTotal,
    tries: countTries(end),
    status: complete === 1 ? completionStatusName(block.status) : 'under way',
  };
}

/**
 * The timeline has each packet; without it, the smallest number that explains the retransmissions.
 */
function countTries(end: MessageEnd): number {
  const { retriesTotal, packetsTotal } = end.message.block;
  if (retriesTotal === 0) return 1;
  if (!isCovered(end)) return 1 + Math.ceil(retriesTotal / Math.max(1, packetsTotal));
  const counts = new Map<number, number>();
  for (const { step, b: psn, e: move } of findBlockSteps(end))
    if (step === Step.PACKET && move === PacketMove.SENT_AGAIN) counts.set(psn, (counts.get(psn) ?? 0) + 1);
  return 1 + Math.max(1, ...counts.values());
}
