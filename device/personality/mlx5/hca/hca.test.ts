// SPDX-License-Identifier: Apache-2.0
/** Objects of a function: what those that go give back, and what is told of them afterwards. */
import t from 'tap';
import { CommandOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { DataFixture } from '../../../rig/mlx5/driver/data-fixture.ts';

t.test('objects that go give back what they used, and their completions are still counted', async (t) => {
  const fixture = new DataFixture();
  const { hca } = fixture.driver.device;
  const users = () => [
    ...[hca.uars.usersOf(fixture.uar), hca.domains.usersOf(fixture.pd)],
    ...[hca.events.get(fixture.completions.number)?.users, hca.retired.completions],
  ];
  const [uars, domains, events] = users();
  const qp = fixture.queuePair();
  const { cq } = qp.setup;
  t.same(users(), [Number(uars) + 2, Number(domains) + 1, Number(events) + 1, 0]);
  const queue = hca.completionQueues.get(cq.number);
  for (let entry = 0; entry < 3; entry++) {
    queue?.begin();
    queue?.post(false);
  }
  qp.command(CommandOpcode.DESTROY_QP);
  t.same(users(), [Number(uars) + 1, domains, Number(events) + 1, 0]);
  fixture.driver.expect(CommandOpcode.DESTROY_CQ, { fill: (view) => view.setUint32(8, cq.number) });
  t.same(users(), [uars, domains, events, 3]);
  fixture.queuePair();
  hca.close();
  t.same([hca.objectCounts.qps, hca.objectCounts.cqs, hca.retired.completions], [0, 0, 3]);
});
