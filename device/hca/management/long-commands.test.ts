// SPDX-License-Identifier: Apache-2.0
/**
 * Long management commands go on over turns: each turn reads or moves a bounded number of bytes,
 * other functions have their turns meanwhile, and the result is that of a command in one piece
 * (docs/LIMITS.md).
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CqMask,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { cqPayload, mrPayload, pdPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { LIST_ENTRIES, SamePages, writeSameList } from '../../rig/fixtures/page-lists.ts';
import { startCompletionsAt } from '../../rig/fixtures/running-counts.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { ScatterGatherList } from '../transport/scatter-gather.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const { CREATE_MR, CREATE_PD, MODIFY_CQ } = ManagementOpcode;
/** Bytes that the adapter may read, and write, in a pass with one unit of work for each stage. */
const STEP_BYTES = 32 * PAGE_BYTES;

/** Passes until the function has answered a command that is written already. */
function countPasses(fixture: AdapterFixture, limitBytes: number): number {
  const { dma, counters } = fixture.machine.device.functions[0].underlying;
  const done = counters.managementCommands;
  for (let passes = 1; ; passes++) {
    const before = dma.bytesRead + dma.bytesWritten;
    const more = fixture.machine.step();
    const moved = dma.bytesRead + dma.bytesWritten - before;
    if (moved > limitBytes) throw new Error(`pass ${passes} moved ${moved} bytes`);
    if (counters.managementCommands > done) return passes;
    if (!more) throw new Error(`the adapter is idle after ${passes} passes, and the command is not done`);
  }
}

t.test('a region of 2^20 pages is read page by page of its list', async (t) => {
  const fixture = new AdapterFixture({ budget: 1 });
  const { driver, pd } = fixture;
  const region = new SamePages(driver).region(pd, 2 ** 20);
  driver.management.lock();
  driver.management.write(driver.management.build({ opcode: CREATE_MR, payload: mrPayload(region) }));
  const passes = countPasses(fixture, 2 * PAGE_BYTES);
  t.equal(passes, 2 ** 20 / LIST_ENTRIES);
  driver.management.unlock();
  fixture.finish();
});

t.test('commands of other functions are done meanwhile, and those of the same function wait', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 3, adapter: { managementBufferCount: 2 } });
  const { driver, pd } = fixture;
  const { management } = driver;
  const region = new SamePages(driver).region(pd, 2 ** 19);
  const others = [1, 2].map((number) => new Driver(new InProcessAccess(fixture.machine, number)).bringUp());
  management.lock();
  management.write(management.build({ opcode: CREATE_MR, payload: mrPayload(region) }));
  management.lock();
  management.write(management.build({ opcode: CREATE_PD, payload: pdPayload({}) }));
  const [{ underlying, pendingManagement }] = fixture.machine.device.functions;
  const before = underlying.counters.managementCommands;
  for (const other of others) for (let count = 0; count < 5; count++) other.createProtectionDomain();
  t.equal(underlying.counters.managementCommands, before);
  t.equal(pendingManagement.length, 2);
  fixture.settle();
  t.equal(underlying.counters.managementCommands, before + 2);
});

t.test('a reset ends a command that has begun', async (t) => {
  const fixture = new AdapterFixture({ budget: 1 });
  const { management } = fixture.driver;
  const region = new SamePages(fixture.driver).region(fixture.pd, 2 ** 14);
  management.lock();
  management.write(management.build({ opcode: CREATE_MR, payload: mrPayload(region) }));
  for (let step = 0; step < 9; step++) fixture.machine.step();
  const [{ underlying }] = fixture.machine.device.functions;
  t.equal(underlying.translations.used, 2 ** 14, 'taken before the list is read');
  fixture.machine.reset(0, 'function');
  t.equal(underlying.translations.used, 0);
  fixture.machine.resume();
  fixture.bringUp();
  fixture.proveItWorks();
  fixture.finish();
});

t.test('a completion queue with many unread CQEs moves in steps, with those that come meanwhile', async (t) => {
  for (const start of [0, 2 ** 32 - 5000]) {
    const fixture = new AdapterFixture({ memoryBytes: 16 * 2 ** 20, budget: 1 });
    const { driver, machine } = fixture;
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 13 });
    const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 10, strideLog2: 6 });
    startCompletionsAt(fixture, sendCq, start);
    let posted = 0;
    const post = (count: number): void => {
      for (let index = 0; index < count; index++, posted++) qp.post(NOP);
    };
    for (let round = 0; round < 8; round++) {
      post(1000);
      fixture.settle();
    }
    const { dma } = machine.device.functions[0].underlying;
    let steps = 0;
    let longest = 0;
    let moved = dma.bytesRead;
    machine.onStep = () => {
      longest = Math.max(longest, dma.bytesRead - moved);
      moved = dma.bytesRead;
      if (steps++ < 100) post(1);
    };
    t.equal(driver.resizeCompletionQueue(sendCq, 14).status, ManagementStatus.OK);
    machine.onStep = () => {};
    t.ok(longest < STEP_BYTES, `${longest} bytes in a pass`);
    t.ok(steps >= 8, `${steps} passes`);
    fixture.settle();
    const taken = sendCq.drain().map(({ queueSequence }) => queueSequence);
    t.equal(taken.length, posted);
    t.equal(
      taken.findIndex((sequence, index) => sequence !== index),
      -1,
      `no CQE is lost, doubled or out of order from ${start} on`,
    );
    fixture.finish();
  }
});

t.test('a shared receive queue moves in steps, and loses none that is taken meanwhile', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 16 * 2 ** 20, budget: 1 });
  const { driver, pd, machine } = fixture;
  const srq = driver.createSharedReceiveQueue({ pd, entriesLog2: 12 });
  for (let number = 0; number < 4000; number++) srq.postReceive([]);
  const device = machine.device.tables.sharedReceiveQueues.get(srq.srqn);
  if (device === undefined) throw new Error('there is no SRQ');
  const { dma } = device.owner;
  let [longest, moved, steps] = [0, dma.bytesRead, 0];
  machine.onStep = () => {
    longest = Math.max(longest, dma.bytesRead - moved);
    moved = dma.bytesRead;
    // The transport takes the oldest ones.
    if (steps++ > 2 && device.ring.available(device.owner, device)) device.ring.take();
  };
  t.equal(srq.resize(driver.allocator, 13).status, ManagementStatus.OK);
  machine.onStep = () => {};
  t.ok(longest < STEP_BYTES, `${longest} bytes in a pass`);
  t.ok(steps > 4000 / 128, `${steps} passes`);
  t.equal(device.ring.entries, 2 ** 13);
  t.equal(device.ring.head + device.ring.known, 4000);
  const list = new ScatterGatherList();
  while (device.ring.known > 0) {
    const number = device.ring.take();
    const fault = device.ring.read(device.owner, device, number, list);
    if (fault !== FaultKind.NONE) t.fail(`WQE ${number}: fault ${fault}`);
  }
});

t.test('a ring whose old pages are one page, and a consumer count that lies, cost a step each', async (t) => {
  const fixture = new AdapterFixture({ budget: 1 });
  const { driver } = fixture;
  const { management, allocator } = driver;
  const page = allocator.allocate(PAGE_BYTES, PAGE_BYTES);
  const pages = 2 ** 10;
  const list = writeSameList(driver, pages, page);
  const recordAddress = allocator.allocate(64);
  const ring = { queueAddress: list, entriesLog2: 16, paged: 1, pageShift: 12, recordAddress };
  const { objectNumber } = management.perform({ opcode: ManagementOpcode.CREATE_CQ, payload: cqPayload(ring) });
  // Software says that it has taken fewer than there are.
  driver.access.view(recordAddress, 4).setUint32(0, 2 ** 32 - 60000, true);
  management.lock();
  const payload = cqPayload({ ...ring, attributeMask: CqMask.RESIZE });
  management.write(management.build({ opcode: MODIFY_CQ, objectNumber, payload }));
  const passes = countPasses(fixture, 2 * STEP_BYTES);
  t.ok(passes > 50, `${passes} passes`);
  management.unlock();
  t.equal(fixture.machine.device.functions[0].underlying.translations.used, pages);
  t.equal(management.execute({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber }).status, ManagementStatus.OK);
  fixture.finish();
});
