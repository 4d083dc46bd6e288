// SPDX-License-Identifier: Apache-2.0
/**
 * QP0 and QP1: how their packets differ from those of other QPs, what they receive, and which
 * functions may have them (IBTA 10.2.4.4, 7.6.3, 7.2.7). The datagrams are for software; those that
 * agents answer are tested with the agents.
 */

import t from 'tap';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { GSI_QKEY } from '../../../protocol/infiniband/keys.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { newPacketFields, type PacketFields, readPacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  QP_CREATION_SERVICE_TYPE_OFFSET,
  QP_CREATION_SPECIAL_PORT_OFFSET,
} from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { CompletionStatus, FaultKind, PortState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { Driver } from '../driver/driver.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { MadQueuePair, softwareMad } from '../fixtures/mad-queue-pairs.ts';
import { ScriptedLink } from '../fixtures/scripted-link.ts';
import { InProcessAccess } from '../machine/access.ts';

const { LOCAL_LENGTH_ERROR, LOCAL_QP_OPERATION_ERROR, SUCCESS } = CompletionStatus;
const PERMISSIVE = 0xffff;

/** Packets that leave a port, as fields. */
function watch(port: Port): PacketFields[] {
  const seen: PacketFields[] = [];
  const parsed = newParsedPacket();
  port.observer = (_end, outgoing, bytes, offset, length) => {
    if (!outgoing) return;
    const view = new DataView(bytes.buffer);
    if (parsePacket(view, offset, length, parsed, PacketCheck.ALL) !== 0) throw new Error('A malformed packet left.');
    seen.push(readPacketFields(view, parsed, newPacketFields()));
  };
  return seen;
}

function portsOf(fixture: AdapterFixture): readonly [Port, Port] {
  return fixture.machine.device.ports as unknown as [Port, Port];
}

t.test('a packet of QP0 has VL 15, the default P_Key, Q_Key 0 and QPN 0', async (t) => {
  ledger(t, '7.6.3', 'Packets of QP0 leave on VL 15 with the default P_Key, Q_Key 0 and source QPN 0');
  const fixture = new AdapterFixture();
  const [near] = portsOf(fixture);
  near.pkeys[0] = 0x8123;
  const seen = watch(near);
  const sender = new MadQueuePair(fixture, 'SMI', 1);
  const receiver = new MadQueuePair(fixture, 'SMI', 2);
  const mad = softwareMad(0);
  t.equal(sender.send(fixture.handleTo(1, 2), mad, { qkey: 0x12345, pkeyIndex: 7 }).status, SUCCESS);
  const arrived = receiver.poll();
  t.same(arrived?.mad, mad);
  t.match(arrived?.entry, {
    status: SUCCESS,
    byteLength: GRH_SIZE + MAD_BYTES,
    sourceQpn: 0,
    sourceLid: fixture.lidOf(1),
    port: 2,
    globalRoute: 0,
  });
  const wanted = { virtualLane: 15, pKey: 0xffff, qKey: 0, srcQpn: 0, destQpn: 0, slid: fixture.lidOf(1) };
  t.match(seen, [{ ...wanted, opcode: BthOpcode.UD_SEND_ONLY }]);
  fixture.finish();
});

t.test('QP0 sends and receives from INIT on, by the permissive LID without a LID', async (t) => {
  ledger(t, '7.2.7', 'Subnet management packets pass a link whose ports are in INIT');
  const fixture = new AdapterFixture();
  const ports = portsOf(fixture);
  for (const port of ports) {
    port.lid = 0;
    port.state = PortState.INITIALIZE;
  }
  const seen = watch(ports[0]);
  const sender = new MadQueuePair(fixture, 'SMI', 1);
  const receiver = new MadQueuePair(fixture, 'SMI', 2);
  const handle = fixture.driver.addressHandles.add({ port: 1, dlid: PERMISSIVE, pd: fixture.pd });
  t.equal(sender.send(handle, softwareMad(0, 5)).status, SUCCESS);
  t.match(receiver.poll(), { entry: { sourceLid: PERMISSIVE }, mad: softwareMad(0, 5) });
  t.match(seen, [{ slid: PERMISSIVE, dlid: PERMISSIVE }]);
  ports[0].state = PortState.DOWN;
  t.equal(sender.send(handle, softwareMad(0)).status, SUCCESS, 'it completes');
  t.equal(receiver.poll(), undefined, 'and vanishes');
  t.equal(ports[0].transmitDiscards, 1);
  fixture.finish();
});

t.test('QP0 of a port receives what QP0 sends to the port itself', async (t) => {
  const fixture = new AdapterFixture();
  const both = new MadQueuePair(fixture, 'SMI', 1);
  both.send(fixture.handleTo(1, 1), softwareMad(0, 3));
  t.match(both.poll(), { entry: { sourceLid: fixture.lidOf(1) }, mad: softwareMad(0, 3) });
  fixture.finish();
});

t.test('QP1 sends with the P_Key of the request and the Q_Key of general services', async (t) => {
  ledger(t, '9.6.1.1', 'Each request of QP1 names its P_Key, and QP1 takes every P_Key of its table');
  ledger(t, '10.2.5', 'QP1 sends with the Q_Key of general services where a request asks for a controlled one');
  const fixture = new AdapterFixture();
  const [near, far] = portsOf(fixture);
  near.pkeys[3] = 0x8005;
  far.pkeys[9] = 0x0005;
  const seen = watch(near);
  const sender = new MadQueuePair(fixture, 'GSI', 1);
  const receiver = new MadQueuePair(fixture, 'GSI', 2);
  const handle = fixture.handleTo(1, 2);
  for (const [pkeyIndex, there] of [
    [3, 9],
    [0, 0],
  ] as const) {
    t.equal(sender.send(handle, softwareMad(1, pkeyIndex), { pkeyIndex }).status, SUCCESS);
    t.match(receiver.poll(), { entry: { sourceQpn: 1, pkeyIndex: there }, mad: softwareMad(1, pkeyIndex) });
  }
  const wanted = { virtualLane: 0, qKey: GSI_QKEY, srcQpn: 1, destQpn: 1 };
  t.match(seen, [
    { ...wanted, pKey: 0x8005 },
    { ...wanted, pKey: 0xffff },
  ]);
  sender.send(handle, softwareMad(1), { remoteQpn: 0x77, qkey: 0x5555 });
  t.match(seen[2], { qKey: 0x5555, destQpn: 0x77 }, 'to another QP, the Q_Key of the request');
  fixture.finish();
});

t.test('QP1 receives the GRH, and packets for a GID of its port alone', async (t) => {
  const fixture = new AdapterFixture();
  const [, far] = portsOf(fixture);
  const sender = new MadQueuePair(fixture, 'GSI', 1);
  const receiver = new MadQueuePair(fixture, 'GSI', 2);
  const route = { port: 1, dlid: fixture.lidOf(2), pd: fixture.pd, globalRoute: 1, hopLimit: 1 };
  const own = far.gids.slice(0, 16);
  sender.send(fixture.driver.addressHandles.add(route, own), softwareMad(1));
  const arrived = receiver.poll();
  t.match(arrived?.entry, { globalRoute: 1 });
  t.same(arrived?.grh.slice(24), own, 'the destination GID');
  own[15] ^= 1;
  sender.send(fixture.driver.addressHandles.add(route, own), softwareMad(1));
  t.equal(receiver.poll(), undefined);
  t.equal(fixture.machine.device.engine.receiver.wrongGid, 1);
  fixture.finish();
});

t.test('what breaks a rule of QP0 or QP1 fails at the sender', async (t) => {
  const fixture = new AdapterFixture();
  const gid = portsOf(fixture)[1].gids.slice(0, 16);
  const local = fixture.handleTo(1, 2);
  const global = fixture.driver.addressHandles.add(
    { port: 1, dlid: fixture.lidOf(2), pd: fixture.pd, globalRoute: 1 },
    gid,
  );
  const long = fixture.createBuffer(MAD_BYTES + 1);
  for (const [what, service, handle, request, status, vendorError] of [
    ['QP0 with a GRH', 'SMI', global, {}, LOCAL_QP_OPERATION_ERROR, FaultKind.ADDRESS_HANDLE],
    ['a P_Key beyond', 'GSI', local, { pkeyIndex: 128 }, LOCAL_QP_OPERATION_ERROR, FaultKind.ADDRESS_HANDLE],
    ['QP0: too long', 'SMI', local, { sges: [fixture.sge(long)] }, LOCAL_LENGTH_ERROR, FaultKind.COMMAND_LENGTH],
    ['QP1: too long', 'GSI', local, { sges: [fixture.sge(long)] }, LOCAL_LENGTH_ERROR, FaultKind.COMMAND_LENGTH],
  ] as const) {
    const special = new MadQueuePair(fixture, service, 1);
    const { qp } = special;
    const inline = 'sges' in request ? {} : { inline: softwareMad(1) };
    qp.post({ remoteQpn: 1, qkey: qp.qkey, addressHandle: handle, ...inline, ...request });
    t.match(qp.parts.sendCq.take(), { status, vendorError }, what);
    qp.destroy();
  }
  fixture.finish();
});

t.test('packets that QP0 and QP1 may not take are dropped and counted', async (t) => {
  ledger(t, '9.6.1.1', 'QP0 takes packets of VL 15 alone, and no other QP takes those');
  const fixture = new AdapterFixture();
  const { receiver } = fixture.machine.device.engine;
  const [near, far] = portsOf(fixture);
  const subnet = new MadQueuePair(fixture, 'SMI', 2);
  const general = new MadQueuePair(fixture, 'GSI', 2);
  const fromSubnet = new MadQueuePair(fixture, 'SMI', 1);
  const fromGeneral = new MadQueuePair(fixture, 'GSI', 1);
  const handle = fixture.handleTo(1, 2);
  near.pkeys[5] = 0x8007;
  fromSubnet.send(handle, softwareMad(1), { remoteQpn: 1 });
  fromGeneral.send(handle, softwareMad(0), { remoteQpn: 0 });
  fromGeneral.send(handle, softwareMad(1), { remoteQpn: subnet.qp.qpn, qkey: 0x1 });
  fromGeneral.send(handle, softwareMad(1), { pkeyIndex: 5 });
  fromGeneral.send(handle, softwareMad(1), { qkey: 0x1 });
  t.equal(subnet.poll(), undefined);
  t.equal(general.poll(), undefined);
  t.equal(receiver.unsupportedTransport, 2, 'the wrong lane');
  t.equal(
    fixture.machine.device.engine.responder.drops.wrongService,
    1,
    'the number that management knows is not on the wire',
  );
  t.same([far.badPkeys, far.badQkeys, far.receiveDrops], [1, 1, 5]);
  subnet.qp.destroy();
  fromSubnet.send(handle, softwareMad(0));
  fixture.settle();
  t.same([receiver.mads.unclaimed, fixture.machine.device.mads.unclaimed], [1, 0], 'QP1 alone is there');
  general.qp.destroy();
  fromSubnet.send(handle, softwareMad(0));
  fixture.settle();
  t.equal(fixture.machine.device.mads.unclaimed, 1, 'nothing listens');
  fixture.finish();
});

t.test('datagrams of QP0 never wait: those without room are lost', async (t) => {
  ledger(t, '7.6.3', 'VL 15 has no flow control: a management packet that finds no room is discarded');
  const fixture = new AdapterFixture();
  const [near] = portsOf(fixture);
  new ScriptedLink(near);
  const { qp } = new MadQueuePair(fixture, 'SMI', 1);
  const addressHandle = fixture.handleTo(1, 2);
  for (let count = 0; count < 24; count++) {
    qp.post({ remoteQpn: 0, qkey: 0, addressHandle, inline: softwareMad(0, count) });
    t.equal(qp.parts.sendCq.take().status, SUCCESS);
  }
  t.same([near.transmitQueues.vl15.count, near.transmitDiscards], [16, 8]);
  fixture.finish();
});

t.test('a port has one QP0 and one QP1, of the physical function', async (t) => {
  ledger(t, '10.2.4.4', 'A port has one QP0 and one QP1');
  const fixture = new AdapterFixture({ functionCount: 2 });
  const blamedPort = COMMAND_HEADER_BYTES + QP_CREATION_SPECIAL_PORT_OFFSET;
  const blamedService = COMMAND_HEADER_BYTES + QP_CREATION_SERVICE_TYPE_OFFSET;
  const refusal = (driver: Driver, service: 'SMI' | 'GSI', specialPort: number) => {
    const creation = { serviceType: ServiceType[service], specialPort };
    const sendCq = driver.createCompletionQueue();
    try {
      return driver.createQueuePair({ pd: driver.createProtectionDomain(), sendCq, creation });
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (const service of ['SMI', 'GSI'] as const) {
    for (const port of [1, 2]) {
      const first = new MadQueuePair(fixture, service, port);
      t.equal(refusal(fixture.driver, service, port), `CREATE_QP: IN_USE, bad offset ${blamedPort}.`);
      first.qp.destroy();
      new MadQueuePair(fixture, service, port);
    }
  }
  const virtual = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  t.equal(refusal(virtual, 'GSI', 1), `CREATE_QP: NOT_PERMITTED, bad offset ${blamedService}.`);
  fixture.driver.reset();
  fixture.bringUp();
  new MadQueuePair(fixture, 'SMI', 1);
  fixture.proveItWorks();
  fixture.finish();
});
