// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca trace`: selective trace of a running adapter's QPs, and its timeline
 * (IPCOM000010133D): on and off, pause, read, export, and the story of a message.
 */
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import { toChromeTrace } from '../../device/main/perfetto-export.ts';
import type { TraceStatus } from '../../device/main/trace-control.ts';
import { toErf, toJsonLines } from '../../device/main/trace-export.ts';
import { readTraces } from '../../device/main/trace-snapshot.ts';
import { type AdapterTrace, distinguishAdapters, type MessageEnd } from '../../device/trace/adapter-trace.ts';
import { findWholeRecords, PCAP_FILE_HEADER_SIZE } from '../../protocol/infiniband/pcap.ts';
import { SetupError } from '../../qemu/setup/errors.ts';
import type { CliCommand } from './cli-command.ts';
import type { TraceAction, TraceArguments, TraceFormat } from './trace-command.ts';
import { followTraces } from './trace-follow.ts';
import { describeStory, renderMessage, renderTraceStatus } from './trace-screen.ts';
import { UsageError } from './usage-error.ts';
import { nothing, type UsablePart, wholeLines, writeOutput } from './write-output.ts';

const NS_PER_SECOND = 1e9;

export async function performTrace(command: CliCommand): Promise<number> {
  const [action, file] = command.processedArgs as [TraceAction, string | undefined];
  const given = command.opts<TraceArguments>();
  checkTrace(action, file, given);
  const client = await ControlClient.connect(given.control ?? (await findOnlyControlPath()));
  try {
    if (action === 'read' && given.follow) await followTraces(client, given, (text) => process.stdout.write(text));
    else if (action === 'read' || action === 'show' || action === 'export')
      present(action, await readAll(client, given), given, file);
    else {
      await change(client, action, given);
      const status = (await client.request('trace-status', { adapter: given.adapter })) as TraceStatus;
      process.stdout.write(given.json ? `${JSON.stringify(status)}\n` : renderTraceStatus(status));
    }
  } finally {
    client.close();
  }
  return 0;
}

/** Throws UsageError for arguments that do not fit the action. */
function checkTrace(action: TraceAction, file: string | undefined, given: TraceArguments): void {
  const { format, qp, timeline, follow, blocks, bytes, json } = given;
  if (file !== undefined && action !== 'export') throw new UsageError(`${file} is one argument too many`);
  if (action === 'export' && file === undefined) throw new UsageError('FILE is missing');
  if (action === 'export' && format === undefined) throw new UsageError('option --format is missing');
  if (follow && action !== 'read') throw new UsageError('option --follow belongs to read');
  if (follow && (given.with !== undefined || given.last !== undefined))
    throw new UsageError('--follow goes without --with and --last');
  if (json && action === 'export') throw new UsageError('option --json does not belong to export: say --format json');
  if (blocks !== undefined && bytes !== undefined) throw new UsageError('give --blocks or --bytes, not both');
  const rule = [given.service, given.function, given.peerLid, given.peerQp];
  if (rule.some((value) => value !== undefined) && !given.new)
    throw new UsageError('--service, --function, --peer-lid and --peer-qp belong to --new');
  if (qp !== undefined && given.process !== undefined) throw new UsageError('give --qp or --process, not both');
  const isNamed = [qp, timeline, given.process, given.new].some((value) => value !== undefined);
  if ((action === 'on' || action === 'off') && !isNamed)
    throw new UsageError('say which QP with --qp, or --process, or --new, or --timeline');
}

async function change(
  client: ControlClient,
  action: Exclude<TraceAction, 'read' | 'show' | 'export'>,
  given: TraceArguments,
): Promise<void> {
  const { adapter, qp: qps = [], blocks: blocksLog2, bytes, snap: snapLength, stopOnError = false } = given;
  if (action === 'pause' || action === 'resume') await client.request(`trace-${action}`, { adapter });
  if (action !== 'on' && action !== 'off') return;
  const keepNs = given.seconds === undefined ? undefined : given.seconds * NS_PER_SECOND;
  const settings = { adapter, blocksLog2, bytes, snapLength, stopOnError, keepNs };
  for (const qp of qps) await client.request(`trace-${action}`, { ...settings, qp });
  const { service, function: functionNumber, peerLid, peerQp, process, steps: stepsLog2 } = given;
  if (!given.new && process !== undefined) await client.request(`trace-${action}`, { ...settings, process });
  if (given.new && action === 'off') await client.request('trace-off', { adapter, rules: true });
  if (given.new && action === 'on')
    await client.request('trace-on', { ...settings, rule: { service, functionNumber, peerLid, peerQp, process } });
  if (given.timeline) await client.request(`timeline-${action}`, { adapter, stepsLog2, keepNs });
}

/** One snapshot of the process, and one of each linked process. */
async function readAll(client: ControlClient, given: TraceArguments): Promise<AdapterTrace[]> {
  const lastNs = given.last === undefined ? undefined : given.last * NS_PER_SECOND;
  const all = await readTraces(client, lastNs);
  for (const path of given.with ?? []) {
    const linked = await ControlClient.connect(path);
    try {
      all.push(...(await readTraces(linked, lastNs)).map((adapter) => ({ ...adapter, control: path })));
    } finally {
      linked.close();
    }
  }
  return distinguishAdapters(all);
}

/** Prints or writes what was read. */
export function present(
  action: 'read' | 'show' | 'export',
  all: readonly AdapterTrace[],
  given: Pick<TraceArguments, 'qp' | 'adapter' | 'message' | 'format' | 'json'>,
  file = '',
): void {
  const { qp, adapter: name, message, format, json } = given;
  const chosen = all.map((adapter) => ({
    ...adapter,
    messages: adapter.messages.filter(
      ({ block }) =>
        (qp === undefined || qp.includes(block.qpn)) &&
        (name === undefined || name === (adapter.ownName ?? adapter.name)),
    ),
  }));
  if (action === 'read') process.stdout.write(toJsonLines(chosen.map((adapter) => ({ ...adapter, steps: [] }))));
  else if (action === 'show') {
    const end = choose(chosen, all, message);
    process.stdout.write(json ? `${JSON.stringify(describeStory(end, all))}\n` : renderMessage(end, all));
  } else writeOutput(file, file, exported(format, chosen), usablePart(format));
}

function exported(format: TraceFormat | undefined, traces: readonly AdapterTrace[]): string | Uint8Array {
  if (format === 'erf') return toErf(traces);
  return format === 'json' ? toJsonLines(traces) : `${JSON.stringify(toChromeTrace(traces))}\n`;
}

/** The block of that number, or the newest that was sent, of the chosen messages. */
function choose(chosen: readonly AdapterTrace[], all: readonly AdapterTrace[], index: number | undefined): MessageEnd {
  const ends = chosen.flatMap(({ messages }, place) =>
    messages.map((message) => ({ adapter: all[place] as AdapterTrace, message })),
  );
  const fitting = ends.filter(({ message: { block } }) =>
    index === undefined ? block.receive === 0 : block.index === index,
  );
  const newest = newestOf(fitting) ?? (index === undefined ? newestOf(ends) : undefined);
  if (newest !== undefined) return newest;
  throw new SetupError(index === undefined ? 'no message is traced' : `no command block ${index} is there any more`);
}

function newestOf(ends: readonly MessageEnd[]): MessageEnd | undefined {
  const begin = ({ adapter, message }: MessageEnd): number => message.block.beginTime + adapter.wallTimeNs;
  return ends.reduce<MessageEnd | undefined>(
    (newest, one) => (newest === undefined || begin(one) >= begin(newest) ? one : newest),
    undefined,
  );
}

/** The part of a file of that format that can be read. */
function usablePart(format: TraceFormat | undefined): UsablePart {
  if (format === 'erf') return (bytes, end) => (end < PCAP_FILE_HEADER_SIZE ? 0 : findErfEnd(bytes, end));
  return format === 'json' ? wholeLines : nothing;
}

function findErfEnd(bytes: Uint8Array, end: number): number {
  return findWholeRecords(new DataView(bytes.buffer, bytes.byteOffset), PCAP_FILE_HEADER_SIZE, end).end;
}
