// SPDX-License-Identifier: Apache-2.0
/**
 * Automatic adjustment of shares (US 8,484,392 par. 64): a share is returned when a guest leaves,
 * regained with a guest, and lent while its function is idle.
 */
import t from 'tap';
import { ResourceKind as Kind } from '../../../protocol/layout/gen/values.gen.ts';
import { change, findDisagreement, guest, makeModel, makePlan } from '../../rig/fixtures/share-model.ts';
import { SimulatedClock } from '../../rig/machine/simulated-clock.ts';
import { ShareAdjuster } from './share-adjuster.ts';
import { HOST } from './share-changes.ts';
import { NO_OWNER } from './share-plan.ts';

/** Two functions with a share each, a guest on both. */
function start() {
  const share = { vcbs: 32, pcbs: 30, levelPcbs: [10, 10], schedulerBuffers: 4 };
  const plan = makePlan([share, share]);
  for (const [number, lane] of plan.lanes.slice(0, 8).entries())
    Object.assign(lane, {
      owner: number < 4 ? 0 : 1,
      levels: 1 + (number % 2),
      executionCredits: 2,
      completionCredits: 4,
    });
  const model = makeModel(plan);
  const clock = new SimulatedClock();
  const adjuster = new ShareAdjuster(model.manager, clock);
  adjuster.noteAttached(0);
  adjuster.noteAttached(1);
  return { ...model, model, clock, adjuster };
}

t.test('a share returns when its guest leaves, and comes back with a guest', async (t) => {
  const { manager, adjuster, model } = start();
  adjuster.noteReset(1, 'lost');
  t.equal(manager.plan.functions[1].pcbs, 30, 'not unless switched on');
  adjuster.noteAttached(1);
  adjuster.returnShares = true;
  adjuster.noteReset(1, 'function');
  t.equal(manager.plan.functions[1].pcbs, 30, 'a reset is no leaving');
  adjuster.noteReset(1, 'lost');
  t.match(manager.plan.functions[1], { vcbs: 0, pcbs: 0, levelPcbs: [0, 0], schedulerBuffers: 0 });
  t.equal(manager.plan.lanesOf(1).length, 0);
  t.equal(manager.request(guest(0), [change(Kind.PCBS, 0, 60), change(Kind.TVLS, 0, 60)]), undefined, 'others get it');
  adjuster.noteAttached(1);
  t.match(manager.plan.functions[1], { vcbs: 32, pcbs: 30, levelPcbs: [10, 10], schedulerBuffers: 4 });
  t.equal(manager.plan.lanesOf(1).length, 4);
  t.equal(findDisagreement(model), undefined);
});

t.test('without room for all of it, a function regains what there is', async (t) => {
  const { manager, adjuster, model } = start();
  adjuster.returnShares = true;
  adjuster.noteReset(1, 'lost');
  manager.request(HOST, [change(Kind.PCBS, 0, 90), change(Kind.VCBS, 0, 60), change(Kind.VCB_BASE, 0, 20)]);
  adjuster.noteAttached(1);
  t.match(manager.plan.functions[1], { vcbs: 32, pcbs: 6, levelPcbs: [0, 6] });
  t.equal(findDisagreement(model), undefined);
});

t.test('what the virtual machine manager gave an absent guest is what it finds', async (t) => {
  const { manager, adjuster } = start();
  adjuster.noteReset(1, 'lost');
  adjuster.returnShares = true;
  t.equal(manager.plan.functions[1].pcbs, 0, 'switched on, it takes what absent guests have');
  manager.request(HOST, [change(Kind.PCBS, 1, 7)]);
  adjuster.noteAttached(1);
  t.equal(manager.plan.functions[1].pcbs, 7);
});

t.test('an idle function lends what it has, and asks back as soon as it does anything', async (t) => {
  const { units, adjuster, clock, manager, model } = start();
  const run = (): void => {
    adjuster.run();
    units.activity[0]++;
  };
  const credits = (lane: number) => [units.lanes[lane].executionCredits, units.lanes[lane].completionCredits];
  const untilAlarm = (): void => {
    t.ok(clock.jumpToAlarm(), 'it wants to be woken');
    run();
  };
  run();
  t.notOk(clock.jumpToAlarm(), 'nothing happens unless switched on');
  adjuster.lendIdle = true;
  run();
  untilAlarm();
  t.same([...units.lentPcbs], [1], 'function 0 is busy');
  t.same(
    [credits(0), credits(4)],
    [
      [2, 4],
      [0, 0],
    ],
  );
  t.equal(manager.plan.lanes[4].executionCredits, 2, 'it is still its own');
  t.equal(manager.request(guest(0), [change(Kind.TVL_WEIGHT, 0, 9)]), undefined);
  t.same(credits(4), [0, 0], 'requests of others do not end it');
  units.activity[1]++;
  run();
  t.same([...units.lentPcbs], []);
  t.same(credits(4), [2, 4], 'asked back in the next pass');
  t.equal(findDisagreement(model), undefined);
  units.busy[1] = true;
  untilAlarm();
  untilAlarm();
  t.same([...units.lentPcbs], [], 'a function with commands under way is not idle');
  units.busy[1] = false;
  untilAlarm();
  untilAlarm();
  t.same([...units.lentPcbs], [1]);
  adjuster.lendIdle = false;
  t.same([...units.lentPcbs], [], 'switching it off ends it');
  t.equal(manager.plan.lanes[4].owner === NO_OWNER, false);
});

/** Two functions without a guest. */
function startEmpty() {
  const share = { vcbs: 7, pcbs: 7, levelPcbs: [0, 0] };
  const model = makeModel(makePlan([share, share]));
  const clock = new SimulatedClock();
  return { ...model, clock, adjuster: new ShareAdjuster(model.manager, clock, 1000) };
}

t.test('switching the return of shares on takes those of absent guests, once', async (t) => {
  const { manager, adjuster } = startEmpty();
  const pcbs = () => manager.plan.functions.map((share) => share.pcbs);
  adjuster.noteAttached(0);
  adjuster.returnShares = false;
  t.same(pcbs(), [7, 7]);
  adjuster.returnShares = true;
  t.same([pcbs(), adjuster.returnShares], [[7, 0], true]);
  manager.request(HOST, [change(Kind.PCBS, 1, 3), change(Kind.VCBS, 1, 3)]);
  adjuster.returnShares = true;
  t.same(pcbs(), [7, 3], 'it was on');
  adjuster.noteAttached(1);
  t.same(pcbs(), [7, 3], 'the guest finds what it was given');
  adjuster.returnShares = false;
  adjuster.noteReset(1, 'lost');
  manager.request(HOST, [change(Kind.PCBS, 1, 0), change(Kind.VCBS, 1, 0)]);
  adjuster.noteAttached(1);
  t.same(pcbs(), [7, 0], 'a share that the machine manager took is not regained');
});

t.test('idleness is measured from when lending was switched on', async (t) => {
  const { units, adjuster, clock } = startEmpty();
  const run = (timeNs: number): void => {
    clock.advance(timeNs);
    adjuster.run();
  };
  units.activity.fill(1);
  clock.advance(5000);
  t.notOk(adjuster.lendIdle);
  adjuster.lendIdle = true;
  t.ok(adjuster.lendIdle);
  run(0);
  run(999);
  t.same([...units.lentPcbs], []);
  adjuster.lendIdle = true;
  run(1);
  t.same([...units.lentPcbs].sort(), [0, 1], 'it was on');
  adjuster.lendIdle = false;
  adjuster.lendIdle = true;
  run(2000);
  t.same([...units.lentPcbs], []);
});
