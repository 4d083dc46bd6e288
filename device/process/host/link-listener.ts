// SPDX-License-Identifier: Apache-2.0
/**
 * The listening side of a link to another process: admits one peer at a time. A connection waits
 * until it has sent its first bytes, or has proved that it has the key, so that one which does not
 * keeps nobody out. Those that wait are few and have little time, and so many a second are looked
 * at, whoever connects.
 * `socket-link.ts` uses it.
 */
import { lstatSync, unlinkSync } from 'node:fs';
import { createServer, type OnReadOpts, type Server, Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import type { LinkKey } from '../../../protocol/system/link-key.ts';
import { askListener } from '../../../protocol/system/listening.ts';
import { listenPrivately } from '../../../protocol/system/private-listen.ts';
import type { LinkEndpoint } from '../../../protocol/system/socket-address.ts';
import { ConnectionRate } from './connection-rate.ts';
import { socketErrorWords } from './link-failures.ts';
import { findDistrust, handshakeWords, listeningOptions } from './link-tls.ts';

/** The link that a peer may be connected to. */
export interface PeerTaker {
  /** Where an unencrypted connection puts what it reads, in place of 'data' events. */
  readonly onread: OnReadOpts;
  /** Why no peer is wanted now: a sentence without its subject; undefined when one is. */
  findObjection(): string | undefined;
  /** Takes a connection, with what it has sent. */
  take(socket: Socket, first?: Buffer): void;
  /** Something went wrong: a sentence without its subject. */
  tell(words: string): void;
}

/** Time until a peer has to say its first word; as long as a link waits for a silent one. */
export const FIRST_WORD_MS = 20_000;
const WAITING_MAX = 16;
/** Connections that are looked at: in a row, and a second. */
const ACCEPTS = 100;

/** A link that cannot listen: one sentence. */
class LinkError extends Error {
  override name = 'LinkError';
}

/** Listens at one address until `close`. */
export class LinkListener {
  /** Connections refused: there was one already, or there were too many. */
  refused = 0;
  readonly #endpoint: LinkEndpoint;
  readonly #taker: PeerTaker;
  #server: Server | undefined = undefined;
  /** Makes an encrypted connection of one that waits. */
  readonly #tls: TlsServer | undefined;
  /** Connections that have said nothing, or not proved to have the key; the oldest first. */
  readonly #waiting = new Set<Socket>();
  readonly #rate = new ConnectionRate(ACCEPTS, performance.now());

  constructor(endpoint: LinkEndpoint, key: LinkKey | undefined, taker: PeerTaker) {
    this.#endpoint = endpoint;
    this.#taker = taker;
    this.#tls = key === undefined ? undefined : this.#makeTls(key);
  }

  /** `name` begins the sentence of a LinkError, with which it rejects when it cannot listen. */
  async start(name: string): Promise<void> {
    const endpoint = this.#endpoint;
    try {
      await this.#listen();
    } catch (error) {
      const isInUse = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      const isLeft = isInUse && 'path' in endpoint && (await isDeadSocket(endpoint.path));
      if (!isLeft) throw new LinkError(`the ${name} cannot listen ${socketErrorWords(error, 'path' in endpoint)}`);
      unlinkSync(endpoint.path);
      await this.#listen();
    }
  }

  /** Port that was bound, of a TCP endpoint; 0 when there is none. */
  get boundPort(): number {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Connections that have said nothing yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  close(): void {
    this.#server?.close();
    for (const socket of this.#waiting) socket.destroy();
  }

  #listen(): Promise<void> {
    const server = createServer((socket) => this.#admit(socket));
    const { tell } = this.#taker;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      listenPrivately(server, this.#endpoint, () => {
        server.off('error', reject);
        server.on('error', (error) => tell(error.message));
        this.#server = server;
        resolve();
      });
    });
  }

  #admit(socket: Socket): void {
    socket.on('error', () => {});
    const objection = this.#taker.findObjection();
    if (objection !== undefined) this.#refuse(socket, objection);
    else if (!this.#rate.take(performance.now()))
      this.#refuse(socket, `more than ${ACCEPTS} peers a second; the others were refused`);
    else {
      const [oldest] = this.#waiting;
      if (this.#waiting.size >= WAITING_MAX) this.#refuse(oldest, 'too many peers say nothing; the oldest was refused');
      this.#wait(socket);
    }
  }

  #wait(socket: Socket): void {
    this.#waiting.add(socket);
    socket.once('close', () => this.#waiting.delete(socket));
    socket.setTimeout(FIRST_WORD_MS, () => this.#refuse(socket, 'a peer said nothing, and was refused'));
    if (this.#tls === undefined) socket.once('data', (chunk) => this.#offer(socket, socket, chunk));
    else this.#tls.emit('connection', socket);
  }

  /** `raw`: the connection that waited; `socket`: the same one, or the encrypted one over it. */
  #offer(raw: Socket, socket: Socket, first?: Buffer): void {
    this.#waiting.delete(raw);
    raw.setTimeout(0);
    const objection = this.#taker.findObjection();
    const { onread } = this.#taker;
    if (objection === undefined) this.#taker.take(socket === raw ? readInto(socket, onread) : socket, first);
    else this.#refuse(socket, objection);
  }

  #makeTls(key: LinkKey): TlsServer {
    const server = createTlsServer(listeningOptions(key, FIRST_WORD_MS));
    server.on('tlsClientError', (error) => {
      const words = handshakeWords(error, key);
      this.refused++;
      this.#taker.tell(words ?? 'a peer ended the connection before it had proved its key; its log says why');
    });
    server.on('secureConnection', (socket) => {
      socket.on('error', () => {});
      const raw = this.#findWaiting(socket);
      const distrust = raw === undefined ? 'a peer came too late, and was refused' : findDistrust(socket, key);
      if (raw === undefined || distrust !== undefined) this.#refuse(socket, distrust ?? '');
      else this.#offer(raw, socket);
    });
    return server;
  }

  /** The connection under an encrypted one. */
  #findWaiting({ remoteAddress, remotePort }: TLSSocket): Socket | undefined {
    return [...this.#waiting].find((raw) => raw.remotePort === remotePort && raw.remoteAddress === remoteAddress);
  }

  #refuse(socket: Socket, words: string): void {
    this.refused++;
    this.#waiting.delete(socket);
    socket.destroy();
    this.#taker.tell(words);
  }
}

/** True for a socket that a killed process has left; anything else at the path is not ours. */
async function isDeadSocket(path: string): Promise<boolean> {
  const isSocket = lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  return isSocket && (await askListener(path)) === 'dead';
}

/**
 * Returns a socket with the connection of `socket`, which reads as `onread` says. Only a socket
 * that connects takes that option, so the connection moves to a new one, as Node moves it to
 * another process. Returns `socket` if Node no longer keeps its handle there.
 */
function readInto(socket: Socket, onread: OnReadOpts): Socket {
  const owner = socket as Socket & { _handle?: unknown };
  const handle = owner._handle;
  if (handle === undefined || handle === null) return socket;
  owner._handle = null;
  const moved = new Socket({ handle, onread, readable: true, writable: true } as ConstructorParameters<
    typeof Socket
  >[0]);
  socket.destroy();
  return moved;
}
