// SPDX-License-Identifier: Apache-2.0
/**
 * Carries a `StreamLink` over a UNIX or TCP socket (docs/TOPOLOGY.md): one side listens, the other
 * connects and retries for ever. Either side may restart; the link recovers. It works on Node's
 * event loop beside the pump, which `wake` wakes.
 */

import type { OnReadOpts, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { LinkKey } from '../../../protocol/system/link-key.ts';
import { type LinkEndpoint, nameEndpoint, takesKey } from '../../../protocol/system/socket-address.ts';
import type { StreamLink } from '../../fabric/link/stream-link.ts';
import type { LinkPort } from '../../host.ts';
import { LinkDialer, type RetryTimes } from './link-dialer.ts';
import { describeFault } from './link-failures.ts';
import { LinkListener, type PeerTaker } from './link-listener.ts';

export interface SocketLinkOptions extends Partial<RetryTimes> {
  readonly role: 'listen' | 'connect';
  readonly endpoint: LinkEndpoint;
  /** Encrypts, and lets both ends prove that they may be linked; only over TCP. */
  readonly key?: LinkKey;
  /** Called when the link has work. */
  readonly wake?: () => void;
  /** Called with one line of text, at most a few times per second. */
  readonly log?: (line: string) => void;
}

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
/** Bytes that one read takes at most; Node takes 64 KiB, and allocates them anew. */
const READ_BYTES = 1 << 18;
const LOG_INTERVAL_MS = 200;
/** A line that says the same as the one before it waits so long. */
const LOG_AGAIN_MS = 60_000;
const LOST = 'the peer has gone; the link comes back with it';
const UNGREETED = 'the peer ended the connection without a greeting; its log says why';
const UNGREETED_PLAIN = 'the peer ended the connection without a greeting; it may want a key: its log says why';
const HELD = 'the cable is out; `vuhca link up` plugs it in';

/** One end of a link; the socket may be replaced any number of times. */
export class SocketLink<Options extends SocketLinkOptions = SocketLinkOptions> {
  readonly link: StreamLink;
  readonly options: Options;
  /** The link as hosts call it. */
  readonly #seam: LinkPort;
  readonly #name: string;
  readonly #listener: LinkListener | undefined;
  readonly #dialer: LinkDialer | undefined;
  #socket: Socket | undefined = undefined;
  /** Takes what an unencrypted connection has read. */
  #takeBytes: ((bytes: Uint8Array) => void) | undefined = undefined;
  #closed = false;
  #trouble: string | undefined = undefined;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #loggedWords = '';

  /** `seam` is what stands between host and link, such as a recorder. */
  constructor(link: StreamLink, options: Options, seam: LinkPort = link) {
    this.link = link;
    this.options = options;
    this.#seam = seam;
    const { role, endpoint, key, retryMs = RETRY_MS, retryMaxMs = RETRY_MAX_MS } = options;
    this.#name = `link of port ${link.port.number} at ${nameEndpoint(endpoint)}`;
    link.onFault = (fault) => this.#tell(describeFault(fault));
    const taker = this.#makeTaker();
    this.#listener = role === 'listen' ? new LinkListener(endpoint, key, taker) : undefined;
    this.#dialer = role === 'connect' ? new LinkDialer(endpoint, key, taker, { retryMs, retryMaxMs }) : undefined;
  }

  /** Listens, or begins to connect. Rejects with LinkError when it cannot listen. */
  async start(): Promise<void> {
    this.#dialer?.dial();
    await this.#listener?.start(this.#name);
  }

  /** Port that was bound, for a TCP endpoint with port 0. */
  get boundPort(): number {
    return this.#listener?.boundPort ?? 0;
  }

  /** `listen` or `connect`, and the address. */
  get address(): string {
    const { role, endpoint } = this.options;
    const { boundPort } = this;
    return `${role} ${nameEndpoint('port' in endpoint && boundPort > 0 ? { ...endpoint, port: boundPort } : endpoint)}`;
  }

  /** Connections refused because there was one already, or because there were too many. */
  get refused(): number {
    return this.#listener?.refused ?? 0;
  }

  get failedAttempts(): number {
    return this.#dialer?.failedAttempts ?? 0;
  }

  /** Why the link is not up, as far as it is known: the end of a sentence about it. */
  get trouble(): string | undefined {
    if (this.link.isCut) return HELD;
    return this.link.up ? undefined : this.#trouble;
  }

  /** Looks for a peer, or no longer, after the cable has been plugged in or pulled out. */
  followCable(): void {
    if (this.link.isCut) this.#dialer?.stop();
    else this.#dialer?.dial();
  }

  /** Closes socket, file and timer. May be called twice. */
  close(): void {
    this.#closed = true;
    this.#listener?.close();
    this.#dialer?.stop();
    this.link.close();
    this.#socket?.destroy();
  }

  #makeTaker(): PeerTaker {
    return {
      onread: this.#makeReads(),
      findObjection: () => this.#findObjection(),
      take: (socket, first) => this.#attach(socket, first),
      tell: (words) => this.#tell(words),
    };
  }

  /** One buffer for all reads: the link copies what it keeps. */
  #makeReads(): OnReadOpts {
    const buffer = new Uint8Array(READ_BYTES);
    const callback = (count: number): boolean => {
      this.#takeBytes?.(new Uint8Array(buffer.buffer, 0, count));
      return true;
    };
    return { buffer, callback };
  }

  #findObjection(): string | undefined {
    if (this.#closed) return 'it is closed';
    if (this.link.isCut) return HELD;
    return this.#socket === undefined ? undefined : 'a second peer was refused; a link has two ends';
  }

  #attach(socket: Socket, first: Buffer | undefined): void {
    const link = this.link;
    const seam = this.#seam;
    const { endpoint, key, wake = () => {} } = this.options;
    this.#socket = socket;
    socket.setNoDelay(true);
    const connectionsBefore = link.connections;
    let isEndedHere = false;
    let isBlocked = false;
    const written = (): void => {
      if (!isBlocked || socket.writableLength > 0) return;
      isBlocked = false;
      seam.drained(stream);
      wake();
    };
    const stream = {
      // No copy: Node reads the bytes later only if the system does not take all of them at once,
      // and then the link leaves them alone until it is told.
      write: (bytes: Uint8Array) => {
        if (!socket.writable) return false;
        socket.write(bytes, written);
        isBlocked = socket.writableLength > 0;
        return !isBlocked;
      },
      close: () => {
        isEndedHere = true;
        socket.destroy();
      },
    };
    socket.on('error', () => {});
    const takeBytes = (bytes: Uint8Array): void => {
      seam.receive(stream, bytes);
      wake();
    };
    this.#takeBytes = takeBytes;
    // An encrypted connection has such events; any other one needs the listener to see its end.
    socket.on('data', takeBytes);
    socket.once('close', () => {
      this.#socket = undefined;
      this.#takeBytes = undefined;
      const wasUp = link.connections > connectionsBefore;
      if (wasUp) this.#dialer?.noteUp();
      seam.disconnect(stream);
      wake();
      if (!isEndedHere)
        this.#tell(wasUp ? LOST : takesKey(endpoint) && key === undefined ? UNGREETED_PLAIN : UNGREETED);
    });
    seam.connect(stream);
    if (first !== undefined) seam.receive(stream, first);
    wake();
  }

  #tell(words: string): void {
    if (!this.link.up) this.#trouble = words;
    const nowMs = performance.now();
    if (nowMs - this.#loggedMs < (words === this.#loggedWords ? LOG_AGAIN_MS : LOG_INTERVAL_MS)) return;
    this.#loggedMs = nowMs;
    this.#loggedWords = words;
    this.options.log?.(`${this.#name}: ${words}`);
  }
}
