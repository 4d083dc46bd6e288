// SPDX-License-Identifier: Apache-2.0
/**
 * Hazards 9 to 16 of docs/HAZARDS.md: doorbells, scheduler lists and the overflow buffer. Each is
 * provoked, and its outcome is defined.
 */
import t from 'tap';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { CSR, setCsrDoorbellPolicyLinkCheck } from '../../../protocol/layout/gen/registers.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  getSendQueueDescriptorDestroyed,
  getSendQueueDescriptorNextState,
  setSendQueueDescriptorNextQpn,
  setSendQueueDescriptorNextState,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { CompletionStatus, FaultKind, LinkCheck, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { BUFFER_ENTRIES, DoorbellFlood, stepUntil } from '../../rig/fixtures/doorbell-flood.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { AccessKind } from '../../rig/machine/access-log.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

const SPILLING = 1;
const SWEEPING = 2;
const STALLED = 4;
const HOUR_OF_MINUTES = 60;
const MINUTE_NS = 60_000_000_000;
const NOT_QUEUED = 0xff;

t.test('hazard 9: a command that arrives by collect buffer while its send queue is read executes once', async (t) => {
  // The copy may arrive at any moment of the fetch.
  for (let moment = 0; moment < 12; moment++) {
    const fixture = new AdapterFixture({ budget: 1 });
    const qp = fixture.createQueuePair();
    const copies = Array.from({ length: 3 }, () => qp.post(NOP, 'slot'));
    qp.ring(0);
    for (let step = 0; step < moment; step++) fixture.machine.step();
    for (const copy of copies) qp.collect(copy);
    fixture.settle();
    const completions = qp.parts.sendCq.drain();
    t.same(
      completions.map(({ queueSequence, status }) => [queueSequence, status]),
      [0, 1, 2].map((sequence) => [sequence, CompletionStatus.SUCCESS]),
      `after ${moment} steps`,
    );
    t.equal(fixture.read(CSR.COMMANDS_FETCHED) + fixture.read(CSR.COMMANDS_COLLECTED), 3);
    fixture.finish();
  }
});

t.test('hazard 10: doorbells that are stale, early, idle or for a foreign or reset QP are only counted', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const wide = fixture.createQueuePair({ state: 'reset' });
  for (let count = 0; count < 5; count++) {
    qp.post(NOP, 'doorbell');
    qp.parts.sendCq.take();
  }
  t.equal(fixture.read(CSR.DOORBELLS_STALE), 0);
  qp.ring(0);
  t.equal(fixture.read(CSR.DOORBELLS_STALE), 1, 'old');
  const idle = fixture.read(CSR.DOORBELLS_IDLE);
  for (const sequence of [5, 6, 0x7fff]) qp.ring(sequence);
  fixture.settle();
  t.equal(fixture.read(CSR.DOORBELLS_STALE), 1, 'early doorbells are not stale');
  t.equal(fixture.read(CSR.DOORBELLS_IDLE) - idle, 1, 'the three merged: the queue was read once');
  wide.ring(0);
  fixture.access.writeRegister(CSR.SEND_DOORBELL, 8, 0xffffff00, 0);
  t.equal(fixture.faults(FaultKind.COMMAND_BAD_QP), 2, 'a reset QP, a QP that does not exist');
  t.notOk(qp.parts.sendCq.ready);
  qp.post(NOP, 'doorbell');
  t.equal(qp.parts.sendCq.take().queueSequence, 5);
  fixture.finish();
});

t.test(
  'hazard 10: staleness follows the 16-bit sequence through its wrap; a foreign function has no effect',
  async (t) => {
    const fixture = new AdapterFixture({ functionCount: 2 });
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 9 });
    const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 8 });
    fixture.machine.onStep = () => {};
    /** Executes commands until the next one is `sequence`. */
    const advance = (sequence: number): void => {
      while (qp.sendTail !== sequence) {
        const count = Math.min(256, (sequence - qp.sendTail) & SEND_COMMAND_SEQUENCE_MASK);
        for (let posted = 0; posted < count; posted++) qp.post(NOP, 'slot');
        qp.ring();
        fixture.settle();
        t.equal(sendCq.drain().length, count);
      }
    };
    const other = new InProcessAccess(fixture.machine, 1);
    new Driver(other).bringUp();
    for (const next of [0xfffe, 2]) {
      advance(next);
      for (const [offset, old] of [
        [-1, 1],
        [-4, 1],
        [-0x8000, 1],
        [0, 0],
        [3, 0],
        [0x7fff, 0],
      ]) {
        const before = fixture.read(CSR.DOORBELLS_STALE);
        qp.ring((next + offset) & SEND_COMMAND_SEQUENCE_MASK);
        fixture.settle();
        t.equal(
          fixture.read(CSR.DOORBELLS_STALE) - before,
          old,
          `next ${next}, doorbell for ${(next + offset) & SEND_COMMAND_SEQUENCE_MASK}`,
        );
      }
      qp.post(NOP, 'slot');
      other.writeRegister(CSR.SEND_DOORBELL, 8, (qp.qpn << DOORBELL_QPN_SHIFT) >>> 0, next);
      fixture.settle();
      t.notOk(sendCq.ready, 'a doorbell of another function for a posted command');
      qp.ring();
      t.equal(sendCq.take().queueSequence, next);
    }
    t.equal(other.readRegister(CSR.FAULT_COUNT + FaultKind.COMMAND_BAD_QP * 4, 4), 2, 'counted against the other one');
    t.same(fixture.allFaults(), {});
    fixture.finish();
  },
);

t.test('hazard 11: a tail that is visible before its WQE is detected, and the WQE is not executed', async (t) => {
  for (const [written, fault] of [
    [0, FaultKind.COMMAND_SEQUENCE],
    [8, FaultKind.COMMAND_CHECKSUM],
    [16, FaultKind.COMMAND_CHECKSUM],
  ] as const) {
    const fixture = new AdapterFixture();
    const qp = fixture.createQueuePair({ sendEntriesLog2: 2 });
    const message = (tag: number) => ({ header: { ...NOP.header, workRequestLow: tag, immediate: tag } });
    for (let count = 0; count < 4; count++) {
      qp.post(message(count), 'doorbell');
      qp.parts.sendCq.take();
    }
    // The slot begins with bytes of the new command; the rest is left over from the previous lap.
    const slot = qp.parts.sendBuffer.slot(4);
    const left = new Uint8Array(slot.buffer, slot.byteOffset, 64).slice();
    qp.fill(message(0x77777777));
    new Uint8Array(slot.buffer, slot.byteOffset, 64).set(left.subarray(written), written);
    qp.advanceSendTail();
    qp.ring();
    const cqe = qp.parts.sendCq.take();
    t.not(cqe.status, CompletionStatus.SUCCESS);
    t.equal(cqe.vendorError, fault, `${written} bytes written`);
    t.equal(cqe.queueSequence, 4);
    fixture.finish();
  }
});

t.test('hazard 12: a collect copy does not overtake commands queued while its QP is in a scheduler list', async (t) => {
  // Beside another function each queue is linked.
  const fixture = new AdapterFixture({ functionCount: 2, budget: 1 });
  const qp = fixture.createQueuePair();
  for (let count = 0; count < 6; count++) qp.post(NOP, 'slot');
  qp.ring(0);
  stepUntil(fixture, () => fixture.read(CSR.QUEUES_LINKED) === 1, 'the link');
  qp.post(NOP, 'collect');
  t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT), 1, 'the early copy became a doorbell');
  fixture.settle();
  t.same(
    qp.parts.sendCq.drain().map(({ queueSequence }) => queueSequence),
    [0, 1, 2, 3, 4, 5, 6],
  );
  fixture.finish();
});

for (const policy of [OverflowPolicy.NEWEST, OverflowPolicy.MOST_SPILLED]) {
  for (const linkCheck of [LinkCheck.READ, LinkCheck.COMPARE_SWAP]) {
    t.test(
      `hazard 13: a full scheduler buffer spills in order and drains (policy ${policy}, check ${linkCheck})`,
      async (t) => {
        const flood = new DoorbellFlood({ seed: 13, policy, linkCheck, ringLog2: 4, budget: 3 });
        for (let round = 0; round < 40; round++) {
          flood.burst();
          for (let step = flood.fixture.random.below(60); step > 0; step--) flood.fixture.machine.step();
          if (flood.fixture.random.oneIn(2)) t.equal(flood.findWrong(), undefined, `seed 13, round ${round}`);
          else flood.fixture.settle();
        }
        t.equal(flood.findWrong(), undefined, 'seed 13');
        t.ok(flood.read(CSR.OVERFLOW_WRITTEN) > 16, 'the ring went round');
        t.equal(flood.read(CSR.OVERFLOW_READ), flood.read(CSR.OVERFLOW_WRITTEN));
        t.equal(flood.read(CSR.DOORBELLS_SPILLED), flood.read(CSR.DOORBELLS_DRAINED));
        t.equal(flood.read(CSR.OVERFLOW_STATUS), 0);
        t.same(flood.fixture.allFaults(), {});
        flood.fixture.finish();
      },
    );
  }
}

for (const [what, ringLog2] of [
  ['no overflow buffer', 0],
  ['the shortest overflow buffer', 3],
] as const) {
  t.test(`hazard 13: with ${what} doorbells are dropped, and a sweep finds their commands`, async (t) => {
    const flood = new DoorbellFlood({ seed: 5, queuePairs: 40, ringLog2 });
    flood.burst();
    flood.fixture.machine.step();
    t.ok(flood.read(CSR.DOORBELLS_LOST) > 0, 'some were dropped');
    t.equal(flood.findWrong(), undefined);
    t.ok(flood.read(CSR.SWEEPS) > 0);
    t.equal(flood.read(CSR.OVERFLOW_STATUS) & SWEEPING, 0);
    t.same(flood.fixture.allFaults(), {});
    flood.fixture.finish();
  });
}

t.test('hazard 13: the longest overflow buffer', async (t) => {
  const flood = new DoorbellFlood({ queuePairs: 30, ringLog2: 20, memoryBytes: 32 * 1024 * 1024 });
  for (let round = 0; round < 4; round++) {
    flood.burst();
    t.equal(flood.findWrong(), undefined);
  }
  t.ok(flood.read(CSR.DOORBELLS_SPILLED) > 0);
  t.equal(flood.read(CSR.DOORBELLS_LOST), 0);
  flood.fixture.finish();
});

t.test('hazard 13: commands whose doorbells the bus cannot hold are found by a sweep', async (t) => {
  const queuePairs = BUFFER_ENTRIES * 5;
  const flood = new DoorbellFlood({ queuePairs, policy: OverflowPolicy.OFF });
  flood.burst();
  t.ok(flood.read(CSR.DOORBELLS_LOST) > 0, 'dropped before the device ran');
  flood.fixture.settle();
  t.equal(flood.read(CSR.OVERFLOW_STATUS), STALLED | SWEEPING, 'without spilling the unit stays stalled');
  flood.fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, OverflowPolicy.NEWEST, 0);
  t.equal(flood.findWrong(), undefined, 'it continues as soon as spilling is allowed');
  flood.fixture.finish();
});

/** The same seeded load under a policy. */
function provokeDeadlock(policy: OverflowPolicy): DoorbellFlood {
  const flood = new DoorbellFlood({ seed: 14, policy });
  flood.burst();
  flood.fixture.settle();
  return flood;
}

t.test('hazard 14: without overflow, completions behind doorbells deadlock permanently', async (t) => {
  const flood = provokeDeadlock(OverflowPolicy.OFF);
  const { machine } = flood.fixture;
  for (let minute = 0; minute < HOUR_OF_MINUTES; minute++) {
    machine.clock.advance(MINUTE_NS);
    flood.fixture.settle();
    flood.burst();
  }
  t.equal(flood.reap(), undefined);
  t.equal(flood.total, 0, 'in an hour not one command was executed');
  t.equal(flood.read(CSR.OVERFLOW_STATUS), STALLED);
  t.equal(flood.read(CSR.DOORBELL_BUFFER_USED), BUFFER_ENTRIES);
  t.equal(flood.read(CSR.BUS_READS), BUFFER_ENTRIES, 'each entry waits for the completion of its read');
  t.equal(flood.read(CSR.DEADLOCKS_DETECTED), 1);
  t.equal(flood.read(CSR.DOORBELLS_SPILLED), 0);
});

for (const policy of [OverflowPolicy.NEWEST, OverflowPolicy.MOST_SPILLED]) {
  t.test(`hazard 14: with overflow the same seed drains, every command once (policy ${policy})`, async (t) => {
    const flood = provokeDeadlock(policy);
    t.equal(flood.findWrong(), undefined);
    t.ok(flood.total >= flood.qps.length);
    t.ok(flood.read(CSR.DOORBELLS_SPILLED) > 0);
    t.equal(flood.read(CSR.DOORBELLS_DRAINED), flood.read(CSR.DOORBELLS_SPILLED));
    t.ok(flood.read(CSR.DEADLOCKS_DETECTED) > 0);
    t.equal(flood.read(CSR.OVERFLOW_STATUS), 0);
    flood.fixture.finish();
  });
}

t.test('hazard 14: reads at their limit with no dedicated buffer free are a potential deadlock too', async (t) => {
  const adapter = { doorbellEntries: 64, busReads: 1, schedulerBufferCount: 1 };
  const flood = new DoorbellFlood({ adapter, queuePairs: 6, budget: 1 });
  flood.fixture.settle();
  const { schedulerBuffers } = flood.fixture.machine.device;
  // A command that waits in the pipeline holds the only dedicated buffer.
  const held = schedulerBuffers.bind(0, 0, -1);
  if (held === undefined) throw new Error('no buffer is free');
  flood.burst();
  stepUntil(flood.fixture, () => flood.read(CSR.OVERFLOW_STATUS) === SPILLING, 'spilling');
  t.ok(flood.read(CSR.DOORBELL_BUFFER_USED) <= 1, 'although the buffer is nearly empty');
  t.equal(flood.read(CSR.DEADLOCKS_DETECTED), 1);
  flood.fixture.settle();
  t.equal(flood.read(CSR.OVERFLOW_STATUS), 0, 'all are linked, and wait for a buffer');
  schedulerBuffers.release(held);
  t.equal(flood.findWrong(), undefined);
  flood.fixture.finish();
});

t.test(
  'hazard 15: a stop doorbell races a start doorbell: destroyed at once, the null link after the last read',
  async (t) => {
    for (let moment = 0; moment < 12; moment++) {
      const fixture = new AdapterFixture({ budget: 1 });
      const qp = fixture.createQueuePair();
      const descriptor = fixture.access.view(qp.parts.descriptorAddress, 32);
      for (let count = 0; count < 3; count++) qp.post(NOP, 'slot');
      qp.ring(0);
      for (let step = 0; step < moment; step++) fixture.machine.step();
      qp.stop();
      qp.ring(0);
      t.equal(getSendQueueDescriptorDestroyed(descriptor, 0), 1, 'destroyed is there at once');
      stepUntil(fixture, () => getSendQueueDescriptorNextState(descriptor, 0) === NOT_QUEUED, 'a null link');
      // Software reuses the memory now: the device may not access it.
      const bytes = new Uint8Array(descriptor.buffer, descriptor.byteOffset, descriptor.byteLength);
      bytes.fill(0x77);
      fixture.settle();
      qp.stop();
      qp.ring(1);
      fixture.settle();
      t.ok(
        bytes.every((byte) => byte === 0x77),
        `nothing is written after the null link, stop after ${moment} steps`,
      );
      qp.destroy();
      fixture.finish();
    }
  },
);

for (const linkCheck of [LinkCheck.READ, LinkCheck.COMPARE_SWAP]) {
  t.test(`hazard 16: a QP linked by two sources is in the list once (check ${linkCheck})`, async (t) => {
    const fixture = new AdapterFixture({ budget: 1 });
    fixture.access.writeRegister(
      CSR.DOORBELL_POLICY,
      4,
      setCsrDoorbellPolicyLinkCheck(OverflowPolicy.NEWEST, linkCheck),
      0,
    );
    const qp = fixture.createQueuePair();
    for (let count = 0; count < 4; count++) qp.post(NOP, 'slot');
    const adapter = fixture.machine.device;
    const { lists } = adapter.functions[0].doorbells;
    const held = adapter.schedulerBuffers.buffers.map(() => adapter.schedulerBuffers.bind(0, 0, -1));
    qp.ring(0);
    stepUntil(fixture, () => fixture.read(CSR.BUS_READS) === 1, 'the link check');
    const mark = fixture.host.log.count;
    // Another source links the QP while the link check of the doorbell is on the bus. Called
    // directly: during a management command the device would run on.
    adapter.scheduler.schedule(adapter.tables.queuePairs.get(qp.qpn) as QueuePair);
    fixture.settle();
    t.equal(fixture.read(CSR.LINK_CHECKS_FAILED), 1, 'the check found it linked');
    t.same([lists[0].head?.number, lists[0].head?.nextScheduled], [qp.qpn, undefined], 'once');
    const checks = fixture.host.log.since(mark).filter(({ address }) => address === qp.parts.descriptorAddress);
    const kind = linkCheck === LinkCheck.READ ? AccessKind.READ : AccessKind.SWAP;
    t.equal(checks.filter((access) => access.kind === kind).length, 1, 'the link check uses the selected access');
    t.equal(checks.filter((access) => access.kind === AccessKind.SWAP).length, linkCheck === LinkCheck.READ ? 0 : 1);
    for (const buffer of held) if (buffer !== undefined) adapter.schedulerBuffers.release(buffer);
    qp.ring(0);
    fixture.settle();
    t.same(
      qp.parts.sendCq.drain().map(({ queueSequence }) => queueSequence),
      [0, 1, 2, 3],
    );
    t.same(fixture.allFaults(), {});
    fixture.finish();
  });

  t.test(`hazard 16: a link that software wrote is detected and corrected (check ${linkCheck})`, async (t) => {
    const fixture = new AdapterFixture({ budget: 1 });
    fixture.access.writeRegister(
      CSR.DOORBELL_POLICY,
      4,
      setCsrDoorbellPolicyLinkCheck(OverflowPolicy.NEWEST, linkCheck),
      0,
    );
    const qp = fixture.createQueuePair();
    const other = fixture.createQueuePair();
    const descriptor = fixture.access.view(qp.parts.descriptorAddress, 32);
    fixture.settle();
    // The descriptor says that the QP is linked before another one.
    setSendQueueDescriptorNextQpn(descriptor, 0, other.qpn);
    setSendQueueDescriptorNextState(descriptor, 0, 0);
    qp.post(NOP, 'doorbell');
    t.equal(qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'its command is not lost');
    t.equal(fixture.faults(FaultKind.DESCRIPTOR_LINK), 1);
    fixture.settle();
    t.equal(descriptor.getUint32(0, true), 0xffffffff, 'not queued');
    other.post(NOP, 'doorbell');
    t.equal(other.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    fixture.finish();
  });
}
