// SPDX-License-Identifier: Apache-2.0
/**
 * The link between two processes, with a pipe in memory instead of a socket: it may cut the bytes
 * anywhere, stall or break, and the peer may send anything.
 */
import t from 'tap';
import { LINK_FRAME_SIZE } from '../../../protocol/infiniband/gen/link-frame.gen.ts';
import { LINK_HELLO_SIZE } from '../../../protocol/infiniband/gen/link-hello.gen.ts';
import { LinkFrameType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PortPhysicalState, TrapNumber } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { LinkStream } from '../../host.ts';
import { Random } from '../../random.ts';
import { Arrivals, newPort, send } from '../../rig/fixtures/port-pair.ts';
import { PACKET_SLOT_BYTES } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import type { StreamLinkOptions } from './link-options.ts';
import { StreamLink } from './stream-link.ts';

/** One end of a connection: bytes written wait until they are pumped to the other end. */
class Wire implements LinkStream {
  pending: Uint8Array[] = [];
  closed = false;
  /** Bytes it takes before it reports that enough wait. */
  room = Number.POSITIVE_INFINITY;

  write(bytes: Uint8Array): boolean {
    this.pending.push(bytes.slice());
    return this.pendingBytes < this.room;
  }

  get pendingBytes(): number {
    return this.pending.reduce((sum, { length }) => sum + length, 0);
  }

  close(): void {
    this.closed = true;
  }
}

class Pair {
  readonly ports: readonly [Port, Port];
  readonly links: readonly [StreamLink, StreamLink];
  wires: [Wire, Wire] = [new Wire(), new Wire()];
  nowNs = 0;

  constructor(options: Partial<StreamLinkOptions> = {}, lanes = 1) {
    this.ports = [newPort(1, lanes), newPort(2, lanes)];
    for (const { transmitQueues } of this.ports)
      for (let level = 0; level < 16; level++) transmitQueues.mapServiceLevel(level, level % lanes);
    this.links = [new StreamLink(this.ports[0], options), new StreamLink(this.ports[1], options)];
  }

  connect(): void {
    this.wires = [new Wire(), new Wire()];
    for (const end of [0, 1]) this.links[end].connect(this.wires[end]);
  }

  disconnect(): void {
    for (const end of [0, 1]) this.links[end].disconnect(this.wires[end]);
  }

  /** Moves the written bytes to the other end, in pieces cut by `random` if given. */
  pump(random?: Random): void {
    for (const end of [0, 1]) {
      const wire = this.wires[end];
      const bytes = Buffer.concat(wire.pending.splice(0));
      for (let at = 0; at < bytes.length; ) {
        const count = random === undefined ? bytes.length : Math.min(bytes.length - at, random.between(1, 100));
        this.links[1 - end].receive(this.wires[1 - end], bytes.subarray(at, at + count));
        at += count;
      }
      this.links[end].drained(wire);
    }
  }

  run(rounds = 4): void {
    for (let round = 0; round < rounds; round++) {
      for (const link of this.links) link.carry(this.nowNs, 1000);
      this.pump();
    }
    for (const link of this.links) link.carry(this.nowNs, 1000);
  }
}

const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

t.test('ports come up when both sides have greeted, and packets pass both ways', async (t) => {
  const pair = new Pair();
  t.equal(pair.ports[0].state, PortState.DOWN);
  pair.connect();
  pair.run();
  for (const port of pair.ports) t.equal(port.state, PortState.ACTIVE);
  const ends = pair.ports.map((port) => new Arrivals(port));
  for (let id = 0; id < 20; id++) for (const port of pair.ports) send(port, id, 200);
  pair.run();
  for (const end of ends) {
    end.take();
    t.same(end.ids, counting(20));
    t.same(end.errors, []);
  }
});

t.test('a port that is switched off ends the connection and refuses others until it is switched on', async (t) => {
  const pair = new Pair();
  pair.connect();
  pair.run();
  pair.ports[0].restart(PortPhysicalState.DISABLED);
  t.ok(pair.wires[0].closed);
  pair.links[1].disconnect(pair.wires[1]);
  pair.run();
  for (const port of pair.ports) t.equal(port.state, PortState.DOWN);
  t.equal(pair.ports[1].physicalState, PortPhysicalState.POLLING);
  pair.connect();
  t.ok(pair.wires[0].closed, 'refused');
  t.notOk(pair.links[0].connected);
  pair.disconnect();
  pair.run();
  pair.ports[0].restart(PortPhysicalState.POLLING);
  pair.connect();
  pair.run();
  for (const port of pair.ports) t.equal(port.physicalState, PortPhysicalState.LINK_UP);
  for (const port of pair.ports) t.ok(port.active);
});

t.test('the smaller MTU holds for both', async (t) => {
  const pair = new Pair();
  (pair.ports[1] as { maxMtuCode: number }).maxMtuCode = 3;
  pair.connect();
  pair.run();
  for (const port of pair.ports) t.equal(port.mtuBytes, 1024);
});

t.test('bytes cut anywhere, and a slow receiver, lose nothing on any VL', async (t) => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = new Random(seed);
    const lanes = random.pick([1, 2, 4, 8]);
    const pair = new Pair({ bufferBlocks: 300, bufferPackets: 128 }, lanes);
    pair.connect();
    pair.run();
    const arrivals = new Arrivals(pair.ports[1]);
    let sent = 0;
    for (let step = 0; sent < 1500; step++) {
      while (random.below(8) > 0 && send(pair.ports[0], sent, random.pick([0, 64, 1000, 4096]), sent % 16)) sent++;
      pair.wires[0].room = random.between(1, 20_000);
      for (const link of pair.links) link.carry(0, random.between(1, 20));
      if (random.oneIn(2)) pair.pump(random);
      if (random.oneIn(2)) arrivals.take(random.below(12));
      const { buffer } = pair.links[1];
      for (const ring of buffer.rings)
        if (ring.blocks > buffer.blocksPerVirtualLane)
          t.fail(`seed ${seed}, step ${step}: lane ${ring.virtualLane} overran`);
    }
    for (let round = 0; arrivals.ids.length < sent && round < 2000; round++) {
      pair.run(1);
      arrivals.take();
    }
    t.same(
      [...arrivals.ids].sort((left, right) => left - right),
      counting(sent),
      `seed ${seed}`,
    );
    t.equal(pair.links[0].faults.size + pair.links[1].faults.size, 0, `seed ${seed}`);
    const [from, to] = pair.links;
    t.same([...from.transmitCredits.sent], [...to.receiveCredits.received], `seed ${seed}: both ends counted the same`);
    for (const ring of pair.ports[0].transmitQueues.rings) t.equal(ring.count, 0, `seed ${seed}`);
  }
});

t.test('what goes out gets faults, a delay and a rate, which change while it runs', async (t) => {
  const pair = new Pair();
  pair.connect();
  pair.run();
  const [link] = pair.links;
  const ends = pair.ports.map((port) => new Arrivals(port));
  const pass = (): number[][] => {
    for (let id = 0; id < 20; id++) for (const port of pair.ports) send(port, id, 200);
    for (let round = 0; round < 4; round++) {
      pair.run();
      for (const end of ends) end.take();
    }
    return ends.map(({ ids }) => ids.splice(0));
  };
  link.change({ faults: { drop: 1 } });
  t.same(pass(), [counting(20), []], 'the other direction loses nothing');
  t.equal(link.outgoing?.counters.dropped, 20);
  link.change({ faults: { drop: 0, duplicate: 1 } });
  t.same(pass(), [counting(20), counting(20).flatMap((id) => [id, id])]);
  link.change({ faults: { duplicate: 0, corrupt: 1 } });
  t.same(pass()[1], []);
  t.equal(ends[1].errors.length, 20, 'damage is found');
  link.change({ delayNs: 1000, faults: { corrupt: 0 } });
  t.same(pass()[1], [], 'they are on their way');
  t.equal(link.nextNs, pair.nowNs + 1000);
  pair.nowNs += 1000;
  t.same(pass()[1], counting(20));
  pair.disconnect();
  pair.run();
  t.equal(link.outgoing?.flight.count, 0, 'a broken connection loses them');
  t.equal(link.outgoing?.counters.lostByFlap, 20);
});

t.test('faults break no promise to the peer, on any VL', async (t) => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = new Random(seed);
    const lanes = random.pick([1, 2, 4]);
    const faults = { duplicate: 0.2, reorder: 0.2, drop: 0.1, delay: 0.1 };
    const pair = new Pair({ bufferBlocks: 300, bufferPackets: 128, outgoing: { seed, faults, delayNs: 50 } }, lanes);
    pair.connect();
    pair.run();
    const arrivals = new Arrivals(pair.ports[1]);
    let sent = 0;
    while (sent < 500) {
      while (random.below(8) > 0 && send(pair.ports[0], sent, random.pick([0, 64, 4096]), sent % 16)) sent++;
      pair.nowNs += random.below(200);
      for (const link of pair.links) link.carry(pair.nowNs, random.between(1, 20));
      pair.pump(random);
      if (random.oneIn(3)) arrivals.take(random.below(12));
    }
    const [{ outgoing }] = pair.links;
    const expected = () =>
      (outgoing?.counters.sent ?? 0) - (outgoing?.counters.dropped ?? 0) + (outgoing?.counters.duplicated ?? 0);
    for (
      let round = 0;
      round < 2000 && (outgoing?.counters.sent !== sent || arrivals.ids.length < expected());
      round++
    ) {
      pair.nowNs += 20_000;
      pair.run(1);
      arrivals.take();
    }
    t.equal(arrivals.ids.length, expected(), `seed ${seed}`);
    t.same(arrivals.errors, [], `seed ${seed}`);
    t.ok((outgoing?.counters.duplicated ?? 0) > 0 && (outgoing?.counters.reordered ?? 0) > 0, `seed ${seed}`);
    t.equal(pair.links[0].faults.size + pair.links[1].faults.size, 0, `seed ${seed}`);
  }
});

t.test('a broken connection takes the port down, loses packets in flight, and comes back', async (t) => {
  const pair = new Pair();
  pair.connect();
  pair.run();
  const arrivals = new Arrivals(pair.ports[1]);
  send(pair.ports[0], 0);
  pair.links[0].carry(0, 10);
  const told: number[] = [];
  for (const port of pair.ports) port.downObserver = () => void told.push(port.number);
  pair.disconnect();
  pair.run();
  for (const port of pair.ports) t.equal(port.state, PortState.DOWN);
  t.same(told.sort(), pair.ports.map(({ number }) => number).sort(), 'each port says so, once');
  send(pair.ports[0], 1);
  t.equal(pair.ports[0].transmitDiscards, 1);
  pair.connect();
  pair.run();
  for (const port of pair.ports) t.equal(port.state, PortState.ACTIVE);
  send(pair.ports[0], 2);
  pair.run();
  arrivals.take();
  t.same(arrivals.ids, [2]);
  t.equal(pair.links[0].connections, 2);
});

t.test('a new connection starts with full credits, whatever the last one lost', async (t) => {
  const pair = new Pair({ bufferBlocks: 128, bufferPackets: 128 });
  const arrivals = new Arrivals(pair.ports[1]);
  let taken = 0;
  for (let round = 0; round < 100; round++) {
    pair.connect();
    pair.run();
    const [{ transmitCredits }, { receiveCredits }] = pair.links;
    t.same([transmitCredits.sent[0], receiveCredits.received[0], transmitCredits.limits[0]], [0, 0, 128], `${round}`);
    send(pair.ports[0], 0, 4096);
    pair.run();
    taken += arrivals.take();
    for (let id = 1; id < 8; id++) send(pair.ports[0], id, 1000);
    pair.links[0].carry(0, 1000);
    pair.disconnect();
    pair.run();
  }
  t.equal(taken, 100);
  t.equal(pair.links[1].faults.size, 0);
});

t.test('a break between two runs of the adapter is seen by the port', async (t) => {
  const pair = new Pair();
  pair.connect();
  pair.run();
  const changes: PortState[] = [];
  pair.ports[0].onStateChange = ({ state }) => changes.push(state);
  pair.disconnect();
  pair.connect();
  pair.pump();
  t.same(changes, [], 'nothing changes while the adapter does not run');
  pair.run();
  t.same(changes, [PortState.DOWN, PortState.INITIALIZE, PortState.ACTIVE]);
});

t.test('a link grants as many credits as flow control can count', async (t) => {
  const pair = new Pair();
  pair.connect();
  pair.run();
  t.equal(pair.links[0].transmitCredits.limits[0], 2048);
});

t.test('keepalives keep a quiet link up, and a silent peer is given up', async (t) => {
  const pair = new Pair({ keepaliveNs: 1000 });
  pair.connect();
  pair.run();
  for (pair.nowNs = 0; pair.nowNs < 20_000; pair.nowNs += 500) pair.run(1);
  t.ok(pair.links[0].up && pair.links[1].up);
  t.equal(pair.links[0].nextNs > pair.nowNs - 1000, true);
  const [link] = pair.links;
  const silentFrom = pair.nowNs;
  for (let step = 0; step < 100; step++) {
    pair.nowNs = Math.max(pair.nowNs, link.nextNs);
    link.carry(pair.nowNs, 10);
    if (!link.connected) break;
  }
  t.equal(link.faults.get('silent peer'), 1);
  t.ok(pair.nowNs - silentFrom > 18_000, 'not before it was silent for long');
  t.ok(pair.wires[0].closed);
  const traps: number[] = [];
  pair.ports[0].onLinkError = (_, trap) => traps.push(trap);
  link.carry(pair.nowNs, 10);
  t.equal(pair.ports[0].state, PortState.DOWN);
  t.same(traps, [TrapNumber.FLOW_CONTROL_WATCHDOG]);
});

t.test('as many overruns as the threshold are reported', async (t) => {
  const pair = new Pair();
  const [port] = pair.ports;
  const [link] = pair.links;
  const traps: number[] = [];
  port.settings.overrunErrors = 3;
  port.onLinkError = (_, trap) => traps.push(trap);
  for (let round = 1; round <= 7; round++) {
    link.connect(pair.wires[0]);
    link.receive(pair.wires[0], greeting());
    link.carry(round, 10);
    for (let count = 0; count < 40 && link.connected; count++)
      link.receive(pair.wires[0], frame(LinkFrameType.PACKET, new Uint8Array(4194)));
    link.carry(round, 10);
    t.equal(port.counters.bufferOverruns, round);
  }
  t.same(traps, [TrapNumber.BUFFER_OVERRUN, TrapNumber.BUFFER_OVERRUN]);
});

t.test('a peer that never greets is given up', async (t) => {
  const pair = new Pair({ keepaliveNs: 1000 });
  pair.links[0].connect(pair.wires[0]);
  pair.links[0].carry(0, 10);
  pair.links[0].carry(pair.links[0].nextNs, 10);
  t.equal(pair.links[0].faults.get('silent peer'), 1);
});

/** A frame with fields that may be false. */
function frame(type: number, body: Uint8Array, lengthBytes = body.length, lane = 0): Uint8Array {
  const bytes = new Uint8Array(LINK_FRAME_SIZE + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, lengthBytes);
  view.setUint8(4, type);
  view.setUint8(5, lane);
  bytes.set(body, LINK_FRAME_SIZE);
  return bytes;
}

/** The greeting of a port of the same kind. */
function greeting(change: (view: DataView) => void = () => {}): Uint8Array {
  const pair = new Pair();
  pair.links[0].connect(pair.wires[0]);
  const bytes = (pair.wires[0].pending[0] as Uint8Array).slice();
  change(new DataView(bytes.buffer, LINK_FRAME_SIZE, LINK_HELLO_SIZE));
  return bytes;
}

t.test('an impossible frame ends the connection with its cause', async (t) => {
  const packet = new Uint8Array(4194);
  const hello = (...rest: number[]) => frame(LinkFrameType.HELLO, Uint8Array.from([0x56, 0x55, 0x4c, 0x4b, ...rest]));
  const cases: [string, Uint8Array[]][] = [
    ['oversized frame', [frame(LinkFrameType.PACKET, new Uint8Array(0), PACKET_SLOT_BYTES + 1)]],
    ['oversized frame', [greeting(), frame(LinkFrameType.PACKET, new Uint8Array(0), 0xffffffff)]],
    ['encrypted peer', [Uint8Array.from([0x16, 3, 1, 1, 12, 1])]],
    ['encrypted peer', [Uint8Array.from([0x15, 3])]],
    ['oversized frame', [greeting(), Uint8Array.from([0x16, 3, 1, 1, 12, 1, 0, 0])]],
    ['unexpected frame', [frame(LinkFrameType.KEEPALIVE, new Uint8Array(0))]],
    ['unexpected frame', [greeting(), greeting()]],
    ['unexpected frame', [greeting(), frame(77, new Uint8Array(3))]],
    ['malformed frame', [greeting((view) => view.setUint32(0, 1))]],
    ['malformed frame', [greeting((view) => view.setUint8(6, 9))]],
    ['other version', [greeting((view) => view.setUint16(4, 2))]],
    ['other version', [hello(0, 2)]],
    ['other version', [hello(0, 2, ...Array(99).fill(9))]],
    ['malformed frame', [hello(0, 1)]],
    ['malformed frame', [hello(0)]],
    ['other number of lanes', [greeting((view) => view.setUint8(7, 8))]],
    ['malformed frame', [greeting(), frame(LinkFrameType.FLOW_CONTROL, new Uint8Array(6))]],
    ['malformed frame', [greeting(), frame(LinkFrameType.FLOW_CONTROL, new Uint8Array(5))]],
    ['malformed frame', [greeting(), frame(LinkFrameType.PACKET, new Uint8Array(25))]],
    ['malformed frame', [greeting(), frame(LinkFrameType.PACKET, packet, packet.length, 3)]],
    ['malformed frame', [greeting(), frame(LinkFrameType.KEEPALIVE, new Uint8Array(1))]],
    ['credit overrun', [greeting(), ...Array.from({ length: 40 }, () => frame(LinkFrameType.PACKET, packet))]],
  ];
  for (const [fault, frames] of cases) {
    const pair = new Pair();
    const seen: string[] = [];
    pair.links[0].onFault = (cause) => seen.push(cause);
    pair.links[0].connect(pair.wires[0]);
    for (const bytes of frames) pair.links[0].receive(pair.wires[0], bytes);
    t.same(seen, [fault]);
    t.ok(pair.wires[0].closed, fault);
    t.notOk(pair.links[0].connected, fault);
  }
});

t.test('VL15 needs no credit and drops packets without room', async (t) => {
  const pair = new Pair();
  pair.links[0].connect(pair.wires[0]);
  pair.links[0].receive(pair.wires[0], greeting());
  for (let index = 0; index < 20; index++)
    pair.links[0].receive(pair.wires[0], frame(LinkFrameType.PACKET, new Uint8Array(290), 290, 15));
  t.equal(pair.links[0].buffer.managementDrops, 4);
  t.ok(pair.links[0].connected);
});

t.test('random bytes never throw and never keep memory', async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const pair = new Pair({ bufferBlocks: 128, bufferPackets: 128 });
    pair.links[0].connect(pair.wires[0]);
    if (random.oneIn(2)) pair.links[0].receive(pair.wires[0], greeting());
    for (let round = 0; round < 50 && pair.links[0].connected; round++) {
      const bytes = frame(
        random.below(6),
        random.bytes(random.below(300)),
        undefined,
        random.oneIn(2) ? 0 : random.below(20),
      );
      if (random.oneIn(3)) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
      pair.links[0].receive(pair.wires[0], bytes);
      pair.links[0].carry(round, 10);
    }
    const { buffer } = pair.links[0];
    t.ok(
      buffer.rings.every((ring) => ring.virtualLane === 15 || ring.blocks <= buffer.blocksPerVirtualLane),
      `seed ${seed}`,
    );
  }
});
