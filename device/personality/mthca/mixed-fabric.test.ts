// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters of the personality mthca and of our own front end in one fabric: behind a switch with
 * the built-in subnet manager they have reliable connections with each other, over good and bad
 * links, and a recording of all replays byte for byte.
 */
import t, { type Test } from 'tap';
import { SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { defaultAdapterOptions } from '../../adapter/options.ts';
import type { AdapterClock, HostPort } from '../../host.ts';
import { InProcessAccess } from '../../hosts/in-process/access.ts';
import { Driver } from '../../hosts/in-process/driver/driver.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import { InProcessMachine } from '../../hosts/in-process/machine.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay } from '../../hosts/replay.ts';
import { FULL_ACCESS } from '../../test-support/connected-fixture.ts';
import { type BuiltFabric, buildFabric } from '../../topology/build-fabric.ts';
import { findFabricError } from '../../topology/fabric-errors.ts';
import { defaultSwitchNode, type FabricPlan, type LocalLinkPlan, type MthcaNode } from '../../topology/fabric-plan.ts';
import { managerPlaces } from '../../topology/manager-places.ts';
import { defaultMthcaOptions } from './options.ts';
import { type BenchQueuePair, DataBench } from './test-support/data-bench.ts';
import type { Piece } from './test-support/data-queue-pair.ts';
import { MthcaDriver } from './test-support/mthca-driver.ts';

const BYTES = 6000;
const PSN = 100;
/** 2048 bytes: the largest MTU of the personality. */
const MTU_CODE = 4;
const { SEND, RDMA_WRITE, RDMA_READ } = WorkOpcode;

function mthca(name: string, place: number, portCount: 1 | 2 = 2): MthcaNode {
  const nodeGuid = `00565548434100${place}0`;
  const portLids = [2 * place + 1, 2 * place + 2] as const;
  return { name, personality: 'mthca', options: { ...defaultMthcaOptions, portCount, nodeGuid, portLids } };
}

/** Our own adapter v, and m and n of the personality, at one switch. */
function planOf(link: LocalLinkPlan['link']): FabricPlan {
  return {
    adapters: [mthca('m', 1), { name: 'v', options: defaultAdapterOptions }, mthca('n', 2, 1)],
    switches: [{ ...defaultSwitchNode, name: 's', ports: 4 }],
    links: [
      { ports: ['m:1', 's:1'], link },
      { ports: ['v:1', 's:2'], link: { kind: 'cable' } },
      { ports: ['n:1', 's:3'], link },
    ],
    subnet: 'managed',
  };
}

/** A device with its driver, a queue pair, and memory that others may read and write. */
class MthcaPeer {
  readonly bench: DataBench;
  readonly qp: BenchQueuePair;
  readonly memory: Piece;

  constructor(driver: MthcaDriver) {
    this.bench = new DataBench({}, driver);
    this.qp = this.bench.queuePair();
    this.memory = this.bench.memory(BYTES);
  }

  get bytes(): Uint8Array {
    return this.bench.bytes(this.memory);
  }
}

/** The same of our own adapter. */
class VuhcaPeer {
  readonly qp: DriverQueuePair;
  readonly lkey: number;
  readonly rkey: number;
  readonly memory: ReturnType<Driver['createBuffer']>;

  constructor(machine: InProcessMachine, index: number) {
    const driver = new Driver(new InProcessAccess(machine, index)).bringUp();
    const pd = driver.createProtectionDomain();
    ({ lkey: this.lkey, rkey: this.rkey } = driver.createDmaRegion(pd, FULL_ACCESS));
    this.memory = driver.createBuffer(BYTES);
    const sendCq = driver.createCompletionQueue({ entriesLog2: 6 });
    this.qp = driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 4, creation: { serviceType: ServiceType.RC } });
  }
}

class Fixture {
  readonly machine: InProcessMachine;
  readonly m: MthcaPeer;
  readonly v: VuhcaPeer;
  readonly n: MthcaPeer;
  built!: BuiltFabric;
  readonly #pieces: Uint8Array[] = [];

  constructor(plan: FabricPlan) {
    this.machine = new InProcessMachine({
      functionCount: 3,
      build: (_: unknown, clock: AdapterClock, hosts: HostPort[]) => {
        this.built = buildFabric(plan, clock, hosts);
        return this.built.fabric;
      },
      record: (_, count) => new Recorder(plan, count, (bytes) => this.#pieces.push(bytes.slice())),
    });
    const { machine, built } = this;
    this.m = new MthcaPeer(new MthcaDriver(machine, 0, built.adapters[0]));
    this.v = new VuhcaPeer(machine, 1);
    this.n = new MthcaPeer(new MthcaDriver(machine, 2, built.adapters[2]));
    machine.runUntil(() => built.adapters.every(({ ports: [port] }) => port.active), 'active ports');
  }

  get lids(): number[] {
    return this.built.adapters.map(({ ports: [port] }) => port.lid);
  }

  /** Runs until the QP of a device has one completion, which is a success. */
  expectOne(t: Test, peer: MthcaPeer, what: string): void {
    let taken = peer.qp.take();
    this.machine.runUntil(() => {
      if (taken.length === 0) taken = peer.qp.take();
      return taken.length > 0;
    }, what);
    t.match(taken, [{ syndrome: 0 }], what);
  }

  replay(t: Test): void {
    this.machine.recorder?.flush();
    const result = new Replay(Buffer.concat(this.#pieces), () => {
      throw new Error('A recording of a fabric brings its plan.');
    }).run();
    t.equal(result.divergence, undefined);
    t.notOk(result.truncated);
    t.ok(result.steps > 100, `${result.steps} steps`);
  }
}

const faulty = { kind: 'faulty', seed: 5, delayNs: 1000, faults: { drop: 0.05, corrupt: 0.05 } } as const;

for (const link of [{ kind: 'cable' }, faulty] as const) {
  t.test(`our driver and a stock driver have a reliable connection: ${link.kind}`, async (t) => {
    const fixture = new Fixture(planOf(link));
    const { machine, m, v } = fixture;
    const [lidOfM, lidOfV] = fixture.lids;
    m.qp.start(v.qp.qpn, lidOfV, {}, PSN);
    v.qp.connect({
      reliable: true,
      port: 1,
      dlid: lidOfM,
      remoteQpn: m.qp.number,
      pathMtu: MTU_CODE,
      sendPsn: PSN,
      receivePsn: PSN,
    });
    const [first, second, third] = [0, 1, 2].map(() => machine.random.bytes(BYTES));
    const remote = { address: v.memory.address, key: v.rkey };
    m.bytes.set(first);
    m.qp.post({ opcode: RDMA_WRITE, pieces: [m.memory], remote });
    fixture.expectOne(t, m, 'the WRITE of m');
    t.same(v.memory.bytes, first);
    v.memory.bytes.set(second);
    m.qp.post({ opcode: RDMA_READ, pieces: [m.memory], remote });
    fixture.expectOne(t, m, 'the READ of m');
    t.same(m.bytes, second);
    m.qp.postReceive(m.memory);
    v.memory.bytes.set(third);
    const sges = [{ address: v.memory.address, length: BYTES, lkey: v.lkey }];
    v.qp.post({ opcode: SendOpcode.SEND, sges, signaled: true });
    fixture.expectOne(t, m, 'the SEND of v');
    t.same(m.bytes, third);
    t.equal(v.qp.parts.sendCq.take().status, 0, 'v has its acknowledgement');
    fixture.replay(t);
  });

  t.test(`two stock drivers have a reliable connection: ${link.kind}`, async (t) => {
    const fixture = new Fixture(planOf(link));
    const { machine, m, n } = fixture;
    const [lidOfM, , lidOfN] = fixture.lids;
    m.qp.start(n.qp.number, lidOfN);
    n.qp.start(m.qp.number, lidOfM);
    const message = machine.random.bytes(BYTES);
    m.bytes.set(message);
    n.qp.postReceive(n.memory);
    m.qp.post({ opcode: SEND, pieces: [m.memory] });
    fixture.expectOne(t, n, 'the receive of n');
    fixture.expectOne(t, m, 'the SEND of m');
    t.same(n.bytes, message);
    fixture.replay(t);
  });
}

t.test('devices without a switch', async (t) => {
  const adapters = [mthca('m', 1), mthca('n', 2, 1)];
  const plan: FabricPlan = { adapters, switches: [], links: [], subnet: 'managed' };
  t.equal(findFabricError(plan, []), undefined);
  t.same(managerPlaces(plan), ['m:1'], 'a port alone has no subnet');
  const clash: FabricPlan = { ...plan, adapters: [mthca('m', 1), { ...mthca('n', 1) }] };
  t.match(findFabricError(clash, []), /adapters m and n both have LID 3/);
  const links = [{ ports: ['m:1', 'n:1'], link: { kind: 'cable' } }] as const;
  for (const subnet of ['managed', 'fixed'] as const) {
    let built!: BuiltFabric;
    const build = (_: unknown, clock: AdapterClock, hosts: HostPort[]) => {
      built = buildFabric({ ...plan, links, subnet }, clock, hosts);
      return built.fabric;
    };
    const machine = new InProcessMachine({ functionCount: 2, build });
    for (const index of [0, 1]) new DataBench({}, new MthcaDriver(machine, index, built.adapters[index]));
    const ports = built.adapters.map(({ ports: [port] }) => port);
    machine.runUntil(() => ports.every(({ active }) => active), `active ports, ${subnet}`);
    t.not(ports[0].lid, ports[1].lid);
    t.equal(built.managers.length, subnet === 'managed' ? 1 : 0);
  }
});
