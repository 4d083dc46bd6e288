// SPDX-License-Identifier: Apache-2.0
/**
 * The UDP ports that are in use on this machine, as the kernel lists them. The host door asks
 * whether a client still lives: UDP has no connection whose end could be noticed.
 */
import { readFileSync } from 'node:fs';

/** Ports of IPv4 sockets, or undefined when the kernel does not tell. */
export function listUdpPorts(path = '/proc/net/udp'): Set<number> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  // `  123: 0100007F:1C03 00000000:0000 07 ...`: number, local address and port, and more.
  const ports = [...text.matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) /gm)];
  return new Set(ports.map(([, port]) => Number.parseInt(port, 16)));
}
