// SPDX-License-Identifier: Apache-2.0
//
// `vuhca run`: an adapter and a guest with one command: the user's kernel, initramfs or disk, or a guest of ours with the
// driver loaded. A shell on the serial console, or a script whose status becomes ours.

import { constants } from 'node:os';
import { resolve } from 'node:path';
import { SetupError } from '../../qemu/setup/errors.ts';
import { setUp } from '../setup/set-up.ts';
import { adapterArguments, repeatAdapterArguments } from './adapter-arguments.ts';
import type { Arguments, Command } from './command.ts';
import { LOG_LEVELS } from './log.ts';
import { checkRun, prepareGuest } from './run-guest.ts';
import { Session, type SessionEnd } from './session.ts';
import { saveTerminal } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What shells add to the number of a signal. */
const SIGNAL_STATUS = 128;

export const runCommand: Command = {
  name: 'run',
  summary: 'runs a guest with an adapter: yours, or one with our driver',
  operands: '[-- QEMU-ARGUMENT...]',
  options: {
    kernel: { type: 'string', value: 'FILE', description: "A bzImage (default: Debian 13's stock kernel)" },
    initramfs: { type: 'string', value: 'FILE', description: 'An initramfs (default: busybox and our driver)' },
    disk: { type: 'string', value: 'FILE', description: 'A disk image; boots it when no --kernel is given' },
    snapshot: { type: 'boolean', description: 'Leaves the disk image as it is' },
    append: { type: 'string', value: 'WORDS', description: 'Words added to the kernel command line' },
    case: { type: 'string', value: 'FILE', description: 'A shell script to run in our guest instead of a shell' },
    memory: { type: 'string', value: 'MIB', description: 'Guest memory (default 512)' },
    cpus: { type: 'string', value: 'N', description: 'Guest processors (default 2)' },
    gdb: { type: 'string', value: 'SERVER', bare: 'tcp::1234', description: "QEMU's gdb server" },
    paused: { type: 'boolean', description: 'Waits for gdb before the first instruction' },
    inspect: { type: 'string', value: 'HOST:PORT', bare: '127.0.0.1:9229', description: 'Debugs the adapter process' },
    record: { type: 'string', value: 'FILE', description: 'Records the session, for `vuhca replay`' },
    capture: { type: 'string', value: 'FILE', description: 'Captures the packets of both ports, for Wireshark' },
    'console-log': { type: 'string', value: 'FILE', description: 'Keeps what the guest prints on its console' },
    'log-level': { type: 'string', value: 'LEVEL', description: `The adapter's log: ${LOG_LEVELS.join(', ')}` },
    ...adapterArguments,
  },
  notes: [
    'Without --case the serial console is your terminal: `exit` or `poweroff -f` in the guest ends it, and so does Ctrl-A x.',
    'Exit status: that of the case; 1 when guest or adapter failed, or the guest kernel complained.',
    'QEMU=PROGRAM chooses a QEMU, VUHCA_ACCEL=kvm|tcg how it runs.',
  ],
  run: runGuest,
};

async function runGuest(args: Arguments): Promise<number> {
  checkRun(args);
  const interactive = !args.has('case');
  const restoreTerminal = interactive ? saveTerminal() : () => {};
  const capturePath = args.text('capture');
  await setUp('start');
  say('starting the adapter and preparing the guest');
  const session = await Session.start({
    device: { arguments: deviceArguments(args) },
    guest: prepareGuest(args),
    ...(capturePath === undefined ? {} : { capturePath: resolve(capturePath) }),
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

function deviceArguments(args: Arguments): string[] {
  const repeated = ['record', 'inspect'].flatMap((name) => {
    const value = args.text(name);
    return value === undefined ? [] : [`--${name}=${name === 'record' ? resolve(value) : value}`];
  });
  const level = args.choice('log-level', LOG_LEVELS) ?? 'warn';
  return [...repeated, `--log-level=${level}`, ...repeatAdapterArguments(args)];
}

/** Prints what the case reports; `status` is its exit status once it has ended. */
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
