// SPDX-License-Identifier: Apache-2.0
/**
 * A snapshot shows all QPs and the timeline at one moment, however late its client reads the parts
 * (IPCOM000010133D par. 1: times relate events of different QPs).
 */
import t from 'tap';
import { decodeMessages } from '../../hca/trace/traced-message.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { TraceObserver } from './trace-observer.ts';
import { type SnapshotPart, TraceSnapshot } from './trace-snapshot.ts';

t.test('what happens while the parts are read is in none of them', async (t) => {
  const fixture = new AdapterFixture();
  const { clock, device } = fixture.machine;
  const observer = new TraceObserver(device, () => clock.now());
  const qps = [0, 1, 2].map(() => fixture.createQueuePair());
  const observe = (qpn: number): void => {
    const qp = device.tables.queuePairs.get(qpn);
    if (qp !== undefined) observer.observe(qp, { blocksLog2: 1, snapLength: 0, stopOnError: false });
  };
  for (const { qpn } of qps) observe(qpn);
  observer.startTimeline(4);
  const post = (): void => {
    for (const qp of qps) {
      clock.advance(10);
      qp.post(NOP);
      fixture.settle();
      qp.parts.sendCq.drain();
    }
  };
  post();
  post();
  const { messages, steps } = observer.read('hca', 0);
  const snapshot = new TraceSnapshot([{ name: 'hca', observer }], 0, clock.now());
  const parts: SnapshotPart[] = [];
  for (let number = 0; number < snapshot.head.parts; number++) {
    // Rings and timeline wrap between two parts; later even a QP and its trace are gone.
    post();
    post();
    parts.push(snapshot.getPart(number));
    if (number > 0) continue;
    const [first] = qps.splice(0, 1);
    first?.destroy();
    observer.drop(first?.qpn ?? 0);
  }
  const read = parts.flatMap(({ blocks, count }) =>
    blocks === undefined ? [] : decodeMessages(Buffer.from(blocks, 'base64'), count),
  );
  t.equal(messages.length, 6);
  t.same(read, messages);
  t.same(
    parts.flatMap((part) => part.steps ?? []),
    steps,
  );
  t.notSame(observer.read('hca', 0).messages, messages, 'they have changed meanwhile');
  t.throws(() => snapshot.getPart(snapshot.head.parts), { message: /^part must be a whole number below \d+$/ });
});
