// SPDX-License-Identifier: Apache-2.0
/**
 * What went wrong with a link to another process, in one sentence that says how to go on: faults of
 * the protocol (stream-link.ts) and errors of sockets. Such a sentence goes to the log and to
 * `vuhca status`. `socket-link.ts` calls it.
 */
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import type { StreamFault } from '../../fabric/link/frame-writer.ts';

/** How to go on after each fault for which this side ended a connection. */
const remedies: Readonly<Record<StreamFault, string>> = {
  'oversized frame': 'what is there is no link of vuhca, or is broken; correct the address',
  'malformed frame': 'what is there is no link of vuhca, or is broken; correct the address',
  'unexpected frame': 'what is there is no link of vuhca, or is broken; correct the address',
  'other version': 'run the same version of vuhca at both ends',
  'other number of lanes': 'give the ports at both ends the same number of virtual lanes',
  'encrypted peer': 'give this end the key of the peer, or leave it out at both',
  'credit overrun': 'the peer sends more than it may; run the same version of vuhca at both ends',
  'silent peer': 'the host of the peer or the network is gone; the link comes back with it',
};

/** Errors of a network, which name no path. */
const networkErrors: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there; stop it, or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; correct it',
  ECONNREFUSED: 'nobody listens there; start the other end, or correct the address',
  ECONNRESET: 'the other end has gone; the link comes back with it',
  EACCES: 'this user may not; choose a port above 1023',
  EAI_AGAIN: 'names cannot be looked up now; give the address in numbers',
  EHOSTUNREACH: 'no way leads to that host; correct the address',
  ENETUNREACH: 'no way leads to that network; correct the address',
  ENOTFOUND: 'no host has that name; correct it',
  ETIMEDOUT: 'that host does not answer; correct the address',
};

/** The sentence, without its subject. */
export function describeFault(fault: StreamFault): string {
  return `connection ended: ${fault}; ${remedies[fault]}`;
}

/** The code of a socket's error in parentheses and the remedy; `isLocal`: of a UNIX socket. */
export function socketErrorWords(error: unknown, isLocal: boolean): string {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const known = isLocal ? undefined : networkErrors[code];
  return known === undefined ? errnoWords(error) : `(${code}): ${known}`;
}
