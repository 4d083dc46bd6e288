// SPDX-License-Identifier: Apache-2.0
/**
 * A wire between two device processes that can be cut: it forwards each connection to the process
 * that listens. While it is cut, it accepts connections and holds them. Called by peer-run.ts.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class LinkRelay {
  /** Count of its cuts. */
  cuts = 0;
  readonly #server: Server;
  readonly #target: string;
  readonly #sockets = new Set<Socket>();
  readonly #held = new Set<Socket>();
  #whole = true;

  /** Listens at `path` for one side; the other side listens at `target`. */
  static listen(path: string, target: string): Promise<LinkRelay> {
    const relay = new LinkRelay(target);
    return new Promise((resolve, reject) => {
      relay.#server.once('error', reject);
      relay.#server.listen(path, () => resolve(relay));
    });
  }

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Both sides lose their connection and the packets under way. */
  cut(): void {
    this.cuts++;
    this.#whole = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Forwards the connections that were held. */
  restore(): void {
    this.#whole = true;
    for (const socket of this.#held) this.#forward(socket);
    this.#held.clear();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#watch(socket);
    if (this.#whole) this.#forward(socket);
    else {
      this.#held.add(socket);
      socket.once('close', () => this.#held.delete(socket));
    }
  }

  #forward(socket: Socket): void {
    const other = connect(this.#target);
    this.#watch(other);
    socket.pipe(other).pipe(socket);
    socket.once('close', () => other.destroy());
    other.once('close', () => socket.destroy());
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
