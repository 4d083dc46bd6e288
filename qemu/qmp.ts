// SPDX-License-Identifier: Apache-2.0
/**
 * A small QMP client (QEMU, docs/interop/qmp-spec): QEMU connects to a socket of this process and
 * greets; the client leaves negotiation mode, matches answers to commands by id and hands events to
 * listeners. Called by guest.ts; tests use it to reset, unplug and query.
 */
import type { Socket } from 'node:net';
import { parsePrintable } from '../protocol/system/printable.mjs';
import { LineSplitter } from './line-splitter.ts';

/** An asynchronous message of QEMU, such as SHUTDOWN or DEVICE_DELETED. */
export interface QmpEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

interface Pending {
  readonly command: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface Message extends Partial<QmpEvent> {
  readonly QMP?: unknown;
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
}

/** One QMP connection. Every pending command fails when the connection ends. */
export class QmpClient {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(event: QmpEvent) => void>();
  readonly #greeted: Promise<void>;
  #greet: () => void = () => {};
  #closed: Error | undefined;
  #nextId = 1;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#greeted = new Promise((resolve) => {
      this.#greet = resolve;
    });
    const splitter = new LineSplitter(
      (line) => this.#receive(line),
      (line) => line,
    );
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => this.#fail(new Error('QEMU closed the QMP connection')));
  }

  /** Waits for the greeting and leaves negotiation mode; all devices exist by then. */
  async negotiate(): Promise<void> {
    await this.#greeted;
    if (this.#closed !== undefined) throw this.#closed;
    await this.execute('qmp_capabilities');
  }

  /** Runs one command and returns its result; rejects with QEMU's description of an error. */
  execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const id = this.#nextId++;
    const message = JSON.stringify({ execute: command, id, ...(args === undefined ? {} : { arguments: args }) });
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { command, resolve, reject });
      this.#socket.write(`${message}\n`);
    });
  }

  /** Calls `listener` for each event until the returned function is called. */
  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Resolves with the next event of that name that passes `accept`; rejects when QEMU ends first.
   */
  async waitForEvent(name: string, accept: (event: QmpEvent) => boolean = () => true): Promise<QmpEvent> {
    return new Promise((resolve, reject) => {
      const stop = this.onEvent((event) => {
        if (event.event !== name || !accept(event)) return;
        stop();
        this.#socket.off('close', gone);
        resolve(event);
      });
      const gone = (): void => reject(new Error(`QEMU ended before the event ${name}`));
      this.#socket.once('close', gone);
    });
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #receive(line: string): void {
    if (line.trim() === '') return;
    const message = parsePrintable(line) as Message;
    if (message.QMP !== undefined) this.#greet();
    else if (message.event === undefined) this.#answer(message);
    else for (const listener of this.#listeners) listener(message as QmpEvent);
  }

  #answer(message: Message): void {
    const pending = this.#pending.get(message.id ?? 0);
    if (pending === undefined) return;
    this.#pending.delete(message.id ?? 0);
    if (message.error === undefined) pending.resolve(message.return);
    else pending.reject(new Error(`QMP ${pending.command}: ${message.error.desc}`));
  }

  #fail(error: Error): void {
    this.#closed = error;
    this.#greet();
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}
