// SPDX-License-Identifier: Apache-2.0
/**
 * A folder for the sockets of one running guest. It is removed when the guest ends, when this
 * process ends or is asked to end by SIGINT, SIGTERM or SIGHUP, and, after SIGKILL, by the next
 * run: this process listens on a socket in it, and nobody does when it is dead. Other users cannot
 * be there first, because its name is drawn. Called by guest.ts and device-child.ts.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { askListener } from '../protocol/system/listening.ts';
import { listenPrivately } from '../protocol/system/private-listen.ts';
import { StartError } from './setup/tools/errors.ts';

const PREFIX = 'vuhca-guest-';
/** The socket that this process listens on while the folder is in use. */
const ALIVE = 'alive';
const PATH_MAX_BYTES = 107;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What to end with each folder of this process, by its path: the listening, the clean-up. */
const held = new Map<string, () => void>();
const cleanups = new Set<() => void>();
let installed = false;

/**
 * A new private folder; its name contains the id of this process, for people. Throws StartError
 * when there is no place for it.
 */
export function makeRunDirectory(): string {
  const path = makeFolder();
  // Those of the dead are removed meanwhile; what cannot be removed is not this guest's concern.
  removeAbandoned().catch(() => {});
  try {
    const server = listen(join(path, ALIVE));
    const forget = onProcessEnd(() => removeRunDirectory(path));
    held.set(path, () => {
      server.close();
      forget();
    });
    return path;
  } catch (error) {
    removeRunDirectory(path);
    throw error;
  }
}

/** Removes such a folder with all that is in it. May be called twice. */
export function removeRunDirectory(path: string): void {
  held.get(path)?.();
  held.delete(path);
  rmSync(path, { recursive: true, force: true });
}

/** Removes the folders of dead processes of this user. Exported for tests. */
export async function removeAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!name.startsWith(PREFIX) || !isOwnFolder(path)) continue;
    if ((await askListener(join(path, ALIVE))) === 'dead') rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Calls `cleanup`, synchronously, when this process ends before the returned function is called.
 */
export function onProcessEnd(cleanup: () => void): () => void {
  install();
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

function makeFolder(): string {
  try {
    return mkdtempSync(resolve(tmpdir(), `${PREFIX}${process.pid}-`));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`${tmpdir()} takes no folder for sockets (${code}); set TMPDIR to a folder that does.`);
  }
}

/** Node binds and listens at once when the path is a UNIX socket's, and tells of errors later. */
function listen(path: string): Server {
  const length = Buffer.byteLength(path);
  const server = createServer((socket) => socket.destroy());
  server.on('error', () => {});
  if (length <= PATH_MAX_BYTES) {
    listenPrivately(server, { path });
    server.unref();
  }
  if (server.listening) return server;
  const why = length > PATH_MAX_BYTES ? `is longer than ${PATH_MAX_BYTES} bytes` : 'cannot be made';
  throw new StartError(
    `the socket path ${path} ${why}; set TMPDIR to ${length > PATH_MAX_BYTES ? 'a shorter' : 'another'} folder.`,
  );
}

/** Not a link, and not a folder that another user named so. */
function isOwnFolder(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status?.isDirectory() === true && status.uid === process.geteuid?.();
}

function install(): void {
  if (installed) return;
  installed = true;
  process.on('exit', runCleanups);
  for (const signal of SIGNALS) {
    const handler = (): void => {
      runCleanups();
      process.off(signal, handler);
      // Another listener decides how the process ends; without one, the signal ends it as usual.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    };
    process.on(signal, handler);
  }
}

function runCleanups(): void {
  for (const cleanup of [...cleanups]) {
    cleanups.delete(cleanup);
    cleanup();
  }
}
