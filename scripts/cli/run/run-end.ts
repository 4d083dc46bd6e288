// SPDX-License-Identifier: Apache-2.0
/**
 * The end of `vuhca run`: the output of a case and the judgement of its KTAP, and how the guest
 * ended, as words and as an exit status. Called by run-action.ts and attached-run.ts.
 */
import { constants } from 'node:os';
import type { KtapResult } from '../../../guest-tests/harness/ktap.ts';
import { KtapStreams } from '../../../guest-tests/harness/ktap-streams.ts';
import { printable } from '../../../protocol/system/printable.mjs';
import { describeDeviceExit, describeGuestExit } from '../../../qemu/describe-exit.ts';
import type { Guest } from '../../../qemu/guest.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { ExitStatus, RunStatus } from '../session/exit-statuses.ts';
import type { SessionEnd } from '../session/session.ts';

/** Prints the output of the case, and judges its KTAP. `onFailure` is called at each failure. */
export class CaseReport {
  /** The exit status of the case, once it has ended. */
  status: number | undefined;
  /** Reason why the case did not run. */
  obstacle: string | undefined;
  readonly #failed: string[] = [];
  readonly #streams = new KtapStreams((result) => this.#judge(result), { plansBegin: true });
  readonly #onFailure: (what: string) => void;
  #step = '';

  constructor(guest: Guest, onFailure: (what: string) => void) {
    this.#onFailure = onFailure;
    guest.port().onLine((line) => this.#take(line));
  }

  /** True when the case has ended, and nothing failed. */
  get isGood(): boolean {
    return this.status === 0 && this.findFailures().length === 0;
  }

  /** Faults of the KTAP of the case; empty when there are none. */
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

/** Prints how the guest ended; returns the exit status. A guest with a shell has no report. */
export function conclude(end: SessionEnd, report: CaseReport | undefined, signal: NodeJS.Signals | undefined): number {
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

/** A message for the user. */
export function say(text: string): void {
  process.stderr.write(`vuhca: ${printable(text)}\n`);
}
