// SPDX-License-Identifier: Apache-2.0
/**
 * A `vuhca device --functions N`, with helpers for tests. Called by functions.test.ts and
 * functions.long.ts.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import type { LiveTenant } from '../../../device/rig/live/tenant.ts';
import { makeDirectory } from './directory.ts';
import { CliProcess } from './run-cli.ts';

const READY = /^listening on (.+) control (\S+)$/m;
const POLL_MS = 5;

/** A device process with several functions. */
export interface Running {
  readonly device: CliProcess;
  readonly environment: Readonly<Record<string, string>>;
  readonly sockets: readonly string[];
  status(): Promise<StatusReport>;
  stop(): Promise<void>;
}

/** A device process. At its end no command, buffer or credit of any function may be held. */
export async function start(t: Test, functions: number, ...more: readonly string[]): Promise<Running> {
  const directory = makeDirectory(t);
  const args = [
    'device',
    '--socket',
    join(directory, 's'),
    '--functions',
    `${functions}`,
    '--log-level',
    'warn',
    ...more,
  ];
  const environment = { XDG_RUNTIME_DIR: directory };
  const device = new CliProcess(args, environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, sockets, controlPath] = await device.until(READY);
  const control = await ControlClient.connect(controlPath);
  t.teardown(() => control.close());
  const status = async (): Promise<StatusReport> => await control.request('status');
  const stop = async (): Promise<void> => {
    await until(status, isWhole);
    device.child.kill('SIGTERM');
    t.equal(await device.whenExited, 0);
    t.same(readdirSync(directory), ['vuhca'], 'no socket is left');
  };
  return { device, environment, sockets: sockets.split(' '), status, stop };
}

/** Polls the status until the condition holds. */
export async function until(
  status: () => Promise<StatusReport>,
  condition: (report: StatusReport) => boolean,
): Promise<StatusReport> {
  for (;;) {
    const report = await status();
    if (condition(report)) return report;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

function isWhole({ adapters: [{ collectBuffers, schedulerBuffers, lanes }] }: StatusReport): boolean {
  const held = [lanes.execution.used, lanes.completion.used, lanes.waiting];
  return (
    [collectBuffers, schedulerBuffers].every(({ free, total }) => free === total) && held.every((one) => one === 0)
  );
}

/** The visible state of a function: its counters, and every byte of its guest's memory. */
export async function snapshot({ status }: Running, number: number, { access }: LiveTenant) {
  const { adapters } = await status();
  const view = access.view(access.memoryAddress, access.memoryBytes);
  const memory = Buffer.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return { socket: adapters[0].sockets[number], report: adapters[0].functions[number], memory };
}

/** True if nothing has changed. The shared PCBs that a function could bind are not its own. */
export function isSame(before: Awaited<ReturnType<typeof snapshot>>, after: typeof before): boolean {
  const own = ({ socket, report }: typeof before): string =>
    JSON.stringify([socket, report], (key, value) => (key === 'available' ? undefined : value));
  return own(before) === own(after) && before.memory.equals(after.memory);
}
