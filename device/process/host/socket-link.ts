// SPDX-License-Identifier: Apache-2.0
/**
 * Carries a `StreamLink` over a UNIX or TCP socket: one side listens, the other connects and
 * retries for ever, at growing intervals. Either side may restart; the link recovers. It works on
 * Node's event loop beside the pump: the port's `onWork` must wake the pump.
 */
import { lstatSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { askListener } from '../../../protocol/system/listening.ts';
import { listenPrivately } from '../../../protocol/system/private-listen.ts';
import type { StreamLinkOptions } from '../../fabric/link/link-options.ts';
import { StreamLink } from '../../fabric/link/stream-link.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';

/** Address of the listening side. */
export type LinkEndpoint = { readonly path: string } | { readonly host: string; readonly port: number };

export interface SocketLinkOptions {
  readonly role: 'listen' | 'connect';
  readonly endpoint: LinkEndpoint;
  readonly link?: Partial<StreamLinkOptions>;
  /** First and longest wait before the next attempt to connect. */
  readonly retryMs?: number;
  readonly retryMaxMs?: number;
  /** Called with one line of text, at most a few times per second. */
  readonly log?: (line: string) => void;
}

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
const LOG_INTERVAL_MS = 200;

/** A link that cannot listen: one sentence. */
class LinkError extends Error {
  override name = 'LinkError';
}

/** One end of a link; the socket may be replaced any number of times. */
export class SocketLink<Options extends SocketLinkOptions = SocketLinkOptions> {
  readonly link: StreamLink;
  readonly options: Options;
  /** Connections refused because there was one already; attempts to connect that failed. */
  refused = 0;
  failedAttempts = 0;
  readonly #name: string;
  #server: Server | undefined = undefined;
  #socket: Socket | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;
  #retryMs: number;
  #closed = false;
  #held = false;
  #loggedMs = Number.NEGATIVE_INFINITY;

  /** Plugs the link into `port`, which stays down until a peer is connected. */
  constructor(port: LinkEnd, options: Options) {
    this.options = options;
    this.#retryMs = options.retryMs ?? RETRY_MS;
    this.#name = `link of port ${port.number} at ${nameEndpoint(options.endpoint)}`;
    this.link = new StreamLink(port, options.link);
    this.link.onFault = (fault) => this.#log(`${this.#name}: connection ended: ${fault}`);
  }

  /** Listens, or begins to connect. Rejects with LinkError when it cannot listen. */
  async start(): Promise<void> {
    if (this.options.role === 'connect') return this.#connect();
    const { endpoint } = this.options;
    try {
      await this.#listen();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const isLeft = code === 'EADDRINUSE' && 'path' in endpoint && (await isDeadSocket(endpoint.path));
      if (!isLeft) throw new LinkError(`the ${this.#name} cannot listen ${errnoWords(error)}`);
      unlinkSync(endpoint.path);
      await this.#listen();
    }
  }

  /** Port that was bound, for a TCP endpoint with port 0. */
  get boundPort(): number {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** The cable is out: the connection ends, and none begins until the link is released. */
  get isHeld(): boolean {
    return this.#held;
  }

  /** Pulls the cable out, or plugs it in again. */
  hold(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    clearTimeout(this.#timer);
    if (held) {
      this.link.close();
      this.#socket?.destroy();
    } else if (this.options.role === 'connect' && this.#socket === undefined) this.#connect();
  }

  /** Closes socket, file and timer. May be called twice. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#server?.close();
    this.link.close();
    this.#socket?.destroy();
  }

  #listen(): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      listenPrivately(server, this.options.endpoint, () => {
        server.off('error', reject);
        server.on('error', (error) => this.#log(`${this.#name}: ${error.message}`));
        this.#server = server;
        resolve();
      });
    });
  }

  #accept(socket: Socket): void {
    if (this.#held) {
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    if (this.#socket !== undefined || this.#closed) {
      this.refused++;
      this.#log(`${this.#name}: a second peer was refused; a link has two ends`);
      socket.on('error', () => {});
      socket.destroy();
      return;
    }
    this.#watch(socket);
    this.#attach(socket);
  }

  #connect(): void {
    if (this.#closed || this.#held) return;
    const socket = connect(this.options.endpoint);
    this.#watch(socket);
    socket.once('connect', () => this.#attach(socket));
  }

  /** Makes this the current socket; after it closes, the next attempt follows. */
  #watch(socket: Socket): void {
    this.#socket = socket;
    let wasConnected = this.options.role === 'listen';
    socket.once('connect', () => {
      wasConnected = true;
    });
    socket.on('error', (error) => this.#log(`${this.#name}: ${error.message}`));
    socket.once('close', () => {
      this.#socket = undefined;
      if (!wasConnected) this.failedAttempts++;
      if (this.options.role === 'connect') this.#retry();
    });
  }

  #attach(socket: Socket): void {
    socket.setNoDelay(true);
    const connectionsBefore = this.link.connections;
    const stream = {
      // The link uses its bytes again at once, while Node keeps the buffer it is given.
      write: (bytes: Uint8Array) => socket.writable && socket.write(Buffer.from(bytes)),
      close: () => socket.destroy(),
    };
    socket.on('data', (chunk) => this.link.receive(stream, chunk));
    socket.on('drain', () => this.link.drained(stream));
    socket.once('close', () => {
      if (this.link.connections > connectionsBefore) this.#retryMs = this.options.retryMs ?? RETRY_MS;
      this.link.disconnect(stream);
    });
    this.link.connect(stream);
  }

  #retry(): void {
    if (this.#closed || this.#held) return;
    this.#timer = setTimeout(() => this.#connect(), this.#retryMs);
    this.#timer.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, this.options.retryMaxMs ?? RETRY_MAX_MS);
  }

  #log(line: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedMs < LOG_INTERVAL_MS) return;
    this.#loggedMs = nowMs;
    this.options.log?.(line);
  }
}

/** The endpoint as text: a path, or host and port. */
export function nameEndpoint(endpoint: LinkEndpoint): string {
  return 'path' in endpoint ? endpoint.path : `${endpoint.host}:${endpoint.port}`;
}

/** True for a socket that a killed process has left; anything else at the path is not ours. */
async function isDeadSocket(path: string): Promise<boolean> {
  const isSocket = lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  return isSocket && (await askListener(path)) === 'dead';
}
