// SPDX-License-Identifier: Apache-2.0
//
// `vuhca status`: what a running adapter is doing, as one screen or as JSON.

import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { StatusReport } from '../../device/main/status-report.ts';
import type { Arguments, Command } from './command.ts';
import { type ActivityRates, renderStatus } from './status-screen.ts';

/** Over which time rates are measured when the command is called once. */
const SAMPLE_MS = 500;
const NS_PER_SECOND = 1e9;
const CLEAR_SCREEN = '\x1b[H\x1b[J';

export const statusCommand: Command = {
  name: 'status',
  summary: 'shows what a running adapter is doing',
  operands: '',
  options: {
    control: { type: 'string', value: 'PATH', description: 'The control socket (default: the only running adapter)' },
    json: { type: 'boolean', description: 'Prints everything as JSON' },
    watch: { type: 'string', value: 'SECONDS', bare: '1', description: 'Shows it again and again until Ctrl-C' },
  },
  run: runStatus,
};

async function runStatus(args: Arguments): Promise<number> {
  const seconds = args.integer('watch', 1, 86_400);
  const client = await ControlClient.connect(args.text('control') ?? (await findOnlyControlPath()));
  let before = await readStatus(client);
  const print = ({ report, rates }: StatusSample): void => {
    const text = args.has('json') ? `${JSON.stringify({ ...report, rates })}\n` : renderStatus(report, rates);
    process.stdout.write(seconds !== undefined && !args.has('json') ? `${CLEAR_SCREEN}${text}` : text);
  };
  do {
    const sample = await sampleStatus(client, before, seconds === undefined ? SAMPLE_MS : seconds * 1000);
    print(sample);
    before = sample.report;
  } while (seconds !== undefined);
  client.close();
  return 0;
}

export interface StatusSample {
  readonly report: StatusReport;
  readonly rates: ActivityRates;
}

/** A report now. */
export async function readStatus(client: ControlClient): Promise<StatusReport> {
  return (await client.request('status')) as StatusReport;
}

/** A report after `afterMs`, with what happened per second since `before`. */
export async function sampleStatus(
  client: ControlClient,
  before: StatusReport,
  afterMs: number,
): Promise<StatusSample> {
  await new Promise((done) => setTimeout(done, afterMs));
  const report = await readStatus(client);
  return { report, rates: computeRates(before, report) };
}

function computeRates(before: StatusReport, after: StatusReport): ActivityRates {
  const seconds = (after.uptimeNs - before.uptimeNs) / NS_PER_SECOND;
  const rate = (count: (report: StatusReport) => number): number =>
    seconds > 0 ? (count(after) - count(before)) / seconds : 0;
  return {
    requests: rate(({ adapters }) => sum(adapters.flatMap(({ sockets }) => sockets.map(({ requests }) => requests)))),
    commands: rate(({ adapters }) => sum(adapters.map(({ lanes }) => lanes.launches))),
    packets: rate(({ adapters }) => sum(adapters.flatMap(({ ports }) => ports.map((port) => port.transmitPackets)))),
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
