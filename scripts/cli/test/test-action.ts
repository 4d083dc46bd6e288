// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca test`: compiles modules, runs each job in a guest with an adapter of its own, and
 * reports the results as they arrive. The judge of results is in guest-tests/harness: ktap.ts reads
 * the output of modules and scripts, guest-session.ts adds the faults of the guest.
 */

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { answerGuest } from '../../../device/process/control/guest-requests.ts';
import { runGuest } from '../../../guest-tests/harness/guest-run.ts';
import type { GuestFault, TestResult } from '../../../guest-tests/harness/guest-session.ts';
import { printableLines } from '../../../protocol/system/printable.mjs';
import { onProcessEnd } from '../../../qemu/run-directory.ts';
import { ModuleBuildError } from '../../../qemu/setup/compiler-messages.ts';
import { StartError } from '../../../qemu/setup/tools/errors.ts';
import { describeShare, takeShare } from '../../console/shard.ts';
import { setUp } from '../../setup/set-up.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { nothing, writeOutput } from '../options/write-output.ts';
import { TestStatus } from '../session/exit-statuses.ts';
import { startView } from '../session/view-child.ts';
import { AdapterState } from './adapter-state.ts';
import { StateReader } from './state-reader.ts';
import { makeStockJob } from './stock-guest.ts';
import { deviceOf, guestOf } from './test-adapter.ts';
import type { DebugPorts, TestArguments } from './test-command.ts';
import { toJunit, toTap } from './test-files.ts';
import { makeJob, type PlannedJob, planJobs } from './test-job.ts';
import { provideTestKernel } from './test-kernel.ts';
import type { TestKernel } from './test-modules.ts';
import { type JobReport, statusOf, worstStatus } from './test-report.ts';
import { describeJob, resultLine } from './test-screen.ts';
import { repeatCommand, type SeededRun, seedRuns } from './test-seeds.ts';

export async function performTest(command: CliCommand): Promise<number> {
  const given = command.opts<TestArguments>();
  const jobs = planJobs(command.processedArgs[0] as string[], given);
  const runs = seedRuns(given);
  const waiting = shareRuns(
    jobs.flatMap((job) => runs.map((run) => ({ job, run }))),
    given,
  );
  // Mistakes are found before anything starts.
  for (const run of runs) deviceOf(run.given, given.record);
  await setUp('start');
  const kernel = await provideTestKernel(given.kernel, given.headers);
  const reports: JobReport[] = [];
  const statuses: TestStatus[] = [];
  const isOneOfMany = waiting.length > 1;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { job, run } = next;
      const report = await runJob(job, kernel, run, isOneOfMany);
      if (typeof report === 'object') reports.push(report);
      statuses.push(typeof report === 'object' ? statusOf(report) : report);
    }
  };
  await Promise.all(Array.from({ length: Math.min(given.jobs, waiting.length) }, work));
  if (given.tap === true) process.stdout.write(toTap(reports));
  if (given.junit !== undefined) writeOutput(`the report ${given.junit}`, given.junit, toJunit(reports), nothing);
  return worstStatus(statuses);
}

/** The runs of a shard; reports those of the others. */
function shareRuns<T>(all: readonly T[], { shard, tap = false }: TestArguments): T[] {
  if (shard === undefined) return [...all];
  const own = takeShare(all, shard);
  const line = `${describeShare(shard, own.length, all.length, 'runs')}\n`;
  (tap ? process.stderr : process.stdout).write(line);
  return own;
}

/** Runs one job and prints its results. The status alone when no guest ran. */
async function runJob(
  planned: PlannedJob,
  kernel: TestKernel,
  { given, words }: SeededRun,
  isOneOfMany: boolean,
): Promise<JobReport | TestStatus> {
  const print = (text: string): void => {
    if (given.tap !== true) process.stdout.write(printableLines(text));
  };
  const name = [planned.name, ...words].join(' ');
  const prefix = isOneOfMany && given.jobs > 1 ? `${name}: ` : '';
  if (words.length > 0) print(`${name}\n`);
  const recording = given.record === undefined ? undefined : temporaryRecording();
  try {
    const isStock = given.personality !== 'vuhca';
    const { job, ...disk } = isStock
      ? await makeStockJob(planned, kernel, given)
      : { job: await makeJob(planned, kernel) };
    const states = new StateReader<TestResult | GuestFault>();
    let control: ControlClient | undefined;
    const run = await runGuest(job, {
      device: deviceOf(given, recording?.path),
      guest: { ...guestOf(given, kernel), ...disk },
      cleared: isStock,
      ...(isStock ? { answer: async (words) => answerGuest(control as ControlClient)(words) } : {}),
      silenceSeconds: given.debug === undefined ? given.timeout : Number.POSITIVE_INFINITY,
      onDevice: async ({ child }) => {
        states.attach(await AdapterState.connect(child.controlPath, { hasTimeline: true }));
        if (isStock) control = await ControlClient.connect(child.controlPath);
        if (given.debug !== undefined) sayHowToDebug(child.pid, given.debug);
        if (given.view !== undefined)
          process.stderr.write(`vuhca test: the page is at ${await startView(child.controlPath, given.view)}\n`);
      },
      onResult: (result) => {
        if (!result.ok) states.read(result);
        print(`${prefix}${resultLine(result)}\n`);
      },
      onFault: (fault) => states.read(fault),
      onGuestEnd: () => states.end(),
    });
    control?.close();
    const again = words.length === 0 ? {} : { again: repeatCommand(typedWords(), planned.others, words) };
    const report = { name, run, adapter: states.known, ...again };
    const kept = recording?.keepIf(statusOf(report) !== TestStatus.PASSED, resolve(given.record ?? ''));
    const whole = kept === undefined ? report : { ...report, recording: kept };
    print(describeJob(whole));
    return whole;
  } catch (error) {
    if (!(error instanceof ModuleBuildError || error instanceof StartError)) throw error;
    process.stderr.write(`vuhca test: ${printableLines(error.message)}\n`);
    return error instanceof StartError ? TestStatus.ADAPTER_FAILED : TestStatus.NOT_COMPILED;
  } finally {
    recording?.remove();
  }
}

/** The words after `vuhca test`. */
function typedWords(): readonly string[] {
  return process.argv.slice(process.argv.indexOf('test') + 1);
}

interface TemporaryRecording {
  readonly path: string;
  /** Copies it to `path` if `wanted`; returns its place. */
  keepIf(wanted: boolean, path: string): string | undefined;
  remove(): void;
}

function temporaryRecording(): TemporaryRecording {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-record-'));
  const path = join(directory, 'run.rec');
  const removeFolder = (): void => rmSync(directory, { recursive: true, force: true });
  const forget = onProcessEnd(removeFolder);
  return {
    path,
    keepIf: (wanted, target) => {
      if (!wanted) return undefined;
      copyFileSync(path, target);
      return target;
    },
    remove: () => {
      forget();
      removeFolder();
    },
  };
}

function sayHowToDebug(devicePid: number, { gdb, inspector }: DebugPorts): void {
  const lines = [
    `the guest waits for gdb: \`gdb -ex "target remote :${gdb}"\`, then \`continue\``,
    `the adapter is process ${devicePid}: chrome://inspect, or port ${inspector}; see docs/DEBUGGING.md`,
  ];
  for (const line of lines) process.stderr.write(`vuhca test: ${line}\n`);
}
