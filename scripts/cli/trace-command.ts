// SPDX-License-Identifier: Apache-2.0
//
// `vuhca trace`: selective trace of a running adapter's QPs, and its timeline (IPCOM000010133D): switch on and off, read, export, and the story of a message.

import { writeFileSync } from 'node:fs';
import type { TimelineStep } from '../../device/function/timeline.ts';
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { TracePart, TraceStatus } from '../../device/main/trace-control.ts';
import { toChromeTrace, toErf, toJsonLines } from '../../device/main/trace-export.ts';
import { decodeMessages, type TracedMessage } from '../../device/trace/traced-message.ts';
import { SetupError } from '../../qemu/setup/errors.ts';
import { type Arguments, type Command, UsageError } from './command.ts';
import { renderMessage, renderTraceStatus } from './trace-screen.ts';

const actions = ['on', 'off', 'status', 'read', 'show', 'export'] as const;
type Action = (typeof actions)[number];
const QPN_MAX = 0xffffff;
const BLOCKS_LOG2_MAX = 16;
const SNAP_MAX = 65536;
const INDEX_MAX = 2 ** 52;

export const traceCommand: Command = {
  name: 'trace',
  summary: 'traces messages of queue pairs in a running adapter, and what its units do',
  operands: 'on|off|status|read|show|export [FILE]',
  options: {
    control: { type: 'string', value: 'PATH', description: 'The control socket (default: the only running adapter)' },
    adapter: { type: 'string', value: 'NAME', description: 'The adapter, where one process serves several' },
    qp: { type: 'string', value: 'N', repeats: true, description: 'A queue pair; may be given several times' },
    timeline: { type: 'boolean', description: 'on, off: the timeline of the units' },
    blocks: { type: 'string', value: 'N', description: 'on: log2 of the command blocks of a QP (default: 6)' },
    snap: { type: 'string', value: 'BYTES', description: 'on: payload bytes kept of a message (default: 4096)' },
    'stop-on-error': { type: 'boolean', description: 'on: keep nothing behind the first message that fails' },
    message: { type: 'string', value: 'N', description: 'show: number of the command block (default: the newest)' },
    format: { type: 'string', value: 'perfetto|json|erf', description: 'export: what is written to FILE' },
  },
  notes: [
    'Trace both QPs of a connection, and the timeline, to see a message from its doorbell to its completion on both sides.',
    'read prints JSON lines. export: perfetto for ui.perfetto.dev, erf for Wireshark (the packets within the snap length).',
  ],
  run: runTrace,
};

async function runTrace(args: Arguments): Promise<number> {
  const [word, file, more] = args.operands;
  const action = actions.find((one) => one === word);
  if (action === undefined) throw new UsageError(`${word} is not understood; say ${actions.join(', ')}`);
  if (more !== undefined || (file !== undefined && action !== 'export'))
    throw new UsageError(`${more ?? file} is one argument too many`);
  if (action === 'export' && file === undefined) throw new UsageError('FILE is missing');
  const format = args.choice('format', ['perfetto', 'json', 'erf'] as const);
  if (action === 'export' && format === undefined) throw new UsageError('option --format is missing');
  const qps = args.texts('qp').map((text) => readNumber('qp', text));
  const settings = readSettings(args);
  const client = await ControlClient.connect(args.text('control') ?? (await findOnlyControlPath()));
  try {
    const reader = new TraceReader(client, args.text('adapter'));
    if (action === 'on' || action === 'off') await reader.change(action, qps, args.has('timeline'), settings);
    if (action === 'on' || action === 'off' || action === 'status')
      process.stdout.write(renderTraceStatus(await reader.status()));
    else await present(action, reader, qps, args.integer('message', 0, INDEX_MAX), format, file);
  } finally {
    client.close();
  }
  return 0;
}

async function present(
  action: Exclude<Action, 'on' | 'off' | 'status'>,
  reader: TraceReader,
  qps: readonly number[],
  index: number | undefined,
  format: 'perfetto' | 'json' | 'erf' | undefined,
  file = '',
): Promise<void> {
  const { traces } = await reader.status();
  const all = (await Promise.all(traces.map(({ qp, head }) => reader.messages(qp, head)))).flat();
  const messages = qps.length === 0 ? all : all.filter(({ block }) => qps.includes(block.qpn));
  const steps = await reader.steps();
  if (action === 'read') process.stdout.write(toJsonLines(messages, []));
  else if (action === 'show') process.stdout.write(renderMessage(choose(messages, index), all, steps));
  else write(file, exported(format, messages, steps));
}

function exported(
  format: 'perfetto' | 'json' | 'erf' | undefined,
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

function readSettings(args: Arguments): Record<string, unknown> {
  const blocksLog2 = args.integer('blocks', 0, BLOCKS_LOG2_MAX);
  const snapLength = args.integer('snap', 0, SNAP_MAX);
  return { blocksLog2, snapLength, stopOnError: args.has('stop-on-error') };
}

function readNumber(name: string, text: string): number {
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= QPN_MAX) return value;
  throw new UsageError(`option --${name} is ${text}; it must be a whole number from 0 to ${QPN_MAX}`);
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

  async change(action: 'on' | 'off', qps: readonly number[], timeline: boolean, settings: object): Promise<void> {
    if (qps.length === 0 && !timeline) throw new UsageError('say which QP with --qp, or --timeline');
    for (const qp of qps) await this.#client.request(`trace-${action}`, { ...this.#where, ...settings, qp });
    if (timeline) await this.#client.request(`timeline-${action}`, this.#where);
  }

  /** All blocks that are there of those before `head`. */
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
