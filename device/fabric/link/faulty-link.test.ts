// SPDX-License-Identifier: Apache-2.0
/**
 * The faulty link: rate, delay, MTU, each kind of fault at random and by schedule, and flaps. The
 * same seed gives the same faults.
 */
import t from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { Arrivals, drain, newPort, send } from '../../rig/fixtures/port-pair.ts';
import type { Port } from '../port/port.ts';
import { FaultyLink } from './faulty-link.ts';
import type { FaultyLinkOptions, ScheduledFault } from './link-options.ts';

interface Setup {
  readonly first: Port;
  readonly second: Port;
  readonly link: FaultyLink;
  readonly arrivals: Arrivals;
}

function setUp(options: Partial<FaultyLinkOptions> = {}, seed = 1): Setup {
  const [first, second] = [newPort(1), newPort(2)];
  const link = new FaultyLink(first, second, options, new Random(seed));
  return { first, second, link, arrivals: new Arrivals(second) };
}

/** Sends packets 0 to `count - 1` and lets them arrive. */
function exchange({ first, arrivals }: Setup, count: number, payloadBytes = 64): number {
  let nowNs = 0;
  for (let id = 0; id < count; id++) {
    while (!send(first, id, payloadBytes)) nowNs = drain(first, [arrivals], nowNs);
  }
  return drain(first, [arrivals], nowNs);
}

const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const at = (packet: number, fault: ScheduledFault['fault'], more: Partial<ScheduledFault> = {}): ScheduledFault => ({
  fault,
  direction: 0,
  packet,
  ...more,
});

t.test('without faults everything arrives, in order, sealed', async (t) => {
  const setup = setUp();
  exchange(setup, 500);
  t.same(setup.arrivals.ids, counting(500));
  t.same(setup.arrivals.errors, []);
  t.equal(setup.link.directions[0].counters.landed, 500);
});

t.test('rate and delay set the time of arrival', async (t) => {
  const setup = setUp({ bitsPerSecond: 8e9, delayNs: 1000 });
  // 64 bytes of payload: LRH 8, BTH 12, DETH 8, ICRC 4, VCRC 2, at a byte per ns.
  t.equal(exchange(setup, 1), 1000 + 98);
  const { first, arrivals, link } = setUp({ bitsPerSecond: 8e9, delayNs: 1000 });
  for (let id = 0; id < 3; id++) send(first, id);
  link.carry(0, 10);
  t.equal(link.nextNs, 98, 'the sender is free again');
  // A link that is called late catches up: each packet leaves when the one before it has left.
  link.carry(5000, 10);
  t.equal(arrivals.take(), 3);
  t.equal(link.nextNs, Number.POSITIVE_INFINITY);
});

t.test('scheduled faults happen to the packets they name', async (t) => {
  const schedule = [at(1, 'drop'), at(3, 'duplicate'), at(5, 'corrupt', { byte: 30, flip: 1 }), at(7, 'reorder')];
  const setup = setUp({ schedule, reorderWindow: 1 });
  exchange(setup, 10);
  t.same(setup.arrivals.ids, [0, 2, 3, 3, 4, 6, 8, 7, 9]);
  t.same(setup.arrivals.errors, ['BAD_VCRC']);
  const { counters } = setup.link.directions[0];
  t.match(counters, { sent: 10, landed: 10, dropped: 1, duplicated: 1, corrupted: 1, reordered: 1 });
});

t.test('a fault may be scheduled for a time and for the other direction', async (t) => {
  const [first, second] = [newPort(1), newPort(2)];
  const schedule: ScheduledFault[] = [{ fault: 'drop', direction: 1, atNs: 500 }];
  const link = new FaultyLink(first, second, { schedule }, new Random(1));
  const ends = [new Arrivals(first), new Arrivals(second)];
  for (const [nowNs, id] of [
    [0, 0],
    [499, 1],
    [600, 2],
    [700, 3],
  ]) {
    for (const port of [first, second]) send(port, id);
    link.carry(nowNs, 10);
    for (const end of ends) end.take();
  }
  t.same(ends[0].ids, [0, 1, 3]);
  t.same(ends[1].ids, [0, 1, 2, 3]);
});

t.test('a reordered packet with none behind it arrives as well', async (t) => {
  const setup = setUp({ schedule: [at(0, 'reorder')], reorderNs: 700 });
  t.equal(exchange(setup, 1), 700);
  t.same(setup.arrivals.ids, [0]);
});

t.test('no packet is overtaken by more than the window', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const setup = setUp({ faults: { reorder: 0.3 }, reorderWindow: 3, reorderNs: 1e9 }, seed);
    exchange(setup, 300);
    const { ids } = setup.arrivals;
    t.same(
      [...ids].sort((left, right) => left - right),
      counting(300),
      `seed ${seed}`,
    );
    const late = ids.filter((id, index) => ids.slice(0, index).filter((earlier) => earlier > id).length > 3);
    t.same(late, [], `seed ${seed}`);
    t.ok(setup.link.directions[0].counters.reordered > 50, `seed ${seed}`);
  }
});

t.test('late packets keep their order', async (t) => {
  const setup = setUp({ faults: { delay: 0.5 }, lateNs: 5000, bitsPerSecond: 1e9 });
  exchange(setup, 200);
  t.same(setup.arrivals.ids, counting(200));
  t.ok(setup.link.directions[0].counters.delayed > 50);
});

t.test('the same seed gives the same faults, another seed others', async (t) => {
  const faults = { drop: 0.1, duplicate: 0.1, reorder: 0.1, corrupt: 0.1, delay: 0.1 };
  const run = (seed: number): unknown => {
    const setup = setUp({ faults, bitsPerSecond: 1e9, delayNs: 300 }, seed);
    const endNs = exchange(setup, 400);
    return { endNs, ids: setup.arrivals.ids, errors: setup.arrivals.errors, ...setup.link.directions[0].counters };
  };
  t.same(run(5), run(5));
  t.notSame(run(5), run(6));
});

t.test('every packet is accounted for', async (t) => {
  const faults = { drop: 0.1, duplicate: 0.1, reorder: 0.1, corrupt: 0.1, delay: 0.1 };
  for (let seed = 1; seed <= 20; seed++) {
    const setup = setUp({ faults, delayNs: 100 }, seed);
    exchange(setup, 200);
    const { counters } = setup.link.directions[0];
    t.equal(counters.landed, 200 - counters.dropped + counters.duplicated, `seed ${seed}`);
    t.equal(setup.arrivals.ids.length + setup.arrivals.errors.length, counters.landed, `seed ${seed}`);
    t.equal(setup.arrivals.errors.length, counters.corrupted, `seed ${seed}: each damaged packet is caught`);
  }
});

t.test('a packet damaged in any byte, in any way, is caught', async (t) => {
  const length = 98;
  const schedule: ScheduledFault[] = [];
  for (let byte = 0; byte < length; byte++)
    for (let flip = 1; flip < 256; flip++) schedule.push(at(schedule.length, 'corrupt', { byte, flip }));
  const setup = setUp({ schedule });
  exchange(setup, schedule.length);
  t.same(setup.arrivals.ids, []);
  t.equal(setup.arrivals.errors.length, length * 255);
});

t.test('a packet longer than the MTU of the link is lost', async (t) => {
  const setup = setUp({ mtuBytes: 256 });
  for (const [id, payload] of [256, 1024, 256].entries()) send(setup.first, id, payload);
  drain(setup.first, [setup.arrivals]);
  t.same(setup.arrivals.ids, [0, 2]);
  t.equal(setup.link.directions[0].counters.tooLong, 1);
});

t.test('a flap takes both ports down and up, and loses the packets in flight', async (t) => {
  const setup = setUp({ delayNs: 1000, flaps: [{ atNs: 500, lengthNs: 300 }] });
  const { first, second, link, arrivals } = setup;
  const edges: [boolean, number][] = [];
  link.onStateChange = (up, atNs) => edges.push([up, atNs]);
  send(first, 0);
  link.carry(0, 10);
  send(first, 1);
  link.carry(600, 10);
  t.equal(first.state, PortState.DOWN);
  t.equal(second.state, PortState.DOWN);
  send(first, 2);
  t.equal(first.transmitDiscards, 1, 'sent while the link was down');
  link.carry(800, 10);
  t.equal(first.state, PortState.ACTIVE);
  send(first, 3);
  drain(first, [arrivals], 800);
  t.same(arrivals.ids, [3]);
  t.equal(link.directions[0].counters.lostByFlap, 2);
  t.same(edges, [
    [false, 500],
    [true, 800],
  ]);
});

t.test('packets due before a flap arrive however late the link is called', async (t) => {
  const { first, link, arrivals } = setUp({ delayNs: 100, flaps: [{ atNs: 500, lengthNs: 300 }] });
  send(first, 0);
  link.carry(0, 10);
  link.carry(2000, 10);
  arrivals.take();
  t.same(arrivals.ids, [0]);
  t.equal(link.flaps, 1);
  t.ok(link.up);
});

t.test('random flaps come and go by seed', async (t) => {
  const run = (seed: number): number[] => {
    const { link } = setUp({ flapEveryNs: 10_000, flapLengthNs: 500 }, seed);
    const edges: number[] = [];
    link.onStateChange = (_up, atNs) => edges.push(atNs);
    for (let step = 0; step < 40; step++) link.carry(link.nextNs, 10);
    return edges;
  };
  t.same(run(3), run(3));
  t.notSame(run(3), run(4));
  const edges = run(3);
  t.ok(
    edges.every((edge, index) => index === 0 || edge > edges[index - 1]),
    `${edges}`,
  );
});

t.test('options out of range are refused with a sentence', async (t) => {
  const refused = (options: Partial<FaultyLinkOptions>, pattern: RegExp): void => {
    t.throws(() => setUp(options), { message: pattern });
  };
  refused({ faults: { drop: 2 } }, /link fault drop has probability 2; it must be 0 to 1/);
  refused({ mtuBytes: 1000 }, /mtuBytes is 1000/);
  refused({ bufferBlocks: 10 }, /bufferBlocks is 10; it must be 68 to/);
  refused({ schedule: [{ fault: 'drop', direction: 0 }] }, /scheduled link fault 0 must say either packet or atNs/);
  refused(
    {
      flaps: [
        { atNs: 5, lengthNs: 9 },
        { atNs: 6, lengthNs: 1 },
      ],
    },
    /link flap 1/,
  );
  t.throws(() => new FaultyLink(newPort(1), newPort(2, 2), {}, new Random(1)), { message: /1 and of 2 data lanes/ });
});
