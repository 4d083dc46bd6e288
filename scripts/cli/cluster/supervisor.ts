// SPDX-License-Identifier: Apache-2.0
/**
 * The process that holds a cluster, in the background: it owns the adapter process and the guests,
 * and serves the commands of `vuhca cluster` on its socket. It ends when it is told to, by a
 * signal, or when the command that starts it goes before all nodes are up. main.ts calls it.
 */
import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { printable } from '../../../protocol/system/printable.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { type ClusterPlace, nodeLogPath, placeOf } from '../cluster-client/cluster-place.ts';
import type { ClusterRequest, UpEnd } from '../cluster-client/cluster-protocol.ts';
import { makeLineWriter } from '../session/log.ts';
import { takeSignals } from '../session/signals.ts';
import { holdPlace } from './attach-service.ts';
import { Cluster } from './cluster.ts';
import { type ClusterClient, ClusterServer } from './cluster-server.ts';
import type { ClusterSpec } from './cluster-spec.ts';
import { copyFiles } from './copy-service.ts';
import { executeIn } from './exec-service.ts';
import { limitLog } from './limited-log.ts';
import { SUPERVISOR_READY } from './supervisor-words.ts';

/** The command that starts a cluster follows at once, even on a busy machine. */
const FOLLOW_BOUND_MS = 120_000;

class Supervisor {
  readonly #place: ClusterPlace;
  readonly #log = makeLineWriter(2);
  readonly #listeners = new Set<(text: string) => void>();
  readonly #said: string[] = [];
  readonly #nodeLogs = new Map<string, (line: string) => void>();
  readonly #starting: Promise<Cluster>;
  #up: Promise<UpEnd> | undefined;
  /** Ends a cluster whose command was killed before it asked for anything. */
  readonly #orphaned = setTimeout(() => this.#end(), FOLLOW_BOUND_MS);
  #end: () => void = () => {};
  /** Resolves when a command or a signal asks it to end. */
  readonly whenAsked = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  #over: () => void = () => {};
  readonly #whenOver = new Promise<void>((resolve) => {
    this.#over = resolve;
  });

  constructor(place: ClusterPlace, spec: ClusterSpec) {
    this.#place = place;
    for (const { name } of spec.nodes)
      this.#nodeLogs.set(name, limitLog(makeLineWriter(openSync(nodeLogPath(place, name), 'a', 0o600))));
    this.#starting = Cluster.start(spec, {
      say: (text) => this.#say(text),
      log: (line) => this.#log(`${line}\n`),
      logNode: (name, line) => this.#nodeLogs.get(name)?.(`${line}\n`),
    });
    this.#starting.catch(() => {});
  }

  async perform(request: ClusterRequest, client: ClusterClient): Promise<unknown> {
    if (request.command === 'down') {
      this.#end();
      return this.#whenOver;
    }
    if (request.command === 'follow') return this.#follow(client);
    const cluster = await this.#starting;
    switch (request.command) {
      case 'list':
        return cluster.report(this.#place);
      case 'start':
        return cluster.startNode(request.node);
      case 'stop':
        return cluster.stopNode(request.node);
      case 'link':
        return cluster.changeLink(request.port, request.words);
      case 'exec':
        return executeIn(cluster.find(request.node), request, client);
      case 'attach':
        return holdPlace(cluster, request, client);
      case 'copy':
        return copyFiles(cluster.find(request.node), request, client);
      default:
        throw new SetupError('this command is not known to the cluster: use the version of vuhca that has started it');
    }
  }

  /** Ends all that the cluster has; nothing is left then. */
  async close(): Promise<void> {
    clearTimeout(this.#orphaned);
    const cluster = await this.#starting.catch(() => undefined);
    await cluster?.end();
    rmSync(this.#place.folder, { recursive: true, force: true });
    this.#over();
  }

  /** Tells how nodes arrive; the client of the first one is the command that has started all. */
  async #follow({ dialog }: ClusterClient): Promise<UpEnd> {
    clearTimeout(this.#orphaned);
    for (const text of this.#said) dialog.send({ say: text });
    const tell = (text: string): void => void dialog.send({ say: text });
    this.#listeners.add(tell);
    let isUp = false;
    void dialog.whenClosed.then(() => {
      this.#listeners.delete(tell);
      if (!isUp) this.#end();
    });
    this.#up ??= this.#starting.then(async (cluster) => ({ failures: await cluster.up() }));
    const end = await this.#up;
    isUp = true;
    return end;
  }

  #say(text: string): void {
    const line = printable(text);
    this.#log(`${line}\n`);
    if (this.#up === undefined) this.#said.push(line);
    for (const listener of this.#listeners) listener(line);
  }
}

/** Holds the cluster whose folder is named, to its end. */
export async function performSupervisor(folder: string): Promise<number> {
  const place = placeOf(basename(folder).replace(/\.cluster$/, ''));
  const spec = JSON.parse(readFileSync(place.specPath, 'utf8')) as ClusterSpec;
  writeFileSync(place.pidPath, String(process.pid), { mode: 0o600 });
  const { whenAsked } = takeSignals();
  const supervisor = new Supervisor(place, spec);
  const server = await ClusterServer.listen(place.socketPath, (request, client) => supervisor.perform(request, client));
  process.stdout.write(`${SUPERVISOR_READY}\n`);
  await Promise.race([supervisor.whenAsked, whenAsked]);
  await supervisor.close();
  await server.close();
  return 0;
}
