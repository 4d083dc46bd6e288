// SPDX-License-Identifier: Apache-2.0
/**
 * Two adapters in two processes, linked at their first ports, each with a raw vfio-user client.
 * Used by the tests of two processes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { EndPlace } from '../conformance/two-ends/ends.ts';
import { LinkedProcess, startAdapter } from './linked-process.ts';
import { VfioUserAccess } from './vfio-user-access.ts';

type Index = 0 | 1;

/** Two adapter processes in a folder of their own. */
export class ProcessPair {
  readonly #directory = mkdtempSync(join(tmpdir(), 'vuhca-pair-'));
  readonly #accesses: VfioUserAccess[] = [];
  readonly #processes: LinkedProcess[] = [];
  #relay: LinkedProcess | undefined;
  readonly #relayed: boolean;

  /** `relayed`: the link passes through a relay and can be cut. */
  static async start(t: Test, relayed = false): Promise<ProcessPair> {
    const pair = new ProcessPair(relayed);
    t.teardown(() => pair.stop());
    await pair.#startRelay();
    await pair.start(0);
    await pair.start(1);
    return pair;
  }

  private constructor(relayed: boolean) {
    this.#relayed = relayed;
  }

  async #startRelay(): Promise<void> {
    if (this.#relayed) this.#relay = await LinkedProcess.start('relay.ts', this.#path('relay'), this.#path('link'));
  }

  /** Starts a process, also in place of a killed one, and attaches to it. */
  async start(index: Index): Promise<void> {
    const linkPath = this.#path(this.#relayed && index === 1 ? 'relay' : 'link');
    const socketPath = this.#path(`vfio-user-${index}`);
    this.#processes[index] = await startAdapter(socketPath, index, linkPath);
    this.#accesses[index] = new VfioUserAccess(socketPath);
  }

  async kill(index: Index): Promise<void> {
    await this.#processes[index]?.kill();
  }

  place(index: number): EndPlace {
    return { access: this.#accesses[index], port: 1 };
  }

  /** Resolves when the line has left this process. */
  async tellRelay(line: 'cut' | 'join'): Promise<void> {
    await this.#relay?.tell(line);
  }

  async stop(): Promise<void> {
    for (const child of [...this.#processes, ...(this.#relay ? [this.#relay] : [])]) await child.kill();
    for (const access of this.#accesses) access.close();
    rmSync(this.#directory, { recursive: true });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}
