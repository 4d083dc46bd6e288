// SPDX-License-Identifier: Apache-2.0
/**
 * Two fabrics that a link between processes joins, each with a recording: what the peer sends, when
 * it comes and goes, and what `vuhca link` changes is repeated without the peer.
 */
import t, { type Test } from 'tap';
import { encodeLinkChange } from '../fabric/link/link-changes.ts';
import type { StreamLinkOptions } from '../fabric/link/link-options.ts';
import type { StreamLink } from '../fabric/link/stream-link.ts';
import { defaultAdapterOptions } from '../hca/adapter/options.ts';
import type { LinkPort, LinkStream } from '../host.ts';
import type { DriverQueuePair } from '../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../rig/fixtures/adapter-fixture.ts';
import { RecordedFabric } from '../rig/machine/fabric-machine.ts';
import type { FabricPlan } from '../topology/fabric-plan.ts';
import { Replay, type ReplayResult } from './replay.ts';

const QKEY = 0x1234;
const STEPS = 4000;
const LONGEST_BYTES = 200;
/** At most so much at a step: a subnet manager has the time to bring the subnet up. */
const PASSED_NS = 200_000;
/** Requests of each queue that wait. */
const WAITING_MAX = 16;
/** Longer than a silent peer is waited for. */
const SILENCE_NS = 30e9;

/** One end of a connection: bytes written wait until they are carried to the other end. */
class Half implements LinkStream {
  readonly pending: number[] = [];
  isClosed = false;
  isFull = false;

  write(bytes: Uint8Array): boolean {
    this.pending.push(...bytes);
    return !this.isFull;
  }

  close(): void {
    this.isClosed = true;
  }
}

/** A process: an adapter that has a link to another process at its port 1. */
class Process {
  readonly fabric: RecordedFabric;
  readonly fixture: AdapterFixture;
  readonly qp: DriverQueuePair;
  half: Half | undefined;
  readonly #handle: number;
  #sends = 0;
  #receives = 0;

  constructor(number: 0 | 1, seed: number, subnet: FabricPlan['subnet'], link: Partial<StreamLinkOptions>) {
    const nodeGuid = `005655484341001${number}`;
    const options = { ...defaultAdapterOptions, nodeGuid, portLids: [1 + 2 * number, 2 + 2 * number] as const };
    const plan: FabricPlan = {
      ...{ adapters: [{ name: 'a', options }], switches: [], links: [], subnet },
      streams: [{ port: 'a:1', link }],
    };
    this.fabric = new RecordedFabric(plan, { seed });
    this.fixture = new AdapterFixture({ machine: this.fabric.machine });
    const receiveCq = this.fixture.createCompletionQueue();
    this.qp = this.fixture.createQueuePair({ qkey: QKEY, receiveCq, sendEntriesLog2: 5, receiveEntriesLog2: 5 });
    this.#handle = this.fixture.driver.addressHandles.add({ port: 1, pd: this.fixture.pd });
  }

  get stream(): StreamLink {
    return this.fabric.built.streams[0];
  }

  get seam(): LinkPort {
    return (this.fabric.machine.adapter.linkPorts as readonly LinkPort[])[0];
  }

  /** A datagram, unless too many wait at either end. */
  sendTo(other: Process, lengthBytes: number): void {
    const { driver, pd, random } = this.fixture;
    this.#sends -= this.qp.parts.sendCq.drain().length;
    other.#receives -= other.qp.parts.receiveCq.drain().length;
    if (this.#sends === WAITING_MAX) return;
    if (other.#receives < WAITING_MAX) {
      other.fixture.postReceive(other.qp, 40 + LONGEST_BYTES);
      other.#receives++;
    }
    driver.addressHandles.set(this.#handle, { port: 1, dlid: other.fixture.lidOf(1), pd });
    const [remoteQpn, addressHandle] = [other.qp.qpn, this.#handle];
    this.qp.post({ remoteQpn, qkey: QKEY, addressHandle, inline: random.bytes(lengthBytes) });
    this.#sends++;
  }

  change(...words: string[]): void {
    this.fabric.machine.adapter.changeLink?.(encodeLinkChange('a:1', words));
  }

  /** The connection is gone. */
  drop(): void {
    if (this.half !== undefined) this.seam.disconnect(this.half);
    this.half = undefined;
  }
}

/** Two processes and what happens between them, drawn by the seed. */
class Session {
  readonly ends: readonly [Process, Process];

  constructor(seed: number) {
    const subnet = seed % 2 === 0 ? 'managed' : 'fixed';
    const outgoing = { seed, delayNs: 700, faults: { drop: 0.02, reorder: 0.02 } };
    this.ends = [new Process(0, seed, subnet, { bufferBlocks: 200 }), new Process(1, seed, subnet, { outgoing })];
  }

  #random() {
    return this.ends[0].fixture.random;
  }

  connect(): void {
    for (const end of this.ends) {
      end.drop();
      end.half = new Half();
    }
    for (const end of this.ends) end.seam.connect(end.half as Half);
  }

  play(): void {
    const random = this.#random();
    const end = random.pick(this.ends);
    const other = this.ends[end === this.ends[0] ? 1 : 0];
    const passedNs = random.oneIn(1500) ? SILENCE_NS : random.below(PASSED_NS);
    for (const { fabric } of this.ends) fabric.machine.clock.advance(passedNs);
    if (random.oneIn(3)) end.sendTo(other, random.below(LONGEST_BYTES + 1));
    if (random.oneIn(this.ends.some(({ half }) => half === undefined) ? 20 : 400)) this.connect();
    if (random.oneIn(500)) end.drop();
    if (random.oneIn(500)) end.change('down');
    if (random.oneIn(100)) end.change('up');
    if (random.oneIn(200))
      end.change('set', `drop=0.${random.below(3)}`, `delayNs=${random.below(9000)}`, `seed=${random.below(99)}`);
    if (random.oneIn(800)) end.half?.pending.push(...random.bytes(random.between(1, 60)));
    if (end.half !== undefined) end.half.isFull = random.oneIn(4);
    for (const { fabric } of this.ends) if (random.oneIn(2)) fabric.machine.step();
    this.#carry(end, other, random.oneIn(8) ? random.below(100) : 100_000);
    for (const one of this.ends) if (one.half?.isClosed) this.#hangUp();
  }

  /** Carries bytes of an end to the other one; a socket accepts bytes again when it is empty. */
  #carry({ half, seam }: Process, to: Process, lengthBytes: number): void {
    const chunk = Uint8Array.from(half?.pending.splice(0, lengthBytes) ?? []);
    if (half === undefined || chunk.length === 0) return;
    if (to.half !== undefined) to.seam.receive(to.half, chunk);
    if (half.pending.length === 0) seam.drained(half);
  }

  #hangUp(): void {
    for (const end of this.ends) end.drop();
  }
}

/** All that shows what has become of a link. */
function describe({ port, up, isCut, connections, faults, packetsSent, packetsReceived, outgoing }: StreamLink) {
  return {
    ...{ up, isCut, connections, faults: [...faults], packetsSent, packetsReceived },
    ...{ state: port.state, counters: { ...port.counters }, outgoing: { ...outgoing?.counters } },
  };
}

/** Replays a recording of a process, whose link then is what it was. */
function checkReplay(t: Test, { fabric, stream }: Process, what: string): ReplayResult {
  const replay = new Replay(fabric.takeRecording(), () => {
    throw new Error('A recording of a fabric brings its plan.');
  });
  const result = replay.run();
  t.match(result, { divergence: undefined, truncated: false }, what);
  t.same(describe(replay.built?.streams[0] as StreamLink), describe(stream), what);
  return result;
}

t.test('sessions of random traffic, cuts and changes are repeated without the peer', async (t) => {
  const seen = { connections: 0, received: 0, faults: new Set<string>() };
  for (let seed = 1; seed <= 4; seed++) {
    const session = new Session(seed);
    session.connect();
    for (let step = 0; step < STEPS; step++) session.play();
    for (const end of session.ends) {
      checkReplay(t, end, `seed ${seed}`);
      seen.connections += end.stream.connections;
      seen.received += end.stream.packetsReceived;
      for (const fault of end.stream.faults.keys()) seen.faults.add(fault);
    }
  }
  t.ok(
    seen.connections > 40 && seen.received > 1000 && seen.faults.size > 1,
    JSON.stringify({ ...seen, faults: [...seen.faults] }),
  );
});
