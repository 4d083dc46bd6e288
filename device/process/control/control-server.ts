// SPDX-License-Identifier: Apache-2.0
/**
 * The control socket of a live adapter: answers requests of `control-protocol.ts`. It runs on
 * Node's event loop beside the pump and must not disturb it: one request in each turn of the loop,
 * bounded input, and a client that does not read its answers is dropped.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { listenPrivately } from '../../../protocol/system/private-listen.ts';
import { claimSocketPath } from '../../../protocol/vfio-user/index.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import {
  CONNECTION_ID,
  CONTROL_VERSION,
  type ControlAnswer,
  type ControlRequest,
  REQUEST_MAX_BYTES,
  readRequest,
} from './control-protocol.ts';

/**
 * Executes a command and returns the result. Throws a Refusal, whose message is the error to
 * answer; whatever else it throws is a fault of the adapter.
 */
export type ControlCommand = (request: ControlRequest, client: ControlClientHandle) => unknown;

/** The connection of a request. */
export interface ControlClientHandle {
  /** Calls `cleanup` when the connection ends. */
  onClose(cleanup: () => void): void;
}

/** Events of a server beside its requests. */
interface ControlServerEvents {
  /** The socket has an error; the server goes on if it can. */
  failed(error: Error): void;
  /** A command threw what is no Refusal. */
  threw(where: string, error: unknown): void;
}

const CLIENTS_MAX = 16;
const UNREAD_MAX_BYTES = 1 << 20;
const NS_PER_US = 1000;

/** Listens on one path and answers the requests of its clients. */
export class ControlServer {
  readonly path: string;
  readonly counters = { requests: 0, errors: 0, dropped: 0 };
  readonly #server: Server;
  readonly #clients = new Set<ControlClient>();
  readonly #commands: ReadonlyMap<string, ControlCommand>;
  readonly #events: ControlServerEvents;

  /**
   * Listens at `path`; throws VfioUserError with one sentence when it is not available.
   */
  constructor(path: string, commands: ReadonlyMap<string, ControlCommand>, events: ControlServerEvents) {
    claimSocketPath(path);
    this.path = path;
    this.#commands = commands;
    this.#events = events;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.on('error', (error) => events.failed(error));
    listenPrivately(this.#server, { path });
  }

  get clientCount(): number {
    return this.#clients.size;
  }

  /** Ends all connections and removes the socket. May be called twice. */
  close(): void {
    this.#server.close();
    for (const client of this.#clients) client.drop();
    rmSync(this.path, { force: true });
  }

  #accept(socket: Socket): void {
    if (this.#clients.size >= CLIENTS_MAX) {
      this.counters.dropped++;
      const error = `it has ${CLIENTS_MAX} clients, as many as it takes; end one of them`;
      const answer: ControlAnswer = { version: CONTROL_VERSION, id: CONNECTION_ID, error };
      socket.on('error', () => {});
      socket.end(`${JSON.stringify(answer)}\n`, () => socket.destroy());
      return;
    }
    const client = new ControlClient(
      socket,
      (request, handle) => this.#answer(request, handle),
      () => {
        this.counters.dropped++;
      },
    );
    this.#clients.add(client);
    client.onClose(() => this.#clients.delete(client));
  }

  #answer(request: ControlRequest | string, client: ControlClientHandle): ControlAnswer {
    this.counters.requests++;
    if (typeof request === 'string') return this.#refuse(CONNECTION_ID, request);
    const command = this.#commands.get(request.command);
    if (command === undefined) {
      const known = [...this.#commands.keys()].join(', ');
      return this.#refuse(request.id, `unknown command ${request.command}; the commands are ${known}`);
    }
    try {
      return { version: CONTROL_VERSION, id: request.id, result: command(request, client) ?? null };
    } catch (error) {
      // The client shall have its answer before the adapter ends.
      if (!(error instanceof Refusal)) setImmediate(() => this.#events.threw(`the command ${request.command}`, error));
      return this.#refuse(request.id, error instanceof Error ? error.message : String(error));
    }
  }

  #refuse(id: number, error: string): ControlAnswer {
    this.counters.errors++;
    return { version: CONTROL_VERSION, id, error };
  }
}

/** One connection: lines in, answers out, one per turn of the event loop. */
class ControlClient implements ControlClientHandle {
  readonly #socket: Socket;
  readonly #answer: (request: ControlRequest | string, client: ControlClientHandle) => ControlAnswer;
  readonly #dropped: () => void;
  readonly #cleanups: (() => void)[] = [];
  #input: Buffer = Buffer.alloc(0);
  #scheduled = false;
  #spentUs = 0;

  constructor(
    socket: Socket,
    answer: (request: ControlRequest | string, client: ControlClientHandle) => ControlAnswer,
    dropped: () => void,
  ) {
    this.#socket = socket;
    this.#answer = answer;
    this.#dropped = dropped;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => {});
    socket.once('close', () => {
      for (const cleanup of this.#cleanups) cleanup();
    });
  }

  onClose(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  drop(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
    this.#schedule();
  }

  #schedule(): void {
    const end = this.#input.indexOf(10);
    if (end < 0 && this.#input.length > REQUEST_MAX_BYTES) return this.#refuseClient();
    if (end < 0 || this.#scheduled) return;
    this.#scheduled = true;
    this.#socket.pause();
    setImmediate(() => this.#serve());
  }

  #serve(): void {
    this.#scheduled = false;
    if (this.#socket.destroyed) return;
    const end = this.#input.indexOf(10);
    const line = this.#input.toString('utf8', 0, end).trim();
    this.#input = this.#input.subarray(end + 1);
    if (line !== '') this.#send(line);
    if (this.#socket.writableLength > UNREAD_MAX_BYTES) return this.#refuseClient();
    if (this.#input.indexOf(10) < 0) this.#socket.resume();
    this.#schedule();
  }

  /** Writes the answer to a request, and adds up the processor time of all of them. */
  #send(line: string): void {
    const before = process.cpuUsage();
    const json = JSON.stringify(this.#answer(readRequest(line), this));
    const spentUs = this.#spentUs + usSince(before);
    this.#socket.write(`${json.slice(0, -1)},"spentNs":${spentUs * NS_PER_US}}\n`);
    this.#spentUs += usSince(before);
  }

  #refuseClient(): void {
    this.#dropped();
    this.#socket.destroy();
  }
}

/** Processor time of this process since then; what else takes its processor does not count. */
function usSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
