// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca trace`: selective trace of a running adapter's QPs, and its timeline
 * (IPCOM000010133D): on and off, read, export, and the story of a message.
 */
import { writeFileSync } from 'node:fs';
import type { TimelineStep } from '../../device/function/timeline.ts';
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { TracePart, TraceStatus } from '../../device/main/trace-control.ts';
import { toChromeTrace, toErf, toJsonLines } from '../../device/main/trace-export.ts';
import { decodeMessages, type TracedMessage } from '../../device/trace/traced-message.ts';
import { SetupError } from '../../qemu/setup/errors.ts';
import type { CliCommand } from './cli-command.ts';
import type { TraceAction, TraceArguments, TraceFormat } from './trace-command.ts';
import { renderMessage, renderTraceStatus } from './trace-screen.ts';
import { UsageError } from './usage-error.ts';

export async function performTrace(command: CliCommand): Promise<number> {
  const [action, file] = command.processedArgs as [TraceAction, string | undefined];
  const given = command.opts<TraceArguments>();
  checkTrace(action, file, given);
  const client = await ControlClient.connect(given.control ?? (await findOnlyControlPath()));
  try {
    const reader = new TraceReader(client, given.adapter);
    if (action === 'on' || action === 'off') await reader.change(action, given);
    if (action === 'on' || action === 'off' || action === 'status')
      process.stdout.write(renderTraceStatus(await reader.status()));
    else await present(action, reader, given, file);
  } finally {
    client.close();
  }
  return 0;
}

/** Throws UsageError for arguments that do not fit the action. */
function checkTrace(action: TraceAction, file: string | undefined, { format, qp, timeline }: TraceArguments): void {
  if (file !== undefined && action !== 'export') throw new UsageError(`${file} is one argument too many`);
  if (action === 'export' && file === undefined) throw new UsageError('FILE is missing');
  if (action === 'export' && format === undefined) throw new UsageError('option --format is missing');
  if ((action === 'on' || action === 'off') && qp === undefined && timeline === undefined)
    throw new UsageError('say which QP with --qp, or --timeline');
}

async function present(
  action: Exclude<TraceAction, 'on' | 'off' | 'status'>,
  reader: TraceReader,
  { qp = [], message, format }: TraceArguments,
  file = '',
): Promise<void> {
  const { traces } = await reader.status();
  const all = (await Promise.all(traces.map((trace) => reader.messages(trace.qp, trace.head)))).flat();
  const messages = qp.length === 0 ? all : all.filter(({ block }) => qp.includes(block.qpn));
  const steps = await reader.steps();
  if (action === 'read') process.stdout.write(toJsonLines(messages, []));
  else if (action === 'show') process.stdout.write(renderMessage(choose(messages, message), all, steps));
  else write(file, exported(format, messages, steps));
}

function exported(
  format: TraceFormat | undefined,
  messages: readonly TracedMessage[],
  steps: readonly TimelineStep[],
): string | Uint8Array {
  if (format === 'erf') return toErf(messages, 0);
  return format === 'json' ? toJsonLines(messages, steps) : `${JSON.stringify(toChromeTrace(messages, steps))}\n`;
}

/** The block of that number, or the newest that was sent. */
function choose(messages: readonly TracedMessage[], index: number | undefined): TracedMessage {
  const sent = messages.filter(({ block }) => (index === undefined ? block.receive === 0 : block.index === index));
  const chosen = sent.at(-1) ?? (index === undefined ? messages.at(-1) : undefined);
  if (chosen !== undefined) return chosen;
  throw new SetupError(index === undefined ? 'no message is traced' : `no command block ${index} is there any more`);
}

function write(file: string, content: string | Uint8Array): void {
  try {
    writeFileSync(file, content);
  } catch (error) {
    throw new SetupError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Traces of an adapter in another process. */
class TraceReader {
  readonly #client: ControlClient;
  readonly #where: Record<string, unknown>;

  constructor(client: ControlClient, adapter: string | undefined) {
    this.#client = client;
    this.#where = { adapter };
  }

  async status(): Promise<TraceStatus> {
    return (await this.#client.request('trace-status', this.#where)) as TraceStatus;
  }

  async change(action: 'on' | 'off', given: TraceArguments): Promise<void> {
    const { qp: qps = [], timeline = false, blocks: blocksLog2, snap: snapLength, stopOnError = false } = given;
    const settings = { ...this.#where, blocksLog2, snapLength, stopOnError };
    for (const qp of qps) await this.#client.request(`trace-${action}`, { ...settings, qp });
    if (timeline) await this.#client.request(`timeline-${action}`, this.#where);
  }

  /** The blocks before `head` that the adapter still has. */
  async messages(qp: number, head: number): Promise<TracedMessage[]> {
    const messages: TracedMessage[] = [];
    for (let position = 0; position < head; ) {
      const part = (await this.#client.request('trace-read', { ...this.#where, qp, position })) as TracePart;
      const read = decodeMessages(Buffer.from(part.blocks, 'base64'), part.count);
      messages.push(...read);
      const last = read.at(-1);
      if (last === undefined) break;
      position = last.block.index + 1;
    }
    return messages;
  }

  async steps(): Promise<TimelineStep[]> {
    const steps: TimelineStep[] = [];
    for (let position = 0; ; position = (steps.at(-1)?.index ?? 0) + 1) {
      const read = (await this.#client.request('timeline-read', { ...this.#where, position })) as TimelineStep[];
      if (read.length === 0) return steps;
      steps.push(...read);
    }
  }
}
