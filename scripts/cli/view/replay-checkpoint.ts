// SPDX-License-Identifier: Apache-2.0
/**
 * A process that keeps one state of a replay, with its socket: it answers one request at a time.
 * ReplayFamily has these.
 */
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import type { ReplayAnswer, ReplayRequest } from './replay-requests.ts';
import type { SearchWatch } from './view-source.ts';

/** An answer that is the last one. */
export type LastAnswer = Exclude<ReplayAnswer, { kind: 'looked' }>;

export class Checkpoint {
  /** It keeps the state before this step. */
  readonly step: number;
  readonly #socket: Duplex;
  #isGone = false;
  /** Resolves when all requests so far have been answered. */
  #last: Promise<unknown> = Promise.resolve();
  #answer: ((answer: LastAnswer | undefined) => void) | undefined;
  #watch: SearchWatch | undefined;
  /** The copy that searches. */
  #searcher: number | undefined;

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

  /**
   * Undefined when the process is gone. An aborted search ends with a failure: its copy is killed,
   * or is not made.
   */
  async ask(request: ReplayRequest, watch?: SearchWatch): Promise<LastAnswer | undefined> {
    const answer = this.#last.then(() => this.#send(request, watch));
    this.#last = answer;
    return answer;
  }

  async #send(request: ReplayRequest, watch: SearchWatch | undefined): Promise<LastAnswer | undefined> {
    if (this.#isGone) return undefined;
    if (watch?.signal.aborted) return { kind: 'failure', status: 0 };
    const abort = (): void => this.#endSearch();
    this.#watch = watch;
    watch?.signal.addEventListener('abort', abort);
    const answer = await new Promise<LastAnswer | undefined>((resolve) => {
      this.#answer = resolve;
      this.#socket.write(`${JSON.stringify(request)}\n`);
    });
    watch?.signal.removeEventListener('abort', abort);
    this.#watch = undefined;
    this.#searcher = undefined;
    return answer;
  }

  /** The checkpoint waits for the copy, so the number is that of the copy until it answers. */
  #endSearch(): void {
    if (this.#searcher === undefined || this.#isGone) return;
    try {
      process.kill(this.#searcher, 'SIGKILL');
    } catch {
      // The copy has just ended by itself.
    }
    this.#searcher = undefined;
  }

  /** A copy that dies may leave a part of its answer before the line that reports its end. */
  #take(line: string): void {
    const begin = line.lastIndexOf('{"kind":"failure"');
    const answer = JSON.parse(begin > 0 ? line.slice(begin) : line) as ReplayAnswer;
    if (answer.kind !== 'looked') return this.#settle(answer);
    this.#searcher = answer.pid;
    if (this.#watch?.signal.aborted) this.#endSearch();
    else this.#watch?.onLooked(answer.step);
  }

  #settle(answer: LastAnswer | undefined): void {
    this.#answer?.(answer);
    this.#answer = undefined;
  }
}
