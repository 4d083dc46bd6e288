// SPDX-License-Identifier: Apache-2.0
/**
 * The management path (US 8,484,392 par. 65, 87-90; docs/PROGRAMMING.md, Management commands):
 * lock, command, response, and objects from creation to destruction.
 */
import t from 'tap';
import { KEY_BYTE_MASK } from '../../../protocol/infiniband/memory-keys.ts';
import { decodeAdapterAttributes, newAdapterAttributes } from '../../../protocol/layout/gen/adapter-attributes.gen.ts';
import { CANCEL_OFFSET, CANCEL_VALUE_HIGH } from '../../../protocol/layout/gen/constants.gen.ts';
import { decodeCqAttributes, newCqAttributes } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { decodeEqAttributes, newEqAttributes } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import {
  setManagementCommandChecksum,
  setManagementCommandCollectLength,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  decodeMrAttributes,
  getMrAttributesLkey,
  newMrAttributes,
} from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import { decodePdAttributes, newPdAttributes } from '../../../protocol/layout/gen/pd-attributes.gen.ts';
import { decodePortAttributes, newPortAttributes } from '../../../protocol/layout/gen/port-attributes.gen.ts';
import { decodeQpCreation, newQpCreation } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  AccessFlag,
  Capability,
  EqMask,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MrMask,
  PortState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { seal } from '../../rig/driver/management-channel.ts';
import { cqPayload, eqPayload, mrPayload, pdPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { countObjects, digestState, fixtureObjects } from '../../rig/fixtures/state-digest.ts';
import { AccessKind } from '../../rig/machine/access-log.ts';

t.test('software is told where the processors of its machine take turns', async (t) => {
  for (const pollsPause of [false, true]) {
    const { management } = new AdapterFixture({ adapter: { pollsPause } }).driver;
    const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER });
    const { capabilities } = decodeAdapterAttributes(payload, 0, newAdapterAttributes());
    t.equal((capabilities & Capability.POLLS_PAUSE) !== 0, pollsPause);
  }
});

t.test('what the function offers, and the state of its ports', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER });
  const adapter = decodeAdapterAttributes(payload, 0, newAdapterAttributes());
  t.ok(adapter.capabilities & Capability.UD);
  t.equal(adapter.portCount, 2);
  t.equal(adapter.maxSge, 16);
  for (const maximum of [
    adapter.maxQueuePairs,
    adapter.maxCompletionQueues,
    adapter.maxEventQueues,
    adapter.maxMemoryRegions,
  ]) {
    t.ok(maximum > 100);
  }
  for (const port of [1, 2]) {
    const answer = management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: port });
    const attributes = decodePortAttributes(answer.payload, 0, newPortAttributes());
    t.equal(attributes.state, PortState.ACTIVE);
    t.equal(attributes.lid, port);
    t.equal(attributes.lid, fixture.lidOf(port));
    t.equal(attributes.activeMtu, 5);
  }
  for (const modifier of [0, 3, 0xffffffff]) {
    t.equal(management.execute({ opcode: ManagementOpcode.QUERY_PORT, modifier }).status, ManagementStatus.BAD_FIELD);
  }
  fixture.finish();
});

t.test('attributes come back as they were given', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const pd = fixture.driver.createProtectionDomain(0xabcdef012345);
  t.equal(
    decodePdAttributes(
      management.perform({ opcode: ManagementOpcode.QUERY_PD, objectNumber: pd }).payload,
      0,
      newPdAttributes(),
    ).token,
    0xabcdef012345,
  );
  management.perform({ opcode: ManagementOpcode.MODIFY_PD, objectNumber: pd, payload: pdPayload({ token: 77 }) });
  t.equal(
    decodePdAttributes(
      management.perform({ opcode: ManagementOpcode.QUERY_PD, objectNumber: pd }).payload,
      0,
      newPdAttributes(),
    ).token,
    77,
  );
  const asked = {
    pd,
    kind: MrKind.PHYSICAL,
    access: AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_READ,
    startAddress: 0x1_2345_6000,
    length: 0x1_0000_0000,
    keyByte: 0xa7,
  };
  const region = fixture.driver.createMemoryRegion(asked);
  t.equal(region.lkey & KEY_BYTE_MASK, 0xa7);
  const mr = decodeMrAttributes(
    management.perform({ opcode: ManagementOpcode.QUERY_MR, objectNumber: region.number }).payload,
    0,
    newMrAttributes(),
  );
  t.match(mr, { ...asked, lkey: region.lkey });
  const eq = fixture.driver.createEventQueue({ entriesLog2: 3, vector: 33 });
  const eqAttributes = decodeEqAttributes(
    management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: eq.eqn }).payload,
    0,
    newEqAttributes(),
  );
  t.match(eqAttributes, { entriesLog2: 3, vector: 33, asynchronous: 0, producerCount: 0, error: 0 });
  const cq = fixture.driver.createCompletionQueue({ entriesLog2: 7, eventQueue: eq });
  const cqAttributes = decodeCqAttributes(
    management.perform({ opcode: ManagementOpcode.QUERY_CQ, objectNumber: cq.cqn }).payload,
    0,
    newCqAttributes(),
  );
  t.match(cqAttributes, {
    entriesLog2: 7,
    eventQueue: eq.eqn,
    recordAddress: cq.recordAddress,
    producerCount: 0,
    error: 0,
  });
  const qp = fixture.createQueuePair({ sendCq: cq, checksumKey: 0x13572468, state: 'reset', creation: { token: 5 } });
  const creation = decodeQpCreation(
    management.perform({ opcode: ManagementOpcode.QUERY_QP, objectNumber: qp.qpn }).payload,
    0,
    newQpCreation(),
  );
  t.match(creation, {
    pd: fixture.pd,
    sendCq: cq.cqn,
    receiveCq: cq.cqn,
    checksumKey: 0x13572468,
    sendQueueAddress: qp.parts.sendBuffer.address,
  });
  fixture.finish();
});

t.test('objects in use are not destroyed; free ones are, and their numbers mean nothing any more', async (t) => {
  const fixture = new AdapterFixture();
  const { driver } = fixture;
  const empty = countObjects(fixture);
  const pd = driver.createProtectionDomain();
  const region = driver.createDmaRegion(pd);
  const eq = driver.createEventQueue();
  const cq = driver.createCompletionQueue({ eventQueue: eq });
  const qp = driver.createQueuePair({ pd, sendCq: cq });
  const destroy = (opcode: number, objectNumber: number) => driver.management.execute({ opcode, objectNumber }).status;
  const { DESTROY_PD, DESTROY_CQ, DESTROY_EQ, DESTROY_QP, DESTROY_MR } = ManagementOpcode;
  const order = [
    [DESTROY_QP, qp.qpn],
    [DESTROY_CQ, cq.cqn],
    [DESTROY_EQ, eq.eqn],
    [DESTROY_MR, region.number],
    [DESTROY_PD, pd],
  ] as const;
  for (const [opcode, number] of [
    [DESTROY_PD, pd],
    [DESTROY_CQ, cq.cqn],
    [DESTROY_EQ, eq.eqn],
  ] as const) {
    t.equal(destroy(opcode, number), ManagementStatus.IN_USE);
  }
  for (const [opcode, number] of order) {
    t.equal(destroy(opcode, number), ManagementStatus.OK);
    t.equal(destroy(opcode, number), ManagementStatus.BAD_OBJECT);
  }
  t.same(countObjects(fixture), empty);
  const fresh = driver.createProtectionDomain();
  t.not(fresh, pd, 'a number is not given again at once');
  fixture.finish();
});

t.test('numbers are not zero, fit 24 bits, and are unique while many objects live and die', async (t) => {
  const fixture = new AdapterFixture({ seed: 61 });
  const { management } = fixture.driver;
  const living = new Set<number>();
  for (let round = 0; round < 3000; round++) {
    if (living.size > 0 && fixture.random.oneIn(2)) {
      const victim = fixture.random.pick([...living]);
      living.delete(victim);
      management.perform({ opcode: ManagementOpcode.DESTROY_PD, objectNumber: victim });
      continue;
    }
    const number = management.perform({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) }).objectNumber;
    if (number === 0 || number > 0xffffff || living.has(number)) t.fail(`seed 61, round ${round}: ${number}`);
    living.add(number);
  }
  t.equal(countObjects(fixture).protectionDomains, living.size + 1);
  fixture.finish();
});

t.test("status first, sequence word last, and the lock is the caller's to release", async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  let valid = -1;
  fixture.host.onBody = (address, lengthBytes) => {
    if (address === management.responseAddress)
      valid = fixture.access.view(address + lengthBytes, 4).getUint32(0, true);
  };
  const mark = fixture.host.log.count;
  management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER });
  t.equal(valid, 0);
  t.same(
    fixture.host.log.effectsSince(mark).map(({ kind }) => kind),
    [AccessKind.BODY, AccessKind.VALIDITY],
  );
  management.lock();
  t.equal(fixture.read(CSR.DEDICATED_LOCK), 0, 'taken');
  management.unlock();
  fixture.finish();
});

t.test('commands may be written in any order and size, and counted', async (t) => {
  const fixture = new AdapterFixture({ seed: 62 });
  const { management } = fixture.driver;
  const before = fixture.read(CSR.MANAGEMENT_COMMANDS);
  for (const storeBytes of [0, 1, 2, 4, 8] as const) {
    management.style = { storeBytes, random: fixture.random, repeat: true, lengthLast: true };
    for (let count = 0; count < 10; count++) fixture.driver.createProtectionDomain(count);
  }
  t.equal(fixture.read(CSR.MANAGEMENT_COMMANDS), before + 50);
  t.equal(fixture.read(CSR.MANAGEMENT_REFUSED), 0);
  fixture.finish();
});

t.test('unknown opcodes and wrong lengths are refused and change nothing', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const known = new Set<number>(Object.values(ManagementOpcode));
  const before = digestState(fixture, fixtureObjects(fixture));
  for (let opcode = 0; opcode < 256; opcode++) {
    if (known.has(opcode)) continue;
    if (management.execute({ opcode }).status !== ManagementStatus.BAD_OPCODE) t.fail(`opcode ${opcode}`);
  }
  const rejects = (payloadBytes: number, opcode: number): void => {
    const { status } = management.execute({ opcode, objectNumber: fixture.pd, payload: new Uint8Array(payloadBytes) });
    t.equal(status, ManagementStatus.BAD_LENGTH, `opcode ${opcode}, ${payloadBytes} bytes`);
  };
  for (const opcode of [ManagementOpcode.CREATE_CQ, ManagementOpcode.CREATE_QP, ManagementOpcode.MODIFY_QP]) {
    for (const payloadBytes of [0, 8, 256]) rejects(payloadBytes, opcode);
  }
  rejects(8, ManagementOpcode.QUERY_PD);
  rejects(256, ManagementOpcode.DESTROY_PD);
  t.equal(digestState(fixture, fixtureObjects(fixture)), before);
  fixture.finish();
});

t.test('a damaged command does nothing; the next one works', async (t) => {
  const fixture = new AdapterFixture({ seed: 63 });
  const { management } = fixture.driver;
  const before = digestState(fixture, fixtureObjects(fixture));
  const refused = fixture.read(CSR.MANAGEMENT_REFUSED);
  for (let round = 0; round < 50; round++) {
    const bytes = management.build({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: fixture.region.number });
    const at = fixture.random.pick([1, 2, 3, 4, 8, 12, 16, 24, 40, 60, 63]);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << fixture.random.below(8));
    management.write(bytes);
    fixture.settle();
  }
  t.equal(fixture.read(CSR.MANAGEMENT_REFUSED), refused + 50);
  t.equal(digestState(fixture, fixtureObjects(fixture)), before);
  const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
  setManagementCommandChecksum(new DataView(bytes.buffer), 0, 0);
  management.write(bytes);
  fixture.settle();
  t.equal(fixture.read(CSR.MANAGEMENT_REFUSED), refused + 51);
  fixture.finish();
});

t.test('a length no command can have frees the dedicated buffer', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  for (const length of [0, 8, 63, 66, 321, 511]) {
    const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
    setManagementCommandCollectLength(new DataView(bytes.buffer), 0, length);
    seal(bytes);
    management.write(bytes.subarray(0, 8));
  }
  t.equal(fixture.faults(FaultKind.COLLECT_BAD_LENGTH), 6);
  management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER });
  fixture.finish();
});

t.test('a half-written command can be cancelled', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const destroy = management.build({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: fixture.region.number });
  management.write(destroy.subarray(0, 32));
  fixture.access.writeCollect(management.pageOffset + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
  management.write(destroy.subarray(32));
  fixture.access.writeCollect(management.pageOffset + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
  const { status } = management.execute({ opcode: ManagementOpcode.QUERY_MR, objectNumber: fixture.region.number });
  t.equal(status, ManagementStatus.OK, 'the halves did not make a whole');
  fixture.finish();
});

t.test('a response that cannot be written: done all the same, and counted', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const before = countObjects(fixture).protectionDomains as number;
  const refusals = [0x10, fixture.access.memoryAddress + fixture.access.memoryBytes, 2 ** 53, 2 ** 64 - 256, 4];
  for (const responseAddress of refusals) {
    management.write(management.build({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}), responseAddress }));
    fixture.settle();
  }
  t.equal(fixture.faults(FaultKind.MANAGEMENT_RESPONSE), refusals.length);
  const created = (countObjects(fixture).protectionDomains as number) - before;
  t.equal(created, refusals.length - 1, 'all but the one with an unaligned address');
  fixture.proveItWorks();
  fixture.finish();
});

t.test('a function that is not enabled refuses', async (t) => {
  const fixture = new AdapterFixture();
  fixture.access.writeRegister(CSR.DEVICE_CONTROL, 4, 0, 0);
  const { status } = fixture.driver.management.execute({ opcode: ManagementOpcode.QUERY_ADAPTER });
  t.equal(status, ManagementStatus.DISABLED);
  fixture.access.writeRegister(CSR.DEVICE_CONTROL, 4, 1, 0);
  fixture.finish();
});

t.test('modify changes what its mask names and no more', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const eq = fixture.driver.createEventQueue({ vector: 3 });
  management.perform({
    opcode: ManagementOpcode.MODIFY_EQ,
    objectNumber: eq.eqn,
    payload: eqPayload({ attributeMask: EqMask.VECTOR, vector: 4, controls: 0 }),
  });
  const attributes = decodeEqAttributes(
    management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: eq.eqn }).payload,
    0,
    newEqAttributes(),
  );
  t.match(attributes, { vector: 4, controls: 2 });
  const cq = fixture.createCompletionQueue();
  management.perform({
    opcode: ManagementOpcode.MODIFY_CQ,
    objectNumber: cq.cqn,
    payload: cqPayload({ attributeMask: 1, eventQueue: eq.eqn }),
  });
  t.equal(
    management.execute({ opcode: ManagementOpcode.DESTROY_EQ, objectNumber: eq.eqn }).status,
    ManagementStatus.IN_USE,
  );
  management.perform({
    opcode: ManagementOpcode.MODIFY_CQ,
    objectNumber: cq.cqn,
    payload: cqPayload({ attributeMask: 1, eventQueue: 0 }),
  });
  management.perform({ opcode: ManagementOpcode.DESTROY_EQ, objectNumber: eq.eqn });
  const other = fixture.driver.createProtectionDomain();
  const payload = mrPayload({ attributeMask: MrMask.PD, pd: other, access: 0 });
  const changed = management.perform({
    opcode: ManagementOpcode.MODIFY_MR,
    objectNumber: fixture.region.number,
    payload,
  });
  t.equal(getMrAttributesLkey(changed.payload, 0), fixture.region.lkey);
  const mr = decodeMrAttributes(
    management.perform({ opcode: ManagementOpcode.QUERY_MR, objectNumber: fixture.region.number }).payload,
    0,
    newMrAttributes(),
  );
  t.match(mr, { pd: other, access: AccessFlag.LOCAL_WRITE });
  fixture.finish();
});
