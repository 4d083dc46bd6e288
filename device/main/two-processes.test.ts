// SPDX-License-Identifier: Apache-2.0
/** Two adapters in two processes, joined by a socket, each driven by a raw vfio-user client: the suite of two ends, cut links, killed processes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CompletionStatus, QpState, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import { libraryPath } from '../../protocol/vfio-user/test-support/library.ts';
import { portableCases, runPortableCase } from '../conformance/portable-suite.ts';
import { Ends } from '../conformance/two-ends/ends.ts';
import { runTwoEndsCase, twoEndsCases } from '../conformance/two-ends/suite.ts';
import { LinkedProcess, startAdapter } from './test-support/linked-process.ts';
import { VfioUserAccess } from './test-support/vfio-user-access.ts';

type Index = 0 | 1;

/** Two adapter processes in a folder of their own. */
class Pair {
  readonly directory = mkdtempSync(join(tmpdir(), 'vuhca-pair-'));
  readonly accesses: VfioUserAccess[] = [];
  readonly processes: LinkedProcess[] = [];
  relay: LinkedProcess | undefined;
  readonly #relayed: boolean;

  /** `relayed`: the link can be cut. */
  static async start(t: Test, relayed = false): Promise<Pair> {
    const pair = new Pair(relayed);
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
    if (this.#relayed) this.relay = await LinkedProcess.start('relay.ts', this.#path('relay'), this.#path('link'));
  }

  /** Starts a process, in place of one that was killed, and attaches to it. */
  async start(index: Index): Promise<void> {
    const linkPath = this.#path(this.#relayed && index === 1 ? 'relay' : 'link');
    const socketPath = this.#path(`vfio-user-${index}`);
    this.processes[index] = await startAdapter({ libraryPath: libraryPath(), socketPath, index, linkPath });
    this.accesses[index] = new VfioUserAccess(socketPath);
  }

  async kill(index: Index): Promise<void> {
    await this.processes[index]?.kill();
    this.accesses[index]?.close();
  }

  places(requester: Index = 0) {
    return [requester, 1 - requester].map((index) => ({ access: this.accesses[index], port: 1 as const }));
  }

  ends(seed: number, requester: Index = 0): Ends {
    const [a, b] = this.places(requester);
    return new Ends(a, b, seed);
  }

  async stop(): Promise<void> {
    for (const child of [...this.processes, ...(this.relay ? [this.relay] : [])]) await child.kill();
    for (const access of this.accesses) access.close();
    rmSync(this.directory, { recursive: true });
  }

  #path(name: string): string {
    return join(this.directory, name);
  }
}

t.test('two processes', async (t) => {
  const pair = await Pair.start(t);
  for (const twoEnds of twoEndsCases) {
    t.test(twoEnds.name, async (t) => {
      const [a, b] = pair.places();
      runTwoEndsCase(twoEnds, a, b);
      t.pass('nothing was wrong');
    });
  }
});
void portableCases, runPortableCase, CompletionStatus, QpState, SendOpcode;
