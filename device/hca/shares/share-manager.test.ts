// SPDX-License-Identifier: Apache-2.0
/**
 * What the share manager tells the units (US 8,484,392 par. 68, 71, 73, 75: the registers that
 * change): only what differs, and decreases before increases, so that no total is exceeded in
 * between.
 */
import t from 'tap';
import { ResourceKind as Kind, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import {
  change,
  findDisagreement,
  guest,
  LIMITS,
  ModelUnits,
  makeModel,
  makePlan,
} from '../../rig/fixtures/share-model.ts';
import { HOST } from './share-changes.ts';
import { maskOf, ShareManager } from './share-manager.ts';
import { NO_OWNER, SHARED_CREDITS_ALL, type SharePlan } from './share-plan.ts';

const READS = ['getVcbDivider', 'isHeldByOther', 'getActivity', 'isBusy', 'readSettings', 'applySettings'];

/** A manager whose units note each call: name and numbers. */
function record(plan: SharePlan) {
  const units = new ModelUnits(plan);
  const calls: unknown[][] = [];
  const noted = new Proxy(units, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || READS.includes(String(key)))
        return typeof value === 'function' ? value.bind(target) : value;
      return (...args: unknown[]): unknown => {
        calls.push([key, ...args.filter((argument) => typeof argument === 'number')]);
        return Reflect.apply(value, target, args);
      };
    },
  });
  const manager = new ShareManager(noted, plan);
  /** The calls since the last time. */
  const take = (): unknown[][] => calls.splice(0);
  return { units, manager, take };
}

/** Two functions with a share each; the first 8 lanes are theirs, by turns of level 0 and 1. */
function twoShares(): SharePlan {
  const share = { vcbs: 32, pcbs: 30, levelPcbs: [10, 10], schedulerBuffers: 4 };
  const plan = makePlan([share, share]);
  for (const [number, lane] of plan.lanes.slice(0, 8).entries())
    Object.assign(lane, {
      owner: number < 4 ? 0 : 1,
      levels: 1 + (number % 2),
      executionCredits: 2,
      completionCredits: 4,
    });
  return plan;
}

t.test('PCBs: only functions whose number or split differs are set, decreases first', async (t) => {
  const { manager, take } = record(twoShares());
  manager.request(HOST, [change(Kind.PCBS, 1, 10), change(Kind.PCBS, 0, 50)]);
  t.same(take(), [
    ['setPcbs', 1, 10, 0, 10],
    ['setPcbs', 0, 50, 10, 10],
    ['shareChanged', 0],
    ['shareChanged', 1],
  ]);
  manager.request(HOST, [change(Kind.PCBS, 0, 20, { qosLevel: 0 })]);
  t.same(take(), [
    ['setPcbs', 0, 50, 20, 10],
    ['shareChanged', 0],
  ]);
  manager.request(HOST, [change(Kind.PCBS, 0, 30, { qosLevel: 1 })]);
  t.same(take(), [
    ['setPcbs', 0, 50, 20, 30],
    ['shareChanged', 0],
  ]);
  manager.request(HOST, [change(Kind.PCBS, 0, 50)]);
  t.same(take(), [], 'a request that changes nothing');
});

t.test('scheduler buffers: decreases first', async (t) => {
  const { manager, take } = record(twoShares());
  manager.request(guest(0), [change(Kind.SCHEDULER_BUFFERS, 1, 1), change(Kind.SCHEDULER_BUFFERS, 0, 9)]);
  t.same(take(), [
    ['setSchedulerBuffers', 1, 1],
    ['setSchedulerBuffers', 0, 9],
    ['shareChanged', 1],
  ]);
  manager.request(guest(0), [change(Kind.SCHEDULER_BUFFERS, 0, 2), change(Kind.SCHEDULER_BUFFERS, 1, 9)]);
  t.same(take(), [
    ['setSchedulerBuffers', 0, 2],
    ['setSchedulerBuffers', 1, 9],
    ['shareChanged', 1],
  ]);
});

t.test('send memory: contexts and blocks of a function together', async (t) => {
  const { manager, take } = record(twoShares());
  manager.request(guest(0), [change(Kind.SEND_CONTEXTS, 1, 3), change(Kind.SEND_BLOCKS, 1, 30)]);
  t.same(take(), [
    ['setSendShare', 1, 3, 30],
    ['shareChanged', 1],
  ]);
  t.match(manager.request(HOST, [change(Kind.SEND_BLOCKS, 0, 19)]), { limit: LIMITS.sendBlocks - 30 });
  t.match(manager.request(HOST, [change(Kind.SEND_CONTEXTS, 0, 18)]), { limit: LIMITS.sendContexts - 3 });
  t.match(manager.request(guest(1), [change(Kind.SEND_BLOCKS, 1, 1)]), { status: ManagementStatus.NOT_PERMITTED });
  t.same(take(), [], 'a refusal changes nothing');
  manager.request(HOST, [change(Kind.SEND_BLOCKS, 1, 31)]);
  t.same(take(), [
    ['setSendShare', 1, 3, 31],
    ['shareChanged', 1],
  ]);
});

t.test('lanes: those whose credits decrease in sum first, then all others that differ', async (t) => {
  const { manager, take } = record(twoShares());
  const setCredits = (lane: number, execution: number, completion: number) => [
    change(Kind.TVL_EXECUTION_CREDITS, lane, execution),
    change(Kind.TVL_COMPLETION_CREDITS, lane, completion),
  ];
  manager.request(guest(0), [...setCredits(1, 1, 3), ...setCredits(0, 3, 9), change(Kind.TVL_WEIGHT, 2, 5)]);
  t.same(take(), [
    ['setLane', 1],
    ['setLane', 2],
    ['setLane', 0],
  ]);
  manager.request(guest(0), [...setCredits(1, 9, 1), ...setCredits(0, 1, 8)]);
  t.same(take(), [
    ['setLane', 0],
    ['setLane', 1],
  ]);
});

t.test('lanes leave their old owner before the new one has them; maps follow', async (t) => {
  const { manager, units, take } = record(twoShares());
  const owners: string[] = [];
  const { setOwnedLanes, setLevelLanes } = units;
  units.setOwnedLanes = (number, mask) => {
    owners.push(`${number} owns ${mask[0].toString(16)}`);
    setOwnedLanes.call(units, number, mask);
  };
  units.setLevelLanes = (number, level, mask) => {
    owners.push(`${number} maps ${mask[0].toString(16)} to ${level}`);
    setLevelLanes.call(units, number, level, mask);
  };
  manager.request(HOST, [change(Kind.TVL_MAP, 1, 0xe0), change(Kind.TVL_MAP, 0, 0x1f)]);
  t.same(owners, [
    '0 owns f',
    '1 owns e0',
    '0 owns 1f',
    '0 maps 15 to 0',
    '0 maps 1a to 1',
    '1 owns e0',
    '1 maps 40 to 0',
  ]);
  owners.length = 0;
  take();
  manager.request(HOST, [change(Kind.DEDICATED_TVL_MAP, 0, 1, { word: 1 })]);
  t.same(take(), [['setDedicatedLanes']]);
  t.same(units.dedicated, maskOf([32]));
  manager.request(HOST, [change(Kind.TVL_MAP, 1, 0x80, { qosLevel: 0 })]);
  t.same(owners, ['1 maps 80 to 0']);
});

t.test('VCBs: place and sub-BAR are set when they differ; the sub-BAR of a register counts', async (t) => {
  const { manager, units, take } = record(twoShares());
  manager.request(guest(0), [change(Kind.VCB_BASE, 1, 90)]);
  t.same(take(), [
    ['placeVcbs', 1, 90, 32],
    ['shareChanged', 1],
  ]);
  manager.request(guest(0), [change(Kind.VCBS, 1, 20)]);
  t.same(take(), [
    ['placeVcbs', 1, 90, 20],
    ['shareChanged', 1],
  ]);
  units.functions[1].vcbDivider = 7;
  t.equal(manager.plan.functions[1].vcbDivider, 7);
  t.equal(manager.plan.vcbsUnallocated, 128 - 32 - 20);
  manager.request(guest(1), [change(Kind.VCBS, 1, 15, { qosLevel: 1 })]);
  t.same(take(), [['setVcbDivider', 1, 5]]);
  manager.request(guest(1), [change(Kind.VCBS, 1, 20, { qosLevel: 0 })]);
  manager.request(HOST, [change(Kind.VCBS, 1, 30)]);
  t.equal(manager.plan.vcbsOfLevel(1, 0), 30, 'a level that has all VCBs has those that come, too');
});

t.test('a function is told of changes of its lanes by others', async (t) => {
  for (const one of [change(Kind.TVL_WEIGHT, 5, 9), change(Kind.TVL_MAP, 1, 0xb0, { qosLevel: 1 })]) {
    const { manager, units } = record(twoShares());
    t.equal(manager.request(HOST, [one]), undefined);
    t.same(units.notified, [1]);
  }
});

t.test('a reset restores the split among the levels, as far as the share allows', async (t) => {
  const model = makeModel(twoShares());
  const { manager, units } = model;
  manager.request(HOST, [change(Kind.TVLS, 1, 0), change(Kind.TVLS, 0, 6), change(Kind.PCBS, 0, 15)]);
  manager.request(guest(0), [
    change(Kind.TVLS, 0, 1, { qosLevel: 0 }),
    change(Kind.TVLS, 0, 5, { qosLevel: 1 }),
    change(Kind.VCBS, 0, 9, { qosLevel: 1 }),
    change(Kind.PCBS, 0, 1, { qosLevel: 1 }),
  ]);
  manager.resetSplit(0);
  const { plan } = manager;
  t.same(
    plan.lanesOf(0).map((lane) => plan.lanes[lane].levels),
    [1, 2, 1, 2, 3, 3],
    'lanes of power-on by turns; both levels have those that came',
  );
  t.match(units.functions[0], { vcbDivider: 64, pcbs: 15, levelPcbs: [5, 10] });
  t.equal(findDisagreement(model), undefined);
});

t.test('a loan begins and ends once', async (t) => {
  const { manager, units, take } = record(twoShares());
  manager.lend(1);
  t.equal(units.lanes[5].executionCredits + units.lanes[5].completionCredits, 0);
  t.equal(units.lanes[5].sharedCredits, SHARED_CREDITS_ALL);
  take();
  manager.lend(1);
  t.same(take(), [['lendPcbs', 1]]);
  manager.askBack(1);
  t.same(take().length, 5, 'PCBs and four lanes');
  manager.askBack(1);
  t.same(take(), [['askBackPcbs', 1]]);
  t.notOk(manager.isLent(1));
});

t.test('a function regains a part of its VCBs when those in use leave no room for all', async (t) => {
  const { manager, units } = record(twoShares());
  manager.returnShare(1);
  t.same(manager.plan.lanesOf(1), []);
  t.match(manager.plan.lanes[5], { owner: NO_OWNER, levels: 0 });
  manager.request(HOST, [change(Kind.VCBS, 0, 64)]);
  for (const vcb of [80, 100, 120]) units.held.set(vcb, 0);
  manager.regainShare(1);
  t.match(manager.plan.functions[1], { vcbBase: 64, vcbs: 16, pcbs: 30, levelPcbs: [10, 10], schedulerBuffers: 4 });
  t.same(manager.plan.lanesOf(1).length, 4);
});

t.test('the largest and the smallest amounts are accepted, the next ones are not', async (t) => {
  for (const [kind, target, least, most, more] of [
    [Kind.TVL_SHARED_CREDITS, 0, 0, 3, {}],
    [Kind.TVL_LIST_SIZE, 0, 1, 112, {}],
    [Kind.TVL_WEIGHT, 0, 1, 255, {}],
    [Kind.TVLS, 0, 0, 4, { qosLevel: 1 }],
    [Kind.VCBS, 0, 0, 32, { qosLevel: 1 }],
    [Kind.PCBS, 0, 0, 20, { qosLevel: 1 }],
    [Kind.SCHEDULER_BUFFERS, 0, 0, 12, {}],
    [Kind.VCB_BASE, 1, 32, 96, {}],
    [Kind.TVL_EXECUTION_CREDITS, 0, 0, 49, {}],
    [Kind.TVL_COMPLETION_CREDITS, 0, 0, 227, {}],
    [Kind.DOORBELL_THRESHOLD_LOW, 0, 1, 7, {}],
    [Kind.DOORBELL_THRESHOLD_HIGH, 0, 3, 16, {}],
  ] as const) {
    const { manager } = makeModel(twoShares());
    for (const amount of [least, most])
      t.equal(manager.request(HOST, [change(kind, target, amount, more)]), undefined, `kind ${kind}: ${amount}`);
    t.match(
      manager.request(HOST, [change(kind, target, most + 1, more)]),
      { limit: most },
      `kind ${kind}: ${most + 1}`,
    );
  }
});

t.test('VCBs in use by another function keep a base away', async (t) => {
  const { manager, units } = makeModel(twoShares());
  units.held.set(70, 0);
  t.match(manager.request(HOST, [change(Kind.VCB_BASE, 1, 64)]), {
    status: ManagementStatus.CONVERGING,
    limit: 32,
  });
  t.equal(manager.request(HOST, [change(Kind.VCB_BASE, 1, 71)]), undefined);
});

t.test('VCBs stay where they are if they fit there, else the first gap has them', async (t) => {
  const { manager, units } = makeModel(makePlan([{ vcbs: 10 }, { vcbs: 10 }, { vcbs: 10 }]));
  const place = (amount: number) => {
    manager.request(HOST, [change(Kind.VCBS, 1, amount)]);
    return manager.plan.functions[1].vcbBase;
  };
  manager.request(HOST, [change(Kind.VCB_BASE, 2, 40)]);
  t.equal(place(30), 10, 'up to the next function');
  t.equal(place(31), 50);
  t.equal(place(9), 50, 'fewer stay in their place');
  t.equal(place(64), 50);
  manager.request(HOST, [change(Kind.VCBS, 1, 1), change(Kind.VCB_BASE, 1, 40 - 5), change(Kind.VCBS, 1, 0)]);
  t.equal(place(5), 35, 'none keeps the base');
  units.held.set(36, 0);
  t.equal(place(6), 10);
});

t.test('the last shared one of a kind stays while somebody needs it', async (t) => {
  const { manager } = makeModel(makePlan([{ schedulerBuffers: 4 }, {}, { schedulerBuffers: 4 }]));
  t.match(manager.request(HOST, [change(Kind.SCHEDULER_BUFFERS, 0, 12)]), { limit: 11 });
  t.equal(manager.request(HOST, [change(Kind.SCHEDULER_BUFFERS, 1, 8)]), undefined, 'not kept for itself');
  t.match(manager.request(HOST, [change(Kind.TVLS, 0, 64)]), { limit: 63 });
  manager.request(HOST, [change(Kind.TVLS, 1, 1), change(Kind.TVLS, 2, 1)]);
  t.equal(manager.request(HOST, [change(Kind.TVLS, 0, 62)]), undefined);
  t.equal(manager.plan.lanesShared.length, 0);
  t.match(manager.request(HOST, [change(Kind.TVLS, 1, 0), change(Kind.TVLS, 0, 63)]), { index: 1, limit: 62 });
  const maps = makeModel(makePlan([{}, {}])).manager;
  maps.request(HOST, [change(Kind.TVL_MAP, 1, 0xffffffff)]);
  t.match(maps.request(HOST, [change(Kind.TVL_MAP, 1, 0xffffffff, { word: 1 })]), { limit: 0 }, 'function 0 has none');
  t.equal(maps.request(HOST, [change(Kind.TVL_MAP, 1, 0xfffffffe, { word: 1 })]), undefined);
  t.match(maps.request(HOST, [change(Kind.DEDICATED_TVL_MAP, 0, 1, { word: 1 })]), { limit: 0 });
  t.equal(maps.request(HOST, [change(Kind.TVL_MAP, 1, 0xfffffffc, { word: 1 })]), undefined);
  t.equal(maps.request(HOST, [change(Kind.DEDICATED_TVL_MAP, 0, 1, { word: 1 })]), undefined);
  t.match(maps.request(HOST, [change(Kind.DEDICATED_TVL_MAP, 0, 3, { word: 1 })]), { limit: 1 });
  const lanes = makeModel(makePlan([{}], undefined, 2)).manager;
  t.match(lanes.request(HOST, [change(Kind.TVL_EXECUTION_CREDITS, 0, 64)]), { limit: 63 }, 'lane 1 has none');
  lanes.request(HOST, [change(Kind.TVL_EXECUTION_CREDITS, 1, 1)]);
  t.equal(lanes.request(HOST, [change(Kind.TVL_EXECUTION_CREDITS, 0, 63)]), undefined);
});

t.test('a level keeps lanes that it has alone, and takes those of no level before those of the other', async (t) => {
  const plan = makePlan([{}]);
  [3, 1, 0, 2, 2, 0].forEach((levels, lane) => {
    Object.assign(plan.lanes[lane], { owner: 0, levels });
  });
  for (const [amount, wanted] of [
    [0, []],
    [1, [1]],
    [2, [0, 1]],
    [3, [0, 1, 2]],
    [4, [0, 1, 2, 5]],
    [5, [0, 1, 2, 3, 5]],
  ] as const) {
    const { manager } = makeModel(plan);
    manager.request(HOST, [change(Kind.TVLS, 0, amount, { qosLevel: 0 })]);
    t.same(manager.plan.lanesOfLevel(0, 0), wanted);
    t.same(manager.plan.lanesOfLevel(0, 1), [0, 3, 4], 'the other level keeps its lanes');
  }
});

t.test('a map has bits for existing lanes only', async (t) => {
  const { manager } = makeModel(makePlan([{}, {}], undefined, 34));
  for (const kind of [Kind.TVL_MAP, Kind.DEDICATED_TVL_MAP]) {
    t.match(manager.request(HOST, [change(kind, 0, 4, { word: 1 })]), {
      status: ManagementStatus.BAD_FIELD,
      limit: 3,
    });
    t.match(manager.request(HOST, [change(kind, 0, 1, { word: 2 })]), { status: ManagementStatus.BAD_FIELD, limit: 1 });
  }
});
