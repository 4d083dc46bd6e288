// SPDX-License-Identifier: Apache-2.0
/**
 * Links that change while they run: cut and plugged in, other properties and faults, the words for
 * them, and that no packet is lost without a count, whatever changes and when.
 */
import t from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { Arrivals, drain, newPort, send } from '../../rig/fixtures/port-pair.ts';
import type { FaultyLink } from './faulty-link.ts';
import { findJoint, type JoinedOptions, Joint, joinPorts } from './joint.ts';
import { encodeLinkChange, makeLinkChange, readLinkChange } from './link-changes.ts';

const counting = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

function setUp(options: JoinedOptions = { kind: 'cable' }) {
  const [first, second] = [newPort(1), newPort(2)];
  // A port that somebody watches seals its packets, also for a cable.
  first.observer = () => {};
  /** PSNs of the packets that are lost. */
  const losses: number[] = [];
  first.lossObserver = (view, offset) => losses.push(view.getUint32(offset + PSN_OFFSET) & 0xffffff);
  const joint = new Joint(first, second, options);
  const arrivals = new Arrivals(second);
  const states = () => joint.ends.map(({ state }) => state);
  let nowNs = 0;
  /** Sends packets `from` to `to` and lets them arrive; returns those that did. */
  const exchange = (from: number, to: number): number[] => {
    for (const id of counting(from, to)) send(first, id);
    nowNs = drain(first, [arrivals], nowNs + 1_000_000);
    return arrivals.ids.splice(0);
  };
  const carry = () => first.link?.carry(nowNs + 1_000_000, 10);
  return { first, joint, arrivals, losses, states, exchange, carry };
}

const { ACTIVE, DOWN } = PortState;
/** LRH, and 8 bytes of the BTH. */
const PSN_OFFSET = 16;

t.test('a link is cut and plugged in again', async (t) => {
  for (const options of [{ kind: 'cable' }, { kind: 'faulty', seed: 1, delayNs: 100 }] as const) {
    const { first, joint, states, exchange } = setUp(options);
    const woken: number[] = [];
    for (const end of joint.ends) end.onWork = () => woken.push(end.number);
    t.same(exchange(1, 3), [1, 2, 3]);
    send(first, 4);
    woken.length = 0;
    joint.cut();
    t.same(states(), [DOWN, DOWN], options.kind);
    t.same([first.link, joint.link, first.transmitDiscards], [undefined, undefined, 1], 'a waiting packet is lost');
    t.same([...new Set(woken)].sort(), [1, 2], 'both nodes run');
    joint.cut();
    joint.plugIn();
    t.same(states(), [ACTIVE, ACTIVE]);
    t.same(exchange(5, 6), [5, 6]);
    joint.plugIn();
    t.same(
      joint.ends.map(({ counters }) => counters.linkDowned),
      [1, 1],
      'once, however often it is asked',
    );
  }
});

t.test('a cable gets properties: it trains once; then they change under way', async (t) => {
  const { first, joint, states, exchange, carry } = setUp();
  joint.change({ delayNs: 1000, faults: { drop: 1 } });
  t.same([states(), first.counters.linkDowned], [[ACTIVE, ACTIVE], 1]);
  t.same(exchange(1, 5), []);
  send(first, 6);
  joint.change({ faults: { drop: 0 }, bitsPerSecond: 1e9 });
  t.same(exchange(7, 8), [6, 7, 8], 'what had not left yet has the new properties');
  t.equal(first.counters.linkDowned, 1, 'it stays up');
  t.match(joint.options, { kind: 'faulty', seed: 1, delayNs: 1000, bitsPerSecond: 1e9, faults: { drop: 0 } });
  send(first, 9);
  carry();
  joint.change({ faults: { drop: 1 } });
  t.same(exchange(10, 10), [9], 'what is on the way arrives');
  t.equal((joint.link as FaultyLink).directions[0].counters.dropped, 6);
});

t.test('the same seed draws the same faults again', async (t) => {
  const { joint, exchange } = setUp();
  const draw = (seed: number): number[] => {
    joint.change({ seed, faults: { drop: 0.5 } });
    return exchange(0, 40);
  };
  const first = draw(7);
  t.not(draw(8).join(), first.join());
  t.same(draw(7), first);
});

t.test('a link that is cut gets properties for later', async (t) => {
  const { joint, states, exchange } = setUp();
  joint.cut();
  joint.change({ faults: { drop: 1 } });
  t.same(states(), [DOWN, DOWN]);
  joint.plugIn();
  t.same(exchange(1, 3), []);
});

t.test('ports that are not joined have no joint', async (t) => {
  const [first, second, third] = [newPort(1), newPort(2), newPort(3)];
  t.equal(joinPorts(first, second, { kind: 'none' }), undefined);
  const joint = joinPorts(first, second, { kind: 'cable' }) as Joint;
  t.equal(findJoint([joint], second), joint);
  t.equal(findJoint([joint], third), undefined);
  t.equal(findJoint([joint], undefined), undefined);
});

t.test('words say what changes; wrong ones change nothing', async (t) => {
  const { joint, states } = setUp();
  const say = (...words: string[]) => readLinkChange('a:1', joint, words).text;
  t.equal(say('down'), 'the link of a:1 is down');
  t.equal(say('up'), 'the link of a:1 is already plugged in');
  t.equal(say('set', 'drop=0.5', 'seed=3'), 'the link of a:1 has drop=0.5, seed=3; it trains');
  for (const [words, message] of [
    [[], /a link takes down, up, or set with properties/],
    [['up', 'now'], /not up now/],
    [['set'], /set needs properties: drop, /],
    [['set', 'drop=1.5'], /drop=1.5 is no property of a link; there are drop, duplicate, /],
    [['set', 'drop=-1'], /drop=-1 is no property/],
    [['set', 'delayNs=0.5'], /delayNs=0.5 is no property/],
    [['set', 'delayNs=1e13'], /link option delayNs is 10000000000000; it must be 0 to 1000000000000/],
    [['set', 'mtuBytes=1000'], /mtuBytes is 1000; it must be 256/],
    [['set', 'seed=4294967296'], /seed=4294967296 is no property/],
    [['set', 'flaps=1'], /flaps=1 is no property/],
  ] as const)
    t.throws(() => say(...words), { name: 'RangeError', message }, words.join(' '));
  t.same([states(), joint.options], [[ACTIVE, ACTIVE], { kind: 'cable' }]);
  const find = (port: string) => (port === 'a:1' ? joint : undefined);
  makeLinkChange(encodeLinkChange('a:1', ['down']), find);
  t.same(states(), [DOWN, DOWN]);
  t.equal(say('down'), 'the link of a:1 is already down');
  t.equal(say('set', 'drop=1'), 'the link of a:1 has drop=1; it is down');
  t.throws(() => makeLinkChange(encodeLinkChange('a:2', ['up']), find), /no link of this process is at port a:2/);
  const unequal = new Joint(newPort(1, 1), newPort(2, 4), { kind: 'cable' });
  t.match(unequal.findObjection({}), /ports of 1 and of 4 data lanes; it has to stay a cable/);
  t.throws(() => unequal.change({}), RangeError);
});

t.test('whatever changes and when: every packet arrives, or its loss is observed', async (t) => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = new Random(seed);
    const { first, joint, arrivals, losses } = setUp(seed % 2 === 0 ? { kind: 'cable' } : { kind: 'faulty', seed });
    let sent = 0;
    let nowNs = 0;
    for (let step = 0; step < 300; step++) {
      const draw = random.below(10);
      if (draw === 0) joint.cut();
      else if (draw === 1) joint.plugIn();
      else if (draw === 2 && random.oneIn(3))
        joint.change({
          delayNs: random.below(500),
          bitsPerSecond: random.below(2) * 1e10,
          faults: { drop: random.below(2) / 2 },
        });
      else if (draw < 7 && joint.link !== undefined && send(first, sent)) sent++;
      else if (draw === 7) arrivals.take(random.below(3));
      else {
        nowNs += random.below(300);
        first.link?.carry(nowNs, 10);
      }
    }
    joint.plugIn();
    drain(first, [arrivals], nowNs);
    const ends = [...arrivals.ids, ...losses].sort((one, other) => one - other);
    if (ends.join() !== counting(0, sent - 1).join()) return t.fail(`seed ${seed}: ${sent} sent, ends ${ends.join()}`);
    if (arrivals.errors.length > 0) return t.fail(`seed ${seed}: ${arrivals.errors.join()}`);
  }
  t.pass('100 seeds');
});
