// SPDX-License-Identifier: Apache-2.0
/** Unicast relay of one switch: ways of packets, each cause of a drop, lanes, fairness, waiting. */
import t from 'tap';
import { setLrhDlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';
import { DropCause, dropCauseNames } from './drop-causes.ts';

const STAR = { ends: [0, 0, 0] };

/** The drops of all ports of switch 0: port, cause and number. */
function dropsOf(fabric: SwitchFabric): unknown[] {
  return fabric.switches[0].ports.flatMap(({ number, drops }) =>
    [...drops].flatMap((count, cause) => (count === 0 ? [] : [[number, dropCauseNames[cause], count]])),
  );
}

t.test('a packet goes to the port of its DLID, unchanged', async (t) => {
  ledger(t, '18.2.4', 'A switch relays a unicast packet by the port that the linear forwarding table has for its DLID');
  ledger(t, '18.2.4', 'A switch changes nothing of a packet but its VL and its VCRC');
  ledger(t, '18.2.4', 'A unicast packet leaves by one port only');
  const fabric = new SwitchFabric(STAR);
  for (const [id, payload] of [0, 1, 64, 252, 256, 1000, 4096].entries()) {
    t.ok(fabric.send(0, 3, id, payload));
    fabric.settle();
    t.same(fabric.take(2), [{ id, slid: 1, dlid: 3, virtualLane: 0 }], `${payload} bytes`);
    t.same(fabric.take(1), [], 'no other port has it');
  }
  t.same(fabric.count(), { received: 7, relayed: 7, drops: 0, lost: 0 });
});

t.test('packets of one input keep their order', async (t) => {
  ledger(t, '18.2.4', 'Packets from one port to one port on one VL keep their order');
  const fabric = new SwitchFabric(STAR);
  const ids: number[] = [];
  for (let id = 0; id < 200; id++) {
    if (!fabric.send(0, 2, id)) t.fail('the switch takes what it can hold');
    if (id % 5 === 0) ids.push(...fabric.take(1, 5).map((one) => one.id));
    fabric.settle();
  }
  for (let round = 0; round < 50; round++) {
    fabric.settle();
    ids.push(...fabric.take(1).map((one) => one.id));
  }
  t.same(
    ids,
    Array.from({ length: 200 }, (_, id) => id),
  );
});

t.test('every drop has its cause', async (t) => {
  ledger(t, '18.2.4', 'A switch discards a packet whose DLID has no entry, and counts it at the port of arrival');
  ledger(t, '18.2.4', 'A switch discards a data packet to the permissive LID');
  ledger(t, '18.2.4', 'A switch discards a packet to a LID above LinearFDBTop');
  ledger(t, '18.2.4', 'A switch discards a packet whose port of exit is the port of arrival');
  ledger(t, '18.2.4', 'A switch discards a packet whose service level maps to VL15');
  ledger(t, '18.2.4', 'A switch discards a packet whose service level maps to a VL that its exit lacks');
  ledger(t, '18.2.4', 'A port that is not active takes no data packet');
  ledger(t, '18.2.5', 'A port that is not active sends no data packet');
  ledger(t, '18.2.5', 'A switch discards a packet that is longer than the MTU of its exit');
  ledger(t, '18.2.4', 'A switch discards a packet that is longer than the MTU of the port of arrival');
  ledger(t, '18.2.4', 'A port that enforces partitions inbound discards packets of other partitions');
  ledger(t, '18.2.5', 'A port that enforces partitions outbound discards packets of other partitions');
  const cases: [cause: DropCause, port: number, prepare: (fabric: SwitchFabric) => void, dlid?: number][] = [
    [DropCause.NO_ROUTE, 1, () => {}, 99],
    [DropCause.NO_ROUTE, 1, () => {}, 0xffff],
    [DropCause.NO_ROUTE, 1, ({ switches: [one] }) => (one.switchTables.linearTop = 1)],
    [DropCause.NO_MEMBER, 1, () => {}, 0xc001],
    [DropCause.LOOP, 1, ({ switches: [one] }) => (one.switchTables.linear[2] = 1)],
    [DropCause.NO_LANE, 1, ({ switches: [one] }) => one.switchTables.setVirtualLane(1, 2, 0, 15)],
    [DropCause.NO_LANE, 1, ({ switches: [one] }) => one.switchTables.setVirtualLane(1, 2, 0, 1)],
    [DropCause.INPUT_INACTIVE, 1, ({ switches: [one] }) => one.ports[0].setState(PortState.INITIALIZE)],
    [DropCause.OUTPUT_INACTIVE, 2, ({ switches: [one] }) => one.ports[1].setState(PortState.INITIALIZE)],
    [DropCause.TOO_LONG, 2, ({ switches: [one] }) => (one.ports[1].activeMtuCode = 1)],
    [DropCause.MALFORMED, 1, ({ switches: [one] }) => (one.ports[0].activeMtuCode = 1)],
    [DropCause.INPUT_PARTITION, 1, (fabric) => enforce(fabric, 1, true)],
    [DropCause.OUTPUT_PARTITION, 2, (fabric) => enforce(fabric, 2, false)],
  ];
  for (const [cause, port, prepare, dlid = 2] of cases) {
    const fabric = new SwitchFabric(STAR);
    prepare(fabric);
    fabric.send(0, dlid, 1, 512);
    fabric.settle();
    t.same(dropsOf(fabric), [[port, dropCauseNames[cause], 1]]);
    t.same(fabric.take(1), []);
  }
});

function enforce({ switches: [one] }: SwitchFabric, port: number, isInbound: boolean): void {
  one.switchTables.pkeysOf(port).set([0x8001]);
  one.switchTables.onTablesChanged();
  if (isInbound) one.ports[port - 1].settings.isInboundEnforced = true;
  else one.ports[port - 1].settings.isOutboundEnforced = true;
}

t.test('a port that enforces partitions lets pass what matches a key of its table', async (t) => {
  ledger(t, '18.2.4', 'Partition enforcement compares P_Keys by the rules of 10.9.3: two limited members do not match');
  const fabric = new SwitchFabric(STAR);
  const [{ switchTables, ports }] = fabric.switches;
  ports[0].settings.isInboundEnforced = true;
  for (const [keys, passes] of [
    [[0xffff], true],
    [[0x7fff], true],
    [[0x8001, 0x7fff], true],
    [[0x8001], false],
    [[], false],
  ] as const) {
    switchTables.pkeysOf(1).fill(0).set(keys);
    switchTables.onTablesChanged();
    fabric.send(0, 2, 1);
    fabric.settle();
    t.equal(fabric.take(1).length, passes ? 1 : 0, `keys ${keys}`);
  }
});

t.test('a packet damaged on its way is dropped where the damage is found', async (t) => {
  ledger(t, '18.2.4', 'A switch checks the VCRC of each packet and discards a damaged one');
  const schedule = [{ fault: 'corrupt', direction: 0, packet: 1, byte: 30, flip: 4 }] as const;
  const fabric = new SwitchFabric({ ...STAR, faults: { schedule } });
  for (let id = 0; id < 3; id++) fabric.send(0, 2, id);
  fabric.settle();
  t.same(
    fabric.take(1).map(({ id }) => id),
    [0, 2],
  );
  t.same(dropsOf(fabric), [[1, 'damaged', 1]]);
});

t.test('a change of the LRH inside a trusted fabric is not taken for damage', async (t) => {
  ledger(t, '18.2.5', 'A switch that changes the VL of a packet gives it a right VCRC');
  const fabric = new SwitchFabric({ ...STAR, virtualLanes: 2, faults: {} });
  fabric.switches[0].switchTables.setVirtualLane(1, 2, 0, 1);
  fabric.send(0, 2, 5);
  fabric.settle();
  t.match(fabric.take(1), [{ id: 5, virtualLane: 1 }], 'a packet with another VL has a right VCRC');
  t.equal(fabric.damaged, 0);
});

t.test('a VL without room holds up no other VL, and loses nothing', async (t) => {
  ledger(t, '18.2.4', 'A data VL without credits at its exit delays no other VL');
  ledger(t, '18.2.5', 'A switch discards no packet for want of credits');
  const fabric = new SwitchFabric({ ...STAR, virtualLanes: 2 });
  const onlyFirst = { allows: (virtualLane: number) => virtualLane === 1 };
  const ids: number[] = [];
  let sent = 0;
  for (let id = 0; id < 400; id++) {
    if (fabric.send(0, 2, id, 64, id % 2)) sent++;
    fabric.settle();
    ids.push(...fabric.take(1, 10, onlyFirst).map((one) => one.id));
  }
  t.equal(ids.length, 200, 'all packets of the free VL have arrived');
  t.ok(ids.every((id) => id % 2 === 1));
  t.ok(sent < 400, 'the sender of the full VL has to wait');
  for (let round = 0; round < 100; round++) {
    fabric.settle();
    ids.push(...fabric.take(1).map((one) => one.id));
  }
  t.equal(ids.length, sent);
  t.equal(fabric.count().drops, 0);
});

t.test('inputs share a full output in turn', async (t) => {
  ledger(t, '18.2.5', 'No port of arrival is starved by the others at a full exit');
  const fabric = new SwitchFabric({ ends: [0, 0, 0, 0, 0], queuePackets: 4 });
  const arrived = [0, 0, 0, 0, 0];
  for (let round = 0; round < 2000; round++) {
    // The second end sends half as many: its packets still come through at once.
    for (let from = 0; from < 4; from++) if (from !== 1 || round % 8 === 0) fabric.send(from, 5, round % 2 ** 24);
    fabric.settle();
    for (const { slid } of fabric.take(4, 1)) arrived[slid - 1]++;
  }
  t.ok(arrived[1] >= 240, `${arrived}`);
  const others = [arrived[0], arrived[2], arrived[3]];
  t.ok(Math.max(...others) - Math.min(...others) <= 2, `equal shares: ${arrived}`);
});

t.test('a packet that waits too long is dropped, by the limit of the port or of the switch', async (t) => {
  ledger(t, '18.2.5.4', 'A packet at the head of an output queue is discarded after HOQLife');
  ledger(t, '18.2.5.4', 'A packet is discarded when it was in the switch for LifeTimeValue');
  for (const [cause, code] of [
    [DropCause.HEAD_OF_QUEUE, 0],
    [DropCause.LIFE_TIME, 1],
  ] as const) {
    const fabric = new SwitchFabric({ ...STAR, queuePackets: 2 });
    const [{ switchTables, ports }] = fabric.switches;
    if (cause === DropCause.HEAD_OF_QUEUE) ports[1].settings.headOfQueueLife = code;
    else switchTables.lifeTime = code;
    const lengthNs = 4096 * 2 ** code;
    for (let id = 0; id < 4; id++) fabric.send(0, 2, id);
    fabric.settle();
    t.same(dropsOf(fabric), []);
    t.equal(fabric.clock.alarmNs, lengthNs, 'the switch asks to run when a packet expires');
    fabric.clock.advance(lengthNs - 1);
    fabric.settle();
    t.same(dropsOf(fabric), []);
    fabric.clock.advance(1);
    fabric.settle();
    t.ok(fabric.switches[0].ports[1].drops[cause] > 0, dropCauseNames[cause]);
    for (let step = 0; step < 10; step++) {
      fabric.clock.advance(lengthNs);
      fabric.settle();
    }
    const { drops } = fabric.count();
    t.equal(drops, 4, 'in the end all are dropped');
    t.equal(fabric.countLinks().waiting, 0);
    t.ok(fabric.send(0, 2, 9));
    fabric.settle();
    t.match(fabric.take(1), [{ id: 9 }], 'later packets pass');
  }
});

t.test('a VL whose head expires again and again is stalled for eight lives', async (t) => {
  ledger(
    t,
    '18.2.5.4',
    'After VLStallCount packets in a row were discarded by HOQLife, the VL is stalled for 8 times HOQLife',
  );
  const fabric = new SwitchFabric({ ...STAR, queuePackets: 8 });
  const [{ ports }] = fabric.switches;
  const port = ports[1];
  port.settings.headOfQueueLife = 0;
  port.settings.vlStallCount = 3;
  const life = 4096;
  for (let id = 0; id < 6; id++) fabric.send(0, 2, id);
  fabric.settle();
  for (const drops of [1, 2]) {
    fabric.clock.advance(life);
    fabric.settle();
    t.equal(port.drops[DropCause.HEAD_OF_QUEUE], drops, 'one after the other');
  }
  fabric.clock.advance(life);
  fabric.settle();
  t.equal(port.drops[DropCause.HEAD_OF_QUEUE], 6, 'the third one stalls the VL, and all go');
  t.ok(fabric.send(0, 2, 7));
  fabric.settle();
  t.equal(port.drops[DropCause.HEAD_OF_QUEUE], 7, 'those that come meanwhile, too');
  t.equal(port.counters.headOfQueueDiscards, 7);
  t.equal(fabric.clock.alarmNs, fabric.clock.now() + 8 * life);
  fabric.clock.advance(8 * life);
  fabric.settle();
  t.ok(fabric.send(0, 2, 9));
  fabric.settle();
  t.match(fabric.take(1), [{ id: 9 }], 'then packets pass again');
});

t.test('without a limit a packet waits for ever', async (t) => {
  ledger(t, '18.2.5.4', 'A life time above 19 sets no limit');
  const fabric = new SwitchFabric({ ...STAR, queuePackets: 2 });
  const [{ switchTables, ports }] = fabric.switches;
  switchTables.lifeTime = 20;
  ports[1].settings.headOfQueueLife = 20;
  for (let id = 0; id < 4; id++) fabric.send(0, 2, id);
  for (let day = 0; day < 3; day++) {
    fabric.settle();
    fabric.clock.advance(86_400e9);
  }
  t.equal(fabric.clock.alarmNs, Number.POSITIVE_INFINITY);
  t.equal(fabric.take(1).length, 2);
  fabric.settle();
  t.equal(fabric.take(1).length, 2);
});

t.test('what waits for a port is dropped when its link goes down', async (t) => {
  const fabric = new SwitchFabric({ ...STAR, queuePackets: 2 });
  for (let id = 0; id < 8; id++) fabric.send(0, 2, id);
  for (let id = 8; id < 16; id++) fabric.send(2, 2, id);
  fabric.settle();
  const [{ ports }] = fabric.switches;
  ports[1].plug(undefined);
  fabric.settle();
  t.equal(ports[1].transmitDiscards, 2 + 14, 'those of the queue, and those that came later');
  t.same(dropsOf(fabric), [[2, 'output inactive', 14]]);
});

t.test('raw packets pass unless a port filters them', async (t) => {
  ledger(t, '18.2.4', 'A port that filters raw packets inbound discards them');
  ledger(t, '18.2.5', 'A port that filters raw packets outbound discards them');
  ledger(t, '18.2.4', 'Partition enforcement does not concern raw packets');
  const raw = (fabric: SwitchFabric): void => {
    const [end] = fabric.ends;
    const ring = end.ringFor(2);
    const at = ring.writeOffset;
    ring.bytes.fill(0, at, at + 26);
    setLrhDlid(ring.view, at, 2);
    ring.view.setUint16(at + 4, 6);
    end.transmit(ring, 26);
    fabric.settle();
  };
  const fabric = new SwitchFabric(STAR);
  const [{ ports }] = fabric.switches;
  enforce(fabric, 1, true);
  raw(fabric);
  t.equal(ports[1].transmitPackets, 1, 'partitions do not concern a raw packet');
  ports[1].settings.isRawOutboundFiltered = true;
  raw(fabric);
  ports[0].settings.isRawInboundFiltered = true;
  raw(fabric);
  t.same(dropsOf(fabric), [
    [1, 'input raw', 1],
    [2, 'output raw', 1],
  ]);
});
