// SPDX-License-Identifier: Apache-2.0
/** How the parts of an mlx5 device are joined: what one part tells, another one hears. */
import t from 'tap';
import { QpService, SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import { CompletionFixture } from '../../rig/mlx5/driver/completion-fixture.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';

t.test('reports and traces find the QPs, and traces hear of each that is ready', async (t) => {
  const fixture = new DataFixture();
  const { device } = fixture.driver;
  t.equal(device.personality, 'mlx5');
  t.equal(device.tables.queuePairs, device.queuePairs);
  device.queuePairs.onReady({} as QueuePair);
  const ready: { readonly number: number }[] = [];
  device.traces.onReady = (qp) => void ready.push(qp);
  const [a, b] = fixture.connect();
  t.same(
    ready.map(({ number }) => number),
    [a.number, b.number],
  );
});

t.test('packets find their QP, and datagrams of the port one that is special', async (t) => {
  const fixture = new DataFixture();
  const { number } = fixture.queuePair({ service: QpService.QP1 });
  t.equal(fixture.driver.device.units.special.get(0, 1)?.number, number);
  const [a, b] = fixture.connect();
  const memory = fixture.memory(64);
  b.postReceive(memory);
  a.post({ opcode: SendOpcode.SEND, pieces: [memory] });
  fixture.run();
  t.match(b.setup.cq.take(), [{ byteCount: 64 }]);
});

t.test('subnet managers hear when software describes the node anew', async (t) => {
  const { device } = new DataFixture().driver;
  const raised: unknown[] = [];
  device.mads.traps.raiseLocalChange = (...change) => void raised.push(change);
  const text = device.description.slice();
  device.hca.describe(text);
  t.same(raised, [], 'the same text');
  text[0] ^= 1;
  device.hca.describe(text);
  t.same(raised, [[1, true]]);
});

t.test('a pass ends with the events whose time has come', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create({ logCqSize: 3, cqMaxCount: 100, cqPeriod: 50 });
  cq.arm();
  fixture.post(cq, 1);
  t.same(fixture.takeEvents(), []);
  fixture.driver.machine.clock.advance(50_000);
  fixture.driver.machine.runUntilIdle();
  t.same(fixture.takeEvents(), [cq.number]);
});
