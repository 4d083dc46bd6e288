// SPDX-License-Identifier: Apache-2.0
/**
 * Addresses of links to other processes (docs/TOPOLOGY.md): the path of a UNIX socket, or
 * `tcp://HOST:PORT`, as text and as arguments of node:net. Plain text goes over TCP only on
 * loopback, or by the name `tcp+plain://`. Readers of options and topology files call it.
 */
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Address of the listening side. */
export type LinkEndpoint = { readonly path: string } | TcpEndpoint;

export interface TcpEndpoint {
  readonly host: string;
  /** 0, for a side that listens: the system chooses. */
  readonly port: number;
  /** Plain text was requested by name. */
  readonly plain?: true;
}

export const ADDRESS_SYNTAX = 'a path, tcp://HOST:PORT or tcp+plain://HOST:PORT';

const SCHEME = /^[a-z][a-z\d+.-]*:\/\//i;
const TCP = /^tcp(\+plain)?:\/\/(?:\[([\da-f:.]+(?:%\w+)?)\]|([a-z\d._-]+)):(\d{1,5})$/i;
const PORT_MAX = 65_535;
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** The endpoint of the text; undefined for an address of another kind, or a malformed one. */
export function parseEndpoint(text: string): LinkEndpoint | undefined {
  if (!SCHEME.test(text)) return { path: text };
  const [, plain, ipv6, name, digits] = TCP.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  if (host === undefined || port > PORT_MAX || (ipv6 !== undefined && !isIPv6(ipv6))) return undefined;
  return { host, port, ...(plain === undefined ? {} : { plain: true as const }) };
}

/** The endpoint as text that `parseEndpoint` reads. */
export function nameEndpoint(endpoint: LinkEndpoint): string {
  if ('path' in endpoint) return endpoint.path;
  const { host, port, plain } = endpoint;
  return `tcp${plain === true ? '+plain' : ''}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * One sentence why a link cannot have this endpoint, or undefined. `keyName`: name of the option
 * for a key; `isKeyed`: a key for `tcp://` is given.
 */
export function findEndpointError(
  role: 'listen' | 'connect',
  endpoint: LinkEndpoint,
  isKeyed: boolean,
  keyName: string,
): string | undefined {
  if ('path' in endpoint) return undefined;
  const address = nameEndpoint(endpoint);
  if (role === 'connect' && endpoint.port === 0)
    return `${address} has no port to connect to; it must be 1 to ${PORT_MAX}`;
  if (isKeyed || endpoint.plain === true || isLoopback(endpoint.host)) return undefined;
  const plain = nameEndpoint({ ...endpoint, plain: true });
  return `${address} is not on loopback, and would be plain text; give it a key (${keyName}), or say ${plain} if all on the way may read and change packets`;
}

/** True when a key can encrypt a link at this endpoint: `tcp://`. */
export function takesKey(endpoint: LinkEndpoint): boolean {
  return 'port' in endpoint && endpoint.plain !== true;
}

/** True for addresses that never leave this machine. */
function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host.toLowerCase() === 'localhost' : loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
