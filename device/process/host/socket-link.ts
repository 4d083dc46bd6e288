// SPDX-License-Identifier: Apache-2.0
/**
 * Carries a `StreamLink` over a UNIX or TCP socket (docs/TOPOLOGY.md): one side listens, the other
 * connects and retries for ever. Either side may restart; the link recovers. It works on Node's
 * event loop beside the pump: the port's `onWork` must wake the pump.
 */
import type { Socket } from 'node:net';
import type { LinkKey } from '../../../protocol/system/link-key.ts';
import { type LinkEndpoint, nameEndpoint, takesKey } from '../../../protocol/system/socket-address.ts';
import type { ChangeableLink, LinkChange } from '../../fabric/link/joint.ts';
import { findLinkOptionError, type StreamLinkOptions } from '../../fabric/link/link-options.ts';
import { StreamLink } from '../../fabric/link/stream-link.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { LinkDialer, type RetryTimes } from './link-dialer.ts';
import { describeFault } from './link-failures.ts';
import { LinkListener, type PeerTaker } from './link-listener.ts';

export interface SocketLinkOptions extends Partial<RetryTimes> {
  readonly role: 'listen' | 'connect';
  readonly endpoint: LinkEndpoint;
  /** Encrypts, and lets both ends prove that they may be linked; only over TCP. */
  readonly key?: LinkKey;
  readonly link?: Partial<StreamLinkOptions>;
  /** Called with one line of text, at most a few times per second. */
  readonly log?: (line: string) => void;
}

const RETRY_MS = 50;
const RETRY_MAX_MS = 2000;
const LOG_INTERVAL_MS = 200;
/** A line that says the same as the one before it waits so long. */
const LOG_AGAIN_MS = 60_000;
const LOST = 'the peer has gone; the link comes back with it';
const UNGREETED = 'the peer ended the connection without a greeting; its log says why';
const UNGREETED_PLAIN = 'the peer ended the connection without a greeting; it may want a key: its log says why';
const HELD = 'the cable is out; `vuhca link up` plugs it in';

/** One end of a link; the socket may be replaced any number of times. */
export class SocketLink<Options extends SocketLinkOptions = SocketLinkOptions> implements ChangeableLink {
  readonly isRetrained = false;
  readonly link: StreamLink;
  readonly options: Options;
  readonly #name: string;
  readonly #listener: LinkListener | undefined;
  readonly #dialer: LinkDialer | undefined;
  #socket: Socket | undefined = undefined;
  #closed = false;
  #held = false;
  #trouble: string | undefined = undefined;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #loggedWords = '';

  /** Plugs the link into `port`, which stays down until a peer is connected. */
  constructor(port: LinkEnd, options: Options) {
    this.options = options;
    const { role, endpoint, key, retryMs = RETRY_MS, retryMaxMs = RETRY_MAX_MS } = options;
    this.#name = `link of port ${port.number} at ${nameEndpoint(endpoint)}`;
    this.link = new StreamLink(port, options.link);
    this.link.onFault = (fault) => this.#tell(describeFault(fault));
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
    if (this.#held) return HELD;
    return this.link.up ? undefined : this.#trouble;
  }

  /** The cable is out: there is no connection until it is plugged in. */
  get isCut(): boolean {
    return this.#held;
  }

  cut(): void {
    if (this.#held) return;
    this.#held = true;
    this.link.close();
    this.#socket?.destroy();
    this.#dialer?.stop();
  }

  plugIn(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#dialer?.dial();
  }

  findObjection(change: LinkChange): string | undefined {
    return findLinkOptionError(this.link.mergeProperties(change));
  }

  /** Changes what goes out by this end. */
  change(change: LinkChange): void {
    this.link.change(change);
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
      findObjection: () => this.#findObjection(),
      take: (socket, first) => this.#attach(socket, first),
      tell: (words) => this.#tell(words),
    };
  }

  #findObjection(): string | undefined {
    if (this.#closed) return 'it is closed';
    if (this.#held) return HELD;
    return this.#socket === undefined ? undefined : 'a second peer was refused; a link has two ends';
  }

  #attach(socket: Socket, first: Buffer | undefined): void {
    const { link } = this;
    const { endpoint, key } = this.options;
    this.#socket = socket;
    socket.setNoDelay(true);
    const connectionsBefore = link.connections;
    let isEndedHere = false;
    const stream = {
      // The link uses its bytes again at once, while Node keeps the buffer it is given.
      write: (bytes: Uint8Array) => socket.writable && socket.write(Buffer.from(bytes)),
      close: () => {
        isEndedHere = true;
        socket.destroy();
      },
    };
    socket.on('error', () => {});
    socket.on('data', (chunk) => link.receive(stream, chunk));
    socket.on('drain', () => link.drained(stream));
    socket.once('close', () => {
      this.#socket = undefined;
      const wasUp = link.connections > connectionsBefore;
      if (wasUp) this.#dialer?.noteUp();
      link.disconnect(stream);
      if (!isEndedHere)
        this.#tell(wasUp ? LOST : takesKey(endpoint) && key === undefined ? UNGREETED_PLAIN : UNGREETED);
    });
    link.connect(stream);
    if (first !== undefined) link.receive(stream, first);
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
