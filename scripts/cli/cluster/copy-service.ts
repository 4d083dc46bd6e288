// SPDX-License-Identifier: Apache-2.0
/**
 * The supervisor's side of `vuhca cluster copy`: carries files and folders between this machine and
 * a node, by the file channel of the node's shell. Modes of files stay. In a folder, links to
 * folders are left out, because they may lead round in a circle. A copy that fails says at which
 * file. supervisor.ts calls it.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import type { FileEntryWithStats as FileEntry, SFTPWrapper, Stats } from 'ssh2';
import { describeSystemError } from '../../../protocol/system/errno-words.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { CopyEnd, CopyRequest } from '../cluster-client/cluster-protocol.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { ClusterClient } from './cluster-server.ts';

/** Requests of a file under way, and their size: a node answers each in some milliseconds. */
const TRANSFER = { concurrency: 16, chunkSize: 32_768 };
const MODE_BITS = 0o7777;

/** Carries what the request names. Throws SetupError with the file that failed. */
export async function copyFiles(node: ClusterNode, request: CopyRequest, client: ClusterClient): Promise<CopyEnd> {
  const sftp = await node.shell.openFiles();
  // A client that goes ends the copy.
  void client.dialog.whenClosed.then(() => sftp.end());
  const copy = new Copy(sftp, node.spec.name);
  try {
    if (request.way === 'in') await copy.into(request.hostPath, await copy.settle(request.nodePath, request.hostPath));
    else await copy.outOf(request.nodePath, settleHere(request.hostPath, request.nodePath));
    return { files: copy.files, bytes: copy.bytes };
  } finally {
    sftp.end();
  }
}

class Copy {
  files = 0;
  bytes = 0;
  readonly #sftp: SFTPWrapper;
  readonly #node: string;

  constructor(sftp: SFTPWrapper, node: string) {
    this.#sftp = sftp;
    this.#node = node;
  }

  /** The path in the node that gets `source`: inside it, when it is a folder there. */
  async settle(target: string, source: string): Promise<string> {
    const path = target === '' ? '.' : target;
    const status = await this.#status(path);
    if (status?.isDirectory()) return posix.join(path, basename(source));
    if (target.endsWith('/')) throw new SetupError(`node ${this.#node} has no folder ${target}: make it first`);
    return path;
  }

  async into(source: string, target: string): Promise<void> {
    const status = statSync(source, { throwIfNoEntry: false });
    if (status === undefined) throw new SetupError(`${source} does not exist`);
    if (status.isDirectory()) {
      if ((await this.#status(target)) === undefined)
        await this.#run(target, (done) => this.#sftp.mkdir(target, { mode: status.mode & MODE_BITS }, done));
      for (const entry of readdirSync(source, { withFileTypes: true })) {
        const path = join(source, entry.name);
        const isLink = entry.isSymbolicLink() && statSync(path, { throwIfNoEntry: false })?.isFile() !== true;
        if (!isLink) await this.into(path, posix.join(target, entry.name));
      }
    } else if (status.isFile()) {
      const options = { ...TRANSFER, mode: status.mode & MODE_BITS };
      await this.#run(target, (done) => this.#sftp.fastPut(source, target, options, done));
      this.#count(status.size);
    }
  }

  async outOf(source: string, target: string): Promise<void> {
    const status = await this.#status(source);
    if (status === undefined) throw new SetupError(`node ${this.#node} has no ${source}`);
    if (status.isDirectory()) {
      mkdirSync(target, { recursive: true });
      const entries = await this.#run<FileEntry[]>(source, (done) => this.#sftp.readdir(source, done));
      for (const { filename, attrs } of entries) {
        const path = posix.join(source, checkName(filename));
        const isLink = attrs.isSymbolicLink() && (await this.#status(path))?.isFile() !== true;
        if (!isLink) await this.outOf(path, join(target, filename));
      }
    } else if (status.isFile()) {
      const options = { ...TRANSFER, mode: status.mode & MODE_BITS };
      await this.#run(target, (done) => this.#sftp.fastGet(source, target, options, done));
      this.#count(status.size);
    }
  }

  #count(bytes: number): void {
    this.files++;
    this.bytes += bytes;
  }

  /** Undefined when there is nothing. */
  #status(path: string): Promise<Stats | undefined> {
    return new Promise((resolve) => this.#sftp.stat(path, (error, status) => resolve(error ? undefined : status)));
  }

  #run<Result = void>(
    path: string,
    begin: (done: (error?: Error | null, result?: Result) => void) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const lost = (): void =>
        reject(new SetupError(`the connection to node ${this.#node} ended before ${path} was done`));
      this.#sftp.once('close', lost);
      begin((error, result) => {
        this.#sftp.off('close', lost);
        if (error) reject(new SetupError(`${path}: ${describeSystemError(error) ?? error.message}`));
        else resolve(result as Result);
      });
    });
  }
}

/** The name of a file in a folder; none leads out of it. Throws SetupError. */
export function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    throw new SetupError(`the node names a file ${JSON.stringify(name)}, which no folder can have`);
  return name;
}

/** The path here that gets `source` of a node. */
function settleHere(target: string, source: string): string {
  const status = statSync(target, { throwIfNoEntry: false });
  if (status?.isDirectory()) return join(target, posix.basename(source));
  if (!statSync(dirname(target), { throwIfNoEntry: false })?.isDirectory())
    throw new SetupError(`there is no folder ${dirname(target)}: make it first`);
  return target;
}
