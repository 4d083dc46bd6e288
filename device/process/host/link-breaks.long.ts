// SPDX-License-Identifier: Apache-2.0
/** Adapters in two processes whose link is cut, or one of which is killed and restarted. */
import t from 'tap';
import { CompletionStatus, QpState, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { End, type EndPair, Ends, expectStatus } from '../../rig/conformance/two-ends/ends.ts';
import { reliableCases } from '../../rig/conformance/two-ends/reliable.ts';
import { bringUp } from '../../rig/conformance/two-ends/suite.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { ProcessPair } from '../../rig/live/process-pair.ts';

/** 2.1 s until a request is sent again: eight attempts outlast any cut, also on a busy machine. */
const PATIENT_TIMEOUT = 19;
/**
 * Cuts in the middle of a message, and tries to have that many: a busy machine may cut too late.
 */
const CUTS = 2;
const CUT_TRIES = 100;
const REQUESTS = 20;
const LONG_BYTES = 4 * 1024 * 1024;

// Processes may need long to start on a busy machine.
t.setTimeout(0);

t.test('a link that is cut loses packets, and RC goes on where it was', async (t) => {
  ledger(t, '9.9.2', 'A connection goes on without error after a link that was down for less than its retries');
  const pair = await ProcessPair.start(t, true);
  const ends = bringUp(pair.place(0), pair.place(1), 1);
  const connection = ends.connect({ pathMtu: 1, timeout: PATIENT_TIMEOUT, retryCount: 7 });
  const cell = ends.b.buffer(8);
  const source = ends.a.buffer(ends.random.bytes(LONG_BYTES));
  const [target, found, back] = [ends.b.buffer(LONG_BYTES), ends.a.buffer(8), ends.a.buffer(LONG_BYTES)];
  let inMessage = 0;
  for (let cut = 1; inMessage < CUTS && cut <= CUT_TRIES; cut++) {
    target.bytes.fill(0);
    // One message is under way when the link goes; the others are requested while there is none.
    connection.a.post(ends.rdma(SendOpcode.RDMA_WRITE, source, target));
    await pair.tellRelay('cut');
    ends.waitFor(() => !ends.a.isActive && !ends.b.isActive, 'the link going down');
    if (!connection.a.parts.sendCq.ready) inMessage++;
    for (let count = 0; count < REQUESTS; count++)
      connection.a.post({ ...ends.rdma(SendOpcode.FETCH_ADD, found, cell), atomic: { swapOrAdd: 1n } });
    connection.a.post(ends.rdma(SendOpcode.RDMA_READ, back, target));
    ends.settle();
    await pair.tellRelay('join');
    ends.sent(connection.a, REQUESTS + 2);
    t.ok(Buffer.from(back.bytes).equals(source.bytes), `the message of cut ${cut} is whole, there and back`);
    t.equal(ends.b.access.view(cell.address, 8).getBigUint64(0, true), BigInt(REQUESTS * cut), 'each atomic ran once');
  }
  t.equal(inMessage, CUTS);
  ends.proveNothingIsLeft(connection);
});

for (const victim of [0, 1] as const) {
  const role = victim === 0 ? 'listens' : 'connects';
  t.test(`the process that ${role} is killed and started again`, async (t) => {
    ledger(t, '9.9.2', `A connection whose other end has restarted fails when its retries are used up (it ${role})`);
    const pair = await ProcessPair.start(t);
    const survivor = new End(pair.place(1 - victim));
    const before = new Ends(survivor, new End(pair.place(victim)), 1);
    const [busy, idle] = [0, 1].map(() => before.connect({ retryCount: 7 })) as [EndPair, EndPair];
    before.proveNothingIsLeft(busy);
    const half = before.connect({ pathMtu: 1 });
    const [source, target] = [before.b.buffer(LONG_BYTES), survivor.buffer(LONG_BYTES)];
    const remote = { address: target.address, rkey: survivor.region.rkey };
    half.b.post({ opcode: SendOpcode.RDMA_WRITE, sges: [before.b.sge(source)], remote });
    await pair.kill(victim);
    for (let count = 0; count < 3; count++) busy.a.post({ sges: [survivor.sge(survivor.buffer(8))] });
    expectStatus(busy.a.parts.sendCq.take(), CompletionStatus.RETRY_EXCEEDED);
    for (let count = 0; count < 2; count++) expectStatus(busy.a.parts.sendCq.take(), CompletionStatus.FLUSHED);
    t.equal(busy.a.query().state, QpState.ERR);
    t.equal(half.a.query().state, QpState.RTS, 'who only answers waits for more of the message');
    half.a.destroy();

    await pair.start(victim);
    const after = new Ends(survivor, new End(pair.place(victim)), 2);
    idle.a.post({ sges: [survivor.sge(survivor.buffer(8))] });
    expectStatus(idle.a.parts.sendCq.take(), CompletionStatus.RETRY_EXCEEDED);
    t.equal(idle.a.query().state, QpState.ERR, 'the new process knows nothing of the old connections');
    for (const reliable of reliableCases) reliable.run(after);
    t.pass('new QPs work over the new link');
  });
}
