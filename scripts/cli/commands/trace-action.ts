// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca trace`: selective trace of a running adapter's QPs, and its timeline
 * (IPCOM000010133D): on and off, pause, read, export, and the story of a message.
 */

import { type AdapterTrace, distinguishAdapters } from '../../../device/hca/trace/adapter-trace.ts';
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import { readTraces } from '../../../device/process/control/trace-reader.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { showScreens, withAdapter } from '../session/with-adapter.ts';
import type { TraceAction, TraceArguments } from '../trace/trace-command.ts';
import { followTraces } from '../trace/trace-follow.ts';
import { present } from '../trace/trace-present.ts';
import { renderTraceStatus } from '../trace/trace-screen.ts';

const NS_PER_SECOND = 1e9;

export async function performTrace(command: CliCommand): Promise<number> {
  const [action, file] = command.processedArgs as [TraceAction, string | undefined];
  const given = command.opts<TraceArguments>();
  checkTrace(action, file, given);
  if (action === 'show' && file !== undefined) {
    const { traceRecording } = await import('./replay-action.ts');
    const { traces, status } = traceRecording(file);
    present('show', traces, given);
    return status;
  }
  await withAdapter(given.control, async (client) => {
    if (action === 'read' && given.follow) await followTraces(client, given, (text) => process.stdout.write(text));
    else if (action === 'read' || action === 'show' || action === 'export')
      present(action, await readAll(client, given), given, file);
    else {
      await change(client, action, given);
      await showScreens(given, () => client.request('trace-status', { adapter: given.adapter }), renderTraceStatus);
    }
  });
  return 0;
}

/** Throws UsageError for arguments that do not fit the action. */
export function checkTrace(action: TraceAction, file: string | undefined, given: TraceArguments): void {
  const { format, qp, timeline, follow, blocks, bytes, json } = given;
  if (file !== undefined && action !== 'export' && action !== 'show')
    throw new UsageError(`${file} is one argument too many`);
  if (action === 'export' && file === undefined) throw new UsageError('FILE is missing');
  if (action === 'export' && format === undefined) throw new UsageError('option --format is missing');
  if (follow && action !== 'read') throw new UsageError('option --follow belongs to read');
  if (follow && (given.with !== undefined || given.last !== undefined))
    throw new UsageError('--follow goes without --with and --last');
  checkShow(action, file, given);
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

/** Throws UsageError for options of show that do not fit. */
function checkShow(action: TraceAction, file: string | undefined, given: TraceArguments): void {
  const { messages, retried, failed, slowest, ladder, json } = given;
  const isOwn = [messages, retried, failed, slowest, ladder].some((value) => value !== undefined);
  if (isOwn && action !== 'show')
    throw new UsageError('--messages, --retried, --failed, --slowest and --ladder belong to show');
  if (messages && ladder !== undefined) throw new UsageError('give --messages or --ladder, not both');
  if (json && ladder !== undefined) throw new UsageError('give --json or --ladder, not both');
  const isOfAdapter = [given.control, given.with, given.last].some((value) => value !== undefined);
  if (action === 'show' && file !== undefined && isOfAdapter)
    throw new UsageError('--control, --with and --last are for running adapters, not for a recording');
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
    const linked = await withAdapter(path, (other) => readTraces(other, lastNs));
    all.push(...linked.map((adapter) => ({ ...adapter, control: path })));
  }
  return distinguishAdapters(all);
}
