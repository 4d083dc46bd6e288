// SPDX-License-Identifier: Apache-2.0
/**
 * The resource manager as software and the host use it (US 8,484,392 par. 62-86, example of par.
 * 125-131): over the dedicated collect buffer, by several functions and users at once, under load,
 * and in recordings.
 */
import t from 'tap';
import { CANCEL_OFFSET, COMMAND_HEADER_BYTES, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { MANAGEMENT_COMMAND_MODIFIER_OFFSET } from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  getManagementResponseSequence,
  getManagementResponseStatus,
  MANAGEMENT_RESPONSE_SIZE,
  setManagementResponseSequence,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  RESOURCE_CHANGE_AMOUNT_OFFSET,
  RESOURCE_CHANGE_RESOURCE_OFFSET,
  RESOURCE_CHANGE_SIZE,
  RESOURCE_CHANGE_TARGET_OFFSET,
} from '../../../protocol/layout/gen/resource-change.gen.ts';
import {
  EventType,
  FaultKind,
  ResourceKind as Kind,
  ManagementOpcode,
  ManagementStatus,
  SendOpcode,
  TvlState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay } from '../../hosts/replay.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { ManagementChannel } from '../../rig/driver/management-channel.ts';
import { encodeChanges, type ResourceChangeRequest } from '../../rig/driver/resources.ts';
import { findBadBinding } from '../../rig/fixtures/invariants.ts';
import { findLaneFault } from '../../rig/fixtures/lane-invariants.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine, type MachineOptions } from '../../rig/machine/machine.ts';
import { Adapter } from '../adapter/adapter.ts';
import { IDLE_INTERVAL_NS } from './share-adjuster.ts';

const [CONTROL, WEATHER, OCEAN] = [0, 1, 2];
const NOP = { header: { opcode: SendOpcode.NOP } };
const RETURN_SHARES = 2;
const LEND_IDLE = 4;

/** A function brought up, with a place for asynchronous events. */
function bringUp(machine: InProcessMachine, index: number) {
  const access = new InProcessAccess(machine, index);
  const driver = new Driver(access).bringUp();
  const pd = driver.createProtectionDomain();
  const asynchronous = driver.createEventQueue({ asynchronous: true, vector: index });
  const read = (register: number, at = 0): number => access.readRegister(register + 4 * at, 4);
  return { access, driver, pd, asynchronous, read, resources: driver.resources };
}

/** A machine of the control virtual machine and two tenants. */
function start(options: MachineOptions = {}) {
  const machine = new InProcessMachine({ functionCount: 3, seed: 1, ...options });
  const adapter = machine.device;
  machine.onStep = () => {
    const wrong = findBadBinding(adapter) ?? findLaneFault(adapter);
    if (wrong !== undefined) throw new Error(`${wrong}; ${machine.describe()}`);
  };
  const guests = [CONTROL, WEATHER, OCEAN].map((index) => bringUp(machine, index));
  const [control, weather, ocean] = guests;
  return { machine, adapter, guests, control, weather, ocean };
}

function set(resource: number, target: number, amount: number, qosLevel?: number): ResourceChangeRequest {
  return { resource, target, amount, ...(qosLevel === undefined ? {} : { qosLevel }) };
}

/**
 * The numbers of the document. Each tenant's lanes are returned first, so that the order of
 * requests does not matter.
 */
const figure11 = [
  ...[CONTROL, WEATHER, OCEAN].map((target) => set(Kind.TVLS, target, 0)),
  set(Kind.VCBS, WEATHER, 25),
  set(Kind.PCBS, WEATHER, 20),
  set(Kind.TVLS, WEATHER, 10),
  set(Kind.VCBS, OCEAN, 15),
  set(Kind.PCBS, OCEAN, 12),
  set(Kind.TVLS, OCEAN, 20),
  set(Kind.VCBS, CONTROL, 30),
  set(Kind.PCBS, CONTROL, 25),
  set(Kind.TVLS, CONTROL, 15),
];

/** Answers of the queries for all functions and lanes. */
function digest({ control, adapter }: ReturnType<typeof start>): string {
  const { management } = control.driver;
  const query = (opcode: number, objectNumber: number): string =>
    Buffer.from(management.execute({ opcode, objectNumber }).payload.buffer).toString('hex');
  return [
    ...adapter.functions.map((_, number) => query(ManagementOpcode.QUERY_RESOURCES, number)),
    ...adapter.lanes.lanes.map((_, number) => query(ManagementOpcode.QUERY_LANE, number)),
  ].join('\n');
}

t.test('figure 11: the control machine gives, the tenants split and are told', async (t) => {
  const world = start();
  const { control, weather, ocean } = world;
  t.equal(control.resources.request(figure11).status, ManagementStatus.OK);
  for (const [guest, vcbs, pcbs, tvls] of [
    [control, 30, 25, 15],
    [weather, 25, 20, 10],
    [ocean, 15, 12, 20],
  ] as const) {
    t.same([guest.read(CSR.VCB_COUNT), guest.read(CSR.PCB_COUNT), guest.read(CSR.TVL_ALLOCATED)], [vcbs, pcbs, tvls]);
    const number = guest.read(CSR.FUNCTION_NUMBER);
    t.match(guest.resources.query(number), { function: number, vcbs, pcbs, tvls, lanes: { length: tvls } });
  }
  t.match(control.resources.query(CONTROL), { functions: 3, pcbsShared: 256 - 57, tvlsShared: 128 - 45 });
  t.match(weather.resources.query(WEATHER), { functions: 0, pcbsShared: 0, vcbsUnallocated: 0 }, 'others are not seen');
  for (const guest of [weather, ocean])
    t.match(guest.asynchronous.walk(), [{ eventType: EventType.RESOURCES_CHANGED }], 'one event for the whole request');
  t.same(control.asynchronous.walk(), []);
  const split = [
    set(Kind.VCBS, WEATHER, 15, 1),
    set(Kind.PCBS, WEATHER, 8, 0),
    set(Kind.PCBS, WEATHER, 12, 1),
    set(Kind.TVLS, WEATHER, 6, 1),
  ];
  t.equal(weather.resources.request(split).status, ManagementStatus.OK);
  t.equal(weather.access.readRegister(CSR.QOS_DIVIDER, 8), 10 * PAGE_BYTES);
  t.match(weather.resources.query(WEATHER), { levelVcbs: 15, pcbsLevel1: 12, levelLanes: [{}, { length: 6 }] });
  t.equal(ocean.resources.request([set(Kind.VCBS, OCEAN, 5, 0)]).status, ManagementStatus.OK);
  t.equal(ocean.resources.query(OCEAN).levelVcbs, 10);
  t.same(
    [...weather.asynchronous.walk(), ...ocean.asynchronous.walk()],
    [],
    'a function that asked itself is not told',
  );
});

t.test('a page beyond the share is dropped and counted against its function alone', async (t) => {
  const { control, weather, ocean } = start();
  control.resources.request(figure11);
  weather.access.writeCollect(25 * PAGE_BYTES + 8, 8, 1, 1);
  weather.access.writeCollect(24 * PAGE_BYTES + 8, 8, 1, 1);
  const faults = (guest: typeof weather) => guest.read(CSR.FAULT_COUNT, FaultKind.COLLECT_OUT_OF_RANGE);
  t.same([control, weather, ocean].map(faults), [0, 1, 0]);
  t.equal(weather.read(CSR.PCB_IN_USE), 1);
});

t.test('refused requests name the field in the command and change nothing', async (t) => {
  const world = start();
  const { control, weather, ocean } = world;
  control.resources.request(figure11);
  for (const guest of [weather, ocean]) guest.asynchronous.walk();
  const { BAD_FIELD, BAD_OBJECT, BAD_STATE, NO_RESOURCES, NOT_PERMITTED, SHARE_EXCEEDED } = ManagementStatus;
  const good = set(Kind.PCBS, WEATHER, 1);
  const at = (index: number, offset = 0): number => COMMAND_HEADER_BYTES + index * RESOURCE_CHANGE_SIZE + offset;
  const resourceOf = (index: number): number => at(index, RESOURCE_CHANGE_RESOURCE_OFFSET);
  const targetOf = (index: number): number => at(index, RESOURCE_CHANGE_TARGET_OFFSET);
  const amountOf = (index: number): number => at(index, RESOURCE_CHANGE_AMOUNT_OFFSET);
  const cases: [string, typeof weather, ResourceChangeRequest[], number, number][] = [
    ['an unknown resource', control, [good, set(77, 0, 0)], BAD_FIELD, resourceOf(1)],
    ['an unknown function', control, [good, set(Kind.VCBS, 3, 1)], BAD_OBJECT, targetOf(1)],
    ['an unknown lane', control, [good, good, set(Kind.TVL_WEIGHT, 128, 1)], BAD_OBJECT, targetOf(2)],
    ['more PCBs than unallocated', control, [good, set(Kind.PCBS, OCEAN, 300)], NO_RESOURCES, amountOf(1)],
    ['more VCBs than the BAR has pages', control, [set(Kind.VCBS, OCEAN, 65)], BAD_FIELD, amountOf(0)],
    ['more lanes than unallocated', control, [set(Kind.TVLS, OCEAN, 128)], NO_RESOURCES, amountOf(0)],
    [
      'a lane without credits',
      control,
      [set(Kind.TVL_EXECUTION_CREDITS, 3, 0), set(Kind.TVL_SHARED_CREDITS, 3, 0)],
      BAD_STATE,
      amountOf(1),
    ],
    [
      'more than owned',
      weather,
      [set(Kind.PCBS, WEATHER, 1, 0), set(Kind.PCBS, WEATHER, 20, 1)],
      SHARE_EXCEEDED,
      amountOf(1),
    ],
    ['a virtual function for itself', weather, [set(Kind.PCBS, WEATHER, 25)], NOT_PERMITTED, resourceOf(0)],
    ["a virtual function for another's levels", weather, [set(Kind.PCBS, OCEAN, 1, 0)], NOT_PERMITTED, resourceOf(0)],
    [
      "the physical function for another's levels",
      control,
      [set(Kind.PCBS, OCEAN, 1, 0)],
      NOT_PERMITTED,
      resourceOf(0),
    ],
  ];
  const before = digest(world);
  for (const [name, guest, changes, status, badOffset] of cases) {
    t.match(guest.resources.request(changes), { status, badOffset }, name);
    t.equal(digest(world), before, `${name}: nothing changed`);
  }
  const header = { status: BAD_FIELD, badOffset: MANAGEMENT_COMMAND_MODIFIER_OFFSET, limit: 32 };
  const { management } = control.driver;
  t.match(control.resources.request([]), header, 'no change');
  t.match(
    management.execute({ opcode: ManagementOpcode.REQUEST_RESOURCES, modifier: 33, payload: encodeChanges([good]) }),
    header,
  );
  t.match(
    management.execute({ opcode: ManagementOpcode.REQUEST_RESOURCES, modifier: 2, payload: encodeChanges([good]) }),
    { status: ManagementStatus.BAD_LENGTH, limit: at(2) },
  );
  t.match(management.execute({ opcode: ManagementOpcode.QUERY_RESOURCES, objectNumber: 3 }), {
    status: BAD_OBJECT,
    limit: 2,
  });
  t.match(management.execute({ opcode: ManagementOpcode.QUERY_LANE, objectNumber: 128 }), {
    status: BAD_OBJECT,
    limit: 127,
  });
  const tenant = weather.driver.management;
  t.match(tenant.execute({ opcode: ManagementOpcode.QUERY_RESOURCES, objectNumber: CONTROL }), {
    status: NOT_PERMITTED,
  });
  const [foreign] = ocean.resources.query(OCEAN).lanes;
  t.match(tenant.execute({ opcode: ManagementOpcode.QUERY_LANE, objectNumber: foreign }), { status: NOT_PERMITTED });
  t.equal(digest(world), before);
  t.same([...weather.asynchronous.walk(), ...ocean.asynchronous.walk()], []);
  const [own] = weather.resources.query(WEATHER).lanes;
  t.match(weather.resources.queryLane(own), { state: TvlState.ALLOCATED, function: WEATHER, weight: 1 });
});

t.test('the host asks with more rights than any guest, and the answer is the same kind', async (t) => {
  const { machine, control, weather } = start();
  const ask = (changes: ResourceChangeRequest[]) => machine.functionAt(0).requestResources(encodeChanges(changes));
  t.equal(ask([set(Kind.PCBS, WEATHER, 20), set(Kind.PCBS, WEATHER, 8, 1)]).status, ManagementStatus.OK);
  t.match(weather.resources.query(WEATHER), { pcbs: 20, pcbsLevel1: 8 });
  t.match(weather.asynchronous.walk(), [{ eventType: EventType.RESOURCES_CHANGED }]);
  ask([set(Kind.PCBS, CONTROL, 30)]);
  t.match(
    control.asynchronous.walk(),
    [{ eventType: EventType.RESOURCES_CHANGED }],
    'the physical function is told too',
  );
  t.same(ask([set(Kind.PCBS, OCEAN, 1), set(Kind.PCBS, WEATHER, 300)]), {
    status: ManagementStatus.NO_RESOURCES,
    index: 1,
    offset: 4,
    limit: 256 - 30 - 1,
  });
});

t.test('two users of one dedicated collect buffer: the lock lets one in at a time', async (t) => {
  const { machine, weather } = start();
  const other = new ManagementChannel(weather.access, weather.driver.allocator);
  const { management } = weather.driver;
  management.lock();
  t.equal(weather.read(CSR.DEDICATED_LOCK), 0, 'the other one does not get it');
  t.throws(() => other.lock(), /the dedicated lock/);
  management.unlock();
  const response = (channel: ManagementChannel) =>
    weather.access.view(channel.responseAddress, MANAGEMENT_RESPONSE_SIZE);
  const users = [management, other];
  let holder: ManagementChannel | undefined;
  let [done, waited] = [0, 0];
  for (let turn = 0; done < 200; turn++) {
    const user = machine.random.pick(users);
    if (user === holder) {
      machine.step();
      if (getManagementResponseSequence(response(user), 0) === 0) continue;
      t.equal(getManagementResponseStatus(response(user), 0), ManagementStatus.OK);
      user.unlock();
      holder = undefined;
      done++;
    } else if (weather.read(CSR.DEDICATED_LOCK) === 1) {
      if (holder !== undefined) throw new Error(`both hold the lock, turn ${turn}`);
      holder = user;
      setManagementResponseSequence(response(user), 0, 0);
      user.write(user.build({ opcode: ManagementOpcode.QUERY_RESOURCES, objectNumber: WEATHER }));
    } else waited++;
  }
  t.ok(waited > 20, `${waited} times a function had to wait`);
});

t.test('a share that shrinks below its use converges under load, and nothing is lost', async (t) => {
  for (const seed of [1, 2, 3]) {
    const { machine, adapter, guests } = start({
      seed,
      budget: 6,
      adapter: { pcbCount: 24, pcbGuaranteed: [6, 6] },
    });
    const { random } = machine;
    const queues = guests.map(({ driver, pd }) => {
      const sendCq = driver.createCompletionQueue({ entriesLog2: 10 });
      return Array.from({ length: 3 }, () =>
        driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 6 }).start({ port: 1 }),
      );
    });
    const posted = [0, 0, 0];
    const completed = [0, 0, 0];
    let [accepted, over] = [0, 0];
    for (let turn = 0; turn < 1500; turn++) {
      const index = random.below(3);
      const sendCq = queues[index][0].parts.sendCq;
      if (posted[index] - completed[index] < 60) {
        random.pick(queues[index]).post(NOP, random.pick(['collect', 'collect', 'doorbell'] as const));
        posted[index]++;
      }
      // Only sometimes, so that much is in use when a share shrinks.
      if (random.oneIn(12)) for (let steps = random.below(20); steps > 0; steps--) machine.step();
      completed[index] += sendCq.drain().length;
      if (random.oneIn(8)) {
        // The host requests: a request of a guest would let the machine run, and use would fall.
        const changes = [
          set(Kind.PCBS, random.below(3), random.below(12)),
          set(Kind.TVL_EXECUTION_CREDITS, random.below(128), random.below(3)),
          set(Kind.VCBS, random.below(3), random.between(8, 64)),
          set(Kind.TVLS, random.below(3), random.below(40)),
          set(Kind.SCHEDULER_BUFFERS, random.below(3), random.below(12)),
        ];
        const { status } = machine.functionAt(0).requestResources(encodeChanges(changes));
        if (status === ManagementStatus.OK) accepted++;
      }
      for (const owner of [0, 1, 2]) {
        const used = adapter.collectBuffers.getInUse(owner, 0) - adapter.collectBuffers.getInUseDevice(owner);
        if (used > adapter.collectBuffers.getTotal(owner)) over++;
      }
    }
    guests.forEach((_, index) => {
      for (const qp of queues[index]) qp.ring();
    });
    machine.runUntilIdle();
    queues.forEach((own, index) => {
      completed[index] += own[0].parts.sendCq.drain().length;
    });
    t.same(
      completed,
      posted,
      `seed ${seed}: every command completed once; ${accepted} requests, ${over} times above a share`,
    );
    t.ok(accepted > 30 && over > 0, 'shares did shrink below their use');
    t.same(adapter.collectBuffers.freeCount, 24);
    t.same([adapter.lanes.execution.used, adapter.lanes.completion.used], [0, 0]);
  }
});

t.test('a share returns when a guest leaves, and the next guest has one again', async (t) => {
  const { machine, adapter, control, weather } = start();
  const before = weather.resources.query(WEATHER);
  control.access.writeRegister(CSR.ADAPTER_CONTROL, 4, RETURN_SHARES, 0);
  const free = control.resources.query(CONTROL).pcbsShared;
  machine.reset(WEATHER, 'lost');
  t.match(control.resources.query(WEATHER), { vcbs: 0, pcbs: 0, tvls: 0, schedulerBuffers: 0 });
  t.equal(control.resources.query(CONTROL).pcbsShared, free + before.pcbs);
  machine.resume(WEATHER);
  const again = bringUp(machine, WEATHER);
  t.match(again.resources.query(WEATHER), { vcbs: before.vcbs, pcbs: before.pcbs, tvls: before.tvls });
  const sendCq = again.driver.createCompletionQueue();
  const qp = again.driver.createQueuePair({ pd: again.pd, sendCq }).start({ port: 1 });
  qp.post(NOP, 'collect');
  t.equal(sendCq.take().status, 0, 'it works');
  t.equal(adapter.control, RETURN_SHARES);
  machine.reset(CONTROL, 'function');
  t.equal(adapter.shareAdjuster.returnShares, false, 'a reset of the physical function switches it off');
});

t.test('idle shares are lent, and asked back as soon as their owner binds', async (t) => {
  const { machine, adapter, guests, control, weather } = start({ adapter: { pcbCount: 24, pcbGuaranteed: [6, 6] } });
  const share = weather.resources.query(WEATHER);
  const available = () => control.read(CSR.PCB_AVAILABLE);
  const first = available();
  control.access.writeRegister(CSR.ADAPTER_CONTROL, 4, LEND_IDLE, 0);
  machine.runUntil(() => machine.clock.now() > 3 * IDLE_INTERVAL_NS || adapter.shareManager.isLent(WEATHER), 'lending');
  t.ok(available() > first, 'others may bind what the idle ones do not use');
  t.equal(guests.length, 3);
  t.equal(weather.read(CSR.PCB_COUNT), share.pcbs, 'it still is theirs');
  for (let page = 0; page < 24; page++) control.access.writeCollect(page * PAGE_BYTES + 8, 8, 1, 1);
  const sendCq = weather.driver.createCompletionQueue();
  const qp = weather.driver.createQueuePair({ pd: weather.pd, sendCq }).start({ port: 1 });
  qp.post(NOP, 'collect');
  t.equal(sendCq.take().status, 0, 'refused or not, its command is executed');
  t.equal(adapter.shareManager.isLent(WEATHER), false);
  for (let page = 0; page < 24; page++)
    control.access.writeCollect(page * PAGE_BYTES + CANCEL_OFFSET, 8, 0, 0xff000000);
  machine.runUntilIdle();
  t.equal(weather.read(CSR.PCB_AVAILABLE) >= share.pcbsLevel0, true, 'converged');
});

t.test('requests of guests and host are in the recording, and its replay is the same', async (t) => {
  const pieces: Uint8Array[] = [];
  const { machine, control, weather } = start({
    record: (options, count) => new Recorder(options, count, (bytes) => pieces.push(bytes.slice())),
  });
  control.resources.request(figure11);
  weather.resources.request([set(Kind.VCBS, WEATHER, 15, 1)]);
  control.access.writeRegister(CSR.ADAPTER_CONTROL, 4, RETURN_SHARES | LEND_IDLE, 0);
  for (const amount of [5, 30, 4000])
    machine.functionAt(0).requestResources(encodeChanges([set(Kind.PCBS, OCEAN, amount), set(Kind.TVL_WEIGHT, 7, 9)]));
  machine.clock.advance(2 * IDLE_INTERVAL_NS);
  machine.runUntilIdle();
  machine.reset(WEATHER, 'lost');
  machine.resume(WEATHER);
  machine.runUntilIdle();
  machine.recorder?.flush();
  const replay = new Replay(Buffer.concat(pieces), (options, clock, hosts) => new Adapter(options, clock, hosts));
  const result = replay.run();
  t.equal(result.divergence, undefined);
  const [there, here] = [machine.core, replay.adapter].map((core) => (core as Adapter).shareManager.plan);
  t.same(here, there);
});
