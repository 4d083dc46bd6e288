// SPDX-License-Identifier: Apache-2.0
/**
 * Decisions of ports about datagrams: partition keys, MTU, state (IBTA 10.9, 9.8.3). In-process
 * only: no guest configures ports.
 */
import t from 'tap';
import { decodePortAttributes, newPortAttributes } from '../../../protocol/layout/gen/port-attributes.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  PortState,
  QpState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import type { Port } from './port.ts';

const GRH = 40;
const { LOCAL_LENGTH_ERROR, SUCCESS } = CompletionStatus;

function portsOf(fixture: AdapterFixture): [Port, Port] {
  return fixture.machine.device.ports as unknown as [Port, Port];
}

/**
 * P_Key of the sender, P_Key of the receiver, and whether a datagram passes: same partition, and at
 * least one full member.
 */
const partitions: readonly [number, number, boolean][] = [
  [0xffff, 0xffff, true],
  [0x8001, 0x8001, true],
  [0x8001, 0x0001, true],
  [0x0001, 0x8001, true],
  [0x0001, 0x0001, false],
  [0x8001, 0x8002, false],
  [0x8001, 0xffff, false],
];

for (const [from, to, passes] of partitions) {
  t.test(
    `P_Key 0x${from.toString(16)} to 0x${to.toString(16)}: ${passes ? 'delivered' : 'dropped and counted'}`,
    async (t) => {
      const fixture = new AdapterFixture();
      const [near, far] = portsOf(fixture);
      near.pkeys[7] = from;
      far.pkeys[9] = to;
      const pair = fixture.createPair({ sender: { pkeyIndex: 7 }, receiver: { pkeyIndex: 9 } });
      fixture.postReceive(pair.receiver, GRH);
      pair.sender.post(pair.to());
      t.equal(pair.sender.parts.sendCq.take().status, SUCCESS);
      fixture.settle();
      const entry = pair.receiver.parts.receiveCq.poll();
      if (passes) t.match(entry, { status: SUCCESS, pkeyIndex: 9 });
      else t.equal(entry, undefined);
      const answer = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: 2 });
      t.equal(decodePortAttributes(answer.payload, 0, newPortAttributes()).badPkeyCounter, passes ? 0 : 1);
      t.equal(fixture.access.readRegister(CSR.PORT_RECEIVE_DROPS + 8, 8), passes ? 0 : 1);
      fixture.finish();
    },
  );
}

t.test('a wrong Q_Key is counted at the port', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH);
  sender.post(to({ qkey: 0x4444 }));
  fixture.settle();
  const answer = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: 2 });
  t.equal(decodePortAttributes(answer.payload, 0, newPortAttributes()).badQkeyCounter, 1);
  fixture.finish();
});

t.test('every MTU: a datagram of its size passes, one byte more does not', async (t) => {
  for (const [code, bytes] of [
    [1, 256],
    [2, 512],
    [3, 1024],
    [4, 2048],
    [5, 4096],
  ] as const) {
    const fixture = new AdapterFixture();
    for (const port of portsOf(fixture)) port.activeMtuCode = code;
    const { sender, receiver, to } = fixture.createPair();
    const source = fixture.createBuffer(fixture.random.bytes(bytes + 1));
    const target = fixture.postReceive(receiver, GRH + bytes);
    sender.post(to({ sges: [fixture.sge(source, 0, bytes)] }));
    t.equal(sender.parts.sendCq.take().status, SUCCESS, `${bytes} bytes`);
    t.equal(receiver.parts.receiveCq.take().byteLength, GRH + bytes);
    t.same(target.bytes.slice(GRH), source.bytes.slice(0, bytes));
    sender.post(to({ sges: [fixture.sge(source)] }));
    t.match(sender.parts.sendCq.take(), { status: LOCAL_LENGTH_ERROR, vendorError: FaultKind.COMMAND_LENGTH });
    fixture.finish();
  }
});

t.test('datagrams to a port that is not active vanish: they complete, and their QP goes on', async (t) => {
  ledger(t, '7.2.7', 'A port that is not active discards the datagrams of its QPs, whose requests complete');
  for (const state of [PortState.DOWN, PortState.INITIALIZE, PortState.ARMED]) {
    for (const [from, to] of [
      [1, 2],
      [1, 1],
    ] as const) {
      const fixture = new AdapterFixture();
      const [near] = portsOf(fixture);
      const pair = fixture.createPair({ sender: { port: from }, receiver: { port: to } });
      const { sender, receiver } = pair;
      fixture.postReceive(receiver, GRH);
      near.state = state;
      t.equal(fixture.read(CSR.PORT_STATE), state);
      sender.post(pair.to());
      t.match(sender.parts.sendCq.take(), { status: SUCCESS, vendorError: FaultKind.NONE });
      t.same([near.transmitDiscards, near.transmitPackets], [1, 0]);
      t.notOk(receiver.parts.receiveCq.ready);
      t.equal(sender.query().state, QpState.RTS);
      near.state = PortState.ACTIVE;
      sender.post(pair.to());
      t.equal(sender.parts.sendCq.take().status, SUCCESS);
      t.equal(receiver.parts.receiveCq.take().status, SUCCESS, 'the next one arrives');
      t.same(fixture.allFaults(), {});
      fixture.finish();
    }
  }
});
