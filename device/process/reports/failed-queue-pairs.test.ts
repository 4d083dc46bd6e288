// SPDX-License-Identifier: Apache-2.0
/**
 * The last queue pairs that failed (IBTA 10.3.1): what is known of them stays when they are
 * destroyed, functions share the places fairly, and neither guest nor recording notices.
 */
import t from 'tap';
import { NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import { FAILURES_KEPT } from '../../hca/queues/queue-pair-failure.ts';
import { Random } from '../../random.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { PacketPeer } from '../../rig/fixtures/packet-peer.ts';
import { TracedSession } from '../../rig/fixtures/traced-session.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { MixedFabric, mixedPlan } from '../../rig/mthca/driver/mixed-fabric.ts';
import { FailedQueuePairs } from './failed-queue-pairs.ts';

const BAD_SGE = { sges: [{ address: 0, length: 8, lkey: 0x7700 }] };

/** A datagram QP of one of several functions, and two ways to let it fail. */
function bringUp(machine: InProcessMachine, index: number) {
  const driver = new Driver(new InProcessAccess(machine, index)).bringUp();
  const pd = driver.createProtectionDomain();
  const sendCq = driver.createCompletionQueue({ entriesLog2: 8 });
  const qp = driver.createQueuePair({ pd, sendCq });
  const addressHandle = driver.addressHandles.add({ port: 1, dlid: 2, pd });
  const post = (): void => {
    qp.toReset();
    qp.start({ port: 1 });
    qp.post({ ...BAD_SGE, remoteQpn: 2, qkey: 1, addressHandle });
    machine.runUntilIdle();
  };
  const move = (): void => {
    qp.toReset();
    qp.start({ port: 1 });
    qp.toError();
  };
  return { qpn: qp.qpn, post, move };
}

t.test('a failed connection is told when its QP is destroyed', async (t) => {
  const peer = new PacketPeer({ rnrRetry: 0, timeout: 10, retryCount: 3 });
  const { clock } = peer.fixture.machine;
  const failed = new FailedQueuePairs(peer.adapter, () => clock.now());
  for (let count = 0; count < 2; count++) peer.qp.post({ inline: new Uint8Array(8) });
  peer.settle().take();
  t.same(failed.list(), []);
  peer.nak(1, NakCode.REMOTE_ACCESS_ERROR);
  const expected = {
    number: peer.qp.qpn,
    function: 0,
    service: 'RC',
    state: 'RTS',
    traced: false,
    peer: {},
    patience: { ackTimeoutNs: 4_194_304, retryCount: 3, rnrRetry: 0 },
    send: { nextWqe: 2, unackedPsn: 101, nextPsn: 102 },
    failure: { cause: 'send', state: 'RTS', status: 'REMOTE_ACCESS_ERROR', wqe: 1, psn: 101 },
  };
  t.match(failed.list(), [{ ...expected, stateToday: 'ERR', agoNs: 0 }]);
  clock.advance(1000);
  peer.qp.destroy();
  const [gone, ...others] = failed.list();
  t.match(gone, { ...expected, stateToday: undefined, agoNs: 1000 });
  t.same(others, [], 'destruction is no failure');
});

t.test('a QP that fails in each of its lives is told for each, newest first', async (t) => {
  const fixture = new AdapterFixture();
  const failed = new FailedQueuePairs(fixture.machine.device, () => fixture.machine.clock.now());
  const { sender, to } = fixture.createPair();
  sender.post(to(BAD_SGE));
  fixture.settle();
  sender.toReset();
  sender.toInit();
  t.match(failed.list(), [{ failure: { cause: 'send' }, stateToday: 'INIT' }]);
  sender.toError();
  t.match(failed.list(), [{ failure: { cause: 'software' } }, { failure: { cause: 'send' } }]);
  fixture.finish();
});

t.test('an adapter of the personality mthca', async (t) => {
  const fixture = new MixedFabric(mixedPlan({ kind: 'cable' }));
  const { m, v } = fixture;
  const both = fixture.built.adapters.map((core) => new FailedQueuePairs(core, () => fixture.machine.clock.now()));
  const [own, other] = both as [FailedQueuePairs, FailedQueuePairs];
  fixture.connectOwn();
  m.qp.post({ opcode: WorkOpcode.RDMA_WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: 0x7f00 } });
  fixture.machine.runUntil(() => own.list().length > 0, 'the failure');
  m.qp.destroy();
  const { number } = m.qp;
  const peer = { qpn: v.qp.qpn };
  t.match(own.list(), [{ number, peer, stateToday: undefined, failure: { status: 'REMOTE_ACCESS_ERROR', wqe: 0 } }]);
  t.match(other.list(), [{ number: v.qp.qpn, peer: { qpn: number }, failure: { cause: 'receive' } }]);
});

t.test('functions share the places, and ended connections give way', async (t) => {
  const functionCount = 4;
  for (const seed of [1, 2]) {
    const random = new Random(seed);
    const machine = new InProcessMachine({ seed, functionCount, adapter: { functionCount } });
    let now = 0;
    const failed = new FailedQueuePairs(machine.device, () => now);
    const all = Array.from({ length: functionCount }, (_, index) => bringUp(machine, index));
    const realOf = all.map((): number[] => []);
    for (let step = 0; step < 150; step++) {
      now++;
      // The first function floods.
      const index = random.below(3) === 0 ? random.below(functionCount) : 0;
      const isMoved = random.below(4) === 0;
      all[index]?.[isMoved ? 'move' : 'post']();
      if (!isMoved) realOf[index]?.unshift(now);
      const list = failed.list();
      if (list.length !== Math.min(now, FAILURES_KEPT)) t.fail(`seed ${seed}, step ${step}: ${list.length} are kept`);
      const times = list.map(({ agoNs }) => now - agoNs);
      if (times.some((time, at) => at > 0 && time >= (times[at - 1] ?? 0))) t.fail(`seed ${seed}, step ${step}: order`);
      for (const [owner, real] of realOf.entries()) {
        const kept = list.filter(({ function: one, failure }) => one === owner && failure.cause === 'send');
        const wanted = real.slice(0, FAILURES_KEPT / functionCount);
        const missing = wanted.filter((time) => !kept.some(({ agoNs }) => now - agoNs === time));
        if (missing.length > 0) t.fail(`seed ${seed}, step ${step}: function ${owner} lacks ${missing.join()}`);
      }
    }
    const owners = new Set(failed.list().map(({ number, function: owner }) => `${owner} ${number}`));
    t.same([...owners].sort(), all.map(({ qpn }, index) => `${index} ${qpn}`).sort(), `seed ${seed}`);
  }
});

t.test('a replay in which the host keeps failures is identical', async (t) => {
  const session = new TracedSession(71);
  const { a } = session.connected;
  session.send(1);
  a.post({ header: { opcode: SendOpcode.RDMA_READ }, ...BAD_SGE });
  session.fixture.settle();
  const plain = session.replay().run();
  const replay = session.replay();
  const failed = new FailedQueuePairs(replay.adapter as Adapter, () => replay.result.timeNs);
  t.same(replay.run(), plain);
  t.equal(plain.divergence, undefined);
  t.match(failed.list().at(-1), { number: a.qpn, failure: { cause: 'send' } });
});
