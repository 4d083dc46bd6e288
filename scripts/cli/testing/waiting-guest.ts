// SPDX-License-Identifier: Apache-2.0
/**
 * A guest of `vuhca run` that waits until it is ended, with helpers for commands and signals during
 * the wait. Called by tests of the command and of clusters.
 */
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { isRunning } from '../session/running.ts';
import { makeDirectory } from './directory.ts';
import { runFolders } from './left-behind.ts';
import { CliProcess, runCli } from './run-cli.ts';
import { runWords } from './run-words.ts';

const DISK_BYTES = 1 << 20;
const POLL_MS = 20;

export interface WaitingGuest {
  readonly run: CliProcess;
  /** Process ids. */
  readonly adapter: number;
  readonly qemu: number;
  /** The folder for control sockets. */
  readonly directory: string;
  /** That of the adapter. */
  readonly control: string;
}

/**
 * Starts a guest that executes nothing, which costs no boot: QEMU keeps its processor stopped.
 * Resolves when QEMU has attached the adapter.
 */
export async function startStoppedGuest(
  t: Test,
  environment: Readonly<Record<string, string>> = {},
  ...options: readonly string[]
): Promise<WaitingGuest> {
  const directory = makeDirectory(t);
  const guest = await start(t, directory, environment, [...options, ...stoppedGuest(directory)]);
  for (;;) {
    const { stdout } = await runWords(['status', '--control', guest.control]);
    if (/^guest {8}attached/m.test(stdout)) return guest;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

/** Words of `vuhca run` for such a guest, whose disk is in that folder. */
export function stoppedGuest(directory: string): readonly string[] {
  const disk = join(directory, 'disk.img');
  writeFileSync(disk, '');
  truncateSync(disk, DISK_BYTES);
  return ['--disk', disk, '--', '-S'];
}

async function start(
  t: Test,
  directory: string,
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
): Promise<WaitingGuest> {
  const run = new CliProcess(['run', ...words], { ...environment, XDG_RUNTIME_DIR: directory });
  t.teardown(() => run.child.kill('SIGKILL'));
  const [, adapter, qemu] = await run.until(/the adapter is process (\d+), QEMU is process (\d+)/);
  const [socket] = readdirSync(join(directory, 'vuhca'));
  return { run, adapter: Number(adapter), qemu: Number(qemu), directory, control: join(directory, 'vuhca', socket) };
}

/** Commands find the adapter of the guest; then a signal ends both, and nothing is left. */
export async function checkCommandsAndSignal(t: Test, { run, adapter, qemu, directory }: WaitingGuest): Promise<void> {
  const environment = { XDG_RUNTIME_DIR: directory };
  const status = await runCli(['status'], environment);
  t.match(status, { status: 0, stdout: /^guest {8}attached/m }, 'found by itself');
  const json = await runCli(['status', '--json'], environment);
  t.match(JSON.parse(json.stdout), { pid: adapter, rates: { packets: 0 } });
  const capture = await runCli(['capture', '--output', join(directory, 'x'), '--seconds', '1'], environment);
  t.match(capture, { status: 0, stderr: /^capturing to \S+x\n0 packets, 24 bytes in/ });
  run.child.kill('SIGTERM');
  t.equal(await run.whenExited, 128 + 15);
  t.notOk(isRunning(adapter) || isRunning(qemu), 'no process is left');
  t.same(runFolders(run.child.pid), []);
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no socket is left');
}
