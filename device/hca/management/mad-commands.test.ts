// SPDX-License-Identifier: Apache-2.0
/**
 * EXECUTE_MAD, MODIFY_PORT and MODIFY_ADAPTER: what the agents answer without a packet, what they
 * leave to software, and what a subnet manager hears of (IBTA 13.4, 14.2.5.2, 14.2.5.6).
 */
import t from 'tap';
import { getDirectedRouteSmpIsReturning } from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { getMadHeaderMethod, getMadHeaderStatus } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { getNodeInfoLocalPort } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { getNoticeTrapNumber } from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import {
  getPortInfoCapabilityMask,
  getPortInfoLid,
  setPortInfoLid,
  setPortInfoMasterSmLid,
  setPortInfoPortPhysicalState,
  setPortInfoPortState,
} from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import {
  MadClass,
  MadMethod,
  PerformanceAttribute,
  PortCapability,
  SubnetAttribute,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { getMadRequestResult, type MadRequest } from '../../../protocol/layout/gen/mad-request.gen.ts';
import { MANAGEMENT_COMMAND_OPCODE_OFFSET } from '../../../protocol/layout/gen/management-command.gen.ts';
import { decodePortAttributes, newPortAttributes } from '../../../protocol/layout/gen/port-attributes.gen.ts';
import { EventType, MadResult, ManagementOpcode, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { nodeDescription } from '../../fabric/agents/managed-node.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { madPayload, portChangesPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { MadQueuePair, requestMad } from '../../rig/fixtures/mad-queue-pairs.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';

const { GET, GET_RESPONSE, SET, TRAP } = MadMethod;
const ANSWERED = MadResult.CONSUMED | MadResult.REPLIED;
const STATUS_MASK = 0x7fff;

/** Executes a datagram at port 1; returns the result and the bytes afterwards. */
function execute(fixture: AdapterFixture, mad: Uint8Array, request: Partial<MadRequest> = {}, port = 1) {
  const { address, bytes } = fixture.createBuffer(mad);
  const { payload } = fixture.driver.management.perform({
    opcode: ManagementOpcode.EXECUTE_MAD,
    modifier: port,
    payload: madPayload({ bufferAddress: address, ...request }),
  });
  const answer = bytes.slice();
  return { result: getMadRequestResult(payload, 0), answer, view: new DataView(answer.buffer) };
}

t.test('the agents answer datagrams of the host, by LID and by a directed route', async (t) => {
  ledger(t, '14.2.5.3', 'An adapter answers Get of the node information for each of its ports');
  const fixture = new AdapterFixture();
  for (const madClass of [MadClass.SUBNET, MadClass.SUBNET_DIRECTED_ROUTE]) {
    for (const port of [1, 2]) {
      const { result, view } = execute(fixture, requestMad(madClass, GET, SubnetAttribute.NODE_INFO), {}, port);
      t.equal(result, ANSWERED);
      t.equal(getMadHeaderMethod(view, 0), GET_RESPONSE);
      t.equal(getMadHeaderStatus(view, 0) & STATUS_MASK, 0);
      t.equal(getNodeInfoLocalPort(view, ATTRIBUTE_OFFSET), port);
      const isDirected = madClass === MadClass.SUBNET_DIRECTED_ROUTE;
      if (isDirected) t.equal(getDirectedRouteSmpIsReturning(view, 0), 1, 'the D bit');
    }
  }
  const counters = requestMad(MadClass.PERFORMANCE, GET, PerformanceAttribute.PORT_COUNTERS, 0, [0, 1]);
  t.equal(execute(fixture, counters).result, ANSWERED);
  fixture.finish();
});

t.test('what software answers is left alone', async (t) => {
  const fixture = new AdapterFixture();
  for (const [what, mad] of [
    ['SMInfo', requestMad(MadClass.SUBNET, GET, SubnetAttribute.SM_INFO)],
    ['a response', requestMad(MadClass.SUBNET, GET_RESPONSE, SubnetAttribute.NODE_INFO)],
    ['a trap', requestMad(MadClass.SUBNET, TRAP, SubnetAttribute.NOTICE)],
    ['communication management', requestMad(MadClass.COMMUNICATION, MadMethod.SEND, 0x10)],
  ] as const) {
    const { result, answer } = execute(fixture, mad);
    t.equal(result, 0, what);
    t.same(answer, mad, `${what}: nothing was written`);
  }
  fixture.finish();
});

t.test('a Set takes effect and raises its event', async (t) => {
  const fixture = new AdapterFixture();
  const [port] = fixture.machine.device.ports;
  const info = execute(fixture, requestMad(MadClass.SUBNET, GET, SubnetAttribute.PORT_INFO, 1));
  t.equal(getPortInfoLid(info.view, ATTRIBUTE_OFFSET), fixture.lidOf(1));
  fixture.asynchronous.walk();
  const data = [...info.answer.slice(ATTRIBUTE_OFFSET, ATTRIBUTE_OFFSET + 64)];
  const view = new DataView(new Uint8Array(data).buffer);
  setPortInfoLid(view, 0, 77);
  setPortInfoMasterSmLid(view, 0, 2);
  setPortInfoPortState(view, 0, 0);
  setPortInfoPortPhysicalState(view, 0, 0);
  const set = execute(
    fixture,
    requestMad(MadClass.SUBNET, SET, SubnetAttribute.PORT_INFO, 1, [...new Uint8Array(view.buffer)]),
  );
  t.same([set.result, getMadHeaderStatus(set.view, 0)], [ANSWERED, 0]);
  t.equal(port?.lid, 77);
  t.match(fixture.asynchronous.walk(), [
    { eventType: EventType.LID_CHANGE, port: 1 },
    { eventType: EventType.SM_CHANGE, port: 1 },
  ]);
  fixture.finish();
});

t.test('the management key holds for datagrams of the host, unless the request ignores it', async (t) => {
  ledger(t, '14.2.4', 'A request with a wrong M_Key is not answered');
  const fixture = new AdapterFixture();
  const [port] = fixture.machine.device.ports;
  if (port === undefined) throw new Error('no port');
  port.subnet.mKey.set([1, 2, 3, 4, 5, 6, 7, 8]);
  port.subnet.mKeyProtect = 2;
  const get = requestMad(MadClass.SUBNET, GET, SubnetAttribute.NODE_INFO);
  const locked = execute(fixture, get, { hasSource: 1, sourceLid: 9 });
  t.equal(locked.result, MadResult.CONSUMED);
  t.same(locked.answer, get, 'there is no response');
  const free = execute(fixture, get, { ignoreMkey: 1 });
  t.equal(free.result, ANSWERED);
  t.same(free.answer.slice(24, 32), new Uint8Array(8), 'the key is not told');
  fixture.finish();
});

t.test('software offers what it does at a port: the mask shows it, and the manager hears of it', async (t) => {
  ledger(t, '14.2.5.1', 'A change of the capability mask is reported by trap 144');
  const fixture = new AdapterFixture();
  const { driver } = fixture;
  const [first, second] = fixture.machine.device.ports;
  if (first === undefined || second === undefined) throw new Error('no ports');
  first.smLid = second.lid;
  const manager = new MadQueuePair(fixture, 'SMI', 2);
  const change = (payload: Uint8Array) =>
    driver.management.perform({ opcode: ManagementOpcode.MODIFY_PORT, modifier: 1, payload });
  const mask = () => {
    const { payload } = driver.management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: 1 });
    const { view } = execute(fixture, requestMad(MadClass.SUBNET, GET, SubnetAttribute.PORT_INFO, 1));
    const { capabilityMask } = decodePortAttributes(payload, 0, newPortAttributes());
    t.equal(getPortInfoCapabilityMask(view, ATTRIBUTE_OFFSET), capabilityMask);
    return capabilityMask;
  };
  const before = mask();
  change(portChangesPayload({ capabilitiesSet: PortCapability.IS_SM | PortCapability.COMMUNICATION }));
  t.equal(mask(), before | PortCapability.IS_SM | PortCapability.COMMUNICATION);
  const trap = manager.poll();
  const notice = new DataView((trap?.mad ?? new Uint8Array(256)).buffer);
  t.equal(getMadHeaderMethod(notice, 0), TRAP);
  t.equal(getNoticeTrapNumber(notice, ATTRIBUTE_OFFSET), 144);
  change(portChangesPayload({ capabilitiesClear: PortCapability.IS_SM }));
  t.equal(mask(), before | PortCapability.COMMUNICATION);
  first.badQkeys = 5;
  change(portChangesPayload({ resetQkeyCounter: 1 }));
  t.equal(first.badQkeys, 0);
  driver.reset();
  fixture.bringUp();
  t.equal(first.subnet.capabilityMask, before, 'the reset of the physical function ends it');
});

t.test('the node description is what software has set', async (t) => {
  ledger(t, '14.2.5.2', 'The node description is text of 64 bytes that software of the node can set');
  const fixture = new AdapterFixture();
  const payload = new Uint8Array(64);
  new TextEncoder().encodeInto('host 7 vuhca0', payload);
  fixture.driver.management.perform({ opcode: ManagementOpcode.MODIFY_ADAPTER, payload });
  const { answer } = execute(fixture, requestMad(MadClass.SUBNET, GET, SubnetAttribute.NODE_DESCRIPTION));
  t.same(answer.slice(ATTRIBUTE_OFFSET, ATTRIBUTE_OFFSET + 64), payload);
  fixture.driver.reset();
  fixture.bringUp();
  const { answer: later } = execute(fixture, requestMad(MadClass.SUBNET, GET, SubnetAttribute.NODE_DESCRIPTION));
  t.same(later.slice(ATTRIBUTE_OFFSET, ATTRIBUTE_OFFSET + 64), nodeDescription('vuhca'), 'until the reset');
  fixture.finish();
});

t.test('a virtual function changes and executes nothing', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2 });
  const driver = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  const before = fixture.machine.device.mads.node.description.slice();
  for (const [opcode, payload] of [
    [ManagementOpcode.EXECUTE_MAD, madPayload({ bufferAddress: driver.createBuffer(256).address })],
    [ManagementOpcode.MODIFY_PORT, portChangesPayload({ capabilitiesSet: PortCapability.IS_SM })],
    [ManagementOpcode.MODIFY_ADAPTER, new Uint8Array(64).fill(65)],
  ] as const)
    t.match(driver.management.execute({ opcode, modifier: 1, payload }), {
      status: ManagementStatus.NOT_PERMITTED,
      badOffset: MANAGEMENT_COMMAND_OPCODE_OFFSET,
    });
  t.same(fixture.machine.device.mads.node.description, before);
  fixture.finish();
});
