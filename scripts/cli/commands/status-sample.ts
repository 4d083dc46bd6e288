// SPDX-License-Identifier: Apache-2.0
/**
 * A series of reports of a running adapter, with the rates per second between them. Called by
 * `vuhca status`, `vuhca top` and `npm start`.
 */
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlError } from '../../../device/process/control/control-path.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { UsageError } from '../options/usage-error.ts';
import { computeActivity } from '../screens/function-table.ts';
import { type PersonalityActivity, personalityActivityOf } from '../screens/personality-screen.ts';
import { type ActivityRates, renderStatus, type StatusView } from '../screens/status-screen.ts';
import { CLEAR_SCREEN, withAdapter } from '../session/with-adapter.ts';
import type { ScreenArguments } from './status-command.ts';

const NS_PER_SECOND = 1e9;

export interface StatusSample {
  readonly report: StatusReport;
  readonly rates: ActivityRates;
}

/** Shows `count` samples, each `seconds` after the one before; without `count`, until a signal. */
export async function showSamples(
  { control, json = false }: ScreenArguments,
  seconds: number,
  count: number | undefined,
  view: StatusView,
): Promise<void> {
  await withAdapter(control, async (client) => {
    let before = await readStatus(client);
    checkNumber(before, view.number);
    for (let shown = 0; shown !== count; shown++) {
      const sample = await sampleStatus(client, before, seconds * 1000);
      before = sample.report;
      process.stdout.write(renderSample(sample, json, count === undefined, view));
    }
  });
}

function renderSample({ report, rates }: StatusSample, asJson: boolean, isLive: boolean, view: StatusView): string {
  if (asJson) return `${JSON.stringify({ ...report, rates })}\n`;
  return `${isLive ? CLEAR_SCREEN : ''}${renderStatus(report, rates, view)}`;
}

function checkNumber({ adapters, personalities }: StatusReport, number: number | undefined): void {
  const counts = [...adapters.map(({ functions }) => functions.length), ...personalities.map(() => 1)];
  const last = Math.min(...counts) - 1;
  if (number !== undefined && number > last)
    throw new UsageError(`option --function is ${number}; the last function is ${last}`);
}

/** A report now. */
export function readStatus(client: ControlClient): Promise<StatusReport> {
  return client.request('status');
}

/**
 * A report after `afterMs`, with the rates per second since `before`. Throws ControlError when it
 * is about other adapters or functions.
 */
export async function sampleStatus(
  client: ControlClient,
  before: StatusReport,
  afterMs: number,
): Promise<StatusSample> {
  await new Promise((done) => setTimeout(done, afterMs));
  const report = await readStatus(client);
  if (`${shapeOf(before)}` !== `${shapeOf(report)}`)
    throw new ControlError('the adapter has other functions than a moment ago');
  return { report, rates: computeRates(before, report) };
}

function shapeOf({ adapters, personalities }: StatusReport): readonly number[] {
  return [...adapters.map(({ functions }) => functions.length), -1, personalities.length];
}

/** The rates per second between two reports that are about the same functions. */
export function computeRates(before: StatusReport, after: StatusReport): ActivityRates {
  const seconds = (after.uptimeNs - before.uptimeNs) / NS_PER_SECOND;
  const rate = (count: (report: StatusReport) => number): number =>
    seconds > 0 ? (count(after) - count(before)) / seconds : 0;
  return {
    requests: rate((report) => sum(allOf(report).flatMap(({ sockets }) => sockets.map(({ requests }) => requests)))),
    commands: rate((report) => sum(allOf(report).map(({ lanes }) => lanes.launches))),
    packets: rate((report) => sum(allOf(report).flatMap(({ ports }) => ports.map((port) => port.transmitPackets)))),
    functions: after.adapters.map(({ functions }, index) =>
      functions.map((unit, number) => computeActivity(before.adapters[index].functions[number], unit, seconds)),
    ),
    personalities: personalityRates(before, after, seconds),
  };
}

/** Names of the adapters of all kinds. */
export function namesOf(report: StatusReport): readonly string[] {
  return allOf(report).map(({ name }) => name);
}

/** Adapters of all kinds. */
function allOf({ adapters, personalities }: StatusReport) {
  return [...adapters, ...personalities];
}

function personalityRates(before: StatusReport, after: StatusReport, seconds: number): PersonalityActivity[] {
  return after.personalities.map((device, index) => {
    const [first, last] = [before.personalities[index], device].map(personalityActivityOf);
    const rate = (name: keyof PersonalityActivity): number => (seconds > 0 ? (last[name] - first[name]) / seconds : 0);
    return {
      sends: rate('sends'),
      completions: rate('completions'),
      commands: rate('commands'),
      interrupts: rate('interrupts'),
      read: rate('read'),
      written: rate('written'),
    };
  });
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
