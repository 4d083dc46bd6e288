// SPDX-License-Identifier: Apache-2.0
/**
 * Traces and reports of adapters of the personality mthca: a message between a stock driver and
 * ours has both ends and all steps from the doorbell to the interrupt, a rule finds QPs to come,
 * and a QP that failed says why.
 */
import t from 'tap';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { Step } from '../../hca/function/timeline.ts';
import { EventCause } from '../../hca/function/timeline-values.ts';
import { findOtherSide } from '../../hca/trace/adapter-trace.ts';
import { findSignals } from '../../hca/trace/message-signals.ts';
import { findCommandSteps, findEntrySteps } from '../../hca/trace/message-steps.ts';
import { BYTES, MixedFabric, mixedPlan } from '../../rig/mthca/driver/mixed-fabric.ts';
import { listQueuePairs } from '../reports/queue-pair-report.ts';
import { TraceObserver } from './trace-observer.ts';

const SETTINGS = { blocksLog2: 4, snapLength: 16, stopOnError: false };
const { SEND, RDMA_WRITE } = WorkOpcode;

function start(): { fixture: MixedFabric; observers: TraceObserver[] } {
  const fixture = new MixedFabric(mixedPlan({ kind: 'cable' }));
  const observers = fixture.built.adapters.map((core) => {
    const observer = new TraceObserver(core, () => fixture.machine.clock.now());
    observer.addRule({ service: 'RC' }, SETTINGS);
    observer.startTimeline();
    return observer;
  });
  return { fixture, observers };
}

t.test('a message of a stock driver to ours, from its doorbell to its interrupt', (t) => {
  const { fixture, observers } = start();
  const { m, v } = fixture;
  fixture.connectOwn();
  m.qp.cq.arm();
  m.fixture.takeEvents();
  m.fixture.events.arm();
  const remote = { address: v.memory.address, key: v.rkey };
  m.qp.post({ opcode: RDMA_WRITE, pieces: [m.memory], remote });
  fixture.expectOne(m, 'the WRITE');
  fixture.machine.runUntilIdle();
  const traces = observers.map((observer, index) => observer.read('mvn'[index], 0));
  const [adapter] = traces;
  t.match(adapter.messages, [{ block: { qpn: m.qp.number, remoteQpn: v.qp.qpn, messageLength: BYTES, packets: 3 } }]);
  const end = { adapter, message: adapter.messages[0] };
  t.match(findOtherSide(end, traces), { end: { adapter: { name: 'v' }, message: { block: { receive: 1 } } } });
  const way = findCommandSteps(end).map(({ step }) => step);
  t.same(way, [Step.DOORBELL, Step.FETCH, Step.LAUNCH, Step.COMMAND, Step.SGE]);
  const { posted, event, request, interrupt } = findSignals(end);
  t.match({ posted, event }, { posted: { b: m.qp.cq.number, c: 1 }, event: { cause: EventCause.COMPLETION } });
  t.ok(request, 'the event asks for an interrupt');
  t.ok(interrupt, 'the interrupt was sent');
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
  t.end();
});

t.test('why there was no event', (t) => {
  const { fixture, observers } = start();
  const { m, n } = fixture;
  fixture.connectStock();
  n.qp.postReceive(n.memory);
  m.qp.post({ opcode: SEND, pieces: [m.memory] }, { opcode: SEND, pieces: [m.memory] });
  fixture.expectOne(n, 'the first receive');
  fixture.expectOne(m, 'the first SEND');
  const own = observers[0].read('m', 0);
  const { posted, noEvent, event } = findSignals({ adapter: own, message: own.messages[0] });
  t.match(posted, { a: 0 });
  t.match(noEvent, { c: 0, b: 0 }, 'software has never asked for one');
  t.equal(event, undefined);
  t.equal(own.messages.length, 2, 'one doorbell, two messages');
  n.qp.cq.arm();
  n.qp.postReceive(n.memory);
  fixture.expectOne(m, 'the second SEND');
  const peer = observers[2].read('n', 0);
  const received = peer.messages.findLast(({ block }) => block.receive === 1);
  if (received === undefined) throw new Error('n has no message');
  const end = { adapter: peer, message: received };
  t.match(findSignals(end), { event: { cause: EventCause.COMPLETION } });
  t.match(findEntrySteps(end), [
    { step: Step.ENTRY, object: n.qp.number, a: 1 },
    { step: Step.ENTRY_SGE, a: 1, b: n.memory.key, c: BYTES },
  ]);
  t.end();
});

t.test('a QP that failed says why, and a trace can be begun by number', (t) => {
  const { fixture, observers } = start();
  const { m, v } = fixture;
  const [core] = fixture.built.adapters;
  fixture.connectOwn();
  t.match(listQueuePairs(core, 0).queuePairs, [
    { number: m.qp.number, state: 'RTS', service: 'RC', peer: { qpn: v.qp.qpn }, traced: true, failure: undefined },
  ]);
  m.qp.post({ opcode: RDMA_WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: 0x7f00 } });
  fixture.machine.runUntil(() => listQueuePairs(core, 0).queuePairs[0].state === 'ERR', 'the failure');
  t.match(listQueuePairs(core, 0).queuePairs[0].failure, {
    cause: 'send',
    state: 'RTS',
    status: 'REMOTE_ACCESS_ERROR',
    syndrome: 'NAK REMOTE_ACCESS_ERROR',
    wqe: 0,
  });
  const [observer] = observers;
  observer.clearRules();
  observer.drop(m.qp.number);
  t.same(observer.traces, []);
  m.qp.restart();
  const qp = core.tables.queuePairs.get(m.qp.number);
  if (qp === undefined) throw new Error('m has no QP');
  observer.observe(qp, SETTINGS);
  t.match(observer.traces, [{ qp: m.qp.number, ended: false }]);
  m.qp.destroy();
  t.match(observer.traces, [{ qp: m.qp.number, ended: true }], 'the trace outlives its QP');
  t.end();
});
