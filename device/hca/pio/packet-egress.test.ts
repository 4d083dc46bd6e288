// SPDX-License-Identifier: Apache-2.0
/**
 * Send contexts and the egress of their packets with ports alone (US 2015/0378953 claim 1;
 * docs/DOCUMENTS.md decision 14): whose turn it is, what may leave, and how it leaves.
 */
import t from 'tap';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { setLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { BthOpcode, PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { SEND_CONTEXT_MAX, SEND_CONTEXT_WINDOW_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind, PortState, SendContextState, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import { EgressFixture as Fixture, FOREIGN_QPN, PACKET_COST, type Sent } from '../../rig/fixtures/egress-fixture.ts';

const NO_ERROR = 0;

t.test('packets of a context leave in order of completion, within the limit and the room of the port', async (t) => {
  const fixture = new Fixture();
  const context = fixture.add();
  for (let count = 0; count < 6; count++) fixture.fill(context);
  t.ok(fixture.contexts.ready);
  t.notOk(fixture.contexts.owed);
  t.equal(fixture.contexts.run(3), 3);
  t.ok(fixture.contexts.owed, 'more could leave');
  t.equal(fixture.contexts.run(9), 1, 'the ring of the port is full');
  t.ok(fixture.contexts.owed);
  t.same([context.packetsSent, context.readyCount, context.freeCounter], [4, 2, 0]);
  t.same(fixture.psns(), [0, 2, 4, 6]);
  t.equal(context.freeCounter, 8, 'blocks are free when their packets have left the port');
  t.equal(fixture.contexts.run(2), 2);
  t.notOk(fixture.contexts.owed || fixture.contexts.ready);
  fixture.fill(context);
  t.equal(fixture.contexts.run(2), 1);
  t.notOk(fixture.contexts.owed, 'all has left');
  t.equal(fixture.psns().length, 3);
  for (let count = 0; count < 2; count++) fixture.fill(context);
  t.equal(fixture.contexts.run(2), 2);
  t.notOk(fixture.contexts.owed, 'all within the limit');
  t.equal(fixture.contexts.run(2), 0);
  t.same(fixture.psns(), [14, 16]);
});

t.test('each function has its turn, whatever the number of its contexts; each packet is charged', async (t) => {
  const fixture = new Fixture();
  const contexts = [fixture.add(0), fixture.add(0), fixture.add(1)];
  for (const context of contexts) for (let count = 0; count < 2; count++) fixture.fill(context);
  const length = 8 + 12 + 8 + 64 + 4;
  t.equal(fixture.contexts.run(4), 4);
  t.same(fixture.served, [0, 1, 0, 1]);
  t.same(
    fixture.charges,
    [0, 1, 0, 1].map((number) => [number, PACKET_COST + length]),
  );
  t.same(
    contexts.map(({ packetsSent }) => packetsSent),
    [1, 1, 2],
    'the contexts of a function take turns',
  );
});

t.test('a packet whose virtual lane is full lets those of other lanes pass', async (t) => {
  const fixture = new Fixture();
  const [context, other] = [fixture.add(), fixture.add(1)];
  for (let count = 0; count < 5; count++) fixture.fill(context);
  fixture.fill(context, { fields: { serviceLevel: 3 }, control: { virtualLane: 1 } });
  fixture.fill(other, { fields: { serviceLevel: 3 }, control: { virtualLane: 1 } });
  t.equal(fixture.contexts.run(99), 6);
  t.same([fixture.psns(1), context.readyCount, other.readyCount], [[0, 10], 1, 0]);
  t.same(fixture.psns(0), [0, 2, 4, 6]);
});

t.test('with a seed packets of a context leave in other orders; none is lost', async (t) => {
  const orders = new Set<string>();
  for (const seed of [1, 2, 3, 4]) {
    const fixture = new Fixture(seed);
    const context = fixture.add();
    for (let count = 0; count < 4; count++) fixture.fill(context);
    t.equal(fixture.contexts.run(9), 4);
    const psns = fixture.psns();
    t.same([...psns].sort(), [0, 2, 4, 6]);
    t.equal(context.freeCounter, 8);
    orders.add(psns.join());
  }
  t.ok(orders.size > 1);
});

t.test('what a function may not send halts its context; the same packet without the mistake leaves', async (t) => {
  const management = { destQpn: 0, srcQpn: 0 };
  const cases: readonly [string, Sent, Sent][] = [
    ['the QP of another function', {}, { fields: { srcQpn: FOREIGN_QPN } }],
    ['no QP', {}, { fields: { srcQpn: 99 } }],
    ['QP 0 as source', { fields: { srcQpn: 1 } }, { fields: { srcQpn: 0 } }],
    ['another service', {}, { fields: { opcode: BthOpcode.UC_SEND_ONLY } }],
    ['the LID of another port', {}, { fields: { slid: 2 } }],
    [
      'a lane of another service level',
      { fields: { serviceLevel: 3 }, control: { virtualLane: 1 } },
      { control: { virtualLane: 1 } },
    ],
    ['a lane that the context may not use', {}, { control: { virtualLane: 2 } }],
    [
      'another lane in its LRH',
      { change: (packet) => setLrhVirtualLane(packet, 0, 0) },
      { change: (packet) => setLrhVirtualLane(packet, 0, 1) },
    ],
    ['a payload above the MTU', { bytes: 256 }, { bytes: 260 }],
    ['QP 0 as target on a data lane', {}, { fields: { destQpn: 0 } }],
    [
      'another target on VL 15',
      { fields: management, control: { virtualLane: 15 } },
      { fields: { srcQpn: 0 }, control: { virtualLane: 15 } },
    ],
    [
      'another source on VL 15',
      { fields: management, control: { virtualLane: 15 } },
      { fields: { destQpn: 0 }, control: { virtualLane: 15 } },
    ],
    [
      'a long datagram on VL 15',
      { bytes: 256, fields: management, control: { virtualLane: 15 } },
      { bytes: 260, fields: management, control: { virtualLane: 15 } },
    ],
    ['a lane that this context may not use', {}, { fields: { serviceLevel: 3 }, control: { virtualLane: 1 } }],
    ['a partition', { fields: { pKey: 0x8001 } }, { fields: { pKey: 0x8002 } }],
  ];
  for (const [name, right, wrong] of cases) {
    const fixture = new Fixture();
    const context = fixture.add();
    if (name === 'a partition') Object.assign(context, { checkPkey: true, pkey: 0x8001 });
    if (name === 'a lane that this context may not use') context.virtualLanes = 0b01;
    fixture.fill(context, right);
    fixture.fill(context, wrong);
    t.equal(fixture.contexts.run(9), 2, name);
    t.same([context.packetsSent, context.packetsDropped], [1, 1], name);
    t.same([context.state, context.haltCause], [SendContextState.HALTED, SendHaltCause.DISALLOWED_PACKET], name);
    t.same(
      fixture.faults,
      [
        [0, FaultKind.SEND_PACKET],
        [0, FaultKind.SEND_CONTEXT_HALTED],
      ],
      name,
    );
  }
  const fixture = new Fixture();
  const context = fixture.add();
  fixture.fill(context, { fields: { pKey: 0x8002 } });
  fixture.contexts.run(1);
  t.equal(context.packetsSent, 1, 'any partition, unless it is checked');
});

t.test('a packet has its CRCs, also with a GRH; a damaged one has the damage that was asked for', async (t) => {
  for (const [sent, headers] of [
    [{}, 0],
    [{ fields: { hasGrh: 1 } }, GRH_SIZE],
  ] as const) {
    const fixture = new Fixture();
    fixture.fill(fixture.add(), sent);
    fixture.contexts.run(1);
    t.notOk(fixture.rings[0].readSuspect);
    t.same(fixture.take(fixture.rings[0]), [{ psn: 0, error: NO_ERROR, length: 8 + headers + 12 + 8 + 64 + 4 + 2 }]);
  }
  for (const [control, isIcrcRight] of [
    [{ badIcrc: 1 }, false],
    [{ badVcrc: 1 }, true],
  ] as const) {
    const fixture = new Fixture();
    fixture.fill(fixture.add(), { control });
    const { transmitPackets } = fixture.port;
    fixture.contexts.run(1);
    t.equal(fixture.port.transmitPackets, transmitPackets + 1);
    const [ring] = fixture.rings;
    const parsed = newParsedPacket();
    const both = parsePacket(ring.view, ring.readOffset, ring.readLength, parsed, PacketCheck.ALL);
    t.equal(both, isIcrcRight ? PacketError.BAD_VCRC : PacketError.BAD_ICRC);
    t.ok(ring.readSuspect, 'a receiver checks it whatever the link');
    t.equal(fixture.take(ring)[0].error === NO_ERROR, isIcrcRight);
  }
});

t.test('where packets go: to the link, back to the port, or nowhere', async (t) => {
  const own = { dlid: 1 };
  const management = { fields: { destQpn: 0, srcQpn: 0 }, control: { virtualLane: 15 } };
  const cases: [string, PortState, Sent, (fixture: Fixture) => PacketRing | undefined][] = [
    ['data', PortState.ACTIVE, {}, ({ rings }) => rings[0]],
    ['data to itself', PortState.ACTIVE, { fields: own }, ({ port }) => port.loopback],
    ['data before the port is active', PortState.ARMED, {}, () => undefined],
    ['data without a link', PortState.DOWN, { fields: own }, () => undefined],
    ['management', PortState.ACTIVE, management, ({ port }) => port.transmitQueues.vl15],
    ['management before the port is active', PortState.INITIALIZE, management, ({ port }) => port.transmitQueues.vl15],
    ['management without a link', PortState.DOWN, management, () => undefined],
  ];
  for (const [name, state, sent, ringOf] of cases) {
    const fixture = new Fixture();
    const context = fixture.add();
    fixture.port.state = state;
    fixture.fill(context, sent);
    t.equal(fixture.contexts.run(1), 1, name);
    const ring = ringOf(fixture);
    t.same([context.packetsSent, context.packetsDropped], ring === undefined ? [0, 1] : [1, 0], name);
    t.equal(context.freeCounter, ring === undefined ? 2 : 0, name);
    t.equal(context.state, SendContextState.ENABLED, name);
    if (ring !== undefined) t.equal(ring.count, 1, name);
    t.equal(fixture.port.transmitDiscards, ring === undefined ? 1 : 0, `${name}: the port counts what it discards`);
    t.equal(fixture.charges.length, ring === undefined ? 0 : 1, name);
  }
});

t.test(
  'contexts have the lowest free number of their function, which alone finds them and writes to them',
  async (t) => {
    const fixture = new Fixture();
    const [first, second, foreign] = [fixture.add(), fixture.add(), fixture.add(1)];
    const { contexts, owners } = fixture;
    t.same([first.number, second.number, foreign.number], [0, 1, 0]);
    t.same([contexts.get(owners[0], 0), contexts.get(owners[1], 0)], [first, foreign]);
    t.same([contexts.get(owners[1], 1), contexts.get(owners[0], SEND_CONTEXT_MAX)], [undefined, undefined]);
    contexts.write(owners[1], SEND_CONTEXT_WINDOW_BYTES, 8, 0, 0);
    t.same(fixture.faults, [[1, FaultKind.PIO_UNSUPPORTED]]);
    contexts.remove(first);
    const again = fixture.add();
    t.same([again.number, again.serial === first.serial], [0, false]);
    const seen: number[][] = [];
    contexts.forEach(({ owner, number }) => {
      seen.push([owner.number, number]);
    });
    t.same(seen, [
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
  },
);

t.test('packets of a removed context are forgotten, except those in the port, which change no other one', async (t) => {
  const fixture = new Fixture();
  const [first, second] = [fixture.add(), fixture.add(1)];
  for (let count = 0; count < 2; count++) fixture.fill(first);
  fixture.fill(second);
  fixture.contexts.run(1);
  fixture.contexts.dropFunction(fixture.owners[0]);
  t.equal(fixture.contexts.get(fixture.owners[0], 0), undefined);
  t.ok(fixture.contexts.get(fixture.owners[1], 0));
  const again = fixture.add();
  t.equal(fixture.contexts.run(9), 1);
  t.same(fixture.psns(), [0, 0]);
  t.same([again.freeCounter, second.freeCounter], [0, 2]);
  t.notOk(fixture.contexts.ready);
  fixture.fill(second);
  fixture.contexts.run(1);
  fixture.contexts.remove(second);
  t.same(fixture.psns(), [2], 'there may be no context of its number any more');
});

t.test('a freeze halts all contexts; its end lets software restart them', async (t) => {
  const fixture = new Fixture();
  const all = [fixture.add(), fixture.add(1)];
  fixture.contexts.setFrozen(true);
  t.ok(fixture.contexts.frozen);
  t.same(
    all.map(({ state }) => state),
    [SendContextState.FROZEN, SendContextState.FROZEN],
  );
  fixture.contexts.setFrozen(false);
  t.notOk(fixture.contexts.frozen);
  t.ok(all.every(({ state }) => state === SendContextState.HALTED));
});
