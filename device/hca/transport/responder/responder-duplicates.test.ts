// SPDX-License-Identifier: Apache-2.0
/**
 * Duplicate requests at the responder alone (IBTA 9.4.5, 9.7.5.1.4): what is acknowledged, what is
 * answered again, and for how long an answer is that of its PSN.
 */
import t from 'tap';
import { type BthOpcode, BthOpcode as op } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ResponderFixture as Fixture, MTU_BYTES } from '../../../rig/fixtures/responder-fixture.ts';

t.test('duplicates: an acknowledgement up to the next READ, READs and atomics again (IBTA 9.7.5.1.4)', async (t) => {
  const fixture = new Fixture();
  fixture.receive(op.RC_SEND_ONLY);
  fixture.receive(op.RC_RDMA_READ_REQUEST, { length: 3 * MTU_BYTES });
  fixture.receive(op.RC_SEND_ONLY);
  fixture.receive(op.RC_FETCH_ADD);
  fixture.receive(op.RC_SEND_ONLY);
  fixture.take();
  for (const [opcode, psn, call] of [
    [op.RC_SEND_ONLY, 0, ['ack', 0]],
    [op.RC_SEND_ONLY, 4, ['ack', 4]],
    [op.RC_SEND_ONLY, 6, ['ack', 6]],
    [op.RC_RDMA_READ_REQUEST, 1, ['repeat', 1, 0]],
    [op.RC_RDMA_READ_REQUEST, 3, ['repeat', 1, 2]],
    [op.RC_FETCH_ADD, 5, ['repeat', 5, 0]],
  ] as const) {
    t.ok(fixture.receive(opcode, { psn }), `PSN ${psn}`);
    t.same(fixture.take(), [call], `PSN ${psn}`);
  }
  for (const [opcode, psn] of [
    [op.RC_RDMA_READ_REQUEST, 0],
    [op.RC_RDMA_READ_REQUEST, 4],
    [op.RC_RDMA_READ_REQUEST, 5],
    [op.RC_FETCH_ADD, 1],
  ] as const)
    t.notOk(fixture.receive(opcode, { psn }), 'no such request is kept');
  t.same(fixture.take(), []);
  const newest = new Fixture();
  newest.receive(op.RC_SEND_ONLY);
  newest.receive(op.RC_RDMA_READ_REQUEST, { length: 1 });
  newest.take();
  newest.receive(op.RC_SEND_ONLY, { psn: 0 });
  t.same(newest.take(), [['ack', 0]], 'not the READ, whose answer may be lost');
});

t.test('an answer from 2^24 PSNs ago is no answer to a duplicate (IBTA 9.4.5)', async (t) => {
  ledger(t, '9.4.5', 'A duplicate READ or atomic is never answered with a result from 2^24 PSNs ago');
  ledger(t, '9.7.5.1', 'Answers from 2^24 PSNs ago do not limit the acknowledgement of a duplicate');
  const fixture = new Fixture();
  const { state } = fixture;
  const pass = (psn: number): void => {
    state.expect(psn);
    fixture.receive(op.RC_SEND_ONLY);
    fixture.take();
  };
  fixture.receive(op.RC_FETCH_ADD);
  fixture.receive(op.RC_RDMA_READ_REQUEST, { length: 3 * MTU_BYTES });
  fixture.take();
  t.ok(fixture.receive(op.RC_FETCH_ADD, { psn: 0 }));
  t.ok(fixture.receive(op.RC_RDMA_READ_REQUEST, { psn: 2 }));
  fixture.take();
  // Half of all PSNs behind is a duplicate still; one more is a PSN that was never sent.
  pass(0x7fffff);
  t.ok(fixture.receive(op.RC_FETCH_ADD, { psn: 0 }));
  t.same(fixture.take(), [['repeat', 0, 0]]);
  pass(0xfffffe);
  pass(4);
  for (let lap = 1; lap <= 3; lap++) {
    t.notOk(fixture.receive(op.RC_FETCH_ADD, { psn: 0 }), `after ${lap} wraps`);
    t.notOk(fixture.receive(op.RC_RDMA_READ_REQUEST, { psn: 2 }), `after ${lap} wraps`);
    t.same(fixture.take(), []);
    fixture.receive(op.RC_SEND_ONLY, { psn: 0 });
    t.same(fixture.take(), [['ack', 4]], 'they limit no acknowledgement either');
    for (const psn of [0x600000, 0xc00000, 4]) pass(psn);
    state.expect(5);
  }
  for (const resource of state.resources) resource.active = false;
  pass(0xffffff);
  fixture.receive(op.RC_FETCH_ADD);
  fixture.receive(op.RC_SEND_ONLY);
  fixture.take();
  fixture.receive(op.RC_FETCH_ADD, { psn: 0 });
  t.same(fixture.take(), [['repeat', 0, 0]], 'the newest one is found');
});

t.test('a duplicate is one of the same opcode', async (t) => {
  ledger(t, '9.7.5.1', 'A duplicate READ, atomic, FLUSH or ATOMIC WRITE of another opcode than the request is dropped');
  const requests: readonly (readonly [BthOpcode, number])[] = [
    [op.RC_RDMA_READ_REQUEST, 8],
    [op.RC_FETCH_ADD, 0],
    [op.RC_COMPARE_SWAP, 0],
  ];
  for (const [opcode, length] of requests) {
    for (const [other] of [...requests, [op.RC_FLUSH], [op.RC_ATOMIC_WRITE]] as const) {
      const fixture = new Fixture();
      fixture.receive(opcode, { length });
      fixture.take();
      t.equal(fixture.receive(other, { psn: 0 }), other === opcode, `${other} for ${opcode}`);
    }
  }
});
