// SPDX-License-Identifier: Apache-2.0
/**
 * The flush of a long receive queue takes turns (IBTA 10.3.1): a queue pair in ERR, whose software
 * may post without end, stops neither the adapter nor others, and every WQE is completed once.
 */
import t from 'tap';
import { CompletionStatus } from '../../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';

/** Most WQEs that are completed in a pass with a budget of 64. */
const MOST = 3 * 64;

t.test('a long receive queue is flushed over passes, in order', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 16 * 2 ** 20 });
  const cq = fixture.createCompletionQueue({ entriesLog2: 13 });
  const qps = [0, 1, 2].map(() => fixture.createQueuePair({ sendCq: cq, receiveEntriesLog2: 11, strideLog2: 6 }));
  for (const qp of qps) for (let count = 0; count < 2000; count++) qp.postReceive([]);
  const device = fixture.machine.device.tables.completionQueues.get(cq.cqn);
  if (device === undefined) throw new Error('there is no CQ');
  let [longest, before] = [0, device.producerCount];
  fixture.machine.onStep = () => {
    longest = Math.max(longest, device.producerCount - before);
    before = device.producerCount;
  };
  for (const qp of qps) qp.toError();
  fixture.settle();
  t.ok(longest <= MOST, `${longest} in a pass`);
  const entries = cq.drain();
  t.equal(entries.length, 6000);
  t.ok(entries.every(({ status }) => status === CompletionStatus.FLUSHED));
  for (const { qpn } of qps) {
    const own = entries.filter((entry) => entry.qpn === qpn).map(({ queueSequence }) => queueSequence);
    t.same(
      own,
      Array.from({ length: 2000 }, (_, index) => index),
    );
  }
  fixture.finish();
});

t.test('software that posts as fast as WQEs are flushed does not hold the adapter', async (t) => {
  const fixture = new AdapterFixture();
  const cq = fixture.createCompletionQueue({ entriesLog2: 12 });
  const qp = fixture.createQueuePair({ sendCq: cq, receiveEntriesLog2: 4 });
  const other = fixture.createPair();
  const device = fixture.machine.device.tables.queuePairs.get(qp.qpn);
  const { receiveSource } = device as NonNullable<typeof device>;
  // Another processor of the guest posts whenever the adapter looks for WQEs.
  let offered = 0;
  const available = receiveSource.available.bind(receiveSource);
  receiveSource.available = (owner, subject) => {
    if (receiveSource.known === 0 && offered < 3000) {
      offered++;
      qp.postReceive([]);
    }
    if (offered > 2000) throw new Error('the flush does not end');
    return available(owner, subject);
  };
  qp.toError();
  other.sender.post(other.to());
  other.sender.parts.sendCq.take('the completion of another queue pair');
  t.ok(offered < 1000, `${offered} WQEs were flushed meanwhile`);
});

for (const leave of ['reset', 'destroy'] as const)
  t.test(`a queue pair that leaves by ${leave} in the middle of its flush is flushed no further`, async (t) => {
    const fixture = new AdapterFixture({ budget: 1 });
    const cq = fixture.createCompletionQueue({ entriesLog2: 12 });
    const qp = fixture.createQueuePair({ sendCq: cq, receiveEntriesLog2: 11, strideLog2: 6 });
    for (let count = 0; count < 2000; count++) qp.postReceive([]);
    qp.toError();
    if (leave === 'reset') qp.toReset();
    else qp.destroy();
    const flushed = cq.drain().length;
    t.ok(flushed > 0 && flushed < 2000, `${flushed} are flushed`);
    fixture.settle();
    t.equal(cq.drain().length, 0);
    fixture.finish();
  });
