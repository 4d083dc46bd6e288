// SPDX-License-Identifier: Apache-2.0
/**
 * Credits on links inside a process (IBTA 7.9): no packet is lost for lack of room, VLs do not
 * delay each other, and the packets in flight are within the promised room.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { Arrivals, drain, newPort, send } from '../../rig/fixtures/port-pair.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import { FaultyLink } from './faulty-link.ts';
import type { LinkDirection } from './link-direction.ts';

/** Returns the violated invariant of a direction, or undefined. */
function findBrokenPromise({ flight, buffer, flightBlocks, flightPackets }: LinkDirection): string | undefined {
  let under = 0;
  for (const ring of buffer.rings) {
    const lane = ring.virtualLane;
    under += flightPackets[lane];
    if (lane === MANAGEMENT_VL) continue;
    if (flightBlocks[lane] + ring.blocks > buffer.blocksPerVirtualLane)
      return `lane ${lane}: more under way than its buffer holds`;
    if (flightPackets[lane] + ring.count > ring.capacity) return `lane ${lane}: more packets than slots`;
  }
  return under === flight.count ? undefined : `${under} packets counted by lane, ${flight.count} under way`;
}

function isEmpty({ directions }: FaultyLink, waiting: number): boolean {
  return waiting === 0 && directions.every(({ flight }) => flight.count === 0);
}

t.test('a sender stalls while the receiver takes no packets, and loses none', async (t) => {
  const [first, second] = [newPort(1), newPort(2)];
  const link = new FaultyLink(first, second, { bufferBlocks: 100, bufferPackets: 64 }, new Random(1));
  const arrivals = new Arrivals(second);
  for (let id = 0; id < 60; id++) send(first, id, 600);
  link.carry(0, 1000);
  // 634 bytes are 10 blocks: ten packets fill 100 blocks.
  t.equal(first.transmitQueues.rings[0].count, 50);
  t.ok(first.transmitQueues.creditStalls > 0);
  t.equal(link.nextNs, Number.POSITIVE_INFINITY, 'nothing to wait for but the receiver');
  arrivals.take(3);
  link.carry(0, 1000);
  t.equal(first.transmitQueues.rings[0].count, 47);
  drain(first, [arrivals]);
  t.same(
    arrivals.ids,
    Array.from({ length: 60 }, (_, index) => index),
  );
});

t.test('a VL without room delays neither the other VLs nor VL15', async (t) => {
  const [first, second] = [newPort(1, 2), newPort(2, 2)];
  for (const port of [first, second]) port.transmitQueues.mapServiceLevel(1, 1);
  const link = new FaultyLink(first, second, { bufferBlocks: 68 }, new Random(1));
  for (let id = 0; id < 5; id++) send(first, id, 4096, 0);
  link.carry(0, 1000);
  t.equal(first.transmitQueues.rings[0].count, 4);
  for (let id = 10; id < 15; id++) send(first, id, 64, 1);
  link.carry(0, 1000);
  t.equal(first.transmitQueues.rings[1].count, 0);
  const vl15 = first.vl15RingFor(0xbfff);
  vl15?.bytes.set(first.transmitQueues.rings[0].readSlot, vl15.writeOffset);
  if (vl15 !== undefined) first.transmit(vl15, first.transmitQueues.rings[0].readLength);
  link.carry(0, 1000);
  const arrivals = new Arrivals(second);
  arrivals.take(1);
  t.same(arrivals.lanes, [MANAGEMENT_VL], 'VL15 goes first');
  drain(first, [arrivals]);
  t.same(
    [...arrivals.ids].sort((left, right) => left - right),
    [0, 1, 1, 2, 3, 4, 10, 11, 12, 13, 14],
  );
});

t.test('VL15 drops packets without room', async (t) => {
  const [first, second] = [newPort(1), newPort(2)];
  const link = new FaultyLink(first, second, {}, new Random(1));
  for (let round = 0; round < 20; round++) {
    const ring = first.vl15RingFor(0xbfff);
    if (ring !== undefined) first.transmit(ring, 290);
    link.carry(0, 10);
  }
  t.equal(link.directions[0].buffer.managementDrops, 4);
});

t.test('credits are conserved under random load with every fault', async (t) => {
  const faults = { drop: 0.1, duplicate: 0.2, reorder: 0.1, corrupt: 0.1, delay: 0.1 };
  for (let seed = 1; seed <= 12; seed++) {
    const random = new Random(seed);
    const lanes = random.pick([1, 2, 4, 8]);
    const [first, second] = [newPort(1, lanes, 16), newPort(2, lanes, 16)];
    for (const port of [first, second])
      for (let level = 0; level < 16; level++) port.transmitQueues.mapServiceLevel(level, level % lanes);
    const options = {
      faults,
      bitsPerSecond: 1e9,
      delayNs: 500,
      bufferBlocks: 68 + random.below(200),
      bufferPackets: 8,
    };
    const flaps = { flapEveryNs: 500_000, flapLengthNs: 1000 };
    const link = new FaultyLink(first, second, { ...options, ...flaps, flightPackets: 12 }, random);
    const ends = [new Arrivals(first), new Arrivals(second)];
    let sent = 0;
    let nowNs = 0;
    for (let step = 0; step < 3000; step++) {
      const port = random.pick([first, second]);
      if (random.oneIn(2) && send(port, sent, random.pick([0, 64, 1000, 4096]), random.below(16))) sent++;
      if (random.oneIn(3)) nowNs = Math.max(nowNs, Math.min(link.nextNs, nowNs + random.below(5000)));
      link.carry(nowNs, random.between(1, 8));
      if (random.oneIn(3)) random.pick(ends).take(random.between(1, 6));
      for (const direction of link.directions) {
        const broken = findBrokenPromise(direction);
        if (broken !== undefined) t.fail(`seed ${seed}, step ${step}: ${broken}`);
      }
    }
    for (
      let round = 0;
      round < 3000 && !isEmpty(link, first.transmitQueues.count + second.transmitQueues.count);
      round++
    ) {
      nowNs += 40_000;
      link.carry(nowNs, 1000);
      for (const end of ends) end.take();
    }
    const lost = first.transmitDiscards + second.transmitDiscards;
    const [there, back] = link.directions.map(({ counters }) => counters);
    t.equal(
      there.sent + back.sent + lost,
      sent,
      `seed ${seed}: every packet was sent or discarded by a port that was down`,
    );
    for (const { counters, flight, buffer } of link.directions) {
      const { dropped, duplicated, lostByFlap, landed } = counters;
      t.equal(counters.sent + duplicated, landed + dropped + lostByFlap, `seed ${seed}: every packet has an end`);
      t.equal(flight.count, 0, `seed ${seed}`);
      for (const ring of buffer.rings) t.equal(ring.blocks, 0, `seed ${seed}: lane ${ring.virtualLane} is empty`);
    }
    t.equal(ends[0].ids.length + ends[0].errors.length, back.landed, `seed ${seed}: all landed packets were taken`);
  }
});
