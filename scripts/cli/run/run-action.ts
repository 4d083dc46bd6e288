// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca run`: starts an adapter and a guest, which has the user's kernel, initramfs or
 * disk, or is ours with the driver loaded. It runs a shell on the serial console, or a script whose
 * exit status becomes that of the command.
 */
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { KtapResult } from '../../../guest-tests/harness/ktap.ts';
import { KtapStreams } from '../../../guest-tests/harness/ktap-streams.ts';
import { printable, printableLines } from '../../../protocol/system/printable.mjs';
import { describeDeviceExit, describeGuestExit } from '../../../qemu/describe-exit.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { setUp } from '../../setup/set-up.ts';
import { isGiven, repeatAdapterArguments } from '../options/adapter-arguments.ts';
import { readFabric } from '../options/adapter-options.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { BYTES_PER_MIB } from '../options/option-values.ts';
import { readLoneDevice } from '../options/personality.ts';
import { ExitStatus, RunStatus } from '../session/exit-statuses.ts';
import { Session, type SessionEnd } from '../session/session.ts';
import { takeSignals } from '../session/signals.ts';
import { saveTerminal } from '../session/terminal.ts';
import { startView } from '../session/view-child.ts';
import { AdapterState } from '../test/adapter-state.ts';
import { StateReader } from '../test/state-reader.ts';
import { describeStates } from '../test/test-screen.ts';
import type { RunArguments } from './run-command.ts';
import { checkRun, prepareGuest } from './run-guest.ts';

export async function performRun(command: CliCommand): Promise<number> {
  const given = command.opts<RunArguments>();
  readLoneDevice(command, given);
  checkRun(given, command.rest);
  const interactive = given.case === undefined;
  const restoreTerminal = interactive ? saveTerminal() : () => {};
  await setUp('start');
  say('starting the adapter and preparing the guest');
  const states = new StateReader<string>();
  let report: CaseReport | undefined;
  let signal: NodeJS.Signals | undefined;
  const session = await Session.start({
    device: {
      arguments: deviceArguments(command, given),
      ...(given.topology === undefined ? {} : { topologyFile: resolve(given.topology) }),
    },
    ...(given.timeout === undefined ? {} : { silenceSeconds: given.timeout }),
    onSilence: say,
    guest: prepareGuest(given, command.rest),
    onDevice: async ({ controlPath }) => {
      if (given.view !== undefined) say(`the page is at ${await startView(controlPath, given.view)}`);
      if (!interactive) states.attach(await AdapterState.connect(controlPath, { hasTimeline: false }));
    },
    onGuestEnd: async ({ complaints }) => {
      const isGood = report?.isGood === true && complaints.length === 0;
      if (!isGood && signal === undefined && states.known.size === 0) states.read('the guest has ended');
      await states.end();
    },
    ...(given.capture === undefined
      ? {}
      : { capture: { path: resolve(given.capture), limitBytes: given.captureLimit * BYTES_PER_MIB } }),
  });
  void takeSignals().whenAsked.then((name) => {
    signal = name;
    session.stop().catch(() => {});
  });
  say(`the adapter is process ${session.device.pid}, QEMU is process ${session.guest.pid}`);
  if (interactive) say('the console of the guest follows; Ctrl-A x ends the guest');
  if (!interactive) report = new CaseReport(session, (what) => states.read(what));
  const end = await session.whenEnded;
  restoreTerminal();
  process.stderr.write(printableLines(describeStates(states.known)));
  return conclude(end, report, signal);
}

/** The options of the adapter process. */
function deviceArguments(command: CliCommand, given: RunArguments): string[] {
  const { personality, record, inspect, control, ibsim, logLevel, fabric, topology, stepwise } = given;
  return [
    ...(isGiven(command, '--personality') ? [`--personality=${personality}`] : []),
    ...(fabric === undefined && topology === undefined ? [`--fabric=${readFabric(given, 'switch')}`] : []),
    ...(record === undefined ? [] : [`--record=${resolve(record)}`, `--record-limit=${given.recordLimit}`]),
    ...(inspect === undefined ? [] : [`--inspect=${inspect}`]),
    ...(control === undefined ? [] : [`--control=${resolve(control)}`]),
    ...(ibsim === undefined ? [] : [`--ibsim=${ibsim}`]),
    ...(stepwise === true ? ['--stepwise'] : []),
    `--log-level=${logLevel}`,
    ...repeatAdapterArguments(command),
  ];
}

/** Prints the output of the case, and judges its KTAP. `onFailure` is called at each failure. */
class CaseReport {
  /** The exit status of the case, once it has ended. */
  status: number | undefined;
  /** Why the case did not run. */
  obstacle: string | undefined;
  readonly #failed: string[] = [];
  readonly #streams = new KtapStreams((result) => this.#judge(result), { plansBegin: true });
  readonly #onFailure: (what: string) => void;
  #step = '';

  constructor(session: Session, onFailure: (what: string) => void) {
    this.#onFailure = onFailure;
    session.guest.port().onLine((line) => this.#take(line));
  }

  /** True when the case has ended, and nothing failed. */
  get isGood(): boolean {
    return this.status === 0 && this.findFailures().length === 0;
  }

  /** What is wrong with the KTAP of the case; empty when nothing is. */
  findFailures(): readonly string[] {
    this.#streams.finish();
    return [...this.#failed, ...this.#streams.faults];
  }

  #judge({ path, ok }: Pick<KtapResult, 'path' | 'ok'>): void {
    if (ok) return;
    const name = path.join('/');
    this.#failed.push(name);
    this.#onFailure(name);
  }

  #take(line: string): void {
    const step = /^@vuhca step (.*)$/.exec(line)?.[1];
    const [, status, text] = /^@vuhca done (\d+)(?!\d) ?(.*)$/.exec(line) ?? [];
    if (step !== undefined) this.#step = step;
    else if (status !== undefined) {
      if (status !== '0') this.#onFailure(`${this.#step} ended with ${status}`);
      if (this.#step.startsWith('script ')) this.status = Number(status);
      else if (status !== '0' && !this.#step.startsWith('unload ')) this.obstacle ??= `${this.#step}: ${text}`;
    } else if (!line.startsWith('@vuhca')) {
      process.stdout.write(`${line}\n`);
      this.#streams.push(line);
    }
  }
}

/** Says how it ended; returns the exit status. The guest has no report when it has a shell. */
function conclude(end: SessionEnd, report: CaseReport | undefined, signal: NodeJS.Signals | undefined): number {
  const { guest, deviceFailure, capture, complaints, silence } = end;
  if (capture !== undefined) say(capture.early ?? `captured ${capture.packets} packets in ${capture.path}`);
  if (signal !== undefined) {
    say(`ended by ${signal}`);
    return ExitStatus.SIGNAL + constants.signals[signal];
  }
  if (deviceFailure !== undefined) throw new SetupError(describeDeviceExit(deviceFailure));
  if (silence !== undefined) {
    say(`the guest was silent for ${silence} s and was ended`);
    return RunStatus.SILENT;
  }
  if (guest.status !== 0) throw new SetupError(describeGuestExit(guest));
  if (complaints.length > 0)
    throw new SetupError(`the guest's kernel complained ${complaints.length} times, first: ${complaints[0].line}`);
  return report === undefined ? 0 : judgeCase(report);
}

function judgeCase(report: CaseReport): number {
  if (report.obstacle !== undefined) {
    say(`the case could not run: ${report.obstacle}`);
    return RunStatus.OBSTACLE;
  }
  if (report.status === undefined) throw new SetupError('the guest ended before the case did');
  const failures = report.findFailures();
  if (failures.length > 0) say(`the KTAP of the case has ${failures.length} failures, first: ${failures[0]}`);
  return report.status === 0 && failures.length > 0 ? 1 : report.status;
}

function say(text: string): void {
  process.stderr.write(`vuhca: ${printable(text)}\n`);
}
