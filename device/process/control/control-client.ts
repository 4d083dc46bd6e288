// SPDX-License-Identifier: Apache-2.0
/**
 * The client of the control socket, for commands of scripts/cli that query a live adapter. Whatever
 * listens at the path, and whatever it answers, a request ends, and its result has the shape that
 * its type says.
 */
import { createConnection, type Socket } from 'node:net';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { parsePrintable } from '../../../protocol/system/printable.mjs';
import { findMisfit } from '../reports/answer-shape.ts';
import { answerShapes, type ControlAnswers, type ControlName } from './control-answers.ts';
import { ControlError, removeDeadSocket } from './control-path.ts';
import { CONNECTION_ID, CONTROL_VERSION, type ControlAnswer } from './control-protocol.ts';

/** The path of a UNIX socket is no longer. */
const PATH_MAX_BYTES = 107;

/** Bounds of what an adapter may do to its clients. Tests lower them. */
export const controlBounds = {
  /** A busy machine answers within a second or two; one that stands at a breakpoint never does. */
  answerMs: 30_000,
  /** Those with packets or traces are the longest, with some millions. */
  answerCharacters: 1 << 28,
  /** Answers to one question whose result does not fit one. */
  parts: 1 << 15,
};

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

type Parameters = Readonly<Record<string, unknown>>;

/** One connection to a control server. */
export class ControlClient {
  /** Resolves when the connection has ended. */
  readonly whenClosed: Promise<void>;
  /** The time for an answer to the next request. */
  answerMs = controlBounds.answerMs;
  /** Time that the adapter has spent on this connection, as it says. */
  spentNs = 0;
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

  /** Connects. Rejects with ControlError when no process listens. */
  static async connect(path: string): Promise<ControlClient> {
    // Node cuts longer ones off, and may so meet another socket.
    const length = Buffer.byteLength(path);
    if (length > PATH_MAX_BYTES)
      throw new ControlError(`control socket ${path}: it has ${length} bytes, at most ${PATH_MAX_BYTES} fit`);
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
   * when no answer comes in time, or one that this client does not understand.
   */
  request<Name extends ControlName>(command: Name, parameters?: Parameters): Promise<ControlAnswers[Name]>;
  request(command: string, parameters?: Parameters): Promise<unknown>;
  async request(command: string, parameters: Parameters = {}): Promise<unknown> {
    const result = await this.#ask(command, parameters);
    const shape = Object.hasOwn(answerShapes, command) ? answerShapes[command as ControlName] : undefined;
    const misfit = shape && findMisfit(result, shape);
    if (misfit === undefined) return result;
    throw this.misunderstood(command, misfit);
  }

  /**
   * Reads a result that comes in parts: each says where the next one begins, until one does not.
   * Throws ControlError when that would not end.
   */
  async requestAll<Name extends 'show' | 'queue-pairs'>(
    command: Name,
    parameters: Parameters,
  ): Promise<ControlAnswers[Name][]> {
    const parts: ControlAnswers[Name][] = [];
    for (let first: number | undefined = 0; first !== undefined; ) {
      const part: ControlAnswers[Name] = await this.request<Name>(command, { ...parameters, first });
      parts.push(part);
      if (part.next !== undefined && (part.next <= first || parts.length >= controlBounds.parts))
        throw this.misunderstood(command, `part ${parts.length} is followed by ${part.next}`);
      first = part.next;
    }
    return parts;
  }

  /** The error for a result that cannot be what an adapter of this version answers. */
  misunderstood(command: string, mistake: string): ControlError {
    const what = `the adapter at ${this.#path} answers ${command} with what this command does not understand`;
    return new ControlError(`${what} (${mistake}): use the version of vuhca that has started it`);
  }

  close(): void {
    this.#socket.destroy();
  }

  #ask(command: string, parameters: Parameters): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const { answerMs } = this;
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        const bound = `the adapter at ${this.#path} does not answer within ${answerMs / 1000} s`;
        reject(new ControlError(`${bound}: it may stand at a breakpoint`));
      }, answerMs);
      this.#pending.set(id, { resolve, reject, timer });
      this.#socket.write(`${JSON.stringify({ version: CONTROL_VERSION, id, command, ...parameters })}\n`);
    });
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
    if (this.#inputLength > controlBounds.answerCharacters) this.#refuse();
  }

  /** Ends the connection to a process that is no adapter. */
  #refuse(): void {
    this.#fail(new ControlError(`what listens at ${this.#path} is no adapter: it answers with something else`));
    this.close();
  }

  #settle(answer: ControlAnswer): void {
    if (answer.id === CONNECTION_ID && 'error' in answer) this.#refusal = answer.error;
    if (typeof answer.spentNs === 'number') this.spentNs = answer.spentNs;
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
  if (code !== 'ECONNREFUSED') return `nobody can be asked there ${errnoWords(code)}`;
  const removed = removeDeadSocket(path) ? ', and what a killed one left is removed' : '';
  return `no adapter listens there any more${removed}; ${advice}`;
}

/** Whatever listens at a path may send anything, which must not reach a terminal as it is. */
function readAnswer(line: string): ControlAnswer | undefined {
  try {
    const answer = parsePrintable(line) as Partial<Record<'id' | 'result' | 'error', unknown>> | null;
    const isAnswer = typeof answer?.id === 'number' && ('result' in answer || typeof answer.error === 'string');
    return isAnswer ? (answer as ControlAnswer) : undefined;
  } catch {
    return undefined;
  }
}
