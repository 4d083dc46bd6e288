// SPDX-License-Identifier: Apache-2.0
/**
 * A packet that a switch drops is told to the adapters that have one of its LIDs, and the story of
 * its message names it (IBTA 18.2.4).
 */
import t from 'tap';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { PacketLoss } from '../../fabric/port/packet-loss.ts';
import { DropCause } from '../../fabric/switch/drop-causes.ts';
import { NO_PORT } from '../../fabric/switch/relay-tables.ts';
import { Step } from '../../hca/function/timeline.ts';
import { findWireSteps } from '../../hca/trace/message-wire.ts';
import { MixedFabric, mixedPlan } from '../../rig/mthca/driver/mixed-fabric.ts';
import { TraceObserver } from '../trace/trace-observer.ts';

t.test('the story of a message names the packet that a switch dropped; others are not told', async (t) => {
  const fixture = new MixedFabric(mixedPlan({ kind: 'cable' }));
  const { m, v, built, machine } = fixture;
  const observers = built.adapters.map((core) => {
    const observer = new TraceObserver(core, () => machine.clock.now());
    observer.addRule({ service: 'RC' }, { blocksLog2: 4, snapLength: 16, stopOnError: false });
    observer.startTimeline();
    return observer;
  });
  fixture.connectOwn();
  const [, lidOfV = 0] = fixture.lids;
  const { linear } = built.switches[0].switchTables;
  const [port] = linear.slice(lidOfV, lidOfV + 1);
  linear[lidOfV] = NO_PORT;
  m.qp.post({ opcode: WorkOpcode.RDMA_WRITE, pieces: [m.memory], remote: { address: v.memory.address, key: v.rkey } });
  const losses = (): { step: Step; c: number }[][] =>
    observers.map((observer) => observer.readSteps(0, 1e6).filter(({ step }) => step === Step.PACKET_LOST));
  machine.runUntil(() => losses()[0]?.length === 3, 'the losses');
  linear[lidOfV] = port as number;
  fixture.expectOne(m, 'the WRITE, sent again');
  const loss = { step: Step.PACKET_LOST, object: v.qp.qpn, b: PacketLoss.SWITCH + DropCause.NO_ROUTE };
  const [ofM, ofV, ofN] = losses();
  t.match(ofM, [
    { ...loss, a: 100 },
    { ...loss, a: 101 },
    { ...loss, a: 102 },
  ]);
  t.same([ofV?.length, ofN], [3, []], 'the destination hears of them, others do not');
  const adapter = observers[0]?.read('m', 0);
  const [message] = adapter?.messages ?? [];
  if (adapter === undefined || message === undefined) throw new Error('m has no message');
  const wire = findWireSteps({ adapter, message }, message.block.beginTime);
  t.match(
    wire.filter(({ step }) => step === Step.PACKET_LOST),
    [{ a: 100 }, { a: 101 }, { a: 102 }],
  );
});
