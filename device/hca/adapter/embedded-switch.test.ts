// SPDX-License-Identifier: Apache-2.0
/**
 * The embedded switch (docs/FABRIC.md): each function is a channel adapter with ports of its own
 * behind an uplink. A subnet manager finds all of them, functions reach each other, and software of
 * every function has QP0, QP1 and the management of its ports.
 */
import t from 'tap';
import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  AccessFlag,
  EventType,
  ManagementOpcode,
  ManagementStatus,
  PortState,
  SendContextState,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { portChangesPayload } from '../../rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { awaitPorts, buildManaged, embeddedOptions } from '../../rig/fixtures/managed-adapter.ts';
import { composeDatagram } from '../../rig/fixtures/send-context-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const QKEY = 0x1234;
/** Bit of the capability mask: communication management. */
const COMMUNICATION = 0x10000;
/** Physical state of a port that is switched off. */
const PORT_DISABLED = 3;
const GRH_AREA = 40;
const PAYLOAD = 32;

function makeMachine(functionCount: number): InProcessMachine {
  const machine = new InProcessMachine({ adapter: embeddedOptions(functionCount), build: buildManaged });
  awaitPorts(machine);
  return machine;
}

/** The software of one function, with a UD queue pair at port 1. */
class Guest {
  readonly driver: Driver;
  readonly qp: DriverQueuePair;
  readonly pd: number;
  readonly lkey: number;
  readonly access: InProcessAccess;

  constructor(machine: InProcessMachine, index: number) {
    this.access = new InProcessAccess(machine, index);
    this.driver = new Driver(this.access).bringUp();
    this.pd = this.driver.createProtectionDomain();
    this.lkey = this.driver.createDmaRegion(this.pd, AccessFlag.LOCAL_WRITE).lkey;
    const sendCq = this.driver.createCompletionQueue({ entriesLog2: 8 });
    this.qp = this.driver.createQueuePair({ pd: this.pd, sendCq, sendEntriesLog2: 7, receiveEntriesLog2: 7 });
    this.qp.start({ qkey: QKEY });
  }

  listen(): Uint8Array {
    const length = GRH_AREA + PAYLOAD;
    const address = this.driver.allocator.allocate(length);
    this.qp.postReceive([{ address, length, lkey: this.lkey }]);
    const view = this.access.view(address, length);
    return new Uint8Array(view.buffer, view.byteOffset, length);
  }

  say(qpn: number, dlid: number, payload: Uint8Array): void {
    const addressHandle = this.driver.addressHandles.add({ port: 1, dlid, pd: this.pd });
    this.qp.post({ remoteQpn: qpn, qkey: QKEY, addressHandle, inline: payload, signaled: false });
  }
}

t.test('a subnet manager gives every function its own LIDs, and functions reach each other', async (t) => {
  const machine = makeMachine(3);
  const { ports, functions, inner } = machine.device;
  t.equal(ports.length, 6);
  const lids = [...ports.map(({ lid }) => lid), ...inner.map(({ endPorts: [port] }) => port.lid)];
  t.equal(new Set(lids).size, 8, `LIDs ${lids}`);
  t.notOk(lids.includes(0));
  const guids = [...functions, ...inner].map(({ nodeGuid }) => Buffer.from(nodeGuid).toString('hex'));
  t.equal(new Set(guids).size, 5, `${guids}`);
  const guests = [0, 1, 2].map((index) => new Guest(machine, index));
  for (const [from, to] of [
    [0, 1],
    [1, 0],
    [2, 1],
    [1, 1],
  ]) {
    const bytes = guests[to].listen();
    const payload = machine.random.bytes(PAYLOAD);
    guests[from].say(guests[to].qp.qpn, functions[to].ports[0].lid, payload);
    let received = 0;
    machine.runUntil(() => {
      received += guests[to].qp.parts.receiveCq.drain().length;
      return received > 0;
    }, `a message from ${from} to ${to}`);
    t.same(bytes.subarray(GRH_AREA), payload, `${from} to ${to}`);
  }
});

t.test('a packet reaches only queue pairs of the function that has the port', async (t) => {
  const machine = makeMachine(2);
  const { functions, engine } = machine.device;
  const { receiver } = engine;
  const guests = [0, 1].map((index) => new Guest(machine, index));
  guests[1].listen();
  const before = receiver.unknownQueuePair;
  guests[0].say(guests[1].qp.qpn, functions[0].ports[0].lid, machine.random.bytes(PAYLOAD));
  machine.runUntil(() => receiver.unknownQueuePair > before, 'the drop of the packet');
  t.equal(guests[1].qp.parts.receiveCq.drain().length, 0);
});

t.test('every function has QP0 and QP1 of its ports, and no other', async (t) => {
  const machine = makeMachine(2);
  const guests = [0, 1].map((index) => new Guest(machine, index));
  const special = machine.device.tables.specialQueuePairs;
  for (const { driver, pd } of guests) {
    const sendCq = driver.createCompletionQueue({ entriesLog2: 4 });
    const create = () =>
      driver.createQueuePair({ pd, sendCq, creation: { serviceType: ServiceType.GSI, specialPort: 2 } });
    create();
    t.throws(create, 'a port has one');
  }
  for (const [index, place] of [1, 3].entries()) {
    t.equal(special.get(place, 1)?.owner.number, index);
    t.equal(special.get(place - 1, 1), undefined);
  }
});

t.test('software manages the ports of its function alone, and gets their events alone', async (t) => {
  const machine = makeMachine(2);
  const { device } = machine;
  const [own, other] = [1, 0].map((index) => device.functions[index]);
  const guests = [0, 1].map((index) => new Guest(machine, index));
  const queues = guests.map(({ driver }) => driver.createEventQueue({ vector: 3, asynchronous: true }));
  for (const queue of queues) queue.walk();
  const { management } = guests[1].driver;
  const modify = { opcode: ManagementOpcode.MODIFY_PORT, modifier: 1 };
  const before = other.ports[0].subnet.capabilityMask;
  management.perform({ ...modify, payload: portChangesPayload({ capabilitiesSet: COMMUNICATION }) });
  t.equal(own.ports[0].subnet.capabilityMask & COMMUNICATION, COMMUNICATION);
  t.equal(other.ports[0].subnet.capabilityMask, before);
  const gid = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8);
  const payload = gid;
  const status = management.execute({
    opcode: ManagementOpcode.MODIFY_GID,
    objectNumber: 5,
    modifier: 1,
    payload,
  }).status;
  t.equal(status, ManagementStatus.OK);
  t.ok(own.ports[0].hasGid(5));
  t.notOk(other.ports[0].hasGid(5));
  own.ports[0].restart(PORT_DISABLED);
  machine.runUntil(() => own.ports[0].state === PortState.DOWN, 'a port that is down');
  machine.runUntilIdle();
  const events = queues.map((queue) => queue.walk().map(({ eventType, port }) => [eventType, port]));
  t.same(events, [
    [],
    [
      [EventType.GID_CHANGE, 1],
      [EventType.PORT_ERROR, 1],
    ],
  ]);
  t.ok(other.ports.every(({ active }) => active));
  machine.functionAt(1).reset('function');
  t.notOk(own.ports[0].hasGid(5), 'a reset clears what its software has set');
  t.equal(own.ports[0].subnet.capabilityMask & COMMUNICATION, 0);
});

t.test('a send context sends from the LID of its function alone', async (t) => {
  const machine = makeMachine(2);
  const [other, own] = machine.device.functions.map(({ ports: [port] }) => port);
  const { driver, qp } = new Guest(machine, 1);
  const context = driver.createSendContext({ port: 1, blocks: 16 });
  context.enable();
  const send = (slid: number): void => {
    const addresses = { slid, dlid: other.lid, destQpn: 99, srcQpn: qp.qpn, qKey: QKEY };
    context.send(composeDatagram(machine.random.bytes(PAYLOAD), addresses));
    machine.runUntilIdle();
  };
  const { receiver } = machine.device.engine;
  send(own.lid);
  t.equal(receiver.unknownQueuePair, 1, 'it arrives at the other function');
  t.equal(context.state, SendContextState.ENABLED);
  send(other.lid);
  t.equal(receiver.unknownQueuePair, 1);
  t.equal(context.state, SendContextState.HALTED, 'a foreign LID halts the context');
});

t.test('as many functions as an adapter may have', async (t) => {
  const adapter = { ...embeddedOptions(FUNCTION_MAX), vcbCount: 16 };
  const machine = new InProcessMachine({ adapter, build: buildManaged, memoryBytes: 1 << 16 });
  awaitPorts(machine);
  t.equal(new Set(machine.device.ports.map(({ lid }) => lid)).size, 2 * FUNCTION_MAX);
});
