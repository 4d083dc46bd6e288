// SPDX-License-Identifier: Apache-2.0
/**
 * Tracing changes nothing that a guest or the wire can observe (IPCOM000010133D par. 1;
 * docs/HAZARDS.md, hazard 40). A seeded run of RC, UC and UD with errors over a faulty link gives
 * the same guest memory, the same packets at the same times and the same interrupts with traces and
 * timeline off, on, and wrapping all the time.
 */
import { createHash } from 'node:crypto';
import t from 'tap';
import { CompletionStatus, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { type Connected, connect, rdma } from '../../rig/fixtures/connected-fixture.ts';
import type { Adapter } from '../adapter/adapter.ts';
import { TimelineRing } from '../function/timeline-ring.ts';

const ROUNDS = 120;
const faults = { drop: 0.02, duplicate: 0.01, reorder: 0.02, corrupt: 0.01, delay: 0.02 };

type Tracing = 'off' | 'on' | 'wrapping';

interface Outcome {
  readonly digest: string;
  readonly packets: number;
  readonly statuses: ReadonlySet<number>;
  /** Messages traced, and blocks lost by wrapping. */
  readonly traced: number;
  readonly lost: number;
  readonly steps: number;
}

/** A run from a seed. */
class Run {
  readonly #fixture: AdapterFixture;
  readonly #adapter: Adapter;
  readonly #tracing: Tracing;
  readonly #wire = createHash('sha256');
  readonly #statuses = new Set<number>();
  readonly #traced: DriverQueuePair[] = [];
  readonly #timeline: TimelineRing;
  readonly #connections: Connected[];
  readonly #datagrams: Pair;
  #packets = 0;

  constructor(seed: number, tracing: Tracing) {
    this.#tracing = tracing;
    const portLink = { kind: 'faulty', seed, faults } as const;
    this.#fixture = new AdapterFixture({ seed, budget: 11, memoryBytes: 16 * 1024 * 1024, adapter: { portLink } });
    const { machine } = this.#fixture;
    this.#adapter = machine.device;
    this.#timeline = new TimelineRing(tracing === 'wrapping' ? 0 : 20, () => machine.clock.now());
    if (tracing !== 'off') this.#adapter.attachTimeline(this.#timeline);
    this.#observe();
    this.#connections = [ServiceType.RC, ServiceType.UC, ServiceType.RC].map((serviceType) =>
      connect(this.#fixture, { serviceType, pathMtu: 1, sendPsn: 0xfffff0, timeout: 12 }),
    );
    this.#datagrams = this.#fixture.createPair();
    for (const { a, b } of this.#connections) this.#trace(a, b);
    this.#trace(this.#datagrams.sender, this.#datagrams.receiver);
  }

  go(): Outcome {
    for (let round = 0; round < ROUNDS; round++) {
      this.#post();
      this.#fixture.machine.clock.advance(this.#fixture.random.below(20_000));
      this.#fixture.settle();
      // One connection breaks halfway and passes through RESET.
      if (round === ROUNDS / 2) this.#break();
    }
    while (this.#fixture.machine.clock.jumpToAlarm()) {
      this.#fixture.settle();
      this.#reap();
    }
    return this.#outcome();
  }

  #post(): void {
    const fixture = this.#fixture;
    const { random } = fixture;
    const { a, b, region } = random.pick(this.#connections);
    const size = random.below(1500);
    const local = fixture.createBuffer(random.bytes(size));
    const remote = fixture.createBuffer(size);
    if (random.oneIn(2)) b.postReceive([fixture.sge(fixture.createBuffer(1600))]);
    const opcode = random.pick([SendOpcode.SEND, SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]);
    const request =
      opcode === SendOpcode.SEND ? { sges: [fixture.sge(local)] } : rdma(fixture, opcode, local, remote, region);
    a.post(request, random.pick(['collect', 'doorbell'] as const));
    const { sender, receiver, to } = this.#datagrams;
    if (random.oneIn(2)) fixture.postReceive(receiver, 300);
    sender.post(to({ inline: random.bytes(random.below(200)) }), 'collect');
    this.#reap();
  }

  #break(): void {
    const fixture = this.#fixture;
    const { a, b } = this.#connections[2] as Connected;
    a.post({
      opcode: SendOpcode.RDMA_WRITE,
      sges: [fixture.sge(fixture.createBuffer(64))],
      remote: { address: 4096, rkey: 1 },
    });
    while (fixture.machine.clock.jumpToAlarm() && this.#statuses.size < 3) {
      fixture.settle();
      this.#reap();
    }
    a.toReset();
    b.toReset();
    this.#connections.pop();
  }

  #reap(): void {
    const pairs = [...this.#connections.map(({ a, b }) => [a, b]), [this.#datagrams.sender, this.#datagrams.receiver]];
    for (const qp of pairs.flat()) {
      for (const { status } of qp.parts.sendCq.drain()) this.#statuses.add(status);
      for (const { status } of qp.parts.receiveCq.drain()) this.#statuses.add(status);
    }
    this.#fixture.events.walk();
    this.#fixture.asynchronous.walk();
  }

  /** Traces by the host: no guest command shows it. */
  #trace(...qps: readonly DriverQueuePair[]): void {
    if (this.#tracing === 'off') return;
    const wraps = this.#tracing === 'wrapping';
    const settings = { blocksLog2: wraps ? 0 : 9, snapLength: wraps ? 100 : 4096, stopOnError: false, byGuest: false };
    for (const qp of qps) {
      this.#traced.push(qp);
      const object = this.#adapter.tables.queuePairs.get(qp.qpn);
      if (object === undefined || !this.#adapter.traces.enable(object, settings)) throw new Error('no trace');
    }
  }

  #observe(): void {
    for (const port of this.#adapter.ports)
      port.observer = (from, outgoing, bytes, offset, lengthBytes) => {
        const nowNs = this.#fixture.machine.clock.now();
        this.#wire.update(`${nowNs} ${from.number} ${outgoing} ${lengthBytes}`);
        this.#wire.update(bytes.subarray(offset, offset + lengthBytes));
        this.#packets++;
      };
  }

  #outcome(): Outcome {
    const { host, machine } = this.#fixture;
    const rings = this.#traced.flatMap(({ qpn }) => this.#adapter.tables.queuePairs.get(qpn)?.trace?.ring ?? []);
    const hash = createHash('sha256').update(this.#wire.digest()).update(host.memory.bytes);
    const sent = this.#adapter.functions[0]?.underlying.msix.sent ?? [];
    hash.update(`${machine.clock.now()} ${machine.steps} ${sent} ${JSON.stringify(this.#fixture.allFaults())}`);
    return {
      digest: hash.digest('hex'),
      packets: this.#packets,
      statuses: this.#statuses,
      traced: rings.reduce((sum, { head }) => sum + head, 0),
      lost: rings.reduce((sum, { lost }) => sum + lost, 0),
      steps: this.#timeline.head,
    };
  }
}

t.test(
  'hazard 40: guest memory, wire and interrupts are equal in bytes and times with traces off, on and wrapping',
  async (t) => {
    for (const seed of [401, 402, 403]) {
      const [off, on, wrapping] = (['off', 'on', 'wrapping'] as const).map((tracing) => new Run(seed, tracing).go());
      if (off === undefined || on === undefined || wrapping === undefined) throw new Error('a run is missing');
      t.equal(on.digest, off.digest, `seed ${seed}: on`);
      t.equal(wrapping.digest, off.digest, `seed ${seed}: wrapping`);
      t.ok(off.packets > 500 && off.statuses.size > 2 && off.statuses.has(CompletionStatus.FLUSHED), `seed ${seed}`);
      t.equal(off.traced + off.steps, 0);
      t.ok(on.traced > 200 && on.lost === 0 && on.steps > 1000, `seed ${seed}: ${on.traced} blocks, ${on.steps} steps`);
      t.ok(wrapping.lost > 200 && wrapping.steps > 1000 && wrapping.traced === on.traced, `seed ${seed}: wrapped`);
    }
  },
);
