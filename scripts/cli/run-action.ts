// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca run`: starts an adapter and a guest, which has the user's kernel, initramfs or
 * disk, or is ours with the driver loaded. It runs a shell on the serial console, or a script whose
 * exit status becomes that of the command.
 */
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { SetupError } from '../../qemu/setup/errors.ts';
import { setUp } from '../setup/set-up.ts';
import { repeatAdapterArguments } from './adapter-arguments.ts';
import type { CliCommand } from './cli-command.ts';
import type { RunArguments } from './run-command.ts';
import { checkRun, prepareGuest } from './run-guest.ts';
import { Session, type SessionEnd } from './session.ts';
import { saveTerminal } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A shell's exit status for a signal is the signal's number and this. */
const SIGNAL_STATUS = 128;

export async function performRun(command: CliCommand): Promise<number> {
  const given = command.opts<RunArguments>();
  checkRun(given, command.rest);
  const interactive = given.case === undefined;
  const restoreTerminal = interactive ? saveTerminal() : () => {};
  await setUp('start');
  say('starting the adapter and preparing the guest');
  const session = await Session.start({
    device: { arguments: deviceArguments(command, given) },
    guest: prepareGuest(given, command.rest),
    ...(given.capture === undefined ? {} : { capturePath: resolve(given.capture) }),
  });
  let signal: NodeJS.Signals | undefined;
  for (const name of SIGNALS) {
    process.once(name, () => {
      signal = name;
      session.stop().catch(() => {});
    });
  }
  say(`the adapter is process ${session.device.pid}, QEMU is process ${session.guest.pid}`);
  if (interactive) say('the console of the guest follows; Ctrl-A x ends the guest');
  const report = interactive ? { status: 0 } : followCase(session);
  const end = await session.whenEnded;
  restoreTerminal();
  return conclude(end, report.status, signal);
}

/** The options of the adapter process. */
function deviceArguments(command: CliCommand, { record, inspect, logLevel }: RunArguments): string[] {
  return [
    ...(record === undefined ? [] : [`--record=${resolve(record)}`]),
    ...(inspect === undefined ? [] : [`--inspect=${inspect}`]),
    `--log-level=${logLevel}`,
    ...repeatAdapterArguments(command),
  ];
}

/** Prints the output of the case; `status` is its exit status once it has ended. */
function followCase(session: Session): { status: number | undefined } {
  const report: { status: number | undefined } = { status: undefined };
  session.guest.port().onLine((line) => {
    const status = /^@vuhca exit (\d+)$/.exec(line)?.[1];
    if (status !== undefined) report.status = Number(status);
    else if (line.startsWith('@vuhca module')) say(line.slice('@vuhca '.length));
    else if (!line.startsWith('@vuhca')) process.stdout.write(`${line}\n`);
  });
  return report;
}

/** Says how it ended; returns the exit status. */
function conclude(end: SessionEnd, caseStatus: number | undefined, signal: NodeJS.Signals | undefined): number {
  const { guest, deviceFailure, capture, complaints } = end;
  if (capture !== undefined) say(`captured ${capture.packets} packets in ${capture.path}`);
  if (signal !== undefined) {
    say(`ended by ${signal}`);
    return SIGNAL_STATUS + constants.signals[signal];
  }
  if (deviceFailure !== undefined)
    throw new SetupError(
      `the adapter process ended (${deviceFailure.signal ?? deviceFailure.status}), so the guest was ended`,
    );
  if (guest.status !== 0)
    throw new SetupError(`QEMU ended with ${guest.status ?? guest.signal}; it said: ${guest.errors || 'nothing'}`);
  if (complaints.length > 0)
    throw new SetupError(`the guest's kernel complained ${complaints.length} times, first: ${complaints[0].line}`);
  if (caseStatus === undefined) throw new SetupError('the guest ended before the case did');
  return caseStatus;
}

function say(text: string): void {
  process.stderr.write(`vuhca: ${text}\n`);
}
