// SPDX-License-Identifier: Apache-2.0
/**
 * The connecting side of a link to another process: tries again for ever, at growing intervals.
 * `socket-link.ts` uses it.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { LinkKey } from '../../../protocol/system/link-key.ts';
import type { LinkEndpoint } from '../../../protocol/system/socket-address.ts';
import { socketErrorWords } from './link-failures.ts';
import { FIRST_WORD_MS, type PeerTaker } from './link-listener.ts';
import { connectingOptions, findDistrust, handshakeWords } from './link-tls.ts';

/** First and longest wait before the next attempt. */
export interface RetryTimes {
  readonly retryMs: number;
  readonly retryMaxMs: number;
}

export class LinkDialer {
  failedAttempts = 0;
  readonly #endpoint: LinkEndpoint;
  readonly #key: LinkKey | undefined;
  readonly #taker: PeerTaker;
  readonly #times: RetryTimes;
  #retryMs: number;
  #timer: NodeJS.Timeout | undefined = undefined;
  #socket: Socket | undefined = undefined;
  #stopped = false;

  constructor(endpoint: LinkEndpoint, key: LinkKey | undefined, taker: PeerTaker, times: RetryTimes) {
    this.#endpoint = endpoint;
    this.#key = key;
    this.#taker = taker;
    this.#times = times;
    this.#retryMs = times.retryMs;
  }

  /** Tries now, and again whenever a connection has ended. */
  dial(): void {
    this.#stopped = false;
    clearTimeout(this.#timer);
    if (this.#socket !== undefined) return;
    const key = this.#key;
    const endpoint = this.#endpoint;
    const { onread } = this.#taker;
    const socket =
      key === undefined ? connect({ ...endpoint, onread }) : connectTls({ ...endpoint, ...connectingOptions(key) });
    this.#socket = socket;
    let isConnected = false;
    socket.setTimeout(FIRST_WORD_MS, () => socket.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })));
    socket.once(key === undefined ? 'connect' : 'secureConnect', () => {
      const distrust = key === undefined ? undefined : findDistrust(socket as TLSSocket, key);
      if (distrust !== undefined) {
        this.#taker.tell(distrust);
        socket.destroy();
        return;
      }
      isConnected = true;
      socket.setTimeout(0);
      this.#taker.take(socket);
    });
    socket.on('error', (error) => this.#tellError(error, isConnected));
    socket.once('close', () => {
      this.#socket = undefined;
      if (!isConnected) this.failedAttempts++;
      this.#retry();
    });
  }

  /** The link came up: the next attempt after this connection is soon. */
  noteUp(): void {
    this.#retryMs = this.#times.retryMs;
  }

  /** Ends an attempt; none follows until `dial`. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
  }

  #tellError(error: NodeJS.ErrnoException, isConnected: boolean): void {
    const words = this.#key === undefined ? undefined : handshakeWords(error, this.#key);
    // The listening side may refuse a certificate after the handshake.
    if (words !== undefined) this.#taker.tell(words);
    else if (!isConnected) this.#taker.tell(`cannot connect ${socketErrorWords(error, 'path' in this.#endpoint)}`);
  }

  #retry(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.dial(), this.#retryMs);
    this.#timer.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, this.#times.retryMaxMs);
  }
}
