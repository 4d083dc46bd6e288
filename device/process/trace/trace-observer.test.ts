// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of the host (IPCOM000010133D par. 1): neither guest nor recording notices them, rules
 * choose QPs to come, and a trace outlives its QP.
 */
import t from 'tap';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import { Step } from '../../hca/function/timeline.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { connect, ServiceType } from '../../rig/fixtures/connected-fixture.ts';
import { TracedSession } from '../../rig/fixtures/traced-session.ts';
import { XrcFixture } from '../../rig/fixtures/xrc-fixture.ts';
import { RULES_MAX, TraceObserver } from './trace-observer.ts';

t.test('a replay that the host observes is identical, whatever the guest asks of traces', async (t) => {
  for (const seed of [66, 67]) {
    const session = new TracedSession(seed);
    const { a, b } = session.connected;
    session.send(3);
    session.trace.query(a.qpn);
    session.trace.modify(b.qpn);
    session.send(2);
    t.equal(session.trace.read(b.qpn).messages.length, 2);
    session.trace.modify(b.qpn, { enable: 0 });
    session.trace.modify(a.qpn, { enable: 0 });
    session.send(2);
    const plain = session.replay().run();
    t.equal(plain.divergence, undefined);
    const replay = session.replay();
    const observer = new TraceObserver(replay.adapter as Adapter, () => replay.result.timeNs);
    observer.addRule({}, { blocksLog2: 4, snapLength: 64, stopOnError: false });
    observer.startTimeline();
    t.same(replay.run(), plain, `seed ${seed}: equal to the last record`);
    const { messages, steps } = observer.read('adapter', 0);
    const sent = messages.filter(({ block }) => block.receive === 0);
    t.same(
      sent.map(({ block }) => block.sequence),
      [0, 1, 2, 3, 4, 5, 6],
      'the guest disables its own trace only',
    );
    t.ok(steps.filter(({ step }) => step === Step.LAUNCH).length === 7);
    const times = sent.map(({ block }) => block.beginTime);
    t.same(
      times,
      times.toSorted((one, other) => one - other),
    );
    t.ok(times[0] !== times[6], 'recorded times');
    session.fixture.finish();
  }
});

t.test('a guest sees no trace of the host, and its own replaces it; the blocks are kept', async (t) => {
  const session = new TracedSession(68);
  const { fixture, trace, connected } = session;
  const { a } = connected;
  const { clock } = fixture.machine;
  const observer = new TraceObserver(fixture.machine.device, () => clock.now());
  const qp = fixture.machine.device.tables.queuePairs.get(a.qpn);
  if (qp === undefined) throw new Error('there is no QP');
  observer.observe(qp, { blocksLog2: 2, snapLength: 64, stopOnError: false });
  session.send(1);
  t.match(trace.query(a.qpn), { enable: 0, head: 0, blocksLog2: 0 });
  t.equal(trace.readInto(a.qpn, {}).status, ManagementStatus.BAD_STATE);
  t.equal(fixture.machine.device.traces.getUsed(0), 0, 'it uses no memory of the function');
  observer.pause();
  session.send(1);
  observer.resume();
  session.send(1);
  trace.modify(a.qpn);
  session.send(1);
  t.throws(() => observer.observe(qp, { blocksLog2: 2, snapLength: 64, stopOnError: false }), {
    message: /is traced by its guest/,
  });
  t.same(
    observer.traces.map(({ qp, ended, trace: { ring } }) => [qp, ended, ring.head]),
    [
      [a.qpn, true, 2],
      [a.qpn, false, 1],
    ],
    'two messages around the pause, and that of the guest',
  );
  a.destroy();
  t.same(
    observer.read('adapter', 0).messages.map(({ block }) => [block.qpn, block.sequence]),
    [
      [a.qpn, 0],
      [a.qpn, 2],
    ],
    'a trace outlives its QP',
  );
  observer.drop(a.qpn);
  t.equal(observer.traces.length, 0);
  t.equal(session.replay().run().divergence, undefined);
});

t.test('a trace that is bounded by time drops what ended earlier, and does not age while paused', async (t) => {
  const fixture = new AdapterFixture({ seed: 70 });
  const { clock } = fixture.machine;
  const observer = new TraceObserver(fixture.machine.device, () => clock.now());
  const qps = [0, 1].map(() => fixture.createQueuePair());
  const [bounded, unbounded] = qps.map(({ qpn }) => fixture.machine.device.tables.queuePairs.get(qpn));
  const settings = { blocksLog2: 4, snapLength: 0, stopOnError: false };
  if (bounded === undefined || unbounded === undefined) throw new Error('no QP');
  observer.observe(bounded, { ...settings, keepNs: 1000 });
  observer.observe(unbounded, settings);
  observer.startTimeline(10, 1000);
  const post = (): void => {
    for (const qp of qps) qp.post(NOP);
    fixture.settle();
  };
  const kept = (): number[] =>
    qps.map(({ qpn }) => observer.read('hca', 0).messages.filter(({ block }) => block.qpn === qpn).length);
  post();
  const early = clock.now();
  t.same(kept(), [1, 1]);
  clock.advance(5000);
  post();
  t.same(kept(), [1, 2]);
  t.ok(observer.read('hca', 0).steps.length > 0);
  t.ok(
    observer.read('hca', 0).steps.every(({ timeNs }) => timeNs > early),
    'so are steps',
  );
  t.same(
    observer.traces.map((one) => observer.getTail(one)),
    [1, 0],
  );
  observer.pause();
  clock.advance(5000);
  t.same(kept(), [1, 2]);
  observer.resume();
  t.same(kept(), [0, 2]);
  t.same(observer.read('hca', 0).steps, []);
});

t.test('an adapter has a bounded number of rules', async (t) => {
  const { machine } = new AdapterFixture();
  const observer = new TraceObserver(machine.device, () => machine.clock.now());
  const settings = { blocksLog2: 2, snapLength: 64, stopOnError: false };
  for (let count = 0; count < RULES_MAX; count++) observer.addRule({ peerQp: count }, settings);
  t.throws(() => observer.addRule({}, settings), { message: /there are 256 rules/ });
  t.throws(() => observer.observeProcess(7, settings), { message: /there are 256 rules/ });
  observer.clearRules();
  observer.addRule({}, settings);
});

t.test('a rule of XRC chooses both halves', async (t) => {
  const xrc = new XrcFixture();
  const { device, clock } = xrc.fixture.machine;
  const observer = new TraceObserver(device, () => clock.now());
  observer.addRule({ service: 'XRC' }, { blocksLog2: 2, snapLength: 64, stopOnError: false });
  const halves = xrc.connect();
  connect(xrc.fixture);
  t.same(
    observer.traces.map(({ qp }) => qp),
    halves.map(({ qpn }) => qpn),
  );
});

t.test('rules choose QPs to come by service, function, peer and process', async (t) => {
  const fixture = new AdapterFixture({ seed: 69 });
  const observer = new TraceObserver(fixture.machine.device, () => fixture.machine.clock.now());
  const settings = { blocksLog2: 2, snapLength: 64, stopOnError: false };
  const traced = (): number[] => observer.traces.map(({ qp }) => qp);
  const before = connect(fixture);
  observer.addRule({ service: 'RC', peerLid: fixture.lidOf(2), functionNumber: 0 }, settings);
  t.same(traced(), [], 'not those that there are');
  const { a } = connect(fixture);
  connect(fixture, { serviceType: ServiceType.UC });
  fixture.createPair();
  t.same(traced(), [a.qpn]);
  observer.clearRules();
  connect(fixture);
  t.same(traced(), [a.qpn], 'a rule that was cleared chooses none');
  observer.addRule({ functionNumber: 1 }, settings);
  observer.addRule({ peerQp: 0x123456 }, settings);
  connect(fixture);
  t.same(traced(), [a.qpn]);
  observer.addRule({ service: 'UD' }, settings);
  const { sender, receiver } = fixture.createPair();
  t.same(traced(), [a.qpn, sender.qpn, receiver.qpn]);
  t.ok(before.a.qpn !== a.qpn);
  observer.clearRules();
  observer.addRule({ process: 711 }, settings);
  const of = (process: number) => fixture.createPair({ sender: { creation: { process } } }).sender.qpn;
  const [wanted] = [of(711), of(712), of(0)];
  t.equal(traced().at(-1), wanted);
  t.equal(traced().length, 4);
});

t.test('a process is traced by its number: QPs that there are and QPs to come, until it is not', async (t) => {
  const fixture = new AdapterFixture({ seed: 70 });
  const observer = new TraceObserver(fixture.machine.device, () => fixture.machine.clock.now());
  const settings = { blocksLog2: 2, snapLength: 64, stopOnError: false };
  const traced = (): number[] => observer.traces.map(({ qp }) => qp);
  const of = (process: number) => fixture.createPair({ sender: { creation: { process } } }).sender.qpn;
  const [before] = [of(711), of(712)];
  observer.observeProcess(711, settings);
  observer.observeProcess(713, settings);
  t.same(traced(), [before]);
  const [after, other] = [of(711), of(713)];
  t.same(traced(), [before, after, other]);
  observer.dropProcess(711);
  t.same(traced(), [other], 'another process stays traced');
  of(711);
  const last = of(713);
  t.same(traced(), [other, last]);
});
