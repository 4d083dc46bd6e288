// SPDX-License-Identifier: Apache-2.0
/**
 * Paths of control sockets: `$XDG_RUNTIME_DIR/vuhca` or `/tmp/vuhca-UID`, private to the user, with
 * one `PID-NUMBER.control` for each adapter process. A command without a path finds the running
 * ones here and removes sockets of dead processes. Other users can guess the folder and be there
 * first, so servers and commands use nothing in it that does not belong to this user.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync, type Stats, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { askListener } from '../../../protocol/system/listening.ts';
import { findStrangersPart, objectToFolder, providePrivateFolder } from '../../../protocol/system/private-folder.mjs';

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
  refuse(providePrivateFolder(directory));
  return directory;
}

/**
 * The path for the control socket of this process. A number is drawn, because another process may
 * have the same id: in another PID namespace with the same folder.
 */
export function defaultControlPath(environment: NodeJS.ProcessEnv = process.env): string {
  const number = randomBytes(4).toString('hex');
  return join(provideControlDirectory(environment), `${process.pid}-${number}${SUFFIX}`);
}

/**
 * Paths of the control sockets on which a process of this user listens. Those that killed adapters
 * have left are removed. Throws ControlError when the folder is not private to this user.
 */
export async function findControlPaths(environment: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const directory = nameDirectory(environment);
  refuse(objectToFolder(directory));
  const found: string[] = [];
  for (const name of listDirectory(directory)) {
    const path = join(directory, name);
    if (!isOurSocket(path)) continue;
    const listener = await askListener(path);
    if (listener === 'living') found.push(path);
    if (listener === 'dead') removeDeadSocket(path);
  }
  return found;
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

/**
 * Removes a socket on which nobody listens. False when the path is no control socket of this user:
 * a path that a user names may be the socket of another program, which does not listen yet.
 */
export function removeDeadSocket(path: string): boolean {
  if (!path.endsWith(SUFFIX) || !isOurSocket(path)) return false;
  rmSync(path, { force: true });
  return true;
}

function isOurSocket(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status?.isSocket() === true && status.uid === process.geteuid?.();
}

/** Throws the sentence about a folder that speaks against it. */
function refuse(objection: string | undefined): void {
  if (objection !== undefined) throw new ControlError(`${objection}: name a control socket by --control PATH`);
}

/** Undefined for what is absent, and for what this user must not see. */
function lookUp(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

let warned = false;

function nameDirectory(environment: NodeJS.ProcessEnv): string {
  const other = `/tmp/vuhca-${process.geteuid?.()}`;
  const { XDG_RUNTIME_DIR: runtime = '' } = environment;
  const status = isAbsolute(runtime) ? lookUp(runtime) : undefined;
  if (!status?.isDirectory()) return other;
  if (status.uid === process.geteuid?.() && findStrangersPart(runtime) === undefined) return join(runtime, 'vuhca');
  // As the XDG base directory specification asks: su keeps the variable of the other user.
  if (!warned)
    process.stderr.write(`vuhca: XDG_RUNTIME_DIR is ${runtime}, which belongs to another user; ${other} is used\n`);
  warned = true;
  return other;
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(SUFFIX));
  } catch {
    return [];
  }
}
