// SPDX-License-Identifier: Apache-2.0
/**
 * Links between whole adapters of one process, each with its own `run` or as one fabric, and links
 * inside an adapter by its options (docs/TOPOLOGY.md).
 */
import t from 'tap';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { AccessFlag, EventType, PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../../hca/adapter/options.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay } from '../../hosts/replay.ts';
import { Random } from '../../random.ts';
import { Driver } from '../../rig/driver/driver.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import type { Port } from '../port/port.ts';
import { Cable } from './cable.ts';
import { Fabric } from './fabric.ts';
import { FaultyLink } from './faulty-link.ts';

const GRH_AREA = 40;
const QKEY = 0x1234;

/** The guest of one adapter in a machine of several. */
class Guest {
  readonly driver: Driver;
  readonly qp: DriverQueuePair;
  readonly pd: number;
  readonly lkey: number;
  readonly access: InProcessAccess;

  constructor(machine: InProcessMachine, index: number) {
    this.access = new InProcessAccess(machine, index);
    this.driver = new Driver(this.access).bringUp();
    this.pd = this.driver.createProtectionDomain();
    this.lkey = this.driver.createDmaRegion(this.pd, AccessFlag.LOCAL_WRITE).lkey;
    const sendCq = this.driver.createCompletionQueue({ entriesLog2: 8 });
    this.qp = this.driver.createQueuePair({ pd: this.pd, sendCq, sendEntriesLog2: 7, receiveEntriesLog2: 7 });
    this.qp.start({ qkey: QKEY });
  }

  /** Posts a receive buffer and returns its bytes. */
  listen(): Uint8Array {
    const length = GRH_AREA + 64;
    const address = this.driver.allocator.allocate(length);
    this.qp.postReceive([{ address, length, lkey: this.lkey }]);
    const view = this.access.view(address, length);
    return new Uint8Array(view.buffer, view.byteOffset, length);
  }

  say(to: Guest, dlid: number, payload: Uint8Array): void {
    const addressHandle = this.driver.addressHandles.add({ port: 1, dlid, pd: this.pd });
    this.qp.post({ remoteQpn: to.qp.qpn, qkey: QKEY, addressHandle, inline: payload, signaled: false });
  }
}

const optionsOf = (index: number): AdapterOptions => ({
  ...defaultAdapterOptions,
  portLids: [index * 2 + 1, index * 2 + 2],
  portLink: { kind: 'none' },
});

/** Two adapters in one machine; `join` links port 1 of the first and port 1 of the second. */
function buildFabric(join: (first: Port, second: Port) => void) {
  return (_options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => {
    const adapters = hosts.map((host, index) => new Adapter(optionsOf(index), clock, [host]));
    join(adapters[0].ports[0], adapters[1].ports[0]);
    return new Fabric(adapters);
  };
}

function exchange(machine: InProcessMachine, rounds: number): number {
  const guests = [new Guest(machine, 0), new Guest(machine, 1)];
  let intact = 0;
  for (let round = 0; round < rounds; round++) {
    const payload = machine.random.bytes(48);
    const [from, to] = round % 2 === 0 ? [0, 1] : [1, 0];
    const bytes = guests[to].listen();
    guests[from].say(guests[to], to * 2 + 1, payload);
    let received = 0;
    const arrived = (): boolean => {
      received += guests[to].qp.parts.receiveCq.drain().length;
      return received > 0;
    };
    machine.runUntil(arrived, `message ${round}`);
    if (payload.every((byte, index) => bytes[GRH_AREA + index] === byte)) intact++;
  }
  return intact;
}

t.test('two adapters on a cable, run as one fabric', async (t) => {
  const machine = new InProcessMachine({
    functionCount: 2,
    build: buildFabric((first, second) => new Cable(first, second)),
  });
  t.equal(exchange(machine, 50), 50);
});

t.test('two adapters on a link with a delay: idle time passes by alarms', async (t) => {
  const join = (first: Port, second: Port): FaultyLink =>
    new FaultyLink(first, second, { delayNs: 5000, bitsPerSecond: 1e9 }, new Random(1));
  const machine = new InProcessMachine({ functionCount: 2, build: buildFabric(join) });
  t.equal(exchange(machine, 50), 50);
  t.ok(machine.clock.now() >= 50 * 5000);
});

t.test('a recording of a fabric replays', async (t) => {
  const join = (first: Port, second: Port): FaultyLink =>
    new FaultyLink(first, second, { delayNs: 5000, bitsPerSecond: 1e9 }, new Random(1));
  const pieces: Uint8Array[] = [];
  const record = (options: AdapterOptions, count: number): Recorder =>
    new Recorder(options, count, (bytes) => pieces.push(bytes.slice()));
  const build = buildFabric(join);
  const machine = new InProcessMachine({ functionCount: 2, build, record });
  exchange(machine, 20);
  machine.recorder?.flush();
  const result = new Replay(Buffer.concat(pieces), build).run();
  t.equal(result.divergence, undefined);
  t.ok(result.steps > 100);
});

t.test('two adapters that each have their own run wake each other', async (t) => {
  for (const kind of ['cable', 'faulty']) {
    const runs: (() => void)[] = [];
    const due = new Set<number>();
    const build = (_options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => {
      const adapters = hosts.map((host, index) => new Adapter(optionsOf(index), clock, [host]));
      const [first, second] = adapters.map(({ ports }) => ports[0]);
      for (const [index, port] of [first, second].entries()) port.onWork = () => due.add(index);
      if (kind === 'cable') new Cable(first, second);
      else new FaultyLink(first, second, { delayNs: 700 }, new Random(1));
      // As a host does: the adapter of an accessed function runs, the other one only when it is
      // woken.
      const run = (budget: number): boolean => {
        const woken = due.size > 0 ? [...due] : [0, 1];
        due.clear();
        let more = false;
        for (const index of woken) {
          if (adapters[index].run(budget)) due.add(index);
          more ||= due.size > 0;
        }
        return more;
      };
      runs.push(() => run(64));
      return { functions: adapters.flatMap(({ functions }) => functions), run };
    };
    const machine = new InProcessMachine({ functionCount: 2, build });
    t.equal(exchange(machine, 20), 20, kind);
  }
});

t.test('damage on a link never reaches memory, and CRCs are checked only where damage can happen', async (t) => {
  for (let seed = 1; seed <= 3; seed++) {
    const adapter = { portLink: { kind: 'faulty', seed, faults: { corrupt: 0.5 } } } as const;
    const fixture = new AdapterFixture({ seed, adapter });
    const { receiver } = fixture.machine.device.engine;
    const { sender, receiver: target, to } = fixture.createPair();
    const payload = fixture.random.bytes(48);
    let arrived = 0;
    for (let round = 0; round < 200; round++) {
      const buffer = arrived === round || round === 0 ? fixture.postReceive(target, GRH_AREA + 48) : undefined;
      sender.post(to({ inline: payload }));
      fixture.settle();
      sender.parts.sendCq.drain();
      const got = target.parts.receiveCq.drain();
      arrived += got.length;
      if (got.length > 0 && buffer === undefined) fixture.postReceive(target, GRH_AREA + 48);
      if (
        got.length > 0 &&
        buffer !== undefined &&
        !payload.every((byte, index) => buffer.bytes[GRH_AREA + index] === byte)
      )
        t.fail(`seed ${seed}: message ${round} was altered`);
    }
    const caught = receiver.malformed.reduce((sum, count) => sum + count, 0);
    t.equal(caught + arrived, 200, `seed ${seed}: each packet arrived whole or was caught`);
    t.ok(caught > 60, `seed ${seed}`);
    t.equal(receiver.checked, 200, `seed ${seed}`);
    t.equal(receiver.unchecked, 0, `seed ${seed}`);
  }
  const fixture = new AdapterFixture();
  fixture.proveItWorks();
  const { receiver } = fixture.machine.device.engine;
  t.equal(receiver.checked, 0);
  t.equal(receiver.unchecked, 1);
});

t.test('captures show valid CRCs whatever the link', async (t) => {
  for (const portLink of [{ kind: 'cable' }, { kind: 'faulty', seed: 1 }] as const) {
    const fixture = new AdapterFixture({ adapter: { portLink } });
    const parsed = newParsedPacket();
    const seen: string[] = [];
    for (const port of fixture.machine.device.ports) {
      port.observer = (at, outgoing, bytes, offset, length) => {
        const error = parsePacket(new DataView(bytes.buffer), offset, length, parsed, PacketCheck.ALL);
        seen.push(`${at.number} ${outgoing ? 'out' : 'in'} ${error}`);
      };
    }
    fixture.proveItWorks();
    t.same(seen, ['1 out 0', '2 in 0']);
    for (const port of fixture.machine.device.ports) if (port.number === 1) port.observer = undefined;
    seen.length = 0;
    fixture.proveItWorks();
    t.same(seen, ['2 in 0'], 'also where only the receiver is observed');
  }
});

t.test('a flap causes events for software and shows in the registers', async (t) => {
  const fixture = new AdapterFixture({
    adapter: { portLink: { kind: 'faulty', seed: 1, flaps: [{ atNs: 1000, lengthNs: 500 }] } },
  });
  const state = (port: number): number => fixture.read(CSR.PORT_STATE, port - 1);
  fixture.settle();
  t.equal(state(1), PortState.ACTIVE);
  fixture.machine.clock.jumpToAlarm();
  fixture.settle();
  t.equal(state(1), PortState.DOWN);
  t.equal(state(2), PortState.DOWN);
  fixture.machine.clock.jumpToAlarm();
  fixture.settle();
  t.equal(state(1), PortState.ACTIVE);
  const events = fixture.asynchronous.walk().map(({ eventType, port }) => [eventType, port]);
  t.same(events, [
    [EventType.PORT_ERROR, 1],
    [EventType.PORT_ERROR, 2],
    [EventType.PORT_ACTIVE, 1],
    [EventType.PORT_ACTIVE, 2],
  ]);
  fixture.proveItWorks();
});
