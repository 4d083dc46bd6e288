// SPDX-License-Identifier: Apache-2.0
/**
 * Access rules of the server of `vuhca view`: only browsers and scripts of this machine that know
 * its token. Other users of the machine can reach the port, other sites can make a browser send
 * requests to it, and a name of theirs can lead there (DNS rebinding). view-server.ts checks each
 * request.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { TOKEN_PARAMETER } from './view-protocol.ts';

const TOKEN_BYTES = 32;
const HTTP_PORT = 80;

/**
 * Headers of all answers. Scripts, styles and connections are those of the server, and no other
 * page may embed it or read from it.
 */
export const guardHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

export class ViewAccess {
  /** The address for people, with the token. */
  readonly address: string;
  /** The header Set-Cookie for a browser that has shown the token. */
  readonly cookie: string;
  readonly #token = randomBytes(TOKEN_BYTES).toString('base64url');
  readonly #hosts: readonly string[];
  readonly #cookieName: string;

  /** `port`: that of the server. */
  constructor(port: number) {
    const authorities = ['127.0.0.1', 'localhost'].map((name) => (port === HTTP_PORT ? name : `${name}:${port}`));
    this.#hosts = authorities;
    this.address = `http://${authorities[0]}/?${TOKEN_PARAMETER}=${this.#token}`;
    // Cookies of all ports of a host are one set: the name tells two servers apart.
    this.#cookieName = `vuhca-view-${port}`;
    this.cookie = `${this.#cookieName}=${this.#token}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /**
   * Reason why the request is not meant for this server or comes from a page of another one, if
   * that is so.
   */
  objectToSender({ host = '', origin }: IncomingHttpHeaders): string | undefined {
    if (!this.#hosts.includes(host)) return `this server answers to ${this.#hosts.join(' and ')} only`;
    if (origin !== undefined && origin !== `http://${host}`) return 'pages of other origins may not ask this server';
    return undefined;
  }

  /** The request has the cookie of this server, or its token in the header Authorization. */
  isKnown({ cookie = '', authorization = '' }: IncomingHttpHeaders): boolean {
    const prefix = `${this.#cookieName}=`;
    const cookies = cookie.split(';').map((one) => one.trim());
    const shown = cookies.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
    const [, bearer] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
    return [...shown, bearer ?? []].flat().some((one) => this.isToken(one));
  }

  /**
   * Another site made the browser send the request, as its headers show: by a link, or invisibly.
   */
  isFromOtherSite({ 'sec-fetch-site': site = 'none' }: IncomingHttpHeaders): boolean {
    return site !== 'none' && site !== 'same-origin';
  }

  /** Takes the same time for all wrong texts of the right length. */
  isToken(text: string): boolean {
    const [given, wanted] = [Buffer.from(text), Buffer.from(this.#token)];
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}
