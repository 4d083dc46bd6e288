// SPDX-License-Identifier: Apache-2.0
/**
 * Traces and reports of adapters of the personality mlx5 beside others: the story of one request
 * from its doorbell to its interrupt with both ends, why there was no event, why a QP failed, and
 * recordings of all that replay.
 */
import t from 'tap';
import { SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { Step } from '../../hca/function/timeline.ts';
import { EventCause, NoEvent } from '../../hca/function/timeline-values.ts';
import { findOtherSide } from '../../hca/trace/adapter-trace.ts';
import { findSignals } from '../../hca/trace/message-signals.ts';
import { findCommandSteps, findEntrySteps } from '../../hca/trace/message-steps.ts';
import { ThreeKinds } from '../../rig/mixed/three-kinds.ts';
import { BYTES } from '../../rig/mthca/driver/mixed-fabric.ts';
import { listQueuePairs } from '../reports/queue-pair-report.ts';
import { TraceObserver } from './trace-observer.ts';

const SETTINGS = { blocksLog2: 4, snapLength: 16, stopOnError: false };
const { SEND, WRITE, READ } = SendOpcode;

function start(): { fixture: ThreeKinds; observers: TraceObserver[] } {
  const fixture = new ThreeKinds();
  const observers = fixture.built.adapters.map((core) => {
    const observer = new TraceObserver(core, () => fixture.machine.clock.now());
    observer.addRule({ service: 'RC' }, SETTINGS);
    observer.startTimeline();
    return observer;
  });
  return { fixture, observers };
}

t.test('a WRITE to our adapter, from its doorbell to its interrupt', (t) => {
  const { fixture, observers } = start();
  const { m, v } = fixture;
  fixture.connectOwn();
  const { driver, completions } = m.fixture;
  driver.takeEvents(completions);
  driver.arm(completions);
  m.qp.setup.cq.arm();
  const data = fixture.machine.random.bytes(BYTES);
  m.fixture.bytes(m.memory).set(data);
  m.qp.post({ opcode: WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: v.rkey } });
  fixture.expectOne('the WRITE');
  fixture.machine.runUntilIdle();
  t.same(v.memory.bytes, data);
  const traces = observers.map((observer, index) => observer.read('mvn'[index], 0));
  const [adapter] = traces;
  t.match(adapter.messages, [{ block: { qpn: m.qp.number, remoteQpn: v.qp.qpn, messageLength: BYTES, packets: 3 } }]);
  const end = { adapter, message: adapter.messages[0] };
  t.match(findOtherSide(end, traces), { end: { adapter: { name: 'v' }, message: { block: { receive: 1 } } } });
  const way = findCommandSteps(end).map(({ step }) => step);
  t.same(way, [Step.DOORBELL, Step.FETCH, Step.LAUNCH, Step.COMMAND, Step.SGE]);
  const { posted, event, request, interrupt } = findSignals(end);
  t.match({ posted, event }, { posted: { b: m.qp.setup.cq.number, c: 1 }, event: { cause: EventCause.COMPLETION } });
  t.ok(request, 'the event asks for an interrupt');
  t.ok(interrupt, 'the interrupt was sent');
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
  t.end();
});

t.test('one doorbell for several requests of a device of mthca, and a READ', (t) => {
  const { fixture, observers } = start();
  const { m, n } = fixture;
  fixture.connectStock();
  const data = fixture.machine.random.bytes(BYTES);
  m.fixture.bytes(m.memory).set(data);
  n.qp.postReceive(n.memory);
  n.qp.postReceive(n.memory);
  const remote = { address: n.memory.address, key: n.memory.key };
  // The first request takes two blocks: numbers of requests and of blocks differ.
  m.qp.post(
    { opcode: SEND, inline: data.slice(0, 100) },
    { opcode: SEND, pieces: [m.memory] },
    { opcode: READ, pieces: [m.memory], remote },
  );
  fixture.expectReceive();
  for (const what of ['the first SEND', 'the second SEND', 'the READ']) fixture.expectOne(what);
  t.same(n.bytes, data);
  t.same(m.fixture.bytes(m.memory), data);
  const adapter = observers[0].read('m', 0);
  t.match(
    adapter.messages.map(({ block }) => [block.sequence, block.messageLength]),
    [
      [0, 100],
      [1, BYTES],
      [2, BYTES],
    ],
  );
  for (const message of adapter.messages) {
    const end = { adapter, message };
    t.equal(findCommandSteps(end)[0].step, Step.DOORBELL, `request ${message.block.sequence} has its doorbell`);
    t.match(findSignals(end), { noEvent: { c: NoEvent.UNARMED }, event: undefined });
  }
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
  t.end();
});

t.test('a receive, with its entry', (t) => {
  const { fixture, observers } = start();
  const { m, n } = fixture;
  fixture.connectStock();
  m.qp.postReceive(
    { ...m.memory, byteCount: 1000 },
    { ...m.memory, address: m.memory.address + 1000, byteCount: 5000 },
  );
  m.qp.setup.cq.arm();
  n.qp.post({ opcode: WorkOpcode.SEND, pieces: [n.memory] });
  fixture.expectOne('a receive of m');
  const adapter = observers[0].read('m', 0);
  const message = adapter.messages.find(({ block }) => block.receive === 1);
  if (message === undefined) throw new Error('m has no message');
  const end = { adapter, message };
  t.match(findSignals(end), { event: { cause: EventCause.COMPLETION } });
  t.match(findEntrySteps(end), [
    { step: Step.ENTRY, object: m.qp.number, a: 0 },
    { step: Step.ENTRY_SGE, b: m.memory.key, c: 1000 },
    { step: Step.ENTRY_SGE, b: m.memory.key, c: 5000 },
  ]);
  t.end();
});

t.test('a QP that failed says why, and its trace outlives it', (t) => {
  const { fixture, observers } = start();
  const { m, v } = fixture;
  const [core] = fixture.built.adapters;
  fixture.connectOwn();
  t.match(listQueuePairs(core, 0).queuePairs, [
    { number: m.qp.number, state: 'RTS', service: 'RC', peer: { qpn: v.qp.qpn }, traced: true, failure: undefined },
  ]);
  m.qp.post({ opcode: WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: 0x7f00 } });
  fixture.machine.runUntil(() => listQueuePairs(core, 0).queuePairs[0].state === 'ERR', 'the failure');
  t.match(listQueuePairs(core, 0).queuePairs[0].failure, {
    ...{ cause: 'send', state: 'RTS', status: 'REMOTE_ACCESS_ERROR', syndrome: 'NAK REMOTE_ACCESS_ERROR', wqe: 0 },
  });
  t.match(observers[0].traces, [{ qp: m.qp.number, ended: false }]);
  m.fixture.driver.port.reset('software');
  t.match(observers[0].traces, [{ qp: m.qp.number, ended: true }]);
  t.end();
});
