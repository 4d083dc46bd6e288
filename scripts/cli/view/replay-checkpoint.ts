// SPDX-License-Identifier: Apache-2.0
/**
 * A process that keeps one state of a replay, behind its socket: it answers one request at a time.
 * ReplayFamily has them.
 */
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import type { ReplayAnswer, ReplayRequest } from './replay-requests.ts';

export class Checkpoint {
  /** It keeps the state before this step. */
  readonly step: number;
  readonly #socket: Duplex;
  #isGone = false;
  /** Resolves when all requests so far have been answered. */
  #last: Promise<unknown> = Promise.resolve();
  #answer: ((answer: ReplayAnswer | undefined) => void) | undefined;

  /** `onGone` is called when the process has ended. */
  constructor(step: number, socket: Duplex, onGone: () => void) {
    this.step = step;
    this.#socket = socket;
    const end = (): void => {
      if (this.#isGone) return;
      this.#isGone = true;
      this.#settle(undefined);
      onGone();
    };
    const lines = createInterface({ input: socket });
    lines.on('line', (line) => this.#take(line));
    lines.on('close', end);
    // A socket to a process that was killed may close by an error, without an end of its lines.
    lines.on('error', () => {});
    socket.on('error', () => {});
    socket.on('close', end);
  }

  /** Undefined when the process is gone. */
  ask(request: ReplayRequest): Promise<ReplayAnswer | undefined> {
    const answer = this.#last.then(() => this.#send(request));
    this.#last = answer;
    return answer;
  }

  #send(request: ReplayRequest): Promise<ReplayAnswer | undefined> {
    if (this.#isGone) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#socket.write(`${JSON.stringify(request)}\n`);
    });
  }

  /** A copy that dies may leave a part of its answer before the line that says so. */
  #take(line: string): void {
    const begin = line.lastIndexOf('{"kind":"failure"');
    this.#settle(JSON.parse(begin > 0 ? line.slice(begin) : line) as ReplayAnswer);
  }

  #settle(answer: ReplayAnswer | undefined): void {
    this.#answer?.(answer);
    this.#answer = undefined;
  }
}
