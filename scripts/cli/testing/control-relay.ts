// SPDX-License-Identifier: Apache-2.0
/**
 * A relay before a control socket, which records the time of each request of a page for a state,
 * and the time that the adapter reports to have spent by then. Called by tests of the cost of
 * pages.
 */
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';

/** The start of a state, whose first request is `fabric`. */
interface SeenPoll {
  /** Time as of performance.now(). */
  readonly atMs: number;
  /** Processor time of the adapter for all earlier requests. */
  readonly spentMs: number;
}

const NS_PER_MS = 1e6;

export class ControlRelay {
  readonly path: string;
  readonly polls: SeenPoll[] = [];
  #spentMs = 0;

  /** Listens at `path` for one client of the socket at `control`; ends with the test. */
  static async open(t: Test, control: string, path: string): Promise<ControlRelay> {
    const relay = new ControlRelay(path);
    const server = createServer((client) => relay.#join(client, connect(control)));
    t.teardown(() => server.close());
    await new Promise<void>((done) => server.listen(path, done));
    return relay;
  }

  private constructor(path: string) {
    this.path = path;
  }

  #join(client: Socket, adapter: Socket): void {
    for (const [one, other] of [
      [client, adapter],
      [adapter, client],
    ]) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
    createInterface({ input: client }).on('line', (line) => {
      if (JSON.parse(line).command === 'fabric') this.polls.push({ atMs: performance.now(), spentMs: this.#spentMs });
      adapter.write(`${line}\n`);
    });
    createInterface({ input: adapter }).on('line', (line) => {
      const { spentNs = 0 } = JSON.parse(line) as { spentNs?: number };
      this.#spentMs = spentNs / NS_PER_MS;
      client.write(`${line}\n`);
    });
  }
}
