// SPDX-License-Identifier: Apache-2.0
/**
 * Several functions of one adapter (US 8,484,392 par. 30-32): default shares, quotas of objects,
 * the switch of the physical function; recorded write-combining sessions replay.
 */
import t from 'tap';
import { getAdapterAttributesMaxEventQueues } from '../../../protocol/layout/gen/adapter-attributes.gen.ts';
import { CANCEL_OFFSET, CANCEL_VALUE_HIGH, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getManagementResponseSequence,
  MANAGEMENT_RESPONSE_SIZE,
  setManagementResponseSequence,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  getCsrDeviceStatusAdapterDisabled,
} from '../../../protocol/layout/gen/registers.gen.ts';
import {
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  ResourceKind,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay } from '../../hosts/replay.ts';
import type { Random } from '../../random.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { pdPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { findBadBinding, findBrokenInvariant, findLeak } from '../../rig/fixtures/invariants.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Adapter } from './adapter.ts';
import { type AdapterOptions, defaultAdapterOptions, findOptionError } from './options.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };

function bringUp(machine: InProcessMachine, index: number) {
  const access = new InProcessAccess(machine, index);
  const driver = new Driver(access).bringUp();
  const pd = driver.createProtectionDomain();
  const sendCq = driver.createCompletionQueue({ eventQueue: driver.createEventQueue() });
  const qp = driver.createQueuePair({ pd, sendCq }).start({ port: 1 });
  return { access, driver, pd, sendCq, qp, read: (offset: number) => access.readRegister(offset, 4) };
}

const MESSAGE_BYTES = 8192;

/**
 * A reliable connection between the two ports of a function; each message has a place of its own.
 */
function connectToItself({ driver, pd }: ReturnType<typeof bringUp>) {
  const region = driver.createDmaRegion(pd, FULL_ACCESS);
  const [qp, peer] = [0, 1].map(() =>
    driver.createQueuePair({
      pd,
      sendCq: driver.createCompletionQueue({ entriesLog2: 8 }),
      sendEntriesLog2: 6,
      creation: { serviceType: ServiceType.RC },
    }),
  );
  qp.connect({ reliable: true, port: 1, dlid: 2, remoteQpn: peer.qpn, pathMtu: 3 });
  peer.connect({ reliable: true, port: 2, dlid: 1, remoteQpn: qp.qpn, pathMtu: 3 });
  const [source, target] = [0, 1].map(() => driver.createBuffer(16 * MESSAGE_BYTES));
  let count = 0;
  const post = (messages: number, random: Random): void => {
    for (let posted = 0; posted < messages; posted++) {
      const offset = (count++ % 16) * MESSAGE_BYTES;
      source.bytes.set(random.bytes(64), offset);
      const sges = [{ address: source.address + offset, length: MESSAGE_BYTES, lkey: region.lkey }];
      const remote = { address: target.address + offset, rkey: region.rkey };
      qp.post({ opcode: SendOpcode.RDMA_WRITE, sges, remote }, random.oneIn(2) ? 'collect' : 'doorbell');
    }
  };
  const findDifference = (): number => source.bytes.findIndex((byte, index) => byte !== target.bytes[index]);
  return { qp, post, posted: () => count, findDifference };
}

t.test('as many functions as there can be: each has its share, its memory and works', async (t) => {
  const machine = new InProcessMachine({ functionCount: 34, memoryBytes: 1 << 20 });
  const adapter = machine.device;
  const all = Array.from({ length: 34 }, (_, index) => bringUp(machine, index));
  machine.onStep = () => {
    const broken = findBadBinding(adapter) ?? all.map(({ access }) => findBrokenInvariant(access)).find(Boolean);
    if (broken !== undefined) throw new Error(broken);
  };
  for (const { read, qp } of all) {
    t.same([read(CSR.VCB_COUNT), read(CSR.PCB_COUNT), read(CSR.PCB_SHARED_DEVICE)], [64, 3, 256 - 34 * 3]);
    for (let count = 0; count < 10; count++) qp.post(NOP, count % 3 === 0 ? 'slot' : 'collect');
    qp.ring();
  }
  t.same(
    all.map(({ access }) => access.readRegister(CSR.VCB_BASE, 8)),
    all.map((_, index) => index * 64 * PAGE_BYTES),
  );
  machine.runUntilIdle();
  for (const { sendCq, access } of all) {
    t.same(
      sendCq.drain().map(({ status }) => status),
      new Array(10).fill(0),
    );
    t.equal(findLeak(access), undefined);
  }
});

t.test('guests have a driver and memory of their own, and see no more than their part of the adapter', async (t) => {
  const machine = new InProcessMachine({ functionCount: 4, memoryBytes: 1 << 20 });
  const all = Array.from({ length: 4 }, (_, index) => bringUp(machine, index));
  const [control, ...guests] = all;
  // Drivers that do the same get the same addresses and see the same registers; what they send and
  // receive lies in memory of their own.
  const [first] = guests;
  for (const { qp, read } of guests) {
    t.same([qp.parts.descriptorAddress, qp.parts.page], [first.qp.parts.descriptorAddress, first.qp.parts.page]);
    for (const offset of [CSR.VCB_COUNT, CSR.PCB_COUNT, CSR.TVL_ALLOCATED, CSR.VECTOR_COUNT])
      t.equal(read(offset), first.read(offset));
  }
  const loads = guests.map((guest) => connectToItself(guest));
  loads.forEach(({ post }, index) => {
    post(4 + index, machine.random);
  });
  machine.runUntilIdle();
  for (const load of loads) t.equal(load.findDifference(), -1, 'each message is whole');
  t.equal(new Set(loads.map(({ posted }) => posted())).size, guests.length, 'each guest sent another number');
  // The control machine changes shares (par. 19); a guest neither sees nor changes those of others.
  const request = (guest: (typeof all)[number], target: number) =>
    guest.driver.resources.request([{ resource: ResourceKind.PCBS, target, amount: 1 }]).status;
  const counts = () => guests.map(({ read }) => read(CSR.PCB_COUNT));
  const [before] = counts();
  t.equal(request(first, 2), ManagementStatus.NOT_PERMITTED);
  t.same(counts(), [before, before, before]);
  t.equal(request(control, 2), ManagementStatus.OK);
  t.same(counts(), [before, 1, before]);
});

t.test('an adapter has as many hosts as functions, and options within range', async (t) => {
  t.throws(() => new Adapter({ ...defaultAdapterOptions, functionCount: 2 }, new InProcessMachine().clock, []), {
    message: 'option functionCount is 2, but there are 0 hosts; give one to each',
  });
  const wrong: [Partial<AdapterOptions>, RegExp][] = [
    [{ functionCount: 35 }, /^option functionCount is 35; it must be 1 to 34$/],
    [{ functionCount: 2, vcbCount: 8193 }, /^option vcbCount is 8193; with functionCount 2 it must be 1 to 8192$/],
    [{ pcbCount: 1025 }, /^option pcbCount is 1025; it must be 1 to 1024$/],
    [{ laneCount: 129 }, /^option laneCount is 129; it must be 1 to 128$/],
    [{ writeCombining: { seed: 1, lines: 0 } }, /^option writeCombining.lines is 0; it must be 1 to 64$/],
  ];
  for (const [options, message] of wrong) t.match(findOptionError({ ...defaultAdapterOptions, ...options }), message);
  const largest = { functionCount: 34, vcbCount: 481, pcbCount: 1024 };
  t.equal(findOptionError({ ...defaultAdapterOptions, ...largest }), undefined);
});

t.test(
  'the largest adapter: 16384 VCBs and 1024 PCBs, all bound at once, and a command at the far end of each',
  async (t) => {
    const [vcbCount, pcbCount] = [16384, 1024];
    const machine = new InProcessMachine({ adapter: { vcbCount, pcbCount }, memoryBytes: 1 << 20 });
    machine.onStep = () => {};
    const { access, qp, sendCq, read } = bringUp(machine, 0);
    const { collectBuffers } = machine.device;
    /** Evenly over all of them, the last one last. */
    const pages = Array.from({ length: pcbCount }, (_, index) => (index + 1) * 16 - 1);
    const last = vcbCount - 1;
    t.equal(pages.at(-1), last);
    access.writeRegister(CSR.QOS_DIVIDER, 8, (vcbCount / 2) * PAGE_BYTES, 0);
    const ofLevels = (register: number) => [0, 1].map((level) => read(register + 4 * level));
    for (const page of pages) access.writeCollect(page * PAGE_BYTES + 8, 8, 0, 0);
    t.same([CSR.PCB_IN_USE, CSR.PCB_AVAILABLE, CSR.PCB_REFUSALS].map(ofLevels), [
      [512, 512],
      [0, 0],
      [0, 0],
    ]);
    t.same(
      Array.from({ length: vcbCount / 32 }, (_, word) => read(CSR.VCB_IN_USE + 4 * word)),
      new Array(vcbCount / 32).fill(0x80008000),
      'each in its register',
    );
    t.equal(collectBuffers.buffers.filter(({ vcb }) => vcb === last).length, 1);
    access.writeCollect(0, 8, 0, 0);
    t.equal(read(CSR.PCB_REFUSALS), 1, 'one more is one too many');
    for (const page of [0, ...pages.slice(0, -1)])
      access.writeCollect(page * PAGE_BYTES + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
    qp.collect(qp.post(NOP, 'slot'), {}, last * PAGE_BYTES);
    t.equal(sendCq.take().status, 0);
    t.equal(read(CSR.COMMANDS_COLLECTED), 1, 'through the last VCB, from the last PCB');
    t.equal(findLeak(access), undefined);
  },
);

t.test('34 functions with all the VCBs and PCBs there can be: the last ones of each work, all at once', async (t) => {
  const adapter = { vcbCount: 481, pcbCount: 1024 };
  const machine = new InProcessMachine({ functionCount: 34, adapter, memoryBytes: 1 << 20 });
  machine.onStep = () => {};
  const all = Array.from({ length: 34 }, (_, index) => bringUp(machine, index));
  const { collectBuffers } = machine.device;
  const divide = ({ access }: (typeof all)[0], page: number) =>
    access.writeRegister(CSR.QOS_DIVIDER, 8, page * PAGE_BYTES, 0);
  for (const one of all) divide(one, 240);
  for (let page = 480; collectBuffers.freeCount > 0; page--)
    for (const { access } of all) access.writeCollect((page % 481) * PAGE_BYTES + 8, 8, 0, 0);
  t.equal(collectBuffers.freeCount, 0);
  t.same(
    all.map((_, number) => collectBuffers.getAvailable(number, 0)),
    all.map(() => 0),
  );
  for (const { qp } of all) qp.collect(qp.post(NOP, 'slot'), {}, 480 * PAGE_BYTES);
  machine.runUntilIdle();
  for (const { sendCq, read } of all) {
    t.equal(sendCq.take().status, 0);
    t.equal(read(CSR.COMMANDS_COLLECTED), 1);
  }
});

t.test("one function's flood of creations leaves the others their share", async (t) => {
  const machine = new InProcessMachine({ functionCount: 34, memoryBytes: 1 << 20 });
  const [flooder, other] = [bringUp(machine, 0), bringUp(machine, 1)];
  const query = flooder.driver.management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER });
  t.equal(getAdapterAttributesMaxEventQueues(query.payload, 0), 64);
  const create = ({ driver }: typeof flooder) =>
    driver.management.execute({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) });
  const share = Math.floor(32768 / 34);
  for (let count = 1; count < share; count++) create(flooder);
  t.equal(create(flooder).status, ManagementStatus.NO_RESOURCES);
  t.equal(create(other).status, ManagementStatus.OK);
  flooder.driver.management.perform({ opcode: ManagementOpcode.DESTROY_PD, objectNumber: flooder.pd + 0x2 });
  t.equal(create(flooder).status, ManagementStatus.OK, 'what is destroyed may be created again');
  machine.reset(0, 'function');
  machine.resume(0);
  const again = bringUp(machine, 0);
  t.equal(create(again).status, ManagementStatus.OK);
});

t.test('the physical function disables the adapter: commands wait, and go on when it is enabled again', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2 });
  const [physical, virtual] = [bringUp(machine, 0), bringUp(machine, 1)];
  const set = ({ access }: typeof physical, value: number) => access.writeRegister(CSR.ADAPTER_CONTROL, 4, value, 0);
  const isDisabled = ({ read }: typeof physical) => getCsrDeviceStatusAdapterDisabled(read(CSR.DEVICE_STATUS)) === 1;
  set(virtual, CSR_ADAPTER_CONTROL_DISABLE_MASK);
  t.equal(virtual.read(CSR.FAULT_COUNT + FaultKind.NOT_PERMITTED * 4), 1);
  t.notOk(isDisabled(virtual), 'a virtual one cannot');
  set(physical, CSR_ADAPTER_CONTROL_DISABLE_MASK);
  t.ok(isDisabled(virtual) && isDisabled(physical));
  t.equal(virtual.read(CSR.ADAPTER_CONTROL), CSR_ADAPTER_CONTROL_DISABLE_MASK);
  for (const { qp } of [physical, virtual]) {
    for (let count = 0; count < 8; count++) qp.post(NOP, count % 2 === 0 ? 'collect' : 'slot');
    qp.ring();
  }
  const marks = machine.hosts.map(({ log }) => log.count);
  machine.runUntilIdle();
  t.notOk(physical.sendCq.ready || virtual.sendCq.ready, 'nothing is executed');
  for (const [index, { read }] of [physical, virtual].entries()) {
    t.same(machine.hosts[index].log.since(marks[index]), [], 'and nothing read');
    t.same([read(CSR.COMMANDS_FETCHED), read(CSR.BUS_READS)], [0, 0]);
  }
  virtual.driver.createProtectionDomain();
  set(physical, 0);
  machine.runUntilIdle();
  for (const { sendCq, access } of [physical, virtual]) {
    t.same(
      sendCq.drain().map(({ status }) => status),
      new Array(8).fill(0),
      'nothing is lost',
    );
    t.equal(findLeak(access), undefined);
  }
  set(physical, CSR_ADAPTER_CONTROL_DISABLE_MASK);
  machine.reset(0, 'lost');
  t.notOk(isDisabled(virtual), 'one that dies leaves the others at work');
});

t.test(
  'disabled in the middle of messages: what was launched ends, nothing else begins, and nothing is lost',
  async (t) => {
    const machine = new InProcessMachine({ functionCount: 3, seed: 9, budget: 6 });
    const { random } = machine;
    const { lanes } = machine.device;
    const [physical, ...virtual] = [0, 1, 2].map((index) => bringUp(machine, index));
    const senders = virtual.map((one) => connectToItself(one));
    const disable = (value: number) => physical.access.writeRegister(CSR.ADAPTER_CONTROL, 4, value, 0);
    const expected = senders.map(() => 0);
    for (let round = 0; round < 40; round++) {
      const what = `seed 9, round ${round}`;
      for (const { post } of senders) post(random.between(1, 8), random);
      for (let step = random.below(30); step > 0; step--) machine.step();
      disable(CSR_ADAPTER_CONTROL_DISABLE_MASK);
      const launches = Array.from(lanes.functionLaunches);
      for (const { post } of senders) post(random.between(1, 8), random);
      machine.runUntilIdle();
      t.same(Array.from(lanes.functionLaunches), launches, `${what}: nothing is launched`);
      disable(0);
      machine.runUntilIdle();
      for (const [index, { qp, posted }] of senders.entries()) {
        for (const { queueSequence, status } of qp.parts.sendCq.drain())
          if (status !== 0 || queueSequence !== expected[index]++)
            t.fail(`${what}: completion ${queueSequence}, status ${status}`);
        t.equal(expected[index], posted(), `${what}: every message once and in order`);
      }
    }
    for (const { findDifference } of senders) t.equal(findDifference(), -1, 'with its bytes');
    for (const { access } of virtual) t.equal(findLeak(access), undefined);
  },
);

t.test('a session behind the write-combining stage replays byte for byte', async (t) => {
  const pieces: Uint8Array[] = [];
  const record = (options: AdapterOptions, count: number) =>
    new Recorder(options, count, (bytes) => pieces.push(bytes.slice()));
  const fixture = new AdapterFixture({ seed: 31, record, adapter: { writeCombining: { seed: 31 } } });
  const { sender, receiver, to } = fixture.createPair();
  for (let round = 0; round < 50; round++) {
    const buffer = fixture.postReceive(receiver, 40 + 256);
    const payload = fixture.random.bytes(fixture.random.below(257));
    sender.post(to({ inline: payload }));
    t.equal(sender.parts.sendCq.take().status, 0);
    receiver.parts.receiveCq.take();
    t.ok(payload.every((byte, index) => buffer.bytes[40 + index] === byte));
  }
  t.same(fixture.allFaults(), {});
  fixture.finish();
  fixture.machine.recorder?.flush();
  const recording = Buffer.concat(pieces);
  const replay = (seed: number) =>
    new Replay(
      recording,
      (options, clock, hosts) => new Adapter({ ...options, writeCombining: { seed } }, clock, hosts),
    ).run();
  t.equal(replay(31).divergence, undefined);
});

t.test(
  'hazard 36: the physical function is reset while a command of a virtual one pends: it is answered',
  async (t) => {
    for (const whole of [true, false]) {
      const machine = new InProcessMachine({ functionCount: 2 });
      bringUp(machine, 0);
      const { access, driver, read } = bringUp(machine, 1);
      const { management } = driver;
      const executed = read(CSR.MANAGEMENT_COMMANDS);
      const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
      const response = access.view(management.responseAddress, MANAGEMENT_RESPONSE_SIZE);
      setManagementResponseSequence(response, 0, 0);
      management.lock();
      management.write(whole ? bytes : bytes.subarray(0, 32));
      machine.reset(0, 'function');
      machine.runUntilIdle();
      t.equal(read(CSR.MANAGEMENT_COMMANDS) - executed, whole ? 1 : 0);
      if (!whole) management.write(bytes);
      machine.runUntilIdle();
      t.equal(read(CSR.MANAGEMENT_COMMANDS) - executed, 1);
      t.not(getManagementResponseSequence(response, 0), 0);
      management.unlock();
      t.ok(driver.createProtectionDomain() > 0);
      machine.resume();
      t.ok(bringUp(machine, 0).pd > 0, 'and the physical one works again');
    }
  },
);
