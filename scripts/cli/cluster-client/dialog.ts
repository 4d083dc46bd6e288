// SPDX-License-Identifier: Apache-2.0
/**
 * JSON lines over a UNIX socket between a command and the supervisor of a cluster, for either side:
 * whole messages in, messages out, bytes in base64, and a reader who is slow slows the writer.
 */
import type { Socket } from 'node:net';
import { parsePrintable } from '../../../protocol/system/printable.mjs';
import { LineSplitter } from '../../../qemu/line-splitter.ts';

export class Dialog {
  /** Resolves, never rejects, when the connection has ended. */
  readonly whenClosed: Promise<void>;
  readonly #socket: Socket;
  #isClosed = false;

  /**
   * Calls `take` with each message of the peer, which `parse` has read; a line that is no JSON
   * object ends the connection.
   */
  constructor(socket: Socket, take: (message: object) => void, parse: (json: string) => unknown = parsePrintable) {
    this.#socket = socket;
    const splitter = new LineSplitter(
      (line) => {
        const message = readMessage(line, parse);
        if (this.#isClosed) return;
        if (message !== undefined) return take(message);
        this.#isClosed = true;
        socket.destroy();
      },
      (line) => line,
    );
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.on('error', () => {});
    this.whenClosed = new Promise((resolve) =>
      socket.once('close', () => {
        this.#isClosed = true;
        resolve();
      }),
    );
  }

  /** Sends a message. False when the peer is slow: send more after `whenDrained`. */
  send(message: object): boolean {
    return this.#isClosed || this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Resolves when the peer has taken enough, or has gone. */
  async whenDrained(): Promise<void> {
    if (this.#isClosed || !this.#socket.writableNeedDrain) return;
    await Promise.race([new Promise<void>((resolve) => this.#socket.once('drain', () => resolve())), this.whenClosed]);
  }

  /** Takes no more messages for now, or goes on. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Ends the connection behind what was sent. */
  close(): void {
    this.#socket.end();
  }
}

function readMessage(line: string, parse: (json: string) => unknown): object | undefined {
  try {
    const message = parse(line);
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}
