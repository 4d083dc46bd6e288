// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters of the personality mthca and of our own front end in one fabric: behind a switch with
 * the built-in subnet manager they have reliable connections with each other, over good and bad
 * links, and a recording of all replays byte for byte.
 */
import t from 'tap';
import { CompletionStatus, PlacementType, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { encodeLinkChange } from '../../fabric/link/link-changes.ts';
import { makeFabricMachine } from '../../rig/machine/fabric-machine.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { BYTES, MixedFabric, mixedPlan, mthcaNode } from '../../rig/mthca/driver/mixed-fabric.ts';
import { MthcaDriver } from '../../rig/mthca/driver/mthca-driver.ts';
import { findFabricError } from '../../topology/fabric-errors.ts';
import type { FabricPlan } from '../../topology/fabric-plan.ts';
import { managerPlaces } from '../../topology/manager-places.ts';
import { encodeFault } from '../shared/injected-faults.ts';

const { SEND, RDMA_WRITE, RDMA_READ } = WorkOpcode;
const faulty = { kind: 'faulty', seed: 5, delayNs: 1000, faults: { drop: 0.05, corrupt: 0.05 } } as const;

for (const link of [{ kind: 'cable' }, faulty] as const) {
  t.test(`our driver and a stock driver have a reliable connection: ${link.kind}`, async (t) => {
    const fixture = new MixedFabric(mixedPlan(link));
    const { machine, m, v } = fixture;
    fixture.connectOwn();
    const [first, second, third] = [0, 1, 2].map(() => machine.random.bytes(BYTES));
    const remote = { address: v.memory.address, key: v.rkey };
    m.bytes.set(first);
    m.qp.post({ opcode: RDMA_WRITE, pieces: [m.memory], remote });
    fixture.expectOne(m, 'the WRITE of m');
    t.same(v.memory.bytes, first);
    v.memory.bytes.set(second);
    m.qp.post({ opcode: RDMA_READ, pieces: [m.memory], remote });
    fixture.expectOne(m, 'the READ of m');
    t.same(m.bytes, second);
    m.qp.postReceive(m.memory);
    v.memory.bytes.set(third);
    const sges = [{ address: v.memory.address, length: BYTES, lkey: v.lkey }];
    v.qp.post({ opcode: SendOpcode.SEND, sges, signaled: true });
    fixture.expectOne(m, 'the SEND of v');
    t.same(m.bytes, third);
    t.equal(v.qp.parts.sendCq.take().status, 0, 'v has its acknowledgement');
    t.match(fixture.replay(), { divergence: undefined, truncated: false });
  });

  t.test(`two stock drivers have a reliable connection: ${link.kind}`, async (t) => {
    const fixture = new MixedFabric(mixedPlan(link));
    const { machine, m, n } = fixture;
    fixture.connectStock();
    const message = machine.random.bytes(BYTES);
    m.bytes.set(message);
    n.qp.postReceive(n.memory);
    m.qp.post({ opcode: SEND, pieces: [m.memory] });
    fixture.expectOne(n, 'the receive of n');
    fixture.expectOne(m, 'the SEND of m');
    t.same(n.bytes, message);
    t.match(fixture.replay(), { divergence: undefined, truncated: false });
  });
}

t.test('a stock device does not know FLUSH and ATOMIC WRITE', async (t) => {
  for (const request of [
    { opcode: SendOpcode.ATOMIC_WRITE, inline: new Uint8Array(8).fill(1) },
    { opcode: SendOpcode.FLUSH, flush: { placementType: PlacementType.GLOBAL_VISIBILITY, lengthBytes: 8 } },
  ]) {
    const fixture = new MixedFabric(mixedPlan({ kind: 'cable' }));
    const { m, v } = fixture;
    fixture.connectOwn();
    const before = m.bytes.slice();
    v.qp.post({ ...request, remote: { address: m.memory.address, rkey: m.memory.key } });
    t.equal(v.qp.parts.sendCq.take().status, CompletionStatus.RETRY_EXCEEDED);
    t.same(m.bytes, before);
  }
});

t.test('a replay repeats the faults that a host has planted', async (t) => {
  const fixture = new MixedFabric(mixedPlan({ kind: 'cable' }));
  const { machine, m, n } = fixture;
  fixture.connectStock();
  const plant = (...words: string[]): void => machine.functionAt(0).plantFault(encodeFault(words));
  plant('lost-completions', 'count=1');
  for (const number of [1, 2]) {
    n.qp.postReceive(n.memory);
    m.qp.post({ opcode: SEND, pieces: [m.memory] });
    fixture.expectOne(n, `receive ${number} of n`);
    if (number === 2) fixture.expectOne(m, 'the second SEND of m');
  }
  t.equal(m.fixture.driver.device.hca.planted.lostCompletions, 1, 'that of the first SEND');
  plant('link-flap', 'port=1');
  machine.runUntil(() => !m.fixture.driver.device.ports[0].active, 'a link that is down');
  machine.runUntil(() => m.fixture.driver.device.ports[0].active, 'a link that is up');
  plant('fatal', 'cause=parity');
  machine.runUntilIdle();
  t.ok(m.fixture.driver.device.hca.hasFailed);
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
});

t.test('a replay repeats what a host has done to links', async (t) => {
  const fixture = new MixedFabric(mixedPlan({ kind: 'cable' }));
  const { machine, m, n, built } = fixture;
  fixture.connectStock();
  const [port] = built.adapters[0].ports;
  const change = (name: string, ...words: string[]): void =>
    machine.adapter.changeLink?.(encodeLinkChange(name, words));
  change('s:1', 'down');
  t.equal(port.active, false, 'either end names the link');
  machine.runUntilIdle();
  change('m:1', 'up');
  machine.runUntil(() => port.active, 'an active port, by the subnet manager');
  change('m:1', 'set', 'drop=0.3', 'seed=9', 'delayNs=2000');
  machine.runUntil(() => port.active, 'an active port after the cable was exchanged');
  n.qp.postReceive(n.memory);
  m.qp.post({ opcode: SEND, pieces: [m.memory] });
  fixture.expectOne(n, 'a receive over a link that loses packets');
  fixture.expectOne(m, 'the SEND');
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
});

t.test('devices without a switch', async (t) => {
  const adapters = [mthcaNode('m', 1), mthcaNode('n', 2, 1)];
  const plan: FabricPlan = { adapters, switches: [], links: [], subnet: 'managed' };
  t.equal(findFabricError(plan), undefined);
  t.same(managerPlaces(plan), ['m:1'], 'a port alone has no subnet');
  const clash: FabricPlan = { ...plan, adapters: [mthcaNode('m', 1), { ...mthcaNode('n', 1) }] };
  t.match(findFabricError(clash), /adapters m and n both have LID 3/);
  const links = [{ ports: ['m:1', 'n:1'], link: { kind: 'cable' } }] as const;
  for (const subnet of ['managed', 'fixed'] as const) {
    const { machine, built } = makeFabricMachine({ ...plan, links, subnet });
    for (const index of [0, 1]) new DataFixture({}, new MthcaDriver(machine, index, built.adapters[index]));
    const ports = built.adapters.map(({ ports: [port] }) => port);
    machine.runUntil(() => ports.every(({ active }) => active), `active ports, ${subnet}`);
    t.not(ports[0].lid, ports[1].lid);
    t.equal(built.managers.length, subnet === 'managed' ? 1 : 0);
  }
});
