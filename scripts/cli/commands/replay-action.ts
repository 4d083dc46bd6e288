// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca replay`: runs a recorded session again, without guest and QEMU, and checks that
 * the adapter behaves identically. A debugger can stop at any step; the recorded guest waits.
 */

import type { AdapterTrace } from '../../../device/hca/trace/adapter-trace.ts';
import { RecordingDamage } from '../../../device/hosts/recording-format.ts';
import type { Replay, ReplayResult, ReplayStep } from '../../../device/hosts/replay.ts';
import { printable, printableLines } from '../../../protocol/system/printable.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { openInspector } from '../options/inspector.ts';
import { checkOutput, readNamedFile } from '../options/named-files.ts';
import { UsageError } from '../options/usage-error.ts';
import { DIVERGED_STATUS } from '../session/exit-statuses.ts';
import { type ObservedAdapter, observeReplay, openReplay } from '../trace/observed-replay.ts';
import { present } from '../trace/trace-present.ts';
import type { ReplayArguments } from './replay-command.ts';

const NS_PER_SECOND = 1e9;

export async function performReplay(command: CliCommand): Promise<number> {
  const [path] = command.processedArgs as [string];
  const { until = Number.POSITIVE_INFINITY, trace = false, inspectBrk, ...given } = command.opts<ReplayArguments>();
  const breakAt = given.breakAt ?? (inspectBrk === undefined ? -1 : 0);
  checkTrace(given);
  if (given.export !== undefined) checkOutput('option --export', given.export, [path], { fifo: true });
  const replay = openRecording(path);
  const traces = given.messages || given.show || given.export !== undefined ? observeReplay(replay) : undefined;
  openInspector(inspectBrk, true);
  replay.onStep = makeStepHook(breakAt, trace);
  sayDamage(path, () => {
    while (replay.result.steps < until && replay.step());
  });
  const { result } = replay;
  if (traces !== undefined) presentTraces(traces, given);
  const output = traces === undefined ? process.stdout : process.stderr;
  output.write(printableLines(describeResult(path, result, until)));
  return result.divergence === undefined ? 0 : DIVERGED_STATUS;
}

function checkTrace({ messages, show, export: file, format }: ReplayArguments): void {
  if (file !== undefined && format === undefined) throw new UsageError('option --format is missing');
  if (file === undefined && format !== undefined) throw new UsageError('option --format belongs to --export');
  if (messages && show) throw new UsageError('give --messages or --show, not both');
}

/**
 * The traces of everything in a recording, and the status of its replay. Reports on standard error
 * when the adapter behaved differently. Throws SetupError.
 */
export function traceRecording(path: string): { readonly traces: AdapterTrace[]; readonly status: number } {
  const replay = openRecording(path);
  const observed = observeReplay(replay);
  const result = sayDamage(path, () => replay.run());
  const traces = observed.map(({ name, observer }) => observer.read(name, 0));
  if (result.divergence === undefined) return { traces, status: 0 };
  process.stderr.write(printableLines(describeResult(path, result, Number.POSITIVE_INFINITY)));
  return { traces, status: DIVERGED_STATUS };
}

function presentTraces(traces: readonly ObservedAdapter[], given: ReplayArguments): void {
  const { messages, show, export: file } = given;
  const all = traces.map(({ name, observer }) => observer.read(name, 0));
  if (messages) present('read', all, given);
  if (show) present('show', all, given);
  if (file !== undefined) present('export', all, given, file);
}

function openRecording(path: string): Replay {
  const bytes = readNamedFile(`the recording ${path}`, path);
  return sayDamage(path, () => openReplay(bytes));
}

/** Turns damage of the recording into a sentence of the command. */
function sayDamage<Result>(path: string, replay: () => Result): Result {
  try {
    return replay();
  } catch (error) {
    if (error instanceof RecordingDamage) throw new SetupError(`${path}: ${error.message}`);
    throw error;
  }
}

/** Returns the function that is called before each step. */
function makeStepHook(breakAt: number, trace: boolean): (step: ReplayStep) => void {
  return (step) => {
    if (trace && step.index >= breakAt) process.stdout.write(`${printable(describeStep(step))}\n`);
    if (step.index === breakAt) breakHere(step);
  };
}

/** The debugger stops here. Step out twice, then into the adapter's work of this step. */
function breakHere(step: ReplayStep): ReplayStep {
  // biome-ignore lint/suspicious/noDebugger: the option asks for it.
  debugger;
  return step;
}

function describeStep({ index, timeNs, name, functionIndex }: ReplayStep): string {
  return `${String(index).padStart(8)} ${seconds(timeNs).padStart(14)} s  function ${functionIndex}  ${name}`;
}

function describeResult(path: string, result: ReplayResult, until: number): string {
  const { steps, records, timeNs, truncated, divergence } = result;
  const done = `${steps} steps, ${records} records, ${seconds(timeNs)} s of adapter time`;
  if (divergence !== undefined) {
    const { position, record, during, expected, actual } = divergence;
    return [
      `${path}: the adapter did something else after ${done}`,
      `  where     ${during}, record ${record} at byte ${position}, ${seconds(divergence.timeNs)} s`,
      `  recorded  ${expected}`,
      `  now       ${actual}`,
      `  \`vuhca replay --inspect-brk --break-at=${steps} ${path}\` stops a debugger there`,
      '',
    ].join('\n');
  }
  if (steps >= until) return `${path}: identical so far: ${done}\n`;
  const end = truncated ? ' (the end of the recording is missing)' : '';
  return `${path}: identical: ${done}${end}\n`;
}

function seconds(ns: number): string {
  return (ns / NS_PER_SECOND).toFixed(6);
}
