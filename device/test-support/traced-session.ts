// SPDX-License-Identifier: Apache-2.0
/**
 * A recorded session: a connection whose messages are traced and whose blocks a guest reads. Used
 * by tests of traces in recordings.
 */
import { Adapter, type AdapterFactory } from '../adapter/adapter.ts';
import { tracePayload } from '../hosts/in-process/driver/payloads.ts';
import { Recorder } from '../hosts/recording.ts';
import { Replay } from '../hosts/replay.ts';
import { AdapterFixture } from './adapter-fixture.ts';
import { type Connected, connect } from './connected-fixture.ts';
import { TraceFixture } from './trace-fixture.ts';

const build: AdapterFactory = (options, clock, hosts) => new Adapter(options, clock, hosts);

export class TracedSession {
  readonly fixture: AdapterFixture;
  readonly trace: TraceFixture;
  readonly connected: Connected;
  readonly #pieces: Uint8Array[] = [];

  constructor(seed: number) {
    const sink = (bytes: Uint8Array): void => void this.#pieces.push(bytes.slice());
    this.fixture = new AdapterFixture({ seed, record: (options, count) => new Recorder(options, count, sink) });
    this.trace = new TraceFixture(this.fixture);
    this.connected = connect(this.fixture, { pathMtu: 1 });
  }

  /** Traces a QP as `vuhca trace` does. */
  ask(qpn: number, attributes: Parameters<typeof tracePayload>[0]): number {
    return this.fixture.machine.functionAt(0).requestTrace(qpn, tracePayload(attributes));
  }

  send(count: number): void {
    const { fixture } = this;
    const { a, b } = this.connected;
    for (let sent = 0; sent < count; sent++) {
      fixture.machine.clock.advance(fixture.random.below(5000));
      b.postReceive([fixture.sge(fixture.createBuffer(1000))]);
      a.post({ sges: [fixture.sge(fixture.createBuffer(fixture.random.bytes(fixture.random.below(1000))))] });
      fixture.settle();
      a.parts.sendCq.drain();
      b.parts.receiveCq.drain();
    }
  }

  replay(): Replay {
    this.fixture.machine.recorder?.flush();
    const bytes = new Uint8Array(this.#pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return new Replay(bytes, build);
  }
}
