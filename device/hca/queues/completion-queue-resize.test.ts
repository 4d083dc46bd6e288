// SPDX-License-Identifier: Apache-2.0
/**
 * Resizing a completion queue with unread CQEs: none is lost, doubled or out of order, and running
 * numbers go on (IBTA 11.2.5.3).
 */
import t from 'tap';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { ManagementOpcode, ManagementStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { startCompletionsAt } from '../../rig/fixtures/running-counts.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };

t.test('unread CQEs move to a larger and to a smaller ring, contiguous and in pages', async (t) => {
  ledger(t, '11.2', 'Resizing a completion queue keeps the completions that are in it');
  for (const paged of [false, true]) {
    const fixture = new AdapterFixture();
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 4, paged });
    const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 8 });
    const expected: number[] = [];
    const taken: number[] = [];
    let posted = 0;
    const post = (count: number): void => {
      for (let index = 0; index < count; index++) {
        qp.post(NOP);
        expected.push(posted++ & SEND_COMMAND_SEQUENCE_MASK);
      }
      fixture.settle();
    };
    const take = (count: number): void => {
      for (let index = 0; index < count; index++) taken.push(sendCq.take().queueSequence);
    };
    post(13);
    take(9);
    post(10);
    for (const entriesLog2 of [8, 4, 5, 7]) {
      t.equal(fixture.driver.resizeCompletionQueue(sendCq, entriesLog2).status, ManagementStatus.OK);
      post(2);
      take(3);
      post(1);
    }
    t.equal(fixture.driver.resizeCompletionQueue(sendCq, 7).status, ManagementStatus.OK);
    post(100);
    take(expected.length - taken.length);
    t.same(taken, expected);
    fixture.finish();
  }
});

t.test('a ring too small for the unread CQEs, or for an overrun queue, is refused; nothing changes', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 4 });
  const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 6 });
  for (let count = 0; count < 9; count++) qp.post(NOP);
  fixture.settle();
  const refused = fixture.driver.resizeCompletionQueue(sendCq, 3);
  t.equal(refused.status, ManagementStatus.BAD_FIELD);
  t.equal(refused.limit, 9, 'the entries that need room');
  t.equal(sendCq.drain().length, 9);
  t.equal(fixture.driver.resizeCompletionQueue(sendCq, 3).status, ManagementStatus.OK);
  for (let count = 0; count < 9; count++) qp.post(NOP);
  fixture.settle();
  t.equal(fixture.driver.resizeCompletionQueue(sendCq, 5).status, ManagementStatus.BAD_STATE);
  t.equal(sendCq.drain().length, 8, 'the CQEs from before the overrun');
  fixture.finish();
});

t.test('random posting, taking and resizing lose, double and reorder no CQE', async (t) => {
  for (const seed of [1, 2, 3, 4]) {
    const fixture = new AdapterFixture({ seed, budget: 4 });
    const { random } = fixture;
    let entriesLog2 = 4;
    const sendCq = fixture.createCompletionQueue({ entriesLog2 });
    const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 6 });
    let [posted, taken, resized] = [0, 0, 0];
    while (taken < 2000) {
      const choice = random.below(16);
      if (choice < 7 && posted - taken < Math.min(2 ** entriesLog2, 60) && posted < 2000) {
        qp.post(NOP);
        posted++;
      } else if (choice < 14) {
        fixture.machine.step();
        const entry = sendCq.poll();
        if (entry !== undefined && entry.queueSequence !== (taken++ & SEND_COMMAND_SEQUENCE_MASK))
          t.fail(`${entry.queueSequence} is not the next; seed ${seed}`);
      } else if (choice === 14) {
        const next = 1 + random.below(8);
        // Software must leave room for commands in flight as well.
        if (posted - taken > 2 ** next) continue;
        t.equal(fixture.driver.resizeCompletionQueue(sendCq, next).status, ManagementStatus.OK, `seed ${seed}`);
        entriesLog2 = next;
        resized++;
      }
    }
    t.ok(resized > 50);
    fixture.finish();
  }
});

t.test('running numbers wrap at 32 bits before, between and after resizes', async (t) => {
  // The first sequence number after the wrap, and the number of CQEs still to come when the ring is
  // replaced: none of its empty slots may look like that CQE.
  for (const start of [2 ** 32 - 20, 2 ** 32 - 33, 2 ** 32 - 1])
    for (const sizes of [[4, 7, 5, 6], [7, 4], [5]]) {
      const fixture = new AdapterFixture();
      const sendCq = fixture.createCompletionQueue({ entriesLog2: 4 });
      const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 8 });
      startCompletionsAt(fixture, sendCq, start);
      const taken: number[] = [];
      const take = (): void => {
        for (const { queueSequence } of sendCq.drain()) taken.push(queueSequence);
      };
      let posted = 0;
      for (const entriesLog2 of sizes) {
        const { status } = fixture.driver.resizeCompletionQueue(sendCq, entriesLog2);
        t.equal(status, ManagementStatus.OK);
        take();
        t.equal(taken.length, posted, 'nothing is there that was not posted');
        for (let count = 0; count < 11; count++, posted++) qp.post(NOP);
        fixture.settle();
        // Some stay unread across the next resize.
        for (let count = 0; count < 7; count++) taken.push(sendCq.take().queueSequence);
        t.equal(fixture.driver.resizeCompletionQueue(sendCq, entriesLog2 + 1).status, ManagementStatus.OK);
        take();
      }
      for (let count = 0; count < 40; count++, posted++) {
        qp.post(NOP);
        fixture.settle();
        take();
      }
      t.same(
        taken,
        Array.from({ length: posted }, (_, number) => number),
        `from ${start}, sizes ${sizes}`,
      );
      fixture.finish();
    }
});

t.test('a resize shortly before the wrap leaves every unread CQE as it was, and no other', async (t) => {
  const fixture = new AdapterFixture();
  for (const unread of [0, 1, 5, 10, 15, 16])
    for (let left = 0; left <= 18; left++) {
      const sendCq = fixture.createCompletionQueue({ entriesLog2: 5, eventQueue: fixture.driver.createEventQueue() });
      const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 6, receiveEntriesLog2: 1 });
      startCompletionsAt(fixture, sendCq, 2 ** 32 - 1 - left - unread);
      const what = `${unread} unread, ${left} before the wrap`;
      for (let count = 0; count < unread; count++) qp.post(NOP);
      fixture.settle();
      t.equal(fixture.driver.resizeCompletionQueue(sendCq, 4).status, ManagementStatus.OK, what);
      const taken = sendCq.drain();
      for (let count = 0; count < 20; count++) {
        qp.post(NOP);
        fixture.settle();
        taken.push(...sendCq.drain());
      }
      t.same(
        taken.map(({ queueSequence }) => queueSequence),
        Array.from({ length: unread + 20 }, (_, number) => number),
        what,
      );
      qp.destroy();
      fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: sendCq.cqn });
    }
  fixture.finish();
});
