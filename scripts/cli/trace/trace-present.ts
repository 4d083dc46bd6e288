// SPDX-License-Identifier: Apache-2.0
/**
 * Prints or writes traces that were read from a running adapter or from a recording: JSON lines,
 * stories, a list of messages, a picture of one, or a file. Called by `vuhca trace` and `vuhca
 * replay`.
 */

import type { AdapterTrace, MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import { toChromeTrace } from '../../../device/process/trace/perfetto-export.ts';
import { toErf, toJsonLines } from '../../../device/process/trace/trace-export.ts';
import { findWholeRecords, PCAP_FILE_HEADER_SIZE } from '../../../protocol/infiniband/pcap.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { nothing, type UsablePart, wholeLines, writeOutput } from '../options/write-output.ts';
import { makeLadder } from './ladder.ts';
import { drawLadder } from './ladder-picture.ts';
import { chooseMessages, isFiltered, newestOf } from './message-choice.ts';
import { describeRows, renderList } from './message-list.ts';
import type { TraceArguments, TraceFormat } from './trace-command.ts';
import { describeStory, renderMessage } from './trace-screen.ts';

/** Most stories that are printed at once. */
const STORIES_MAX = 8;

export type PresentArguments = Pick<
  TraceArguments,
  'qp' | 'adapter' | 'message' | 'format' | 'json' | 'retried' | 'failed' | 'slowest' | 'messages' | 'ladder'
>;

/** Prints or writes what was read. Throws SetupError when no message fits. */
export function present(
  action: 'read' | 'show' | 'export',
  all: readonly AdapterTrace[],
  given: PresentArguments,
  file = '',
): void {
  if (action === 'show') return show(all, given);
  const { qp, adapter: name, format } = given;
  const chosen = all.map((adapter) => ({
    ...adapter,
    messages: adapter.messages.filter(
      ({ block }) =>
        (qp === undefined || qp.includes(block.qpn)) &&
        (name === undefined || name === (adapter.ownName ?? adapter.name)),
    ),
  }));
  if (action === 'read') process.stdout.write(toJsonLines(chosen.map((adapter) => ({ ...adapter, steps: [] }))));
  else writeOutput(file, file, exported(format, chosen), usablePart(format));
}

/** A list, a picture, the stories of the filtered messages, or the newest story. */
function show(all: readonly AdapterTrace[], given: PresentArguments): void {
  const { json, messages, ladder } = given;
  const ends = chooseMessages(all, given);
  if (ends.length === 0) throw new SetupError(describeNothing(given));
  if (messages)
    process.stdout.write(json ? `${JSON.stringify({ messages: describeRows(ends) })}\n` : renderList(ends, all));
  else if (ladder !== undefined)
    writeOutput(ladder, ladder, drawLadder(makeLadder(chooseOne(ends, given), all)), nothing);
  else if (isFiltered(given)) tellStories(ends, all, given);
  else {
    const end = chooseOne(ends, given);
    process.stdout.write(json ? `${JSON.stringify(describeStory(end, all))}\n` : renderMessage(end, all));
  }
}

/** The slowest one if the slowest are requested, otherwise the newest that was sent. */
function chooseOne(ends: readonly MessageEnd[], { slowest }: PresentArguments): MessageEnd {
  const sent = ends.filter(({ message }) => message.block.receive === 0);
  return (slowest === undefined ? newestOf(sent.length > 0 ? sent : ends) : ends[0]) as MessageEnd;
}

/** The slowest ones first; otherwise the newest, in the order of time. */
function tellStories(ends: readonly MessageEnd[], all: readonly AdapterTrace[], given: PresentArguments): void {
  if (given.json) {
    for (const end of ends) process.stdout.write(`${JSON.stringify(describeStory(end, all))}\n`);
    return;
  }
  const told = given.slowest === undefined ? ends.slice(-STORIES_MAX) : ends.slice(0, STORIES_MAX);
  process.stdout.write(told.map((end) => renderMessage(end, all)).join('\n'));
  const others = ends.length - told.length;
  if (others > 0) process.stdout.write(`\n${others} more fit; --messages lists all\n`);
}

function describeNothing(given: PresentArguments): string {
  if (given.message !== undefined && !isFiltered(given)) return `no command block ${given.message} is there any more`;
  if (!isFiltered(given)) return 'no message is traced';
  const words = [
    ...(given.retried ? ['with packets that were sent again'] : []),
    ...(given.failed ? ['that failed'] : []),
    ...(given.slowest === undefined ? [] : ['that has ended']),
  ];
  return `no message ${words.join(' and ')} is traced`;
}

function exported(format: TraceFormat | undefined, traces: readonly AdapterTrace[]): string | Uint8Array {
  if (format === 'erf') return toErf(traces);
  return format === 'json' ? toJsonLines(traces) : `${JSON.stringify(toChromeTrace(traces))}\n`;
}

/** The part of a file of that format that can be read. */
function usablePart(format: TraceFormat | undefined): UsablePart {
  if (format === 'erf') return (bytes, end) => (end < PCAP_FILE_HEADER_SIZE ? 0 : findErfEnd(bytes, end));
  return format === 'json' ? wholeLines : nothing;
}

function findErfEnd(bytes: Uint8Array, end: number): number {
  return findWholeRecords(new DataView(bytes.buffer, bytes.byteOffset), PCAP_FILE_HEADER_SIZE, end).end;
}
