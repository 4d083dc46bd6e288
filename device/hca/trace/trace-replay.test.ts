// SPDX-License-Identifier: Apache-2.0
/**
 * Traces by the host in a recorded session (docs/ARCHITECTURE.md, Tracing): the replay has the same
 * traces, so its guest reads the same blocks.
 */
import t from 'tap';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { tracePayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect } from '../../rig/fixtures/connected-fixture.ts';
import { TracedSession } from '../../rig/fixtures/traced-session.ts';
import type { Adapter } from '../adapter/adapter.ts';

const ON = { enable: 1, blocksLog2: 2, snapLength: 300 };

t.test('traces that the host begins, restarts and ends replay to the same bytes', async (t) => {
  for (const seed of [60, 61, 62]) {
    const session = new TracedSession(seed);
    const { trace, connected } = session;
    const { a, b } = connected;
    t.equal(session.ask(a.qpn, ON), ManagementStatus.OK);
    session.send(3);
    t.equal(session.ask(b.qpn, { ...ON, blocksLog2: 3 }), ManagementStatus.OK);
    session.send(5);
    t.equal(trace.read(a.qpn).messages.length, 4, 'the guest reads the blocks');
    t.equal(trace.read(b.qpn).messages.length, 5);
    t.equal(session.ask(b.qpn, { enable: 0 }), ManagementStatus.OK);
    t.equal(session.ask(a.qpn, ON), ManagementStatus.OK);
    session.send(2);
    t.equal(trace.read(a.qpn).messages.length, 2);
    t.equal(trace.readInto(b.qpn, {}).status, ManagementStatus.BAD_STATE);
    const replay = session.replay();
    const steps = new Map<string, number>();
    replay.onStep = ({ name }) => void steps.set(name, (steps.get(name) ?? 0) + 1);
    const { divergence } = replay.run();
    t.equal(divergence, undefined, `seed ${seed}`);
    t.equal(steps.get('request trace'), 4);
    const ring = (replay.adapter as Adapter).tables.queuePairs.get(a.qpn)?.trace?.ring;
    t.equal(ring?.head, 2, 'the replayed adapter has the trace');
    session.fixture.finish();
  }
});

t.test('a trace that does not cross the seam makes the replay diverge', async (t) => {
  const session = new TracedSession(63);
  const { a } = session.connected;
  const adapter = session.fixture.machine.device;
  const qp = adapter.tables.queuePairs.get(a.qpn);
  if (qp === undefined) throw new Error('there is no QP');
  adapter.traces.enable(qp, { blocksLog2: 2, snapLength: 300, stopOnError: false, byGuest: false });
  session.send(1);
  session.trace.read(a.qpn);
  t.ok(session.replay().run().divergence, 'the replay differs');
});

t.test('a wrong request of the host is refused with a status and changes nothing', async (t) => {
  const session = new TracedSession(64);
  const { fixture, connected } = session;
  const { qpn } = connected.a;
  t.equal(session.ask(qpn, ON), ManagementStatus.OK);
  session.send(1);
  t.equal(session.ask(0xfffff0, ON), ManagementStatus.BAD_OBJECT);
  t.equal(session.ask(qpn, { ...ON, blocksLog2: 17 }), ManagementStatus.BAD_FIELD);
  t.equal(session.ask(qpn, { ...ON, snapLength: 65537 }), ManagementStatus.BAD_FIELD);
  t.equal(session.ask(qpn, { ...ON, blocksLog2: 16, snapLength: 65536 }), ManagementStatus.NO_RESOURCES);
  t.equal(fixture.machine.functionAt(0).requestTrace(qpn, new Uint8Array(63)), ManagementStatus.BAD_LENGTH);
  t.match(session.trace.query(qpn), { enable: 1, head: 1, blocksLog2: 2, snapLength: 300 });
  t.equal(session.replay().run().divergence, undefined);
  fixture.finish();
});

t.test('the host traces QPs only through their own function', async (t) => {
  const fixture = new AdapterFixture({ seed: 65, functionCount: 2, adapter: { functionCount: 2 } });
  const { a } = connect(fixture);
  t.equal(fixture.machine.functionAt(1).requestTrace(a.qpn, tracePayload(ON)), ManagementStatus.BAD_OBJECT);
  t.equal(fixture.machine.functionAt(0).requestTrace(a.qpn, tracePayload(ON)), ManagementStatus.OK);
});
