// SPDX-License-Identifier: Apache-2.0
/**
 * A guest at work on one function of an adapter in another process: messages over a reliable
 * connection from port 1 to port 2 of the adapter, by collect buffer and by doorbell. Each must
 * complete once, in order and with its bytes. Used by the tests of processes with several
 * functions.
 */
import { strict as assert } from 'node:assert';
import { assertBytes, type EndPair, type Ends } from '../conformance/two-ends/ends.ts';
import { bringUp } from '../conformance/two-ends/suite.ts';
import type { Buffer } from '../fixtures/adapter-fixture.ts';
import { VfioUserAccess } from './vfio-user-access.ts';

/** Most messages that may be posted and not yet taken. */
const TENANT_MESSAGES = 16;
const MESSAGE_BYTES_MAX = 1024;

export class LiveTenant {
  readonly access: VfioUserAccess;
  readonly ends: Ends;
  readonly pair: EndPair;
  /** Number of messages received and checked. */
  taken = 0;
  readonly #sources: Buffer[];
  readonly #targets: Buffer[];
  #posted = 0;

  /** Attaches to the function at `socketPath` and sets it up. */
  constructor(socketPath: string, seed: number) {
    this.access = new VfioUserAccess(socketPath);
    this.ends = bringUp({ access: this.access, port: 1 }, { access: this.access, port: 2 }, seed);
    this.pair = this.ends.connect();
    const { a, b, random } = this.ends;
    const lengths = Array.from({ length: TENANT_MESSAGES }, () => 1 + random.below(MESSAGE_BYTES_MAX));
    this.#sources = lengths.map((length) => a.buffer(length));
    this.#targets = lengths.map((length) => b.buffer(length));
  }

  /** Posts `count` messages of random bytes, at most TENANT_MESSAGES beyond those taken. */
  post(count = TENANT_MESSAGES): void {
    const { a, b, random } = this.ends;
    for (let i = 0; i < count; i++) {
      const slot = this.#posted++ % TENANT_MESSAGES;
      const source = this.#sources[slot];
      source.bytes.set(random.bytes(source.lengthBytes));
      this.pair.b.postReceive([b.sge(this.#targets[slot])]);
      this.pair.a.post({ sges: [a.sge(source)] }, random.below(2) === 0 ? 'collect' : 'doorbell');
    }
  }

  /**
   * Takes all posted messages. Throws when one is lost, late, repeated, out of order or has wrong
   * bytes.
   */
  take(): void {
    const count = this.#posted - this.taken;
    this.ends.sent(this.pair.a, count);
    this.ends.received(this.pair.b, count);
    for (; this.taken < this.#posted; this.taken++) {
      const slot = this.taken % TENANT_MESSAGES;
      assertBytes(this.#targets[slot].bytes, this.#sources[slot].bytes, `message ${this.taken}`);
    }
    for (const { parts } of [this.pair.a, this.pair.b])
      assert.ok(!parts.sendCq.ready && !parts.receiveCq.ready, 'one completion too many');
  }

  /** Posts and takes sixteen messages, `rounds` times. */
  work(rounds = 1): void {
    for (let round = 0; round < rounds; round++) {
      this.post();
      this.take();
    }
  }

  /** Writes only the first bytes of a command, which bind a VCB and a PCB. */
  beginCommand(): void {
    const { b } = this.pair;
    b.collect(b.fill({ inline: new Uint8Array(64) }).subarray(0, 24));
  }

  /** Disconnects without notice, as a guest that crashes. */
  close(): void {
    this.access.close();
  }
}
