// SPDX-License-Identifier: Apache-2.0
/**
 * What a function may not send by a send context, and what it may not do to blocks
 * (docs/DOCUMENTS.md decision 14; docs/HAZARDS.md, hazard 25). Each case stands beside the same
 * packet without the mistake, which leaves: so each check is noticed when it is missing.
 */
import t from 'tap';
import { setLrhPacketLength, setLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { mtuCode } from '../../../protocol/infiniband/mtu.ts';
import type { PacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import {
  SEND_BLOCK_BYTES,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_START_OF_PACKET_OFFSET as START_ALIAS,
} from '../../../protocol/layout/gen/constants.gen.ts';
import type { SendControl } from '../../../protocol/layout/gen/send-control.gen.ts';
import { FaultKind, SendContextState, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendStore } from '../../rig/driver/send-context.ts';
import { ScriptedLink } from '../../rig/fixtures/scripted-link.ts';
import { SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { Tenant } from '../../rig/qos/tenant.ts';

const ABSENT_QPN = 0xfffffe;

/** A packet: payload, fields, control word, and a last change of its bytes. */
interface Sent {
  readonly bytes?: number;
  readonly fields?: Partial<PacketFields>;
  readonly control?: Partial<SendControl>;
  readonly change?: (packet: DataView) => void;
}

/** Two data lanes, SL 3 on VL 1, an MTU of 256 bytes, and a second function with a QP. */
function prepare() {
  const attributes = { blocks: 32, threshold: 0, virtualLanes: 0b11 | (1 << 15) };
  const fixture = new SendContextFixture(attributes, { functionCount: 2, adapter: { virtualLanes: 2 } });
  const { machine } = fixture.adapterFixture;
  const [port] = machine.device.ports;
  port.transmitQueues.mapServiceLevel(3, 1);
  port.activeMtuCode = mtuCode(256);
  const tenant = new Tenant(machine, 1);
  const { driver, pd } = tenant;
  const foreign = driver.createQueuePair({ pd, sendCq: driver.createCompletionQueue() }).start({ port: 1 });
  return { fixture, foreignQpn: foreign.qpn };
}

const management = { destQpn: 0, srcQpn: 0 };
const cases: readonly [what: string, right: Sent, wrong: (foreignQpn: number) => Sent][] = [
  ["another function's QP as its source", {}, (srcQpn) => ({ fields: { srcQpn } })],
  ['QP 1 as its source, and QP 0', { fields: { srcQpn: 1 } }, () => ({ fields: { srcQpn: 0 } })],
  [
    'a service level of another VL',
    { fields: { serviceLevel: 3 }, control: { virtualLane: 1 } },
    () => ({ fields: { serviceLevel: 3 } }),
  ],
  ['a payload above the MTU', { bytes: 256 }, () => ({ bytes: 260 })],
  [
    'a VL in its LRH that is not the one it leaves by',
    {
      fields: { serviceLevel: 3 },
      control: { virtualLane: 1 },
      change: (packet) => setLrhVirtualLane(packet, 0, 1),
    },
    () => ({ change: (packet) => setLrhVirtualLane(packet, 0, 1) }),
  ],
  [
    'a packet length in its LRH that is too short',
    {},
    () => ({ change: (packet) => setLrhPacketLength(packet, 0, (packet.byteLength + 4) / 4 - 1) }),
  ],
  [
    'a packet length in its LRH that is too long',
    {},
    () => ({ change: (packet) => setLrhPacketLength(packet, 0, (packet.byteLength + 4) / 4 + 1) }),
  ],
  [
    'a management datagram that is too long',
    { bytes: 256, fields: management, control: { virtualLane: 15 } },
    () => ({ bytes: 260, fields: management, control: { virtualLane: 15 } }),
  ],
  [
    'a source other than QP 0 on VL 15',
    { fields: management, control: { virtualLane: 15 } },
    () => ({ fields: { destQpn: 0 }, control: { virtualLane: 15 } }),
  ],
  [
    'a target other than QP 0 on VL 15',
    { fields: management, control: { virtualLane: 15 } },
    () => ({ fields: { srcQpn: 0, destQpn: ABSENT_QPN }, control: { virtualLane: 15 } }),
  ],
];

for (const [what, right, wrong] of cases) {
  t.test(`a packet with ${what} is dropped and halts its context`, async (t) => {
    const { fixture, foreignQpn } = prepare();
    const send = ({ bytes = 8, fields = {}, control = {}, change }: Sent): void => {
      const packet = fixture.packet(new Uint8Array(bytes), { destQpn: ABSENT_QPN, ...fields });
      change?.(new DataView(packet.buffer, packet.byteOffset, packet.length));
      t.ok(fixture.context.send(packet, control));
      fixture.settle();
    };
    send(right);
    t.match(fixture.query(), { packetsSent: 1, packetsDropped: 0, haltCause: SendHaltCause.NONE });
    const { freeCounter } = fixture.context.word;
    send(wrong(foreignQpn));
    t.match(fixture.query(), { packetsSent: 1, packetsDropped: 1, haltCause: SendHaltCause.DISALLOWED_PACKET });
    t.equal(fixture.adapterFixture.faults(FaultKind.SEND_PACKET), 1);
    t.ok(fixture.context.word.freeCounter > freeCounter, 'its credits come back');
  });
}

/** Byte offset of a block of the context, by the alias of starts or the other one. */
function placeOf({ context }: SendContextFixture, block: number, start: boolean): number {
  return context.number * SEND_CONTEXT_WINDOW_BYTES + block * SEND_BLOCK_BYTES + (start ? START_ALIAS : 0);
}

t.test('a block of a complete packet may not be written before its credit has returned', async (t) => {
  for (const block of [0, 1, 3])
    for (const when of ['complete', 'in the port', 'out before an older one'] as const) {
      const fixture = new SendContextFixture({ blocks: 16, threshold: 0 });
      const { context, adapterFixture } = fixture;
      const [port] = adapterFixture.machine.device.ports;
      if (when === 'in the port') new ScriptedLink(port);
      const older =
        when === 'out before an older one' ? context.allocate(fixture.packet(new Uint8Array(8))) : undefined;
      const first = older === undefined ? 0 : 1;
      t.ok(context.send(fixture.packet(new Uint8Array(200).fill(7))));
      if (when !== 'complete') fixture.settle();
      adapterFixture.access.writePio(placeOf(fixture, first + block, block === 0) + 16, 8, -1, -1);
      t.match(fixture.query(), { haltCause: SendHaltCause.OVERFLOW, writesDropped: 1 }, `${when}, block ${block}`);
      if (when === 'in the port') port.transmitQueues.rings[0].shift();
      fixture.settle();
      t.match(fixture.query(), { packetsSent: 1, packetsDropped: 0 }, 'it leaves as it was');
      t.equal(fixture.query().freeCounter, older === undefined ? 4 : 0);
    }
});

t.test('a block whose credit has returned may be written', async (t) => {
  const fixture = new SendContextFixture({ blocks: 4, threshold: 0 });
  for (let count = 0; count < 5; count++) {
    t.ok(fixture.context.send(fixture.packet(new Uint8Array(200), { destQpn: ABSENT_QPN })));
    fixture.settle();
    fixture.context.refresh();
  }
  t.match(fixture.query(), { haltCause: SendHaltCause.NONE, packetsSent: 5 });
});

t.test('a block is written by one alias only, in either order', async (t) => {
  for (const [block, start] of [
    [0, true],
    [3, true],
    [3, false],
  ] as const) {
    const fixture = new SendContextFixture({ blocks: 8 });
    const { access } = fixture.adapterFixture;
    // Not the control word: it is not known yet whether the block is inside a packet.
    const write = (byStart: boolean): void => access.writePio(placeOf(fixture, block, byStart) + 32, 8, 0, 0);
    write(start);
    write(start);
    t.equal(fixture.query().haltCause, SendHaltCause.NONE, 'one alias');
    write(!start);
    t.equal(fixture.query().haltCause, SendHaltCause.INCONSISTENT_SOP, `block ${block}, first ${start}`);
  }
});

t.test('a length is checked when it is there, at any place and whatever it is', async (t) => {
  const blocks = 8;
  const lengths: readonly [dwords: number, isGood: boolean][] = [
    [0, false],
    [8, false],
    [9, true],
    [blocks * 16, true],
    [blocks * 16 + 1, false],
    [1088, false],
    [4095, false],
  ];
  for (const block of [0, 5])
    for (const [dwords, isGood] of lengths) {
      const fixture = new SendContextFixture({ blocks });
      const { access } = fixture.adapterFixture;
      const place = placeOf(fixture, block, true);
      access.writePio(place + 4, 4, 0, 0);
      t.equal(fixture.query().haltCause, SendHaltCause.NONE, 'half of the control word');
      access.writePio(place, 4, dwords, 0);
      const { haltCause, state } = fixture.query();
      t.equal(haltCause, isGood ? SendHaltCause.NONE : SendHaltCause.BAD_LENGTH, `${dwords} dwords in block ${block}`);
      t.equal(state, isGood ? SendContextState.ENABLED : SendContextState.HALTED);
    }
});

t.test('the longest packet of a large context is as long as a slot of the port', async (t) => {
  for (const [dwords, cause] of [
    [1088, SendHaltCause.NONE],
    [1089, SendHaltCause.BAD_LENGTH],
  ] as const) {
    const fixture = new SendContextFixture({ blocks: 128 });
    fixture.adapterFixture.access.writePio(placeOf(fixture, 0, true), 8, dwords, 0);
    t.equal(fixture.query().haltCause, cause, `${dwords} dwords`);
  }
});

t.test('packets of one virtual lane do not hold back those of another', async (t) => {
  const fixture = new SendContextFixture({ blocks: 256, threshold: 0, virtualLanes: 1 | (1 << 15) });
  const { context, adapterFixture } = fixture;
  const [port] = adapterFixture.machine.device.ports;
  new ScriptedLink(port);
  const [ring] = port.transmitQueues.rings;
  const full = ring.capacity;
  for (let count = 0; count < full + 3; count++) t.ok(context.send(fixture.packet(new Uint8Array(8))));
  for (let count = 0; count < 2; count++)
    t.ok(context.send(fixture.packet(new Uint8Array(8), management), { virtualLane: 15 }));
  fixture.settle();
  t.equal(ring.count, full);
  t.equal(port.transmitQueues.vl15.count, 2, 'VL 15 passes');
  port.transmitQueues.vl15.shift();
  t.equal(context.word.freeCounter, 0, 'but returns no credit before the older packets');
  for (let count = 0; count < full; count++) ring.shift();
  t.equal(context.word.freeCounter, full);
  fixture.settle();
  t.equal(ring.count, 3);
  while (ring.count > 0) ring.shift();
  t.equal(context.word.freeCounter, full + 4, 'up to the one that is still in the port');
  port.transmitQueues.vl15.shift();
  t.equal(context.word.freeCounter, full + 5);
});

t.test('a context whose lane is full does not hold back other contexts of its function', async (t) => {
  const fixture = new SendContextFixture({ blocks: 256, threshold: 0 });
  const { driver, machine } = fixture.adapterFixture;
  const [first, second] = machine.device.ports;
  new ScriptedLink(first);
  const other = driver.createSendContext({ blocks: 8, threshold: 0, port: 2 });
  other.enable();
  const full = first.transmitQueues.rings[0].capacity;
  for (let count = 0; count < full + 2; count++) fixture.context.send(fixture.packet(new Uint8Array(8)));
  new ScriptedLink(second);
  const slid = fixture.adapterFixture.lidOf(2);
  const stores = other.allocate(fixture.packet(new Uint8Array(8), { slid, dlid: 99 })) as SendStore[];
  for (const store of stores) other.write(store);
  fixture.settle();
  t.equal(second.transmitQueues.rings[0].count, 1);
  t.equal(fixture.query().packetsWaiting, full + 2);
});
