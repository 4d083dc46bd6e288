// SPDX-License-Identifier: Apache-2.0
/**
 * Functions of adapters with embedded switches in a subnet (docs/FABRIC.md): the built-in subnet
 * manager finds the switches and all ports, functions of two adapters have reliable connections by
 * the uplinks, a recording replays byte for byte, and plans that cannot work are refused.
 */
import t from 'tap';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../hca/adapter/adapter.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../hca/adapter/options.ts';
import { Driver } from '../rig/driver/driver.ts';
import type { DriverQueuePair } from '../rig/driver/queue-pair.ts';
import { FULL_ACCESS } from '../rig/fixtures/connected-fixture.ts';
import { InProcessAccess } from '../rig/machine/access.ts';
import { RecordedFabric } from '../rig/machine/fabric-machine.ts';
import { findFabricError } from './fabric-errors.ts';
import { type AdapterNode, defaultSwitchNode, type FabricPlan } from './fabric-plan.ts';

const MESSAGE_BYTES = 5000;

function embedding(name: string, place: number, more: Partial<AdapterOptions> = {}): AdapterNode {
  const nodeGuid = `0056554843411${place}0`;
  const portLids = [1 + 2 * place, 2 + 2 * place] as const;
  const options: AdapterOptions = {
    ...defaultAdapterOptions,
    functionCount: 2,
    portModel: 'vswitch',
    nodeGuid,
    portLids,
  };
  return { name, options: { ...options, ...more } };
}

const adapters = [embedding('a', 10), embedding('b', 20)];
/** Adapters a and b, whose ports 1 are at a switch. */
const behindSwitch: FabricPlan = {
  adapters,
  switches: [{ ...defaultSwitchNode, name: 's', ports: 4 }],
  links: [
    { ports: ['a:1', 's:1'], link: { kind: 'cable' } },
    {
      ports: ['b:1', 's:2'],
      link: { kind: 'faulty', seed: 4, delayNs: 1000, bitsPerSecond: 1e9, faults: { drop: 0.02 } },
    },
  ],
  subnet: 'managed',
};
/** The same without a switch besides the embedded ones. */
const backToBack: FabricPlan = {
  adapters,
  switches: [],
  links: [{ ports: ['a:1', 'b:1'], link: { kind: 'cable' } }],
  subnet: 'managed',
};

class Fixture extends RecordedFabric {
  constructor(plan: FabricPlan) {
    super(plan, { functionCount: 4 });
    const ports = this.built.adapters.flatMap((adapter) => adapter.ports.filter(({ number }) => number === 1));
    this.machine.runUntil(() => ports.every(({ active }) => active), 'active ports');
  }

  /** LID of port 1 of a function, counted over both adapters. */
  lidOf(index: number): number {
    return (this.built.adapters[index >> 1] as Adapter).functions[index & 1].ports[0].lid;
  }
}

/** A reliable queue pair of a function, and its memory. */
class Peer {
  readonly qp: DriverQueuePair;
  readonly rkey: number;
  readonly lkey: number;
  readonly memory: ReturnType<Driver['createBuffer']>;

  constructor({ machine }: Fixture, index: number) {
    const driver = new Driver(new InProcessAccess(machine, index)).bringUp();
    const pd = driver.createProtectionDomain();
    const region = driver.createDmaRegion(pd, FULL_ACCESS);
    this.rkey = region.rkey;
    this.lkey = region.lkey;
    this.memory = driver.createBuffer(MESSAGE_BYTES);
    const sendCq = driver.createCompletionQueue({ entriesLog2: 6 });
    this.qp = driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 4, creation: { serviceType: ServiceType.RC } });
  }
}

for (const [name, plan] of Object.entries({ behindSwitch, backToBack }))
  t.test(`reliable connections between functions of two adapters, and a replay: ${name}`, async (t) => {
    const fixture = new Fixture(plan);
    const { machine } = fixture;
    const peers = [0, 1, 2, 3].map((index) => new Peer(fixture, index));
    for (const [from, to] of [
      [0, 3],
      [1, 2],
      [2, 1],
      [3, 0],
    ])
      peers[from].qp.connect({
        reliable: true,
        port: 1,
        dlid: fixture.lidOf(to),
        remoteQpn: peers[to].qp.qpn,
        pathMtu: 3,
      });
    for (const [from, to] of [
      [0, 3],
      [2, 1],
    ]) {
      const { qp, memory, lkey } = peers[from];
      memory.bytes.set(machine.random.bytes(MESSAGE_BYTES));
      const sges = [{ address: memory.address, length: MESSAGE_BYTES, lkey }];
      const remote = { address: peers[to].memory.address, rkey: peers[to].rkey };
      qp.post({ opcode: SendOpcode.RDMA_WRITE, sges, remote, signaled: true });
      let completed = 0;
      machine.runUntil(() => {
        completed += qp.parts.sendCq.drain().length;
        return completed > 0;
      }, `the completion of ${from}`);
      t.same(peers[to].memory.bytes, memory.bytes, `${from} to ${to}`);
    }
    for (const adapter of fixture.built.adapters)
      t.ok(adapter.inner[0].ports[0].transmitPackets > 5, 'the packets left by the uplink');
    const result = fixture.replay();
    t.equal(result.divergence, undefined);
    t.notOk(result.truncated);
  });

t.test('plans with embedded switches that cannot work', async (t) => {
  const find = (plan: Partial<FabricPlan>) => findFabricError({ ...backToBack, links: [], ...plan });
  t.equal(find({}), undefined);
  t.equal(find({ subnet: 'external' }), undefined);
  t.match(find({ subnet: 'fixed' }), /^adapter a: portModel vswitch needs a subnet manager; subnet cannot be fixed$/);
  const first = embedding('c', 30, { nodeGuid: '0056554843419900' });
  const second = (nodeGuid: string): AdapterNode => embedding('d', 31, { nodeGuid, portLids: [70, 71] });
  t.match(
    find({ adapters: [first, second('0056554843419904')] }),
    /^adapters c and d have nodeGuid 0056554843419900 and 0056554843419904; they must be at least 8 apart, /,
  );
  t.match(
    find({ adapters: [first, second('0056554843419940')] }),
    /^switches c\/s2 and d\/s1 have nodeGuid 005655c843419940 and 005655c843419940; they must be at least 4 apart, /,
  );
  t.equal(find({ adapters: [first, second('0056554843419980')] }), undefined);
});
