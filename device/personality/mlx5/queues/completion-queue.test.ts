// SPDX-License-Identifier: Apache-2.0
/**
 * A CQ by itself: what it takes no more, and when it is moderated. completions.test.ts and
 * completion-events.test.ts show it at work.
 */
import t from 'tap';
import { QueueStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { CompletionFixture } from '../../../rig/mlx5/driver/completion-fixture.ts';

t.test('a queue in error takes no entry, whatever room it has', async (t) => {
  for (const status of [QueueStatus.OVERFLOW, QueueStatus.WRITE_FAILURE]) {
    const fixture = new CompletionFixture();
    const cq = fixture.create();
    t.ok(fixture.post(cq, 1));
    const queue = fixture.deviceQueue(cq);
    queue.context.status = status;
    t.notOk(fixture.post(cq, 2));
    t.equal(queue.producerCount, 1);
    t.equal(cq.take().length, 1);
  }
});

t.test('a queue keeps times when it has both a period and a count', async (t) => {
  const fixture = new CompletionFixture();
  const queue = fixture.deviceQueue(fixture.create());
  for (const [periodUs, count, isModerated] of [
    [0, 0, false],
    [0, 4, false],
    [50, 0, false],
    [50, 4, true],
    [1, 1, true],
  ] as const) {
    queue.moderate(periodUs, count);
    t.equal(queue.completionTimes !== undefined, isModerated, `${periodUs} us, ${count} entries`);
    t.match(queue.context, { cqPeriod: periodUs, cqMaxCount: count });
  }
});
