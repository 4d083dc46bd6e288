// SPDX-License-Identifier: Apache-2.0
/**
 * Hazards 31, 34, 35 and 36 of docs/HAZARDS.md: injected defects of the device, and the driver's
 * behaviour.
 */
import t from 'tap';
import { getCompletionEntryStatus } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { CANCEL_OFFSET, CANCEL_VALUE_HIGH, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { decodeCqAttributes, newCqAttributes } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import {
  getManagementResponseSequence,
  MANAGEMENT_RESPONSE_SIZE,
  setManagementResponseSequence,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { CompletionQueue } from '../../hca/queues/completion-queue.ts';
import type { DriverCompletionQueue } from '../../rig/driver/completion-queue.ts';
import { EventPoller } from '../../rig/driver/event-poller.ts';
import { OutstandingWork } from '../../rig/driver/outstanding-work.ts';
import { cqPayload } from '../../rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, COMPLETION_VECTOR } from '../../rig/fixtures/adapter-fixture.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';
import type { OrderingDefect } from './ordering-options.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const SEEDS = 40;

/**
 * A fixture whose writes are delayed by `seed`; no register read between steps makes them visible.
 */
function lagging(seed: number, defect?: OrderingDefect): AdapterFixture {
  const ordering = { mode: 'pcie', seed, ...(defect ? { defect } : {}) } as const;
  const fixture = new AdapterFixture({ seed, ordering });
  fixture.machine.onStep = () => {};
  return fixture;
}

t.test('hazard 31: an interrupt before its EQE finds no event; only the slow poll does', async (t) => {
  let early = 0;
  for (const defect of ['interrupt-first', undefined] as const) {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const fixture = lagging(seed, defect);
      const queue = fixture.createCompletionQueue();
      const qp = fixture.createQueuePair({ sendCq: queue });
      const poller = new EventPoller(fixture.events, [queue], (one) => one.drain());
      let served = 0;
      fixture.host.onVector = (vector) => {
        if (vector === COMPLETION_VECTOR) served += poller.serve();
      };
      queue.notify();
      qp.post(NOP);
      fixture.settle();
      if (defect === undefined) t.equal(served, 1, `seed ${seed}: in order, the interrupt is enough`);
      else if (served === 0) {
        early++;
        t.equal(poller.deadman(), 1, `seed ${seed}: the deadman`);
      }
      t.equal(queue.consumed, 1, `seed ${seed}: taken once`);
      fixture.finish();
    }
  }
  t.ok(early > 0, 'some interrupts really were early');
});

t.test('hazard 34: a validity word before its body shows a torn entry; in order no entry is torn', async (t) => {
  let damaged = 0;
  for (const defect of ['validity-first', undefined] as const) {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const fixture = lagging(seed, defect);
      const queue = fixture.createCompletionQueue({ entriesLog2: 2 });
      const qp = fixture.createQueuePair({ sendCq: queue, sendEntriesLog2: 2 });
      // Several laps: the slot of a torn entry still holds a whole one of the previous lap.
      for (let sequence = 0; sequence < 12; sequence++) {
        qp.post(NOP);
        fixture.machine.runUntil(() => queue.ready, 'the completion');
        const entry = queue.poll();
        const whole = entry?.qpn === qp.qpn && entry.queueSequence === sequence;
        if (defect === undefined) t.ok(whole, `seed ${seed}: entry ${sequence}`);
        else if (!whole) damaged++;
        fixture.settle();
      }
      fixture.finish();
    }
  }
  t.ok(damaged > 0, 'the injected reverse is seen');
});

t.test('hazard 34: the driver takes no entry of the previous lap and no body without validity word', async (t) => {
  const fixture = new AdapterFixture();
  const queue = fixture.createCompletionQueue({ entriesLog2: 2 });
  const qp = fixture.createQueuePair({ sendCq: queue, sendEntriesLog2: 2 });
  for (let sequence = 0; sequence < 9; sequence++) {
    t.notOk(queue.ready, 'the slot holds an entry of an earlier lap');
    let readyBetween = false;
    fixture.host.onBody = () => {
      readyBetween ||= queue.ready;
    };
    qp.post(NOP);
    fixture.settle();
    t.notOk(readyBetween, 'a new body under an old word');
    t.equal(queue.poll()?.queueSequence, sequence);
  }
  fixture.finish();
});

/** The defect of Oracle's PSIF: a failed completion is posted up to `copiesMax` times. */
function repeatFailures(fixture: AdapterFixture, queue: DriverCompletionQueue, copiesMax: number): void {
  const device = fixture.machine.device.tables.completionQueues.get(queue.cqn) as CompletionQueue;
  const begin = device.begin.bind(device);
  const post = device.post.bind(device);
  let entry: DataView;
  device.begin = () => {
    entry = begin();
    return entry;
  };
  device.post = (solicited) => {
    const failed = getCompletionEntryStatus(entry, 0) !== CompletionStatus.SUCCESS;
    for (let copies = failed ? fixture.random.between(0, copiesMax - 1) : 0; copies > 0; copies--) post(solicited);
    return post(solicited);
  };
}

t.test('hazard 35: completions repeated after a QP error count once: the driver tracks its work', async (t) => {
  let repeated = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const fixture = new AdapterFixture({ seed });
    const queue = fixture.createCompletionQueue({ entriesLog2: 7 });
    repeatFailures(fixture, queue, 5);
    const qps = [1, 2].map(() => fixture.createQueuePair({ sendCq: queue }));
    const work = new OutstandingWork<number>();
    const posted: number[] = [];
    const taken: number[] = [];
    const post = (qp: DriverQueuePair, sequence: number, item: number): void => {
      work.add({ qpn: qp.qpn, receive: 0, queueSequence: sequence }, item);
      posted.push(item);
      qp.post(NOP, item < 6 ? 'collect' : 'slot');
    };
    const take = (): void => {
      for (const entry of queue.drain()) {
        const item = work.take(entry);
        if (item !== undefined) taken.push(item);
      }
    };
    for (const [index, qp] of qps.entries()) for (let count = 0; count < 6; count++) post(qp, count, index * 6 + count);
    fixture.settle();
    take();
    for (const qp of qps) qp.toError();
    fixture.settle();
    take();
    t.same(
      taken.sort((left, right) => left - right),
      posted,
      `seed ${seed}: each once`,
    );
    t.equal(work.size, 0);
    repeated += work.unknown;
    fixture.finish();
  }
  t.ok(repeated > 0, 'some really came several times');
});

t.test('hazard 36: a torn command is neither executed nor answered; the next one is', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  for (let round = 0; round < 20; round++) {
    const executed = fixture.read(CSR.MANAGEMENT_COMMANDS);
    const bytes = management.build({ opcode: ManagementOpcode.CREATE_CQ, payload: cqPayload({}) });
    management.lock();
    management.write(bytes.subarray(0, fixture.random.between(1, bytes.length / 8 - 1) * 8));
    fixture.settle();
    t.equal(fixture.read(CSR.MANAGEMENT_COMMANDS), executed, 'not before it is whole');
    fixture.access.writeCollect(management.pageOffset + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
    management.unlock();
    t.ok(fixture.driver.createProtectionDomain() > 0);
  }
  fixture.finish();
});

t.test('hazard 36: the driver takes a torn and late response only when it is whole', async (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const fixture = lagging(seed);
    const { management } = fixture.driver;
    const view = fixture.access.view(management.responseAddress, MANAGEMENT_RESPONSE_SIZE);
    for (let count = 0; count < 10; count++) {
      // The driver must not take an older response.
      new Uint8Array(view.buffer, view.byteOffset, view.byteLength).fill(0xee);
      const entriesLog2 = fixture.random.between(1, 8);
      const queue = fixture.driver.createCompletionQueue({ entriesLog2 });
      const opcode = ManagementOpcode.QUERY_CQ;
      const { payload, objectNumber } = management.perform({ opcode, objectNumber: queue.cqn });
      t.equal(objectNumber, queue.cqn, `seed ${seed}`);
      t.equal(decodeCqAttributes(payload, 0, newCqAttributes()).entriesLog2, entriesLog2, `seed ${seed}`);
    }
    fixture.finish();
  }
});

t.test('hazard 36: a lost response: the command is executed and counted, the channel works on', async (t) => {
  const fixture = new AdapterFixture();
  const { management, allocator } = fixture.driver;
  const page = allocator.allocate(PAGE_BYTES, PAGE_BYTES);
  fixture.host.memory.protect(page, PAGE_BYTES, PageAccess.UNMAPPED);
  const executed = fixture.read(CSR.MANAGEMENT_COMMANDS);
  management.lock();
  management.write(management.build({ opcode: ManagementOpcode.QUERY_ADAPTER, responseAddress: page }));
  fixture.settle();
  t.equal(fixture.read(CSR.MANAGEMENT_COMMANDS), executed + 1);
  t.equal(fixture.faults(FaultKind.MANAGEMENT_RESPONSE), 1);
  management.unlock();
  t.equal(management.execute({ opcode: ManagementOpcode.QUERY_ADAPTER }).status, ManagementStatus.OK);
  fixture.finish();
});

t.test('hazard 36: the lock has one holder, and no second command starts during execution', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  management.lock();
  t.equal(fixture.read(CSR.DEDICATED_LOCK), 0, 'a second request for the lock fails');
  const first = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
  const second = management.build({ opcode: ManagementOpcode.CREATE_PD });
  const executed = fixture.read(CSR.MANAGEMENT_COMMANDS);
  management.write(first);
  const reserved = fixture.faults(FaultKind.COLLECT_RESERVED);
  management.write(second);
  t.ok(fixture.faults(FaultKind.COLLECT_RESERVED) > reserved, 'refused and counted, word by word');
  fixture.settle();
  t.equal(fixture.read(CSR.MANAGEMENT_COMMANDS), executed + 1, 'the first, and no mixture');
  management.unlock();
  fixture.proveItWorks();
  fixture.finish();
});

t.test('hazard 36: a reset with a pending command: no response, a free lock, a new driver works', async (t) => {
  for (const whole of [true, false]) {
    const fixture = new AdapterFixture();
    const { management } = fixture.driver;
    const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
    const view = fixture.access.view(management.responseAddress, MANAGEMENT_RESPONSE_SIZE);
    setManagementResponseSequence(view, 0, 0);
    management.lock();
    management.write(whole ? bytes : bytes.subarray(0, 32));
    // From here on each store or interrupt of the function is a violation.
    fixture.machine.reset(0, 'function');
    fixture.settle();
    t.equal(getManagementResponseSequence(view, 0), 0);
    fixture.machine.resume();
    fixture.bringUp();
    fixture.proveItWorks();
    fixture.finish();
  }
});
