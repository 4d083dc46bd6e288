// SPDX-License-Identifier: Apache-2.0
/**
 * Runs `vuhca` as a user does, from a directory outside the repository, and gathers its output.
 * Called by tests.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../vuhca', import.meta.url));
const POLL_MS = 20;

/** A finished or running command. */
export class CliProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  /** Resolves with the exit status, or the signal's name. */
  readonly whenExited: Promise<number | string>;

  /** With `pipe` it reads the input from `type`, otherwise nothing. */
  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    standardInput: 'pipe' | 'ignore' = 'ignore',
  ) {
    this.child = spawn(COMMAND, args, {
      cwd: tmpdir(),
      env: { ...process.env, ...environment },
      stdio: [standardInput, 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => {
      this.stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
    this.whenExited = new Promise((resolve) => {
      this.child.once('close', (status, signal) => resolve(status ?? signal ?? 'nothing'));
    });
  }

  /** Sends a line to its standard input. */
  type(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Waits until standard output or error match; throws with both when the process ends without. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let ended = false;
    void this.whenExited.then(() => {
      ended = true;
    });
    for (;;) {
      const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
      if (match !== null) return match;
      if (ended) throw new Error(`ended without ${pattern}: ${this.stdout}${this.stderr}`);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}

/** The status and the output of a command that has ended. */
export interface CliResult {
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function runCli(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const process = new CliProcess(args, environment);
  const status = await process.whenExited;
  return { status, stdout: process.stdout, stderr: process.stderr };
}
