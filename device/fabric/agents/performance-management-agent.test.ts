// SPDX-License-Identifier: Apache-2.0
/** The performance management agent: counters of ports, resets, saturation, samples (IBTA 16.1). */
import t from 'tap';
import { decodeClassPortInfo, newClassPortInfo } from '../../../protocol/infiniband/mad/gen/class-port-info.gen.ts';
import {
  decodePortCounters,
  encodePortCounters,
  newPortCounters,
  type PortCounters,
} from '../../../protocol/infiniband/mad/gen/port-counters.gen.ts';
import {
  decodePortCountersExtended,
  newPortCountersExtended,
} from '../../../protocol/infiniband/mad/gen/port-counters-extended.gen.ts';
import {
  decodePortReceiveErrorDetails,
  newPortReceiveErrorDetails,
} from '../../../protocol/infiniband/mad/gen/port-receive-error-details.gen.ts';
import {
  encodePortSamplesControl,
  newPortSamplesControl,
  setPortSamplesControlCounterSelect,
} from '../../../protocol/infiniband/mad/gen/port-samples-control.gen.ts';
import {
  decodePortTransmitDiscardDetails,
  newPortTransmitDiscardDetails,
} from '../../../protocol/infiniband/mad/gen/port-transmit-discard-details.gen.ts';
import {
  MadMethod,
  MadStatus,
  PerformanceAttribute,
  PortState,
  SampleStatus,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { type Response, TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { Cable } from '../link/cable.ts';
import { generalAddress, writeMadPacket } from './mad-packet.ts';

const { GET, SET } = MadMethod;
const DATA = 64;
const ALL_PORTS = 255;

interface Fixture {
  readonly clock: TestClock;
  readonly far: TestNode;
  readonly ask: (method: number, attribute: number, data: Uint8Array) => Response | undefined;
}

function build(isSwitch = false): Fixture {
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock);
  const far = new TestNode('far', 0x20, clock, 2, isSwitch);
  new Cable(near.ports[0], far.ports[0]);
  for (const [lid, port] of [near.ports[0], far.ports[0]].entries()) {
    port.lid = lid + 1;
    port.state = PortState.ACTIVE;
  }
  const tables = far.switchTables;
  if (tables !== undefined) {
    far.endPorts[0].lid = 2;
    tables.linearTop = 2;
    tables.linear.set([255, 1, 0]);
  }
  const manager = new TestManager(near.mads.openPort(1), [near, far], clock);
  return { clock, far, ask: (method, attribute, data) => manager.askPerformance(1, 2, { method, attribute, data }) };
}

function select(portSelect: number, counterSelect = 0): Uint8Array {
  return Uint8Array.of(0, portSelect, counterSelect >>> 8, counterSelect & 0xff);
}

function read(fixture: Fixture, portSelect = 2): PortCounters {
  const response = fixture.ask(GET, PerformanceAttribute.PORT_COUNTERS, select(portSelect));
  if (response === undefined) throw new Error('no response');
  return decodePortCounters(response.view, DATA, newPortCounters());
}

function write(fixture: Fixture, changes: Partial<PortCounters>): number | undefined {
  const data = new Uint8Array(192);
  encodePortCounters(new DataView(data.buffer), 0, { ...newPortCounters(), ...changes });
  return fixture.ask(SET, PerformanceAttribute.PORT_COUNTERS, data)?.status;
}

t.test('the agent says what it can do', async (t) => {
  ledger(t, '16.1.3.1', 'ClassPortInfo of performance management names its versions and optional features');
  const response = build().ask(GET, PerformanceAttribute.CLASS_PORT_INFO, new Uint8Array(0));
  const info = response === undefined ? undefined : decodeClassPortInfo(response.view, DATA, newClassPortInfo());
  t.match(info, { infoBaseVersion: 1, infoClassVersion: 1, redirectLid: 0 });
  t.equal((info?.capabilityMask ?? 0) & 0x300, 0x300, 'all ports at once, and wide counters');
});

/** Counters of PortCounters, and what they count. */
const COUNTED = [
  ['SymbolErrorCounter', 'damaged symbols'],
  ['LinkErrorRecoveryCounter', 'recoveries of the link'],
  ['LinkDownedCounter', 'failures of the link'],
  ['PortRcvErrors', 'packets with a wrong CRC, malformed ones and overruns'],
  ['PortRcvRemotePhysicalErrors', 'packets that a node before marked as bad'],
  ['PortRcvSwitchRelayErrors', 'packets that a switch could not relay'],
  ['PortXmitDiscards', 'packets that were not sent'],
  ['PortXmitConstraintErrors', 'packets that partitions kept from leaving'],
  ['PortRcvConstraintErrors', 'packets that partitions kept from entering'],
  ['LocalLinkIntegrityErrors', 'times that physical errors reached their threshold'],
  ['ExcessiveBufferOverrunErrors', 'overruns of buffers'],
  ['VL15Dropped', 'subnet management packets without room'],
  ['QP1Dropped', 'general datagrams without room'],
] as const;

t.test('counters of a port by cause', async (t) => {
  for (const [counter, what] of COUNTED) ledger(t, '16.1.3.5', `${counter} counts ${what}`);
  const fixture = build();
  const { counters } = fixture.far.ports[1];
  Object.assign(counters, {
    symbolErrors: 1,
    linkRecoveries: 2,
    linkDowned: 3,
    physicalErrors: 4,
    malformedPackets: 5,
    remotePhysicalErrors: 6,
    relayErrors: 7,
    transmitConstraintErrors: 8,
    receiveConstraintErrors: 9,
    linkIntegrityErrors: 10,
    bufferOverruns: 11,
    vl15Dropped: 12,
    qp1Dropped: 13,
    mtuDiscards: 14,
    lifeTimeDiscards: 15,
    headOfQueueDiscards: 16,
  });
  fixture.far.ports[1].transmitDiscards = 14 + 15 + 16 + 17;
  t.match(read(fixture), {
    portSelect: 2,
    symbolErrors: 1,
    linkRecoveries: 2,
    linkDowned: 3,
    receiveErrors: 4 + 5 + 11,
    receiveRemotePhysicalErrors: 6,
    receiveSwitchRelayErrors: 7,
    transmitDiscards: 14 + 15 + 16 + 17,
    transmitConstraintErrors: 8,
    receiveConstraintErrors: 9,
    linkIntegrityErrors: 10,
    bufferOverrunErrors: 11,
    vl15Dropped: 12,
    qp1Dropped: 13,
  });
  ledger(t, '16.1.4.2', 'PortXmitDiscardDetails divides discards by cause');
  const discards = fixture.ask(GET, PerformanceAttribute.PORT_TRANSMIT_DISCARD_DETAILS, select(2));
  if (discards === undefined) throw new Error('no response');
  t.match(decodePortTransmitDiscardDetails(discards.view, DATA, newPortTransmitDiscardDetails()), {
    inactiveDiscards: 17,
    neighborMtuDiscards: 14,
    lifeTimeDiscards: 15,
    headOfQueueDiscards: 16,
  });
  ledger(t, '16.1.4.1', 'PortRcvErrorDetails divides receive errors by cause');
  Object.assign(counters, { unmappedLids: 1, unmappedLanes: 2, loopedPackets: 3 });
  const errors = fixture.ask(GET, PerformanceAttribute.PORT_RECEIVE_ERROR_DETAILS, select(2));
  if (errors === undefined) throw new Error('no response');
  t.match(decodePortReceiveErrorDetails(errors.view, DATA, newPortReceiveErrorDetails()), {
    localPhysicalErrors: 4,
    malformedPacketErrors: 5,
    bufferOverrunErrors: 11,
    dlidMappingErrors: 1,
    vlMappingErrors: 2,
    loopingErrors: 3,
  });
});

t.test('data counters count dwords from LRH to ICRC, and packets', async (t) => {
  ledger(t, '16.1.3.5', 'PortXmitData and PortRcvData count dwords without the VCRC');
  const fixture = build();
  const [, port] = fixture.far.ports;
  const ring = port.transmitQueues.rings[0];
  for (const length of [26, 2102]) {
    ring.push(length);
    ring.shift();
    port.counters.noteArrival(length + 4);
  }
  const words = (24 + 2100) / 4;
  t.match(read(fixture), { transmitData: words, transmitPackets: 2, receiveData: words + 2, receivePackets: 2 });
  ledger(t, '16.1.4.11', 'PortCountersExtended has the data counters with 64 bits');
  port.counters.receivedBytes += 4 * 2 ** 40;
  port.counters.receivedMulticast = 1;
  const wide = fixture.ask(GET, PerformanceAttribute.PORT_COUNTERS_EXTENDED, select(2));
  if (wide === undefined) throw new Error('no response');
  t.match(decodePortCountersExtended(wide.view, DATA, newPortCountersExtended()), {
    transmitData: words,
    receiveData: words + 2 + 2 ** 40,
    unicastReceivePackets: 1,
    multicastReceivePackets: 1,
    unicastTransmitPackets: 2,
  });
  t.equal(read(fixture).receiveData, 0xffffffff, 'a counter stops at its largest value');
});

t.test('counters stop at their largest value', async (t) => {
  ledger(t, '16.1.3.5', 'A counter that reaches its largest value stays there');
  const fixture = build();
  Object.assign(fixture.far.ports[1].counters, { symbolErrors: 1e6, linkDowned: 300, linkIntegrityErrors: 40 });
  t.match(read(fixture), { symbolErrors: 0xffff, linkDowned: 0xff, linkIntegrityErrors: 0xf });
});

t.test('a Set gives the selected counters a value, and no others', async (t) => {
  ledger(t, '16.1.3.5', 'Set(PortCounters) changes the counters that CounterSelect selects');
  const fixture = build();
  const { counters } = fixture.far.ports[1];
  Object.assign(counters, { symbolErrors: 10, linkDowned: 20, physicalErrors: 30 });
  t.equal(write(fixture, { portSelect: 2, counterSelect: 0b0101, symbolErrors: 3 }), MadStatus.SUCCESS);
  t.match(read(fixture), { symbolErrors: 3, linkDowned: 0, receiveErrors: 30 });
  counters.symbolErrors++;
  t.equal(read(fixture).symbolErrors, 4, 'it goes on from there');
  fixture.far.ports[1].transmitQueues.creditStalls = 9;
  t.equal(read(fixture).transmitWait, 9);
  write(fixture, { portSelect: 2, counterSelect2: 1 });
  t.equal(read(fixture).transmitWait, 0, 'by CounterSelect2');
});

t.test('all ports at once', async (t) => {
  ledger(t, '16.1.2.1', 'Port 255 selects all ports: a Get adds, a Set changes each');
  for (const isSwitch of [false, true]) {
    const fixture = build(isSwitch);
    for (const { counters } of fixture.far.ports) counters.symbolErrors = 0x9000;
    t.equal(read(fixture, ALL_PORTS).symbolErrors, 0xffff, 'the sum stops, too');
    write(fixture, { portSelect: ALL_PORTS, counterSelect: 1 });
    t.equal(read(fixture, 1).symbolErrors, 0);
    t.equal(read(fixture, 2).symbolErrors, 0);
  }
});

t.test('ports that do not exist', async (t) => {
  const fixture = build();
  for (const port of [0, 3, 254])
    t.equal(fixture.ask(GET, PerformanceAttribute.PORT_COUNTERS, select(port))?.status, MadStatus.INVALID_VALUE);
  const ofSwitch = build(true);
  t.equal(read(ofSwitch, 0).symbolErrors, 0, 'port 0 of a switch has no link');
});

t.test('a datagram with a wrong partition or queue key reaches no agent', async (t) => {
  ledger(t, '9.6.1.1', 'QP1 takes every partition of its port and no other; a foreign packet is counted');
  ledger(t, '10.2.5', 'QP1 takes its own queue key only');
  for (const isSwitch of [false, true]) {
    const { far } = build(isSwitch);
    const [port] = far.endPorts;
    port.pkeys.set([0x8001, 0x9000]);
    const view = new DataView(new ArrayBuffer(512));
    const takes = (pKey: number, qKey = 0x80010000): boolean => {
      const length = writeMadPacket(view, 0, { ...generalAddress(1, 2, pKey), qKey }, new Uint8Array(256));
      return far.mads.receivePacket(1, view, 0, length);
    };
    t.ok(takes(0x9000));
    t.ok(takes(0x1000), 'a limited member of a partition of which the port is a full one');
    t.notOk(takes(0x9001));
    t.equal(port.badPkeys, 1);
    t.notOk(takes(0x9000, 0x80010001));
    t.equal(port.badQkeys, 1);
  }
});

t.test('a sampler counts over its interval', async (t) => {
  ledger(t, '16.1.3.2', 'PortSamplesControl starts a sampling, which waits, runs and is done');
  ledger(t, '16.1.3.4', 'PortSamplesResult shows what was counted in the interval');
  const fixture = build();
  const [, port] = fixture.far.ports;
  const control = { ...newPortSamplesControl(), portSelect: 2, sampleStart: 1000, sampleInterval: 5000, tag: 7 };
  const data = new Uint8Array(192);
  const asked = new DataView(data.buffer);
  encodePortSamplesControl(asked, 0, control);
  setPortSamplesControlCounterSelect(asked, 0, 0, 4);
  setPortSamplesControlCounterSelect(asked, 0, 1, 2);
  const status = (): number | undefined => {
    const response = fixture.ask(GET, PerformanceAttribute.PORT_SAMPLES_RESULT, new Uint8Array(0));
    return response?.view.getUint16(DATA + 2);
  };
  t.equal(fixture.ask(SET, PerformanceAttribute.PORT_SAMPLES_CONTROL, data)?.status, MadStatus.SUCCESS);
  t.equal(status(), SampleStatus.WAITING);
  const { mads } = fixture.far;
  t.notOk(mads.isIdle);
  t.ok(mads.nextNs > fixture.clock.nowNs && mads.nextNs < fixture.clock.nowNs + 1_000_000, 'its begin');
  port.counters.noteArrival(102);
  fixture.clock.nowNs += 1_500_000;
  t.equal(status(), SampleStatus.RUNNING);
  for (let count = 0; count < 3; count++) port.counters.noteArrival(102);
  fixture.ask(SET, PerformanceAttribute.PORT_SAMPLES_CONTROL, data);
  t.equal(status(), SampleStatus.RUNNING, 'a second request does not disturb it');
  fixture.clock.nowNs += 6_000_000;
  mads.run();
  t.ok(mads.isIdle, 'the node itself ends it');
  t.equal(mads.nextNs, Number.POSITIVE_INFINITY);
  t.equal(status(), SampleStatus.DONE);
  port.counters.noteArrival(102);
  const result = fixture.ask(GET, PerformanceAttribute.PORT_SAMPLES_RESULT, new Uint8Array(0));
  t.same(
    [0, 4, 8].map((at) => result?.view.getUint32(DATA + at)),
    [7 << 16, 3, 75],
  );
  setPortSamplesControlCounterSelect(asked, 0, 0, 99);
  t.equal(fixture.ask(SET, PerformanceAttribute.PORT_SAMPLES_CONTROL, data)?.status, MadStatus.INVALID_VALUE);
});
