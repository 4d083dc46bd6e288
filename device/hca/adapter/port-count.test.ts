// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters with one to four ports (US 8,484,392 par. 28: there may be more or fewer than two):
 * messages of datagrams and connections over each port, QP1 of each, registers and queries, and
 * the refusal of ports that the adapter has not.
 */

import t from 'tap';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { getPortAttributesLid } from '../../../protocol/layout/gen/port-attributes.gen.ts';
import { getQpAttributesPort, getQpAttributesPortHigh } from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import { QP_CREATION_SIZE } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  ManagementOpcode,
  ManagementStatus,
  PortState,
  QpMask,
  QpState,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { highOfPort, joinPort } from '../../../protocol/layout/port-number.ts';
import { qpPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { MadQueuePair, softwareMad } from '../../rig/fixtures/mad-queue-pairs.ts';
import { defaultAdapterOptions, findOptionError } from './options.ts';

const { SUCCESS } = CompletionStatus;

/** The port at the other end of the cable; a lone port has none. */
function neighbourOf(port: number, ports: number): number | undefined {
  const other = port % 2 === 1 ? port + 1 : port - 1;
  return other > ports ? undefined : other;
}

/** The registers of the four ports that an adapter can have. */
function readAll(fixture: AdapterFixture, first: number, upper: number, stepBytes = 4): number[] {
  const at = (index: number): number => (index < 2 ? first : upper) + (index % 2) * stepBytes;
  return [0, 1, 2, 3].map((index) => fixture.access.readRegister(at(index), 4));
}

/** A message of an RC connection between two ports. */
function sendConnected(fixture: AdapterFixture, port: number, to: number): Uint8Array {
  const [a, b] = [0, 1].map(() =>
    fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC } }),
  );
  if (a === undefined || b === undefined) throw new Error('No queue pair.');
  const common = { reliable: true, sendPsn: 0, receivePsn: 0 };
  a.connect({ ...common, port, dlid: fixture.lidOf(to), remoteQpn: b.qpn });
  b.connect({ ...common, port: to, dlid: fixture.lidOf(port), remoteQpn: a.qpn });
  const buffer = fixture.postReceive(b, 2);
  a.post({ inline: Uint8Array.of(port, to) });
  fixture.settle();
  if (a.parts.sendCq.take().status !== SUCCESS) throw new Error(`port ${port}: the send failed`);
  const { payload } = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_QP, objectNumber: b.qpn });
  const low = getQpAttributesPort(payload, QP_CREATION_SIZE);
  if (joinPort(low, getQpAttributesPortHigh(payload, QP_CREATION_SIZE)) !== to)
    throw new Error(`port ${to}: the query says another port`);
  return buffer.bytes;
}

for (const ports of [1, 2, 3, 4])
  t.test(`${ports} ports`, async (t) => {
    const fixture = new AdapterFixture({ adapter: { portCount: ports, portLids: [10, 20] } });
    const { driver } = fixture;
    const lids = [10, 20, 21, 22].slice(0, ports);
    t.equal(fixture.read(CSR.PORT_COUNT), ports);
    t.same(readAll(fixture, CSR.PORT_LID, CSR.UPPER_PORT_LID), [...lids, 0, 0, 0].slice(0, 4));
    const states = [1, 2, 3, 4].map((port) => {
      if (port > ports) return 0;
      return neighbourOf(port, ports) === undefined ? PortState.DOWN : PortState.ACTIVE;
    });
    t.same(readAll(fixture, CSR.PORT_STATE, CSR.UPPER_PORT_STATE), states);
    const special = lids.map((_, index) => new MadQueuePair(fixture, 'GSI', index + 1));
    for (let port = 1; port <= ports; port++) {
      const { payload } = driver.management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: port });
      t.equal(getPortAttributesLid(payload, 0), lids[port - 1]);
      const to = neighbourOf(port, ports);
      if (to === undefined) continue;
      const received = (): number =>
        readAll(fixture, CSR.PORT_RECEIVE_PACKETS, CSR.UPPER_PORT_RECEIVE_PACKETS, 8)[to - 1] as number;
      const before = received();
      const pair = fixture.createPair({ sender: { port }, receiver: { port: to } });
      const buffer = fixture.postReceive(pair.receiver, 100);
      pair.sender.post(pair.to({ inline: Uint8Array.of(port, 7) }));
      fixture.settle();
      const entry = pair.receiver.parts.receiveCq.take();
      t.match(entry, { status: SUCCESS, port: to, sourceLid: lids[port - 1] });
      t.same(buffer.bytes.slice(GRH_SIZE, GRH_SIZE + 2), [port, 7]);
      t.equal(received(), before + 1);
      t.same(sendConnected(fixture, port, to), [port, to]);
      const mad = softwareMad(1, port);
      t.equal(special[port - 1]?.send(fixture.handleTo(port, to), mad).status, SUCCESS);
      const arrived = special[to - 1]?.poll();
      t.same(arrived?.mad, mad);
      t.match(arrived?.entry, { port: to, sourceQpn: 1 });
    }
    fixture.finish();
  });

t.test('a port that the adapter has not is refused; an address handle of it fails its datagram', async (t) => {
  for (const ports of [1, 2, 3]) {
    const fixture = new AdapterFixture({ adapter: { portCount: ports } });
    const port = ports + 1;
    const { management } = fixture.driver;
    t.equal(
      management.execute({ opcode: ManagementOpcode.QUERY_PORT, modifier: port }).status,
      ManagementStatus.BAD_FIELD,
    );
    const qp = fixture.createQueuePair({ state: 'reset' });
    const mask = QpMask.STATE | QpMask.PORT | QpMask.PKEY_INDEX | QpMask.QKEY;
    const payload = qpPayload({ attributeMask: mask, state: QpState.INIT, port, portHigh: highOfPort(port) });
    const answer = management.execute({ opcode: ManagementOpcode.MODIFY_QP, objectNumber: qp.qpn, payload });
    t.match(answer, { status: ManagementStatus.BAD_FIELD, limit: ports });
    const sender = fixture.createQueuePair({});
    const addressHandle = fixture.driver.addressHandles.add({ port, dlid: 1, pd: fixture.pd });
    sender.post({ remoteQpn: 5, addressHandle, inline: Uint8Array.of(1) });
    fixture.settle();
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.LOCAL_QP_OPERATION_ERROR);
  }
});

t.test('functions behind embedded switches have up to three ports of their own', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2, adapter: { portCount: 3, portModel: 'vswitch' } });
  const { ports, uplinks } = fixture.machine.device;
  t.same([ports.length, uplinks.length, fixture.read(CSR.PORT_COUNT)], [6, 3, 3]);
  t.equal(
    findOptionError({ ...defaultAdapterOptions, portCount: 4, portModel: 'vswitch' }),
    'option portCount is 4; with portModel vswitch it must be 1 to 3',
  );
});

t.test('numbers of ports out of range are refused', async (t) => {
  for (const portCount of [0, 5, 1.5])
    t.equal(
      findOptionError({ ...defaultAdapterOptions, portCount }),
      `option portCount is ${portCount}; it must be 1 to 4`,
    );
});
