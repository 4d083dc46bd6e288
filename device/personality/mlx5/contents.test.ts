// SPDX-License-Identifier: Apache-2.0
/** Rows of `vuhca show` for the objects of an mlx5 device. */
import t from 'tap';
import { CommandOpcode, QpService, ReceiveQueueType, SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { Mlx5DriverSharedQueue } from '../../rig/mlx5/driver/shared-queue.ts';
import { SharedForm } from './queues/shared-receive-queue.ts';

t.test('each object is told with what it has, and nothing of what it has not', async (t) => {
  const fixture = new DataFixture();
  const { views } = fixture.driver.device;
  const memory = fixture.memory(64);
  const cq = fixture.completionQueue(3);
  const [srq, idle] = [1, 2].map(
    () => new Mlx5DriverSharedQueue(fixture.driver, { form: SharedForm.PLAIN, pd: fixture.pd }),
  );
  const xrcd = fixture.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  const shared = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: srq.number };
  const [a, b] = fixture.connect(QpService.RC, { cq }, { context: shared });
  const local = fixture.queuePair({ service: QpService.UMR, pd: 0, cq, context: { rqType: 3 } });
  const target = fixture.queuePair({ service: QpService.XRC, cq, context: { noSq: 1, xrcd, rqType: 1 } });
  for (let count = 0; count < 3; count++) srq.post(memory);
  srq.arm(1);
  a.post({ opcode: SendOpcode.SEND, pieces: [memory] }, { opcode: SendOpcode.SEND, inline: new Uint8Array(60) });
  fixture.run();
  a.command(CommandOpcode.QP_2ERR);
  const waiting = fixture.queuePair({ cq });
  waiting.post({ opcode: SendOpcode.NOP });
  fixture.run();
  const rows = views.queues?.() ?? [];
  const rowOf = (queue: string, number: number) => rows.find((row) => row.queue === queue && row.number === number);
  const owned = { function: 0, queue: 'QP' };
  const none = { sendCq: null, receiveCq: null, srq: null, entries: null, unread: null };
  t.match(rowOf('QP', a.number), {
    ...{ ...owned, state: 'ERR', service: 'RC', entries: 16, next: 2, inFlight: 0, unread: 0 },
    ...{ sendCq: cq.number, receiveCq: cq.number, srq: null },
  });
  t.match(rowOf('QP', b.number), { ...owned, state: 'RTS', srq: srq.number, next: 0 });
  t.match(rowOf('QP', local.number), { ...owned, service: 'UMR', sendCq: cq.number });
  t.match(rowOf('QP', target.number), { ...owned, ...none });
  t.match(rowOf('CQ', cq.number), { state: 'FIRED', entries: 8, next: 2, unread: 2, service: null });
  t.match(rowOf('SRQ', srq.number), { entries: 8, next: 2, unread: 1 });
  t.equal(rowOf('SRQ', srq.number)?.state, 'ARMED');
  t.match(rowOf('QP', waiting.number), { state: 'RESET', unread: 1 });
  t.match(rowOf('SRQ', idle.number), { state: 'UNARMED', next: 0, unread: 0 });
  const events = views.events?.() ?? [];
  t.same(
    events.map(({ eq }) => eq),
    [fixture.events.number, fixture.completions.number],
  );
  t.match(events[1], { vector: 1, entries: 256, posted: 0, unread: 0, state: 'FIRED', function: 0 });
  const numbers = rows.filter(({ queue }) => queue === 'QP').map(({ number }) => number as number);
  t.same(
    numbers,
    [...numbers].sort((first, second) => first - second),
    'in the order of their numbers',
  );
});

t.test('a queue in error tells why, and entries that software has taken are not unread', async (t) => {
  const fixture = new DataFixture();
  const { views, hca } = fixture.driver.device;
  const cq = fixture.completionQueue(1);
  const queue = hca.completionQueues.get(cq.number);
  const row = () => views.queues?.().find((each) => each.queue === 'CQ' && each.number === cq.number);
  const post = () => {
    queue?.begin();
    queue?.post(false);
  };
  for (let count = 0; count < 2; count++) post();
  t.match(row(), { next: 2, unread: 2 });
  cq.take();
  cq.tell();
  for (let count = 0; count < 2; count++) post();
  t.match(row(), { next: 4, unread: 2, state: 'FIRED' });
  post();
  t.match(row(), { next: 4, state: 'OVERFLOW' });
});
