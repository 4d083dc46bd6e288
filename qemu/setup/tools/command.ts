// SPDX-License-Identifier: Apache-2.0
/**
 * Runs one program of the host to its end and returns its output. A failure becomes a SetupError
 * with the command, its status and its last lines, which show the cause. Called by every set-up
 * step that uses a Debian tool (apt-get, dpkg-deb, meson, make, patchelf) and by the checks.
 */
import { spawn } from 'node:child_process';
import { SetupError } from './errors.ts';

/** How to run a command; every member is optional. */
export interface CommandOptions {
  readonly cwd?: string;
  /** Replaces the whole environment when given. */
  readonly env?: NodeJS.ProcessEnv;
  /** Added to the error message: what to do when this command fails. */
  readonly onFailure?: string;
  /** Kills the command after this long; no bound when absent. */
  readonly timeoutMs?: number;
  /** Gets what the command prints on standard output, as it comes. */
  readonly onOutput?: (text: string) => void;
  /** Sent to the command's standard input, which is empty otherwise. */
  readonly input?: string;
  /** True lets the command finish when this process is killed, as an installation must. */
  readonly mayOutliveParent?: boolean;
}

/** The output of a finished command. `status` is null when a signal ended it. */
export interface CommandResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TAIL_LINES = 15;

const FULL_DISK = /No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b/;
const WHEN_FULL = 'The disk is full: free some space, or set XDG_CACHE_HOME to a folder that has some.';

/**
 * The kernel kills the command with this process: an orphan would hold locks and write into later
 * builds.
 */
const WITH_PARENT = ['setpriv', '--pdeathsig', 'SIGKILL', '--'];

/**
 * Runs `file` with `args` and returns its output and status. Throws SetupError when it cannot be
 * started.
 */
export function tryRun(file: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const [program, ...rest] = options.mayOutliveParent === true ? [file, ...args] : [...WITH_PARENT, file, ...args];
    const child = spawn(program as string, rest, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout.push(chunk);
      options.onOutput?.(chunk.toString());
    });
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    child.once('error', (error) => reject(new SetupError(`cannot start ${file}: ${error.message}.`)));
    child.once('close', (status) =>
      resolve({ status, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    );
  });
}

/**
 * Runs `file` with `args` and returns its standard output; throws SetupError on a non-zero status.
 */
export async function run(file: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await tryRun(file, args, options);
  if (result.status === 0) return result.stdout;
  throw new SetupError(describeFailure(file, args, result, options.onFailure));
}

/** What to do about a program that said `output` and failed: `hint`, unless the disk is full. */
export function chooseRemedy(output: string, hint?: string): string | undefined {
  return FULL_DISK.test(output) ? WHEN_FULL : hint;
}

/** The command, how it ended, what to do about it, and its last lines. */
export function describeFailure(file: string, args: readonly string[], result: CommandResult, hint?: string): string {
  const status = result.status === null ? 'was killed (time-out or signal)' : `ended with status ${result.status}`;
  const lines = `${result.stdout}\n${result.stderr}`.split('\n').filter((line) => line.trim() !== '');
  const remedy = chooseRemedy(`${result.stdout}\n${result.stderr}`, hint);
  const tail = lines.slice(-TAIL_LINES).map((line) => `    ${line}`);
  const command = [file, ...args].join(' ');
  const shown = command.length > 300 ? `${command.slice(0, 300)} ...` : command;
  return [`\`${shown}\` ${status}.${remedy === undefined ? '' : ` ${remedy}`}`, ...tail].join('\n');
}
