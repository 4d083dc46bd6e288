// SPDX-License-Identifier: Apache-2.0
/**
 * Counters of ports (IBTA 16.1.3.5, 16.1.4): each one that performance management reports for the
 * ports of a switch and of adapters counts the traffic that it must count, and no other counter
 * does.
 */
import t, { type Test } from 'tap';
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ManagementOpcode, PortState } from '../../../protocol/layout/gen/values.gen.ts';
import {
  portCounters,
  portCountersExtended,
  receiveErrorDetails,
  transmitDiscardDetails,
} from '../../fabric/agents/counter-blocks.ts';
import { generalAddress, subnetAddress, writeMadPacket } from '../../fabric/agents/mad-packet.ts';
import type { ScheduledFault } from '../../fabric/link/link-options.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { multicastPayload } from '../driver/payloads.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { SwitchFabric } from '../fixtures/switch-fabric.ts';

type Moves = Readonly<Record<string, number>>;
type Read = (end: LinkEnd) => number;

/** Links here lose no synchronisation, and no node forwards a packet that is marked as bad. */
const UNMOVED = ['linkRecoveries', 'receiveRemotePhysicalErrors'];
const BLOCKS = [portCounters, portCountersExtended, receiveErrorDetails, transmitDiscardDetails];
const readers = BLOCKS.flatMap(({ rows }) =>
  (rows as readonly (readonly [string, number, number, Read])[]).map(([field, , , read]) => [field, read] as const),
);
const MLID = 0xc001;
const PAYLOAD_BYTES = 512;
/** LRH, BTH, DETH, payload and ICRC in dwords. */
const WORDS = (8 + 12 + 8 + PAYLOAD_BYTES + 4) / 4;
const sent = { transmitData: WORDS, transmitPackets: 1, unicastTransmitPackets: 1 };
const received = { receiveData: WORDS, receivePackets: 1, unicastReceivePackets: 1 };
const moved = new Set<string>();

/** The counters of a port that are not 0. Several attributes have the same counter. */
function movesOf(end: LinkEnd): Moves {
  const found: Record<string, number> = {};
  for (const [field, read] of readers) {
    const value = read(end);
    if ((found[field] ?? value) !== value) throw new Error(`two values of ${field}: ${found[field]} and ${value}`);
    found[field] = value;
  }
  for (const [field, value] of Object.entries(found)) {
    if (value === 0) delete found[field];
    else moved.add(field);
  }
  return found;
}

interface Situation {
  readonly what: string;
  readonly prepare?: (fabric: SwitchFabric) => unknown;
  /** After the packet was sent, and before it is taken. */
  readonly meanwhile?: (fabric: SwitchFabric) => unknown;
  readonly schedule?: readonly ScheduledFault[];
  readonly dlid?: number;
  /** Counters that move at ports 1 and 2 of the switch. */
  readonly first: Moves;
  readonly second?: Moves;
}

const one = ({ switches }: SwitchFabric) => switches[0].switchTables;
const portOf = ({ switches }: SwitchFabric, number: number): LinkEnd => switches[0].ports[number - 1];

function enforce(fabric: SwitchFabric, number: number, way: 'isInboundEnforced' | 'isOutboundEnforced'): void {
  one(fabric).pkeysOf(number).set([0x8001]);
  one(fabric).onTablesChanged();
  portOf(fabric, number).settings[way] = true;
}

const damage: readonly ScheduledFault[] = [{ fault: 'corrupt', direction: 0, packet: 0, byte: 30, flip: 4 }];
const damaged = { ...received, receiveErrors: 1, localPhysicalErrors: 1, symbolErrors: 1 };
const discarded = { transmitDiscards: 1 };
const expire = ({ clock }: SwitchFabric): void => clock.advance(4096 * 2);

const situations: readonly Situation[] = [
  { what: 'a packet that is relayed', first: received, second: sent },
  {
    what: 'a packet to a group',
    prepare: (fabric) => one(fabric).setMulticastPorts(MLID - 0xc000, 0, 1 << 2),
    dlid: MLID,
    first: { receiveData: WORDS, receivePackets: 1, multicastReceivePackets: 1 },
    second: { transmitData: WORDS, transmitPackets: 1, multicastTransmitPackets: 1 },
  },
  {
    what: 'a packet to a group without members',
    dlid: MLID,
    first: { receiveData: WORDS, receivePackets: 1, multicastReceivePackets: 1 },
  },
  { what: 'no route', dlid: 99, first: { ...received, receiveSwitchRelayErrors: 1, dlidMappingErrors: 1 } },
  {
    what: 'a loop',
    prepare: (fabric) => (one(fabric).linear[2] = 1),
    first: { ...received, receiveSwitchRelayErrors: 1, loopingErrors: 1 },
  },
  {
    what: 'no lane',
    prepare: (fabric) => one(fabric).setVirtualLane(1, 2, 0, 15),
    first: { ...received, receiveSwitchRelayErrors: 1, vlMappingErrors: 1 },
  },
  {
    what: 'a partition that may not enter',
    prepare: (fabric) => enforce(fabric, 1, 'isInboundEnforced'),
    first: { ...received, receiveConstraintErrors: 1 },
  },
  {
    what: 'a partition that may not leave',
    prepare: (fabric) => enforce(fabric, 2, 'isOutboundEnforced'),
    first: received,
    second: { transmitConstraintErrors: 1 },
  },
  {
    what: 'a packet longer than the MTU of its exit',
    prepare: (fabric) => (portOf(fabric, 2).activeMtuCode = 1),
    first: received,
    second: { ...discarded, neighborMtuDiscards: 1 },
  },
  {
    what: 'an exit that is not active',
    prepare: (fabric) => portOf(fabric, 2).setState(PortState.INITIALIZE),
    first: received,
    second: { ...discarded, inactiveDiscards: 1 },
  },
  {
    what: 'a packet too long for the port of arrival',
    prepare: (fabric) => (portOf(fabric, 1).activeMtuCode = 1),
    first: { ...received, receiveErrors: 1, malformedPacketErrors: 1 },
  },
  { what: 'a damaged packet', schedule: damage, first: damaged },
  {
    what: 'as many damaged packets in a row as the threshold',
    schedule: damage,
    prepare: (fabric) => (portOf(fabric, 1).settings.localPhysicalErrors = 1),
    first: { ...damaged, linkIntegrityErrors: 1 },
  },
  {
    what: 'a packet that waits too long at its exit',
    prepare: (fabric) => (portOf(fabric, 2).settings.headOfQueueLife = 0),
    meanwhile: expire,
    first: received,
    second: { ...discarded, headOfQueueDiscards: 1 },
  },
  {
    what: 'a packet that is too long in the switch',
    prepare: (fabric) => (one(fabric).lifeTime = 1),
    meanwhile: expire,
    first: received,
    second: { ...discarded, lifeTimeDiscards: 1 },
  },
  {
    what: 'a packet that waits for credits',
    meanwhile: (fabric) => fabric.take(1, 1, { allows: () => false }),
    first: received,
    second: { ...sent, transmitWait: 1 },
  },
  {
    what: 'a packet beyond the credits',
    meanwhile: (fabric) => portOf(fabric, 1).noteOverrun(),
    first: { ...received, receiveErrors: 1, bufferOverrunErrors: 1 },
    second: sent,
  },
  {
    what: 'the loss of the link with a packet in its queue',
    meanwhile: (fabric) => fabric.ends[1].plug(undefined),
    first: received,
    second: { linkDowned: 1, ...discarded, inactiveDiscards: 1 },
  },
  {
    what: 'a restart of the port by management',
    prepare: (fabric) => portOf(fabric, 2).restart(PortPhysicalState.POLLING),
    first: received,
    second: sent,
  },
];

t.test('counters of the ports of a switch', async (t) => {
  for (const { what, prepare, meanwhile, schedule, dlid = 2, first, second = {} } of situations) {
    const faults = schedule === undefined ? undefined : { schedule };
    const fabric = new SwitchFabric({ ends: [0, 0, 0], faults });
    prepare?.(fabric);
    fabric.send(0, dlid, 1, PAYLOAD_BYTES);
    fabric.settle();
    meanwhile?.(fabric);
    fabric.settle();
    for (const end of [0, 1, 2]) fabric.take(end);
    t.same(movesOf(portOf(fabric, 1)), first, `${what}: port of arrival`);
    t.same(movesOf(portOf(fabric, 2)), second, `${what}: port of exit`);
    t.same(movesOf(portOf(fabric, 3)), {}, `${what}: third port`);
  }
});

/** Fills the queue of datagrams for the software of a node, until one finds no room. */
function judgeManagement(t: Test, node: { readonly ports: readonly LinkEnd[] } & ManagedEnd, lid: number): void {
  const view = new DataView(new ArrayBuffer(512));
  for (const [counter, address] of [
    ['vl15Dropped', subnetAddress(1, lid)],
    ['qp1Dropped', generalAddress(1, lid, 0xffff)],
  ] as const) {
    const before = movesOf(node.ports[0])[counter] ?? 0;
    const lengthBytes = writeMadPacket(view, 0, address, new Uint8Array(256));
    while (node.mads.receivePacket(1, view, 0, lengthBytes));
    t.equal(movesOf(node.ports[0])[counter], before + 1, counter);
  }
  t.match(movesOf(node.ports[0]), { vl15Dropped: 1, qp1Dropped: 1 }, 'each moves once');
}

interface ManagedEnd {
  readonly mads: { receivePacket(port: number, view: DataView, offset: number, lengthBytes: number): boolean };
}

t.test('datagrams to the management of a switch', async (t) => {
  const fabric = new SwitchFabric({ ends: [0, 0] });
  judgeManagement(t, fabric.switches[0], 9);
});

t.test('counters of the ports of an adapter', async (t) => {
  const fixture = new AdapterFixture();
  const ports = fixture.machine.device.ports as unknown as readonly LinkEnd[];
  const { sender, receiver, to } = fixture.createPair();
  const mgid = Uint8Array.of(0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
  fixture.driver.management.perform({
    opcode: ManagementOpcode.ATTACH_MULTICAST,
    objectNumber: receiver.qpn,
    payload: multicastPayload(mgid, MLID),
  });
  const group = { dlid: MLID, globalRoute: 1, hopLimit: 1, pd: fixture.pd, port: 1 };
  const addressHandle = fixture.driver.addressHandles.add(group, mgid);
  for (let count = 0; count < 2; count++) fixture.postReceive(receiver, 1024);
  const before = ports.map(movesOf);
  sender.post(to({ inline: new Uint8Array(64) }));
  fixture.settle();
  sender.post({ ...to(), addressHandle, remoteQpn: 0xffffff, inline: new Uint8Array(64) });
  fixture.settle();
  const rises = ports.map((port, index) => {
    const old = before[index] as Moves;
    const rows = Object.entries(movesOf(port)).map(([field, value]) => [field, value - (old[field] ?? 0)] as const);
    return Object.fromEntries(rows.filter(([, rise]) => rise !== 0));
  });
  const words = (2 * (8 + 12 + 8 + 64 + 4) + 40) / 4;
  t.same(rises, [
    { transmitData: words, transmitPackets: 2, unicastTransmitPackets: 1, multicastTransmitPackets: 1 },
    { receiveData: words, receivePackets: 2, unicastReceivePackets: 1, multicastReceivePackets: 1 },
  ]);
  t.equal(receiver.parts.receiveCq.drain().length, 2);
  fixture.finish();
});

t.test('every counter was moved, but for those that nothing can move', async (t) => {
  const left = new Set(readers.map(([field]) => field).filter((field) => !moved.has(field)));
  t.same([...left], UNMOVED);
});
