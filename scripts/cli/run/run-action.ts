// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca run`: starts an adapter and a guest, with the user's kernel, initramfs or disk,
 * or with ours and the driver loaded. It runs a shell on the serial console, or a script whose exit
 * status becomes that of the command.
 */
import { resolve } from 'node:path';
import { printableLines } from '../../../protocol/system/printable.mjs';
import { setUp } from '../../setup/set-up.ts';
import { isGiven, repeatAdapterArguments } from '../options/adapter-arguments.ts';
import { readFabric } from '../options/adapter-options.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { BYTES_PER_MIB } from '../options/option-values.ts';
import { readLoneDevice } from '../options/personality.ts';
import { Session } from '../session/session.ts';
import { takeSignals } from '../session/signals.ts';
import { saveTerminal } from '../session/terminal.ts';
import { startView } from '../session/view-child.ts';
import { AdapterState } from '../test/adapter-state.ts';
import { StateReader } from '../test/state-reader.ts';
import { describeStates } from '../test/test-screen.ts';
import type { RunArguments } from './run-command.ts';
import { CaseReport, conclude, say } from './run-end.ts';
import { checkRun, prepareGuest } from './run-guest.ts';

export async function performRun(command: CliCommand): Promise<number> {
  const given = command.opts<RunArguments>();
  if (given.attach !== undefined) {
    const { performAttached } = await import('./attached-run.ts');
    return performAttached(command, given, given.attach);
  }
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
  if (!interactive) report = new CaseReport(session.guest, (what) => states.read(what));
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
