// SPDX-License-Identifier: Apache-2.0
/**
 * The management agents of a whole adapter: its first port asks its second one over the cable
 * between them (IBTA 14.2, 16.1). Only the adapter answers.
 */
import t from 'tap';
import {
  DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET,
  setDirectedRouteSmpDrDlid,
  setDirectedRouteSmpDrSlid,
  setDirectedRouteSmpHopCount,
} from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { getMadHeaderMethod, getMadHeaderStatus } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { getNodeInfoLocalPort, getNodeInfoPortCount } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { getNoticeTrapNumber } from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import { decodePortCounters, newPortCounters } from '../../../protocol/infiniband/mad/gen/port-counters.gen.ts';
import {
  MadClass,
  MadMethod,
  PerformanceAttribute,
  SubnetAttribute,
  TrapNumber,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import {
  generalAddress,
  type MadAddress,
  newMadAddress,
  subnetAddress,
  writeMadPacket,
} from '../../fabric/agents/mad-packet.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { InProcessMachine } from '../machine/machine.ts';

/** Asks through a door at port 1 of an adapter. */
class Asker {
  readonly adapter: Adapter;
  readonly ports: readonly [Port, Port];
  /** Datagrams for software. */
  readonly heard: DataView[] = [];
  readonly #machine: InProcessMachine;
  readonly #door;

  constructor(machine: InProcessMachine) {
    this.#machine = machine;
    this.adapter = machine.core as Adapter;
    this.ports = this.adapter.ports as unknown as [Port, Port];
    this.#door = this.adapter.mads.openPort(1);
    this.#door.onMad = (_address, mad) => this.heard.push(new DataView(mad.slice().buffer));
  }

  /** Sends a datagram, and returns what comes back. */
  ask(address: MadAddress, managementClass: number, attribute: number, data = new Uint8Array(0)): DataView | undefined {
    const mad = new Uint8Array(MAD_BYTES);
    const view = new DataView(mad.buffer);
    mad.set([1, managementClass, 1, MadMethod.GET]);
    view.setUint16(16, attribute);
    mad.set(data, ATTRIBUTE_OFFSET);
    if (managementClass === MadClass.SUBNET_DIRECTED_ROUTE) {
      setDirectedRouteSmpDrSlid(view, 0, 0xffff);
      setDirectedRouteSmpDrDlid(view, 0, 0xffff);
      setDirectedRouteSmpHopCount(view, 0, 1);
      mad[DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET + 1] = 1;
    }
    this.heard.length = 0;
    this.#door.send(address, mad);
    this.#machine.runUntilIdle();
    return this.heard[0];
  }
}

t.test('an adapter without a driver answers at ports that are in INITIALIZE and have no LID', async (t) => {
  ledger(t, '14.2.2', 'The agent of a port answers from Initialize on, without a LID and without software');
  const asker = new Asker(new InProcessMachine());
  for (const port of asker.ports) {
    port.lid = 0;
    port.state = PortState.INITIALIZE;
  }
  const response = asker.ask(newMadAddress(), MadClass.SUBNET_DIRECTED_ROUTE, SubnetAttribute.NODE_INFO);
  if (response === undefined) throw new Error('no response');
  t.equal(getMadHeaderMethod(response, 0), MadMethod.GET_RESPONSE);
  t.equal(getMadHeaderStatus(response, 0), 0x8000, 'success, on its way back');
  t.equal(getNodeInfoPortCount(response, ATTRIBUTE_OFFSET), 2);
  t.equal(getNodeInfoLocalPort(response, ATTRIBUTE_OFFSET), 2);
});

t.test('an adapter answers by LID, for the port that has it', async (t) => {
  const asker = new Asker(new InProcessMachine());
  const response = asker.ask(subnetAddress(1, 2), MadClass.SUBNET, SubnetAttribute.NODE_INFO);
  t.equal(response === undefined ? 0 : getNodeInfoLocalPort(response, ATTRIBUTE_OFFSET), 2);
  const own = asker.ask(subnetAddress(1, 1), MadClass.SUBNET, SubnetAttribute.NODE_INFO);
  t.equal(own === undefined ? 0 : getNodeInfoLocalPort(own, ATTRIBUTE_OFFSET), 1, 'its own port, too');
});

t.test('the counters show the packets of a connection to the last byte', async (t) => {
  ledger(t, '16.1.3.5', 'Data counters count every packet of all lanes from LRH to ICRC');
  const fixture = new AdapterFixture();
  const asker = new Asker(fixture.machine);
  let words = 0;
  let packets = 0;
  const parsed = newParsedPacket();
  asker.ports[0].observer = (_end, outgoing, bytes, offset, length) => {
    if (!outgoing) return;
    parsePacket(new DataView(bytes.buffer), offset, length, parsed, PacketCheck.NONE);
    words += parsed.packetLength;
    packets++;
  };
  const { sender, receiver, to } = fixture.createPair();
  for (const length of [0, 1, 100, 1000]) {
    receiver.postReceive([fixture.sge(fixture.createBuffer(2000))]);
    sender.post(to({ sges: length === 0 ? [] : [fixture.sge(fixture.createBuffer(length))] }));
    fixture.settle();
  }
  const select = Uint8Array.of(0, 2);
  const response = asker.ask(generalAddress(1, 2), MadClass.PERFORMANCE, PerformanceAttribute.PORT_COUNTERS, select);
  if (response === undefined) throw new Error('no response');
  const found = decodePortCounters(response, ATTRIBUTE_OFFSET, newPortCounters());
  t.match(found, { receivePackets: packets, receiveData: words, symbolErrors: 0, receiveErrors: 0 });
  t.equal(packets, 5);
  asker.ports[0].observer = undefined;
});

t.test('a packet with a wrong partition key raises trap 257 at the manager', async (t) => {
  ledger(t, '14.2.5.1', 'A packet with a wrong P_Key raises trap 257 at the port that received it');
  const fixture = new AdapterFixture();
  const asker = new Asker(fixture.machine);
  asker.ports[1].smLid = 1;
  const { sender, receiver, to } = fixture.createPair();
  receiver.postReceive([fixture.sge(fixture.createBuffer(100))]);
  asker.ports[1].pkeys[0] = 0x9000;
  sender.post(to({ inline: new Uint8Array(4) }));
  fixture.settle();
  t.same(
    asker.heard.map((view) => getNoticeTrapNumber(view, ATTRIBUTE_OFFSET)),
    [TrapNumber.BAD_P_KEY],
  );
  t.equal(asker.ports[1].badPkeys, 1);
});

t.test('damaged packets in a row raise trap 129 at the threshold', async (t) => {
  ledger(t, '14.2.5.1', 'Physical errors that reach their threshold raise trap 129');
  const fixture = new AdapterFixture();
  const asker = new Asker(fixture.machine);
  const [near, far] = asker.ports;
  far.smLid = 1;
  far.settings.localPhysicalErrors = 3;
  const damage = (count: number): void => {
    for (; count > 0; count--) {
      const ring = near.transmitQueues.rings[0];
      const length = writeMadPacket(ring.view, ring.writeOffset, generalAddress(1, 2), new Uint8Array(MAD_BYTES));
      near.transmitDamaged(ring, length, true);
    }
    fixture.settle();
  };
  damage(2);
  t.same(asker.heard, []);
  t.match(far.counters, { physicalErrors: 2, symbolErrors: 2, linkIntegrityErrors: 0 });
  damage(1);
  t.same(
    asker.heard.map((view) => getNoticeTrapNumber(view, ATTRIBUTE_OFFSET)),
    [TrapNumber.LINK_INTEGRITY],
  );
  t.equal(far.counters.linkIntegrityErrors, 1);
});

t.test('the first data packet makes an armed port of an adapter active', async (t) => {
  ledger(t, '7.2.7', 'A data packet takes its receiver from Armed to Active, and is delivered');
  const fixture = new AdapterFixture();
  const asker = new Asker(fixture.machine);
  const { sender, receiver, to } = fixture.createPair();
  receiver.postReceive([fixture.sge(fixture.createBuffer(100))]);
  asker.ports[1].state = PortState.ARMED;
  asker.ask(newMadAddress(), MadClass.SUBNET_DIRECTED_ROUTE, SubnetAttribute.NODE_INFO);
  t.equal(asker.ports[1].state, PortState.ARMED, 'subnet management is no data');
  sender.post(to({ inline: new Uint8Array(4) }));
  fixture.settle();
  t.equal(asker.ports[1].state, PortState.ACTIVE);
  t.equal(receiver.parts.receiveCq.take().status, 0);
});
