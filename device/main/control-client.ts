// SPDX-License-Identifier: Apache-2.0
/** The client of the control socket, for commands of scripts/cli that query a live adapter. */
import { createConnection, type Socket } from 'node:net';
import { parsePrintable } from '../../protocol/system/printable.mjs';
import { ControlError, removeDeadSocket } from './control-path.ts';
import { CONNECTION_ID, CONTROL_VERSION, type ControlAnswer } from './control-protocol.ts';

/** A busy machine answers within a second or two; one that stands at a breakpoint never does. */
const ANSWER_BOUND_MS = 30_000;
/** Characters of an answer; those with packets or traces are the longest, with some millions. */
const ANSWER_MAX = 1 << 28;

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

/** One connection to a control server. */
export class ControlClient {
  /** Resolves when the connection has ended. */
  readonly whenClosed: Promise<void>;
  readonly #path: string;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  /** Why the adapter has refused this connection. */
  #refusal: string | undefined;
  #ended: ControlError | undefined;
  /** Pieces of the answer that has no end yet. */
  #input: string[] = [];
  #inputLength = 0;
  #nextId = 1;

  /** Connects. Throws ControlError when no process listens. */
  static connect(path: string): Promise<ControlClient> {
    const socket = createConnection(path);
    return new Promise((resolve, reject) => {
      socket.once('connect', () => resolve(new ControlClient(path, socket)));
      socket.once('error', ({ code }: NodeJS.ErrnoException) => {
        reject(new ControlError(`control socket ${path}: ${explain(path, code)}`));
      });
    });
  }

  private constructor(path: string, socket: Socket) {
    this.#path = path;
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => this.#receive(text));
    this.whenClosed = new Promise((resolve) => {
      socket.once('close', () => {
        const why = this.#refusal === undefined ? 'has ended' : `refuses: ${this.#refusal}`;
        this.#ended = new ControlError(`the adapter at ${path} ${why}`);
        this.#fail(this.#ended);
        resolve();
      });
    });
    socket.removeAllListeners('error');
    socket.on('error', () => {});
  }

  /**
   * Sends one command and returns its result. Throws ControlError with the error of the adapter, or
   * when no answer comes in time.
   */
  request(command: string, parameters: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(
          new ControlError(
            `the adapter at ${this.#path} does not answer within ${ANSWER_BOUND_MS / 1000} s: it may stand at a breakpoint`,
          ),
        );
      }, ANSWER_BOUND_MS);
      this.#pending.set(id, { resolve, reject, timer });
      this.#socket.write(`${JSON.stringify({ version: CONTROL_VERSION, id, command, ...parameters })}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const line = [...this.#input, text.slice(start, end)].join('');
      start = end + 1;
      this.#input = [];
      this.#inputLength = 0;
      const answer = readAnswer(line);
      if (answer === undefined) return this.#refuse();
      this.#settle(answer);
    }
    this.#input.push(text.slice(start));
    this.#inputLength += text.length - start;
    if (this.#inputLength > ANSWER_MAX) this.#refuse();
  }

  /** Ends the connection to a process that is no adapter. */
  #refuse(): void {
    this.#fail(new ControlError(`what listens at ${this.#path} is no adapter: it answers with something else`));
    this.close();
  }

  #settle(answer: ControlAnswer): void {
    if (answer.id === CONNECTION_ID && 'error' in answer) this.#refusal = answer.error;
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) return;
    this.#pending.delete(answer.id);
    clearTimeout(pending.timer);
    if ('error' in answer) pending.reject(new ControlError(`the adapter refuses: ${answer.error}`));
    else pending.resolve(answer.result);
  }

  #fail(error: Error): void {
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }
}

/** Why nobody answers at `path`. A socket that a killed adapter has left is removed. */
function explain(path: string, code: string | undefined): string {
  const advice = `start one with \`vuhca device --control ${path}\``;
  if (code === 'ENOENT') return `no adapter listens there; ${advice}`;
  if (code !== 'ECONNREFUSED') return `${code}`;
  const removed = removeDeadSocket(path) ? ', and what a killed one left is removed' : '';
  return `no adapter listens there any more${removed}; ${advice}`;
}

/** Whatever listens at a path may send anything, which must not reach a terminal as it is. */
function readAnswer(line: string): ControlAnswer | undefined {
  try {
    const answer = parsePrintable(line);
    return typeof answer === 'object' && answer !== null && 'id' in answer ? (answer as ControlAnswer) : undefined;
  } catch {
    return undefined;
  }
}
