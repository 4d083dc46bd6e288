// SPDX-License-Identifier: Apache-2.0
/**
 * Paths of control sockets: `$XDG_RUNTIME_DIR/vuhca` or `/tmp/vuhca-UID`, private to the user, with
 * one `PID.control` for each adapter process. A command without a path finds the running ones here
 * and removes files of dead processes.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';

const SUFFIX = '.control';

/** A control socket that cannot be opened or found: one sentence. */
export class ControlError extends Error {
  override name = 'ControlError';
}

/**
 * Returns the folder, created when absent and made private. Throws ControlError when it is not a
 * folder of this user.
 */
export function provideControlDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const directory = nameDirectory(environment);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST')
      throw new ControlError(`${directory} cannot be made (${codeOf(error)}): name a control socket by --control PATH`);
  }
  const status = lstatSync(directory);
  if (!status.isDirectory() || status.uid !== process.getuid?.())
    throw new ControlError(`${directory} is no folder of yours: name a control socket by --control PATH`);
  if ((status.mode & 0o077) !== 0) chmodSync(directory, 0o700);
  return directory;
}

/** The path for the control socket of this process. */
export function defaultControlPath(environment: NodeJS.ProcessEnv = process.env): string {
  return join(provideControlDirectory(environment), `${process.pid}${SUFFIX}`);
}

/**
 * Paths of the control sockets on which a process listens. Those that killed adapters have left are
 * removed.
 */
export async function findControlPaths(environment: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const directory = nameDirectory(environment);
  const found: string[] = [];
  for (const name of listDirectory(directory)) {
    const path = join(directory, name);
    const code = await tryConnection(path);
    // EAGAIN: its queue of connections is full, so a process listens.
    if (code === undefined || code === 'EAGAIN') found.push(path);
    else if (code === 'ECONNREFUSED') removeDeadSocket(path);
  }
  return found;
}

/** Removes a socket on which nobody listens. False when the path is no socket of this user. */
export function removeDeadSocket(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (!status?.isSocket() || status.uid !== process.getuid?.()) return false;
  rmSync(path, { force: true });
  return true;
}

/**
 * The path of the only running adapter. Throws ControlError when there is none, or more than one.
 */
export async function findOnlyControlPath(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const paths = await findControlPaths(environment);
  if (paths.length === 1) return paths[0];
  if (paths.length === 0)
    throw new ControlError(
      'no adapter is running: start one with `vuhca run` or `vuhca device`, or name its socket by --control PATH',
    );
  throw new ControlError(`${paths.length} adapters are running; name one by --control PATH: ${paths.join(' ')}`);
}

function nameDirectory(environment: NodeJS.ProcessEnv): string {
  const runtime = environment.XDG_RUNTIME_DIR;
  if (runtime && statSync(runtime, { throwIfNoEntry: false })?.isDirectory()) return join(runtime, 'vuhca');
  return `/tmp/vuhca-${process.getuid?.()}`;
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(SUFFIX));
  } catch {
    return [];
  }
}

/** Connects and leaves again; the error code, or undefined when a process has accepted. */
function tryConnection(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const settle = (code?: string): void => {
      socket.destroy();
      resolve(code);
    };
    socket.once('connect', () => settle());
    socket.once('error', (error) => settle(codeOf(error)));
  });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
