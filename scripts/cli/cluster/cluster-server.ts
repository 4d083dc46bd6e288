// SPDX-License-Identifier: Apache-2.0
/**
 * The socket of a supervisor: takes a request of each connection, has it performed, and answers
 * with how it ended. The socket is private to the user, so its clients are commands of this
 * program, of this version or another.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { listenPrivately } from '../../../protocol/system/private-listen.ts';
import type { ClusterInput, ClusterRequest } from '../cluster-client/cluster-protocol.ts';
import { Dialog } from '../cluster-client/dialog.ts';

/** A client whose request is performed. */
export interface ClusterClient {
  readonly dialog: Dialog;
  /** Calls `take` with what comes behind the request. */
  onInput(take: (input: ClusterInput) => void): void;
}

/** Performs a request; its result is the end of the answer, and the message of an error too. */
export type PerformRequest = (request: ClusterRequest, client: ClusterClient) => Promise<unknown>;

/** A client may have been stopped, or may never ask. */
const CLOSE_BOUND_MS = 5000;

export class ClusterServer {
  readonly #server: Server;
  readonly #dialogs = new Set<Dialog>();
  readonly #perform: PerformRequest;

  /** Listens. Rejects with an error of the system. */
  static listen(path: string, perform: PerformRequest): Promise<ClusterServer> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      server.once('error', reject);
      listenPrivately(server, { path }, () => resolve(new ClusterServer(server, perform)));
    });
  }

  private constructor(server: Server, perform: PerformRequest) {
    this.#server = server;
    this.#perform = perform;
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** Takes no more requests, and waits for a while until all answers have been taken. */
  async close(): Promise<void> {
    this.#server.close();
    const taken = Promise.all([...this.#dialogs].map(({ whenClosed }) => whenClosed));
    await Promise.race([taken, new Promise((resolve) => setTimeout(resolve, CLOSE_BOUND_MS).unref())]);
  }

  #accept(socket: Socket): void {
    const early: ClusterInput[] = [];
    let takeInput = (input: ClusterInput): void => void early.push(input);
    let isAsked = false;
    const take = (message: object): void => {
      if (isAsked) return takeInput(message as ClusterInput);
      isAsked = true;
      void this.#answer(message as ClusterRequest, {
        dialog,
        onInput: (listener) => {
          takeInput = listener;
          for (const input of early.splice(0)) listener(input);
        },
      });
    };
    const dialog = new Dialog(socket, take, JSON.parse);
    this.#dialogs.add(dialog);
    void dialog.whenClosed.then(() => this.#dialogs.delete(dialog));
  }

  async #answer(request: ClusterRequest, client: ClusterClient): Promise<void> {
    const { dialog } = client;
    try {
      dialog.send({ done: (await this.#perform(request, client)) ?? null });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      dialog.send({ error: text.trim().replaceAll('\n', '; ') });
    }
    dialog.close();
  }
}
