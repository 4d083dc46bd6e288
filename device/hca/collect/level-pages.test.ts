// SPDX-License-Identifier: Apache-2.0
/**
 * How software chooses a VCB (US 8,484,392 par. 92-94; US 9,069,485 par. 63): one of the QoS level
 * of its queue pair, from those that its operating system has free, or a doorbell in its place.
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CollectPagePool } from '../../rig/driver/collect-page-pool.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';

const LEVEL_ONE_PAGES = 4;

t.test('a process gets a VCB of its QoS level, and by it a PCB of that level', async (t) => {
  const fixture = new AdapterFixture({
    adapter: { vcbCount: 12, pcbCount: 16, pcbGuaranteed: [2, 3] },
    bringUp: { levelOnePages: LEVEL_ONE_PAGES },
  });
  const divider = fixture.access.readRegister(CSR.QOS_DIVIDER, 8);
  t.equal(divider, (12 - LEVEL_ONE_PAGES) * PAGE_BYTES);
  for (let count = 0; count < 20; count++) {
    const qosLevel = fixture.random.below(2);
    const qp = fixture.createQueuePair({ qosLevel, sendEntriesLog2: 2, receiveEntriesLog2: 1 });
    t.equal(qp.parts.page >= divider, qosLevel === 1, `page ${qp.parts.page} for level ${qosLevel}`);
    const copy = qp.fill(NOP).slice();
    qp.advanceSendTail();
    // All but the last word.
    qp.collect(copy.subarray(0, copy.length - 8));
    t.same(
      [fixture.read(CSR.PCB_IN_USE, qosLevel), fixture.read(CSR.PCB_IN_USE, 1 - qosLevel)],
      [1, 0],
      `level ${qosLevel}`,
    );
    qp.collect(copy);
    t.equal(qp.parts.sendCq.take().status, 0);
  }
  t.equal(fixture.read(CSR.LEVEL_MISMATCHES), 0);
  fixture.finish();
});

t.test('without a free VCB a process rings a doorbell; the command is in the send queue in both cases', async (t) => {
  const fixture = new AdapterFixture();
  const qps = Array.from({ length: 3 }, () => fixture.createQueuePair());
  const pool = new CollectPagePool([0, PAGE_BYTES]);
  let rung = 0;
  // Each of the first two holds its page until the last one has posted.
  const post = (index: number): void => {
    const qp = qps[index];
    if (qp === undefined) return;
    const copy = qp.fill(NOP).slice();
    qp.advanceSendTail();
    const isWritten = pool.write((page) => {
      post(index + 1);
      qp.collect(copy, {}, page);
    });
    if (isWritten) return;
    rung++;
    qp.ring(undefined, 'register');
  };
  post(0);
  fixture.settle();
  t.equal(rung, 1);
  for (const { parts } of qps) t.equal(parts.sendCq.take().status, 0);
  const counters = [CSR.COMMANDS_COLLECTED, CSR.COMMANDS_FETCHED, CSR.DOORBELLS_EXPLICIT];
  t.same(
    counters.map((offset) => fixture.read(offset)),
    [2, 1, 1],
  );
  fixture.finish();
});
