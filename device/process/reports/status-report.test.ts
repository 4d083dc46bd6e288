// SPDX-License-Identifier: Apache-2.0
/** Buffers, thresholds and virtual lanes in the status of an adapter whose load is known. */
import t from 'tap';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { MANAGEMENT_VL } from '../../fabric/port/transmit-queues.ts';
import { DoorbellFlood } from '../../rig/fixtures/doorbell-flood.ts';
import { PacketPeer } from '../../rig/fixtures/packet-peer.ts';
import { reportAdapter } from './status-report.ts';

t.test('the scheduler buffer has its thresholds, and the overflow buffer its size', async (t) => {
  const { fixture } = new DoorbellFlood({ queuePairs: 4, policy: OverflowPolicy.NEWEST, ringLog2: 6 });
  const { doorbells } = fixture.machine.device.functions[0];
  doorbells.thresholds.set(3, 7);
  const [{ doorbells: shown }] = reportAdapter(fixture.machine.device).functions;
  t.match(shown.buffer, { entries: doorbells.buffer.entries, used: 0, low: 3, high: 7 });
  t.match(shown.overflow, { enabled: true, entries: 64, depth: 0 });
  doorbells.overflow.disable();
  t.match(reportAdapter(fixture.machine.device).functions[0].doorbells.overflow, { enabled: false, entries: 0 });
});

t.test('each virtual lane of a port has the packets that wait on it, and those that left', async (t) => {
  const peer = new PacketPeer({ fixture: { adapter: { virtualLanes: 4 } } });
  const [port] = peer.adapter.ports;
  const shown = () => reportAdapter(peer.adapter).ports[0].virtualLanes;
  t.same(
    shown().map(({ number }) => number),
    [0, 1, 2, 3, MANAGEMENT_VL],
  );
  const [before] = shown();
  peer.qp.post({ inline: new Uint8Array(8) });
  peer.settle();
  t.match(shown()[0], { waiting: 1, blocks: 1, sent: before.sent, capacity: port.transmitQueues.rings[0].capacity });
  peer.take();
  t.match(shown()[0], { waiting: 0, blocks: 0, sent: before.sent + 1 });
});
