// SPDX-License-Identifier: Apache-2.0
/**
 * A client of the inspector of a Node process: it speaks its protocol over a WebSocket
 * (RFC 6455), for which Node 20 has no client. It handles text messages only, because the inspector
 * sends no others. Called by `vuhca break` and by tests.
 */
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { Socket } from 'node:net';

/** An event of the inspector, or of its domain `Debugger`. */
export interface InspectorEvent {
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: each event has its own parameters.
  readonly params: any;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

/** Error for a debugger's port that does not exist or cannot be used: one sentence. */
export class DebuggerError extends Error {
  override readonly name = 'ControlError';
}

/** A process that stands at a breakpoint answers, too. Tests lower it. */
export const inspectorBounds = { answerMs: 30_000 };

const FINAL_TEXT = 0x81;
const OPCODE_MASK = 0x0f;
const CLOSE = 0x8;
const MASKED = 0x80;

const CLOSED = 'the adapter has closed the connection of the debugger';

export class InspectorClient {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(event: InspectorEvent) => void>();
  #input: Buffer;
  #nextId = 1;

  /** Connects to the address a Node process prints: `ws://127.0.0.1:9229/...`. */
  static connect(url: string): Promise<InspectorClient> {
    const headers = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    };
    return new Promise((resolve, reject) => {
      const upgrade = request(url.replace(/^ws:/, 'http:'), { headers });
      upgrade.once('upgrade', (_response, socket, head) => resolve(new InspectorClient(socket as Socket, head)));
      const refuse = (why: string): void => {
        upgrade.destroy();
        reject(new DebuggerError(`there is no debugger at ${url}: ${why}`));
      };
      upgrade.once('response', ({ statusCode }) => refuse(`it answers ${statusCode}`));
      upgrade.once('error', ({ message }) => refuse(message));
      upgrade.setTimeout(inspectorBounds.answerMs, () => refuse('it does not answer'));
      upgrade.end();
    });
  }

  private constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#input = head;
    socket.on('data', (chunk: Buffer) => {
      this.#input = Buffer.concat([this.#input, chunk]);
      this.#readFrames();
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      for (const { reject, timer } of this.#pending.values()) {
        clearTimeout(timer);
        reject(new DebuggerError(CLOSED));
      }
    });
    socket.setTimeout(0);
    this.#readFrames();
  }

  /** Calls a method and returns its result; rejects with the inspector's words. */
  // biome-ignore lint/suspicious/noExplicitAny: each method has its own result.
  call(method: string, params: object = {}): Promise<any> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) throw new DebuggerError(CLOSED);
      const late = `the debugger does not answer ${method} within ${inspectorBounds.answerMs / 1000} s`;
      const timer = setTimeout(() => reject(new DebuggerError(late)), inspectorBounds.answerMs);
      this.#pending.set(id, { resolve, reject, timer });
      this.#send(JSON.stringify({ id, method, params }));
    });
  }

  onEvent(listener: (event: InspectorEvent) => void): void {
    this.#listeners.add(listener);
  }

  /** Resolves with the next event of that name. */
  waitFor(method: string): Promise<InspectorEvent> {
    return new Promise((resolve) => {
      const listener = (event: InspectorEvent): void => {
        if (event.method !== method) return;
        this.#listeners.delete(listener);
        resolve(event);
      };
      this.#listeners.add(listener);
    });
  }

  /** Calls `listener` when the connection has ended. */
  onClose(listener: () => void): void {
    this.#socket.once('close', listener);
  }

  /**
   * Ends the connection. The debugger is disabled first: Node 20 crashes when it has scripts to
   * report to a client that is gone.
   */
  async close(): Promise<void> {
    await this.call('Debugger.disable').catch(() => {});
    this.#socket.destroy();
  }

  /** A client must mask its frames; a mask of zeros is one. */
  #send(text: string): void {
    const payload = Buffer.from(text);
    const header = Buffer.alloc(8);
    header[0] = FINAL_TEXT;
    header[1] = MASKED | 126;
    header.writeUInt16BE(payload.length, 2);
    this.#socket.write(Buffer.concat([header, payload]));
  }

  #readFrames(): void {
    for (;;) {
      const { at, length } = readLength(this.#input);
      if (at === 0 || this.#input.length < at + length) return;
      const opcode = this.#input[0] & OPCODE_MASK;
      const text = this.#input.toString('utf8', at, at + length);
      this.#input = this.#input.subarray(at + length);
      const message = opcode === CLOSE ? undefined : readMessage(text);
      if (message === undefined) return void this.#socket.destroy();
      this.#receive(message);
    }
  }

  #receive(message: InspectorMessage): void {
    if (message.id === undefined) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    clearTimeout(pending?.timer);
    if (message.error === undefined) pending?.resolve(message.result);
    else pending?.reject(new DebuggerError(`the debugger refuses: ${message.error.message}`));
  }
}

type InspectorMessage = { id?: number; result?: unknown; error?: { message: string } } & InspectorEvent;

/** Undefined for a frame that no inspector sends. */
function readMessage(text: string): InspectorMessage | undefined {
  try {
    const message = JSON.parse(text);
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Place and length of the payload of the first frame; 0 when its header is not complete. */
function readLength(input: Buffer): { at: number; length: number } {
  if (input.length < 2) return { at: 0, length: 0 };
  const short = input[1];
  if (short < 126) return { at: 2, length: short };
  const at = short === 126 ? 4 : 10;
  if (input.length < at) return { at: 0, length: 0 };
  return { at, length: short === 126 ? input.readUInt16BE(2) : Number(input.readBigUInt64BE(2)) };
}
