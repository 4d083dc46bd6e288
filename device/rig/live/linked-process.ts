// SPDX-License-Identifier: Apache-2.0
/**
 * Starts and ends the processes of tests with two adapters in two processes. Each process ends with
 * the test, even after a crash.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { libraryPath } from '../../../protocol/vfio-user/test-support/library.ts';

/** A child process that reported that it is ready. */
export class LinkedProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  /** Starts a program of this folder and waits until it is ready. Rejects when it ends instead. */
  static async start(program: string, ...args: readonly string[]): Promise<LinkedProcess> {
    const started = new LinkedProcess(program, args);
    const { stdout } = started.#child;
    if (stdout === null) throw new Error('the child has no standard output');
    const isReady = await Promise.race([once(stdout, 'data').then(() => true), started.#exited.then(() => false)]);
    if (!isReady) throw new Error(`${program} ended at once with status ${started.#child.exitCode}`);
    return started;
  }

  private constructor(program: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(program, import.meta.url));
    const command = ['--pdeathsig', 'SIGKILL', '--', process.execPath, '--import=#typescript', path, ...args];
    this.#child = spawn('setpriv', command, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exited = once(this.#child, 'exit');
  }

  /** Writes a line to its standard input; resolves when the line has left this process. */
  async tell(line: string): Promise<void> {
    await new Promise((resolve) => this.#child.stdin?.write(`${line}\n`, resolve));
  }

  /** Kills it, as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}

/**
 * Starts an adapter in its own process. With `linkPath` its port 1 is an end of that link: index 0
 * listens, 1 connects.
 */
export function startAdapter(socketPath: string, index: 0 | 1, linkPath?: string): Promise<LinkedProcess> {
  const link = linkPath === undefined ? [] : [index === 0 ? 'listen' : 'connect', linkPath];
  return LinkedProcess.start('linked-device.ts', libraryPath(), socketPath, String(index), ...link);
}
