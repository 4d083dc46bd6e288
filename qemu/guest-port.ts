// SPDX-License-Identifier: Apache-2.0
/**
 * The host's end of one virtio-serial port: a UNIX socket that this process listens on and QEMU
 * connects to at start, so that no early output of the guest is lost. Delivers lines or bytes;
 * writes before the connection wait. Called by guest.ts, which also uses one, without lines, for
 * QMP.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { listenPrivately } from '../protocol/system/private-listen.ts';
import { type LineListener, LineSplitter } from './line-splitter.ts';

/** Listens on a UNIX socket for the one connection that QEMU makes. */
export class GuestPort {
  readonly path: string;
  readonly connected: Promise<Socket>;
  readonly #server: Server;
  readonly #listeners = new Set<LineListener>();
  #reading = false;
  #socket: Socket | undefined;

  /** A port whose socket is ready for QEMU. */
  static listen(path: string): Promise<GuestPort> {
    const server = createServer();
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      listenPrivately(server, { path }, () => resolve(new GuestPort(path, server)));
    });
  }

  private constructor(path: string, server: Server) {
    this.path = path;
    this.#server = server;
    this.connected = new Promise((resolve) => {
      server.once('connection', (socket) => {
        this.#socket = socket;
        server.close();
        resolve(socket);
      });
    });
  }

  /**
   * Calls `listener` with each line the guest writes until the returned function is called. Lines
   * that arrive before the first listener wait in the socket.
   */
  onLine(listener: LineListener): () => void {
    this.#listeners.add(listener);
    this.#startReading();
    return () => this.#listeners.delete(listener);
  }

  /** Sends text or bytes to the guest. */
  async write(data: string | Uint8Array): Promise<void> {
    const socket = await this.connected;
    await new Promise<void>((resolve, reject) => socket.write(data, (error) => (error ? reject(error) : resolve())));
  }

  /** Closes the connection and the socket. */
  close(): void {
    this.#server.close();
    this.#socket?.destroy();
  }

  #startReading(): void {
    if (this.#reading) return;
    this.#reading = true;
    const splitter = new LineSplitter((line) => {
      for (const listener of this.#listeners) listener(line);
    });
    void this.connected.then((socket) => {
      socket.on('data', (chunk: Buffer) => splitter.push(chunk));
      socket.on('end', () => splitter.flush());
      socket.on('error', () => {});
    });
  }
}
