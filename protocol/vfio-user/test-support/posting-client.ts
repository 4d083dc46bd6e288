// SPDX-License-Identifier: Apache-2.0
/**
 * A client in the process of the device: it posts requests and takes the replies later, because it
 * shares the thread with the pump.
 */
import { VfioUserClient } from '../client/client.ts';
import { ClientError } from '../client/unix-socket.ts';
import { COMMAND, encodeVersion, pack } from '../client/wire.ts';
import type { VfioUserContext } from '../context.ts';

export class PostingClient {
  readonly client: VfioUserClient;
  #closed = false;

  /** Connects and sends its version; `context` tells when it is attached. */
  constructor(context: VfioUserContext) {
    this.client = new VfioUserClient(context.socketPath);
    this.client.post(COMMAND.version, encodeVersion(), [], 0);
  }

  /** Waits until it is attached; false when `isOver` comes true before. */
  async attach(context: VfioUserContext, isOver: () => boolean): Promise<boolean> {
    await until(() => context.state === 'attached' || isOver());
    if (isOver()) return false;
    this.client.receiveReply();
    return true;
  }

  /** Sends reads of the first register of BAR0. */
  postReads(count: number): void {
    for (let i = 0; i < count; i++) this.client.post(COMMAND.regionRead, pack('qww', 0, 0, 4), [], 0);
  }

  /** Takes all replies up to the end of the connection; returns the values that were read. */
  takeReads(): number[] {
    const values: number[] = [];
    for (;;) {
      try {
        const { header, body } = this.client.receiveReply();
        if (header.command === COMMAND.regionRead)
          values.push(new DataView(body.buffer, body.byteOffset).getUint32(16, true));
      } catch (error) {
        // A reply with an error number is a reply.
        if (error instanceof ClientError) return values;
      }
    }
  }

  /** May be called twice. */
  close(): void {
    if (!this.#closed) this.client.close();
    this.#closed = true;
  }
}

/** Lets the pump of this thread work until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setTimeout(done, 1));
}
