// SPDX-License-Identifier: Apache-2.0
/**
 * Each command executes once and in order, although copies and doorbells for it arrive repeatedly,
 * early and late (docs/DOCUMENTS.md decision 6; docs/HAZARDS.md, hazards 9 to 12).
 */
import t from 'tap';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { setQueuePairRecordSendTail } from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  getSendQueueDescriptorDestroyed,
  getSendQueueDescriptorNextSequence,
  getSendQueueDescriptorNextState,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { CompletionStatus, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { CommandPoster, NOP } from '../../rig/fixtures/command-poster.ts';

t.test('repeated, early and stale copies and doorbells execute each command once, through the wrap', async (t) => {
  const seed = 21;
  const fixture = new AdapterFixture({ seed });
  const posters = [new CommandPoster(fixture), new CommandPoster(fixture)];
  const goal = 66_500;
  fixture.machine.onStep = () => {};
  let rounds = 0;
  while (posters.some(({ posted }) => posted < goal)) {
    for (const poster of posters) if (poster.room > 0) poster.post();
    fixture.machine.step();
    if (++rounds % 64 === 0) fixture.checkInvariants();
    for (const poster of posters) {
      if (poster.room === 0) poster.qp.ring();
      const wrong = poster.reap();
      if (wrong !== undefined) throw new Error(`${wrong}; seed ${seed}, round ${rounds}`);
    }
  }
  for (const poster of posters) poster.qp.ring();
  fixture.settle();
  for (const poster of posters) {
    t.equal(poster.reap(), undefined, `seed ${seed}`);
    t.equal(poster.completed, poster.posted, `seed ${seed}: every command completed`);
  }
  t.ok(fixture.read(CSR.COMMANDS_STALE) > 1000, 'stale copies arrived');
  t.ok(fixture.read(CSR.DOORBELLS_IMPLICIT) > 1000, 'early copies arrived');
  t.equal(
    fixture.read(CSR.COMMANDS_FETCHED) + fixture.read(CSR.COMMANDS_COLLECTED),
    posters[0].posted + posters[1].posted,
  );
  fixture.finish();
});

t.test('one doorbell covers all commands up to the tail', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair({ sendEntriesLog2: 4 });
  for (let count = 0; count < 16; count++) qp.post(NOP, 'slot');
  fixture.settle();
  t.notOk(qp.parts.sendCq.ready, 'the device does not poll');
  qp.ring(0);
  fixture.settle();
  t.equal(qp.parts.sendCq.drain().length, 16);
  t.equal(fixture.read(CSR.DOORBELLS_EXPLICIT), 1);
  fixture.finish();
});

t.test('a doorbell for an empty queue or an unknown QP is only counted', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  qp.ring(0);
  qp.ring(77, 'register');
  fixture.settle();
  t.notOk(qp.parts.sendCq.ready);
  t.ok(fixture.read(CSR.DOORBELLS_IDLE) >= 1, 'two doorbells may merge');
  for (const qpn of [0, 1, 0xffffff])
    fixture.access.writeRegister(CSR.SEND_DOORBELL, 8, (qpn << DOORBELL_QPN_SHIFT) >>> 0, 0);
  t.equal(fixture.faults(FaultKind.COMMAND_BAD_QP), 3);
  qp.post(NOP);
  t.equal(qp.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('a tail further ahead than the length of the queue is reported, and nothing is executed', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair({ sendEntriesLog2: 4 });
  const record = fixture.access.view(qp.parts.recordAddress, 16);
  setQueuePairRecordSendTail(record, 0, 100);
  qp.ring(99);
  fixture.settle();
  t.notOk(qp.parts.sendCq.ready);
  t.equal(fixture.faults(FaultKind.DOORBELL_BEYOND_TAIL), 1);
  setQueuePairRecordSendTail(record, 0, 0);
  qp.post(NOP, 'doorbell');
  t.equal(qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'a correct tail is accepted afterwards');
  fixture.finish();
});

t.test('queue pairs take turns: a full queue does not delay a single command of another one', async (t) => {
  const fixture = new AdapterFixture({ budget: 1 });
  const busy = fixture.createQueuePair({
    sendEntriesLog2: 10,
    sendCq: fixture.createCompletionQueue({ entriesLog2: 11 }),
  });
  const lone = fixture.createQueuePair();
  for (let count = 0; count < 1000; count++) busy.post(NOP, 'slot');
  busy.ring();
  lone.post(NOP, 'doorbell');
  t.equal(lone.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  const before = busy.parts.sendCq.drain().length;
  t.ok(before < 200, `${before} commands went before it`);
  fixture.settle();
  t.equal(before + busy.parts.sendCq.drain().length, 1000);
  fixture.finish();
});

t.test('a stop doorbell removes the queue pair from the scheduler and shows it in the descriptor', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  qp.post(NOP);
  qp.parts.sendCq.take();
  qp.stop();
  fixture.settle();
  const descriptor = fixture.access.view(qp.parts.descriptorAddress, 32);
  t.equal(getSendQueueDescriptorDestroyed(descriptor, 0), 1, 'destroyed');
  t.equal(getSendQueueDescriptorNextSequence(descriptor, 0), 1, 'next sequence');
  t.equal(getSendQueueDescriptorNextState(descriptor, 0), 0xff, 'not queued');
  qp.post(NOP, 'doorbell');
  fixture.settle();
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
  fixture.finish();
});
