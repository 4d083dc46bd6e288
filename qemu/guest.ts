// SPDX-License-Identifier: Apache-2.0
/**
 * One running guest: the QEMU process, its QMP connection, its virtio-serial ports and its console.
 * However it ends (by itself, by quit(), by a signal to this process, by this process being
 * killed), no process, socket or file is left. Called by launch.ts; sessions and tests hold the
 * Guest that it returns.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { printableLines } from '../protocol/system/printable.mjs';
import { type Accelerator, buildArguments, type GuestPlan } from './guest-options.ts';
import { GuestPort } from './guest-port.ts';
import { KernelRecords } from './kernel-records.ts';
import { LineSplitter } from './line-splitter.ts';
import { QmpClient } from './qmp.ts';
import { makeRunDirectory, onProcessEnd, removeRunDirectory } from './run-directory.ts';
import type { Qemu } from './setup/qemu.ts';
import { StartError } from './setup/tools/errors.ts';

/** How a guest ended. */
export interface GuestExit {
  /** QEMU's exit status; null when a signal ended it. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last lines of QEMU's own error output. */
  readonly errors: string;
}

/** The port that init.sh reports on; every guest has it. */
const REPORT_PORT = 'vuhca.report';
/** The port that carries the kernel's log; every guest has it. */
const LOG_PORT = 'vuhca.log';

/** All bounds are wide, for a busy machine. */
const START_BOUND_MS = 600_000;
const QUIT_BOUND_MS = 10_000;
const TERMINATE_BOUND_MS = 5_000;
const ERRORS_LIMIT = 20_000;

/** A guest that runs or ran. */
export class Guest {
  readonly qmp: QmpClient;
  /** Resolves, never rejects, when QEMU has ended and nothing of it is left. */
  readonly whenExited: Promise<GuestExit>;
  readonly accelerator: Accelerator;
  readonly #child: ChildProcess;
  readonly #ports: ReadonlyMap<string, GuestPort>;

  /**
   * Starts QEMU and waits until its machine and devices exist. Throws StartError when it ends
   * instead.
   */
  static async start(qemu: Qemu, plan: GuestPlan): Promise<Guest> {
    const directory = makeRunDirectory();
    const names = [REPORT_PORT, LOG_PORT, ...(plan.ports ?? [])];
    const control = await GuestPort.listen(join(directory, 'qmp'));
    const ports = new Map<string, GuestPort>();
    for (const [i, name] of names.entries()) ports.set(name, await GuestPort.listen(join(directory, `port${i}`)));
    followKernelLog(ports.get(LOG_PORT) as GuestPort, plan);
    const sockets = { qmp: control.path, ports: [...ports].map(([name, { path }]) => ({ name, path })) };
    const child = spawnQemu(qemu, buildArguments(plan, sockets), plan.interactive ?? false);
    const forgetChild = onProcessEnd(() => child.kill('SIGKILL'));
    const exited = watchProcess(child, plan).then((exit) => {
      for (const port of [control, ...ports.values()]) port.close();
      removeRunDirectory(directory);
      forgetChild();
      return exit;
    });
    const qmp = await negotiate(control, child, exited);
    return new Guest(child, qmp, ports, exited, plan.accelerator);
  }

  private constructor(
    child: ChildProcess,
    qmp: QmpClient,
    ports: ReadonlyMap<string, GuestPort>,
    exited: Promise<GuestExit>,
    accelerator: Accelerator,
  ) {
    this.accelerator = accelerator;
    this.#child = child;
    this.qmp = qmp;
    this.#ports = ports;
    this.whenExited = exited;
  }

  /** QEMU's process id. */
  get pid(): number {
    return this.#child.pid as number;
  }

  /** The port of that name. Throws when the guest has none. */
  port(name: string = REPORT_PORT): GuestPort {
    const port = this.#ports.get(name);
    if (port === undefined) throw new Error(`this guest has no port ${name}; name it in GuestOptions.ports`);
    return port;
  }

  /**
   * Ends the guest: asks by QMP, then by SIGTERM, then by SIGKILL, each with a bound. Safe to call
   * again.
   */
  async quit(): Promise<GuestExit> {
    // A vCPU that waits for the device holds QEMU's lock, so QMP may never answer: each step has a
    // bound.
    this.qmp.execute('quit').catch(() => {});
    if (!(await this.#endsWithin(QUIT_BOUND_MS))) {
      this.#child.kill('SIGTERM');
      if (!(await this.#endsWithin(TERMINATE_BOUND_MS))) this.#child.kill('SIGKILL');
    }
    return this.whenExited;
  }

  /** Ends the guest at once, as a power failure would. */
  async kill(): Promise<GuestExit> {
    this.#child.kill('SIGKILL');
    return this.whenExited;
  }

  async #endsWithin(boundMs: number): Promise<boolean> {
    return within(
      boundMs,
      this.whenExited.then(() => true),
      false,
    );
  }
}

/** `setpriv` makes the kernel end QEMU with this process, also when this process is killed. */
function spawnQemu(qemu: Qemu, args: readonly string[], interactive: boolean): ChildProcess {
  const command = ['--pdeathsig', 'SIGKILL', '--', qemu.path, ...qemu.arguments, ...args];
  return spawn('setpriv', command, {
    env: { ...process.env, ...qemu.environment },
    stdio: interactive ? ['inherit', 'inherit', 'pipe'] : ['pipe', 'pipe', 'pipe'],
  });
}

/** Reads the kernel's log, and tells the guest when it has all arrived. */
function followKernelLog(port: GuestPort, plan: GuestPlan): void {
  const records = new KernelRecords(
    (line) => plan.onKernelLine?.(line),
    // The guest may end before it reads this.
    () => port.write('\n').catch(() => {}),
  );
  port.onLine((line) => records.push(line));
}

/** Follows the console and errors of the process to its end. */
async function watchProcess(child: ChildProcess, plan: GuestPlan): Promise<GuestExit> {
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-ERRORS_LIMIT);
  });
  const splitter = new LineSplitter((line) => plan.onConsoleLine?.(line));
  child.stdout?.on('data', (chunk: Buffer) => splitter.push(chunk));
  child.stdin?.on('error', () => {});
  child.once('error', (error) => {
    errors += `cannot start QEMU: ${error.message}`;
  });
  const [status, signal] = (await once(child, 'close').catch(() => [null, null])) as [number | null, NodeJS.Signals];
  splitter.flush();
  return { status, signal, errors: printableLines(errors.trim()) };
}

async function negotiate(control: GuestPort, child: ChildProcess, exited: Promise<GuestExit>): Promise<QmpClient> {
  const ready = control.connected.then(async (socket) => {
    const qmp = new QmpClient(socket);
    await qmp.negotiate();
    return qmp;
  });
  // The promises that lose the race must not be reported as unhandled.
  ready.catch(() => {});
  const ended = exited.then((exit) => exit);
  const result = await within(START_BOUND_MS, Promise.race([ready.catch(() => ended), ended]), undefined);
  if (result instanceof QmpClient) return result;
  if (result === undefined) child.kill('SIGKILL');
  const { errors, status, signal } = await exited;
  const what =
    result === undefined ? `did not start within ${START_BOUND_MS / 1000} s` : `ended at once (${status ?? signal})`;
  throw new StartError(`QEMU ${what}; correct the cause and start again. QEMU said: ${errors || 'nothing'}`);
}

async function within<T, U>(boundMs: number, work: Promise<T>, otherwise: U): Promise<T | U> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<U>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), boundMs);
  });
  try {
    return await Promise.race([work, bound]);
  } finally {
    clearTimeout(timer);
  }
}
