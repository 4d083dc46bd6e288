// SPDX-License-Identifier: Apache-2.0
/**
 * A cable between two ports of one process: states of the ports, packets handed over without a
 * copy, and the choice of VLs by service level (IBTA 7.6.6).
 */
import t from 'tap';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { newPort, send } from '../../rig/fixtures/port-pair.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import { Cable } from './cable.ts';

t.test('a cable makes both ports active and hands over packets where they were built', async (t) => {
  const [first, second] = [newPort(1), newPort(2)];
  t.equal(first.state, PortState.DOWN);
  const link = new Cable(first, second);
  t.equal(first.state, PortState.ACTIVE);
  t.equal(second.state, PortState.ACTIVE);
  t.equal(link.arrival(second), undefined);
  send(first, 7);
  const ring = link.arrival(second);
  t.equal(ring, first.transmitQueues.rings[0], 'no copy');
  t.equal(link.arrival(first), undefined, 'nothing comes back');
});

t.test('a packet on a cable is sealed only for an observer', async (t) => {
  const [first, second] = [newPort(1), newPort(2)];
  const link = new Cable(first, second);
  const parsed = newParsedPacket();
  const check = (checks: number = PacketCheck.ALL): number => {
    const ring = link.arrival(second);
    if (ring === undefined) return -1;
    const error = parsePacket(ring.view, ring.readOffset, ring.readLength, parsed, checks);
    ring.shift();
    return error;
  };
  send(first, 1);
  t.equal(check(), PacketError.BAD_VCRC);
  send(first, 1);
  t.equal(check(PacketCheck.ICRC), PacketError.BAD_ICRC);
  const seen: number[] = [];
  first.observer = (_port, _outgoing, bytes, offset, length) => {
    const view = new DataView(bytes.buffer);
    seen.push(parsePacket(view, offset, length, parsed, PacketCheck.ALL));
  };
  send(first, 2);
  t.equal(check(), PacketError.NONE);
  t.same(seen, [PacketError.NONE]);
});

t.test('taking a port off its link brings both ports down and discards waiting packets', async (t) => {
  const [first, second, third] = [newPort(1), newPort(2), newPort(3)];
  const changes: string[] = [];
  for (const port of [first, second, third])
    port.onStateChange = (changed, previous) => changes.push(`${changed.number}: ${previous} to ${changed.state}`);
  new Cable(first, second);
  send(first, 1);
  send(second, 2);
  t.same(changes.splice(0), ['1: 1 to 2', '1: 2 to 4', '2: 1 to 2', '2: 2 to 4']);
  new Cable(second, third);
  t.same(changes, ['2: 4 to 1', '1: 4 to 1', '2: 1 to 2', '2: 2 to 4', '3: 1 to 2', '3: 2 to 4']);
  t.equal(first.link, undefined);
  t.equal(first.transmitDiscards, 1);
  t.equal(second.transmitDiscards, 1);
  send(first, 3);
  t.equal(first.transmitDiscards, 2, 'a port without a link sends into nowhere');
  t.equal(first.transmitQueues.count, 0);
});

t.test('a subnet manager may keep a port from becoming active', async (t) => {
  const [first, second] = [newPort(1), newPort(2)];
  first.selfActivating = false;
  new Cable(first, second);
  t.equal(first.state, PortState.INITIALIZE);
  t.notOk(first.active);
});

t.test('service levels select VLs, and a level of VL15 discards', async (t) => {
  const [first, second] = [newPort(1, 4), newPort(2, 4)];
  const link = new Cable(first, second);
  t.ok(first.transmitQueues.mapServiceLevel(3, 2));
  t.notOk(first.transmitQueues.mapServiceLevel(3, 4), 'there is no VL4');
  t.ok(first.transmitQueues.mapServiceLevel(4, MANAGEMENT_VL));
  send(first, 1, 64, 3);
  send(first, 2, 64, 4);
  t.equal(first.transmitDiscards, 1);
  const ring = link.arrival(second);
  t.equal(ring?.virtualLane, 2);
  t.equal((ring?.bytes[ring.readOffset] ?? 0) >>> 4, 2, 'the packet says its lane');
});
