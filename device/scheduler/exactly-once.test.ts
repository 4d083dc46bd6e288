// SPDX-License-Identifier: Apache-2.0
/**
 * Each command executes once and in order, although copies and doorbells for it arrive repeatedly,
 * early and late (docs/DOCUMENTS.md decision 6; docs/HAZARDS.md, hazards 9 to 12).
 */
import t from 'tap';
import { DOORBELL_QPN_SHIFT } from '../../protocol/layout/gen/doorbell.gen.ts';
import { setQueuePairRecordSendTail } from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import {
  getSendQueueDescriptorDestroyed,
  getSendQueueDescriptorNextSequence,
  getSendQueueDescriptorNextState,
} from '../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { CompletionStatus, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import { Bench } from '../test-support/adapter-fixture.ts';
import { NOP, Shooter } from '../test-support/shooter.ts';

t.test('repeated, early and stale copies and doorbells execute each command once, through the wrap', async (t) => {
  const seed = 21;
  const bench = new Bench({ seed });
  const shooters = [new Shooter(bench), new Shooter(bench)];
  const goal = 66_500;
  bench.machine.onStep = () => {};
  let rounds = 0;
  while (shooters.some(({ posted }) => posted < goal)) {
    for (const shooter of shooters) if (shooter.room > 0) shooter.shoot();
    bench.machine.step();
    if (++rounds % 64 === 0) bench.checkInvariants();
    for (const shooter of shooters) {
      if (shooter.room === 0) shooter.qp.ring();
      const wrong = shooter.reap();
      if (wrong !== undefined) throw new Error(`${wrong}; seed ${seed}, round ${rounds}`);
    }
  }
  for (const shooter of shooters) shooter.qp.ring();
  bench.settle();
  for (const shooter of shooters) {
    t.equal(shooter.reap(), undefined, `seed ${seed}`);
    t.equal(shooter.completed, shooter.posted, `seed ${seed}: every command completed`);
  }
  t.ok(bench.read(CSR.COMMANDS_STALE) > 1000, 'stale copies arrived');
  t.ok(bench.read(CSR.DOORBELLS_IMPLICIT) > 1000, 'early copies arrived');
  t.equal(
    bench.read(CSR.COMMANDS_FETCHED) + bench.read(CSR.COMMANDS_COLLECTED),
    shooters[0].posted + shooters[1].posted,
  );
  bench.finish();
});

t.test('one doorbell covers all commands up to the tail', async (t) => {
  const bench = new Bench();
  const qp = bench.createQueuePair({ sendEntriesLog2: 4 });
  for (let count = 0; count < 16; count++) qp.post(NOP, 'slot');
  bench.settle();
  t.notOk(qp.parts.sendCq.ready, 'the device does not poll');
  qp.ring(0);
  bench.settle();
  t.equal(qp.parts.sendCq.drain().length, 16);
  t.equal(bench.read(CSR.DOORBELLS_EXPLICIT), 1);
  bench.finish();
});

t.test('a doorbell for an empty queue or an unknown QP is only counted', async (t) => {
  const bench = new Bench();
  const qp = bench.createQueuePair();
  qp.ring(0);
  qp.ring(77, 'register');
  bench.settle();
  t.notOk(qp.parts.sendCq.ready);
  t.ok(bench.read(CSR.DOORBELLS_IDLE) >= 1, 'two doorbells may merge');
  for (const qpn of [0, 1, 0xffffff])
    bench.access.writeRegister(CSR.SEND_DOORBELL, 8, (qpn << DOORBELL_QPN_SHIFT) >>> 0, 0);
  t.equal(bench.faults(FaultKind.COMMAND_BAD_QP), 3);
  qp.post(NOP);
  t.equal(qp.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  bench.finish();
});

t.test('a tail further ahead than the length of the queue is reported, and nothing is executed', async (t) => {
  const bench = new Bench();
  const qp = bench.createQueuePair({ sendEntriesLog2: 4 });
  const record = bench.access.view(qp.parts.recordAddress, 16);
  setQueuePairRecordSendTail(record, 0, 100);
  qp.ring(99);
  bench.settle();
  t.notOk(qp.parts.sendCq.ready);
  t.equal(bench.faults(FaultKind.DOORBELL_BEYOND_TAIL), 1);
  setQueuePairRecordSendTail(record, 0, 0);
  qp.post(NOP, 'doorbell');
  t.equal(qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'a correct tail is accepted afterwards');
  bench.finish();
});

t.test('queue pairs take turns: a full queue does not delay a single command of another one', async (t) => {
  const bench = new Bench({ budget: 1 });
  const busy = bench.createQueuePair({
    sendEntriesLog2: 10,
    sendCq: bench.createCompletionQueue({ entriesLog2: 11 }),
  });
  const lone = bench.createQueuePair();
  for (let count = 0; count < 1000; count++) busy.post(NOP, 'slot');
  busy.ring();
  lone.post(NOP, 'doorbell');
  t.equal(lone.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  const before = busy.parts.sendCq.drain().length;
  t.ok(before < 200, `${before} commands went before it`);
  bench.settle();
  t.equal(before + busy.parts.sendCq.drain().length, 1000);
  bench.finish();
});

t.test('a stop doorbell removes the queue pair from the scheduler and shows it in the descriptor', async (t) => {
  const bench = new Bench();
  const qp = bench.createQueuePair();
  qp.post(NOP);
  qp.parts.sendCq.take();
  qp.stop();
  bench.settle();
  const descriptor = bench.access.view(qp.parts.descriptorAddress, 32);
  t.equal(getSendQueueDescriptorDestroyed(descriptor, 0), 1, 'destroyed');
  t.equal(getSendQueueDescriptorNextSequence(descriptor, 0), 1, 'next sequence');
  t.equal(getSendQueueDescriptorNextState(descriptor, 0), 0xff, 'not queued');
  qp.post(NOP, 'doorbell');
  bench.settle();
  t.notOk(qp.parts.sendCq.ready);
  qp.toReset();
  t.same(
    [
      getSendQueueDescriptorDestroyed(descriptor, 0),
      getSendQueueDescriptorNextSequence(descriptor, 0),
      descriptor.getUint32(0, true),
    ],
    [0, 0, 0xffffffff],
    'reset: not destroyed, sequence 0, not queued',
  );
  qp.start();
  qp.post(NOP, 'doorbell');
  t.equal(qp.parts.sendCq.take().queueSequence, 0, 'it works again');
  qp.destroy();
  bench.finish();
});
