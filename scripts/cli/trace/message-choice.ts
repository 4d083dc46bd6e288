// SPDX-License-Identifier: Apache-2.0
/**
 * Choice of the traced messages of `vuhca trace show`: by queue pair and number, those that were
 * sent again, that failed, that took longest. Filters combine. Pure.
 */
import { type AdapterTrace, findOtherSide, type MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import { CompletionStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { endTimeNs } from './trace-lines.ts';

/** The filters; an absent one lets all messages pass. */
export interface MessageFilter {
  readonly qp?: readonly number[];
  readonly adapter?: string;
  /** Number of the command block. */
  readonly message?: number;
  /** Packets were sent again. */
  readonly retried?: boolean;
  /** It ended with a status other than SUCCESS; requests that were only flushed do not count. */
  readonly failed?: boolean;
  /** This many of the slowest ended messages. */
  readonly slowest?: number;
}

/** True when one of the filters chooses by the events of a message. */
export function isFiltered({ retried, failed, slowest }: MessageFilter): boolean {
  return retried === true || failed === true || slowest !== undefined;
}

/**
 * The messages, each by the end that sent it if that is among the chosen ones. In the order of
 * their start, or the slowest one first.
 */
export function chooseMessages(all: readonly AdapterTrace[], filter: MessageFilter): MessageEnd[] {
  const ends = all.flatMap((adapter) => adapter.messages.map((message) => ({ adapter, message })));
  const fitting = ends.filter((end) => isWanted(end, filter));
  const sent = new Set(fitting.filter(({ message }) => message.block.receive === 0).map(({ message }) => message));
  const once = fitting.filter((end) => {
    if (end.message.block.receive === 0) return true;
    const other = findOtherSide(end, all).end;
    return other === undefined || !sent.has(other.message);
  });
  const { slowest } = filter;
  if (slowest === undefined) return once.sort((one, other) => beginOf(one) - beginOf(other));
  return once.sort((one, other) => durationNs(other) - durationNs(one)).slice(0, slowest);
}

/** From start to end of the message, ns. */
export function durationNs(end: MessageEnd): number {
  return endTimeNs(end) - end.message.block.beginTime;
}

/** The one that began last. */
export function newestOf(ends: readonly MessageEnd[]): MessageEnd | undefined {
  return ends.reduce<MessageEnd | undefined>(
    (newest, one) => (newest === undefined || beginOf(one) >= beginOf(newest) ? one : newest),
    undefined,
  );
}

function isWanted({ adapter, message: { block } }: MessageEnd, filter: MessageFilter): boolean {
  const { qp, adapter: name, message, retried, failed, slowest } = filter;
  const { SUCCESS, FLUSHED } = CompletionStatus;
  return (
    (qp === undefined || qp.includes(block.qpn)) &&
    (name === undefined || name === (adapter.ownName ?? adapter.name)) &&
    (message === undefined || block.index === message) &&
    (!retried || block.retriesTotal > 0) &&
    (!failed || (block.complete === 1 && block.status !== SUCCESS && block.status !== FLUSHED)) &&
    (slowest === undefined || block.complete === 1)
  );
}

/** On the clock of the host, which all adapters share. */
function beginOf({ adapter, message }: MessageEnd): number {
  return message.block.beginTime + adapter.wallTimeNs;
}
