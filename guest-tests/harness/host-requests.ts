// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of a guest to its host: the program `adapter` in the guest (adapter-request.sh) writes a
 * line of words to a port, and waits for the answer, a line with a status and a text. Called by
 * guest-run.ts for runs whose caller answers them.
 */
import { fileURLToPath } from 'node:url';
import type { Guest } from '../../qemu/guest.ts';
import type { GuestFile } from '../../qemu/initramfs.ts';

export const REQUEST_PORT = 'vuhca.request';
const PROGRAM = fileURLToPath(new URL('adapter-request.sh', import.meta.url));

/** Answers one request. Rejects with the reason when it is wrong. */
export type RequestAnswerer = (words: readonly string[]) => Promise<string>;

/** The program in the guest, for busybox or for Debian's user space. */
export function requestProgram(path = '/bin/adapter'): GuestFile {
  return { path, content: { from: PROGRAM }, mode: 0o755 };
}

/** Answers the requests of a guest, one after another, as long as it runs. */
export function answerRequests(guest: Guest, answer: RequestAnswerer): void {
  const port = guest.port(REQUEST_PORT);
  port.onLine((line) => {
    const words = line.split(' ').filter(Boolean);
    void answer(words)
      .then(
        (text) => `0 ${text}`,
        (error: Error) => `1 ${error.message}`,
      )
      .then((reply) => port.write(`${reply.replaceAll('\n', ' ')}\n`));
  });
}
