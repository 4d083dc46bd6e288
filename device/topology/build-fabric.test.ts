// SPDX-License-Identifier: Apache-2.0
/**
 * Whole fabrics by plan: guests of several adapters exchange datagrams over switches that the
 * built-in subnet manager has configured, and a recording of all replays byte for byte.
 */
import t, { type Test } from 'tap';
import { AccessFlag, PortState } from '../../protocol/layout/gen/values.gen.ts';
import { defaultAdapterOptions } from '../hca/adapter/options.ts';
import { Recorder } from '../hosts/recording.ts';
import { Replay } from '../hosts/replay.ts';
import { Driver } from '../rig/driver/driver.ts';
import type { DriverQueuePair } from '../rig/driver/queue-pair.ts';
import { InProcessAccess } from '../rig/machine/access.ts';
import { RecordedFabric } from '../rig/machine/fabric-machine.ts';
import { InProcessMachine } from '../rig/machine/machine.ts';
import { type BuiltFabric, buildFabric } from './build-fabric.ts';
import { findFabricError } from './fabric-errors.ts';
import { defaultSwitchNode, type FabricPlan, type LocalLinkPlan } from './fabric-plan.ts';
import { generate, generators } from './generate.ts';
import { managerPlaces } from './manager-places.ts';

const QKEY = 0x1234;
const GRH_AREA = 40;
const PAYLOAD = 32;

/** Adapters a and b at switches s and r. */
function planOf(link: LocalLinkPlan['link']): FabricPlan {
  const adapter = (name: string, index: number) => ({
    name,
    options: {
      ...defaultAdapterOptions,
      nodeGuid: `005655484341000${index}`,
      portLids: [1 + index, 2 + index] as const,
    },
  });
  const node = (name: string, nodeGuid: string) => ({ ...defaultSwitchNode, name, ports: 2, nodeGuid });
  return {
    adapters: [adapter('a', 0), adapter('b', 4)],
    switches: [node('s', '0056554853570000'), node('r', '0056554853570040')],
    links: [
      { ports: ['a:1', 's:1'], link },
      { ports: ['s:2', 'r:2'], link, width: '1x', speed: 'DDR' },
      { ports: ['r:1', 'b:1'], link },
    ],
    subnet: 'managed',
  };
}

class Guest {
  readonly driver: Driver;
  readonly qp: DriverQueuePair;
  readonly #pd: number;
  readonly #lkey: number;
  readonly #access: InProcessAccess;

  constructor(machine: InProcessMachine, index: number) {
    this.#access = new InProcessAccess(machine, index);
    this.driver = new Driver(this.#access).bringUp();
    this.#pd = this.driver.createProtectionDomain();
    this.#lkey = this.driver.createDmaRegion(this.#pd, AccessFlag.LOCAL_WRITE).lkey;
    const sendCq = this.driver.createCompletionQueue({ entriesLog2: 8 });
    this.qp = this.driver.createQueuePair({ pd: this.#pd, sendCq, sendEntriesLog2: 7, receiveEntriesLog2: 7 });
    this.qp.start({ qkey: QKEY });
  }

  listen(): Uint8Array {
    const length = GRH_AREA + PAYLOAD;
    const address = this.driver.allocator.allocate(length);
    this.qp.postReceive([{ address, length, lkey: this.#lkey }]);
    const view = this.#access.view(address, length);
    return new Uint8Array(view.buffer, view.byteOffset, length);
  }

  say(to: Guest, dlid: number, payload: Uint8Array): void {
    const addressHandle = this.driver.addressHandles.add({ port: 1, dlid, pd: this.#pd });
    this.qp.post({ remoteQpn: to.qp.qpn, qkey: QKEY, addressHandle, inline: payload, signaled: false });
  }
}

/** Two guests exchange messages over a fabric; its recording replays. Returns the fabric. */
function exchange(t: Test, plan: FabricPlan): BuiltFabric {
  const fabric = new RecordedFabric(plan);
  const { machine, built } = fabric;
  const guests = [new Guest(machine, 0), new Guest(machine, 1)];
  const ports = built.adapters.map(({ ports: [port] }) => port);
  machine.runUntil(() => ports.every(({ state }) => state === PortState.ACTIVE), 'all ports are active');
  t.not(ports[0].lid, ports[1].lid);
  t.ok(ports.every(({ lid }) => lid > 0));
  for (let round = 0; round < 20; round++) {
    const payload = machine.random.bytes(PAYLOAD);
    const [from, to] = round % 2 === 0 ? [0, 1] : [1, 0];
    const bytes = guests[to].listen();
    guests[from].say(guests[to], ports[to].lid, payload);
    let received = 0;
    machine.runUntil(() => {
      received += guests[to].qp.parts.receiveCq.drain().length;
      return received > 0;
    }, `message ${round}`);
    t.same(bytes.subarray(GRH_AREA), payload);
  }
  const result = fabric.replay();
  t.equal(result.divergence, undefined);
  t.notOk(result.truncated);
  t.ok(result.steps > 100, `${result.steps} steps`);
  return built;
}

const links = [{ kind: 'cable' }, { kind: 'faulty', seed: 3, delayNs: 2000, bitsPerSecond: 1e9 }] as const;

for (const link of links) {
  t.test(`guests talk over switches, and the recording replays: ${link.kind}`, async (t) => {
    const built = exchange(t, planOf(link));
    t.match(
      built.switches.map(({ ports: [, trunk] }) => trunk.settings),
      [1, 1].map(() => ({ linkWidthActive: 1, linkSpeedActive: 2 })),
      'the trunk has the width and the speed of the plan',
    );
  });

  t.test(`the same without a switch: managers at the adapters: ${link.kind}`, async (t) => {
    const { adapters } = planOf(link);
    const plan: FabricPlan = {
      adapters,
      switches: [],
      links: [
        { ports: ['a:1', 'b:1'], link },
        { ports: ['b:2', 'a:2'], link },
      ],
      subnet: 'managed',
    };
    const { managers, adapters: cores } = exchange(t, plan);
    t.same(managerPlaces(plan), ['a:1', 'a:2'], 'two cables are two subnets');
    t.ok(managers.every(({ isMaster }) => isMaster));
    t.ok(cores.every(({ ports }) => ports.every(({ active }) => active)));
    t.same(
      cores.map(({ ports }) => ports.map(({ smLid }) => smLid)),
      [0, 1].map(() => managers.map(({ sweeper }) => sweeper.subnet.ownPort?.lid)),
    );
  });
}

t.test('the place of each manager', async (t) => {
  const plan = planOf({ kind: 'cable' });
  const none = { switches: [], links: [] };
  t.same(managerPlaces(plan), ['s:0'], 'the second port of an adapter has no link');
  t.same(managerPlaces({ ...plan, links: plan.links.filter((_, index) => index !== 1) }), ['s:0', 'r:0']);
  t.same(managerPlaces({ ...plan, ...none }), ['a:1', 'b:1'], 'each adapter is cabled to itself');
  t.same(managerPlaces({ ...plan, ...none, streams: [{ port: 'b:2' }] }), ['a:1', 'b:2'], 'a link to another process');
  t.same(managerPlaces({ ...plan, links: [...plan.links, { ports: ['a:2', 'b:2'], link: { kind: 'cable' } }] }), [
    's:0',
    'a:2',
  ]);
});

t.test('a plan that differs makes the replay diverge', async (t) => {
  const plan = planOf({ kind: 'cable' });
  const pieces: Uint8Array[] = [];
  const machine = new InProcessMachine({
    functionCount: 2,
    build: (_, clock, hosts) => buildFabric({ ...plan, subnet: 'external' }, clock, hosts).fabric,
    record: (_, count) => new Recorder(plan, count, (bytes) => pieces.push(bytes.slice())),
  });
  new Guest(machine, 0);
  machine.recorder?.flush();
  t.ok(new Replay(Buffer.concat(pieces), () => machine.device).run().divergence);
});

t.test('generated topologies are connected, and each port has one link', async (t) => {
  for (const [rule, parameters] of [
    ['star', { adapters: 1 }],
    ['star', { adapters: 36 }],
    ['ring', { switches: 1, adaptersPerSwitch: 3 }],
    ['ring', { switches: 2, trunks: 3 }],
    ['ring', { switches: 7, adaptersPerSwitch: 4, trunks: 2 }],
    ['fat-tree', {}],
    ['fat-tree', { leaves: 8, spines: 4, adaptersPerLeaf: 8, trunks: 2 }],
    ['fat-tree', { levels: 3 }],
    ['fat-tree', { levels: 3, pods: 3, leaves: 4, spines: 3, coresPerSpine: 1, adaptersPerLeaf: 5, trunks: 2 }],
  ] as const) {
    t.ok(Object.hasOwn(generators, rule));
    const { switches, trunks, places } = generate(rule, parameters);
    const nodes = switches.map((node, index) => ({
      ...defaultSwitchNode,
      ...node,
      nodeGuid: (0x1000 + index * 64).toString(16).padStart(16, '0'),
    }));
    const links = trunks.map((ports) => ({ ports, link: { kind: 'cable' } as const }));
    const streams = places.map((port) => ({ port }));
    const error = findFabricError({ adapters: [], switches: nodes, links, streams, subnet: 'external' });
    t.equal(error, undefined, `${rule} ${JSON.stringify(parameters)}`);
    const reached = new Set([switches[0].name]);
    for (const _ of switches)
      for (const ports of trunks) {
        const names = ports.map((port) => port.split(':')[0]);
        if (names.some((name) => reached.has(name))) for (const name of names) reached.add(name);
      }
    t.equal(reached.size, switches.length);
  }
});
