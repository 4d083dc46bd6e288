// SPDX-License-Identifier: Apache-2.0
/**
 * Resource requests (US 8,484,392 par. 62-86): the worked example of par. 125-131 (figure 11) with
 * its own numbers, the error cases, and every field of every change out of range. A refused request
 * changes nothing.
 */
import t from 'tap';
import { ResourceKind as Kind, ManagementStatus, resourceKindName } from '../../../protocol/layout/gen/values.gen.ts';
import { change, digest, findDisagreement, guest, makeModel, makePlan } from '../../rig/fixtures/share-model.ts';
import { HOST, type RequestRefusal } from './share-changes.ts';

const CONTROL = 0;
const WEATHER = 1;
const OCEAN = 2;

/** Three functions without any allocation. */
function threeFunctions() {
  return makeModel(makePlan([{}, {}, {}]));
}

const figure11 = [
  change(Kind.VCBS, WEATHER, 25),
  change(Kind.PCBS, WEATHER, 20),
  change(Kind.VCBS, OCEAN, 15),
  change(Kind.PCBS, OCEAN, 12),
  change(Kind.VCBS, CONTROL, 30),
  change(Kind.PCBS, CONTROL, 25),
  change(Kind.TVLS, WEATHER, 10),
  change(Kind.TVLS, OCEAN, 20),
  change(Kind.TVLS, CONTROL, 15),
];

t.test('figure 11: weather, ocean and control get what the document gives them, in one request', async (t) => {
  const model = threeFunctions();
  const { manager, units } = model;
  t.equal(manager.request(guest(CONTROL), figure11), undefined);
  t.match(
    units.functions.map(({ vcbs, pcbs }) => [vcbs, pcbs]),
    [
      [30, 25],
      [25, 20],
      [15, 12],
    ],
  );
  t.same(
    [CONTROL, WEATHER, OCEAN].map((owner) => manager.plan.lanesOf(owner).length),
    [15, 10, 20],
  );
  t.same(units.notified, [WEATHER, OCEAN], 'the tenants are told; the control machine asked itself');
  t.equal(findDisagreement(model), undefined);
});

t.test('figure 11: the tenants split what they have', async (t) => {
  const model = threeFunctions();
  const { manager } = model;
  manager.request(guest(CONTROL), figure11);
  t.equal(manager.request(guest(WEATHER), [change(Kind.VCBS, WEATHER, 15, { qosLevel: 1 })]), undefined, 'alerts');
  t.equal(manager.plan.vcbsOfLevel(WEATHER, 1), 15);
  t.equal(manager.plan.vcbsOfLevel(WEATHER, 0), 10, 'other applications');
  t.equal(
    manager.request(guest(OCEAN), [change(Kind.VCBS, OCEAN, 10, { qosLevel: 1 })]),
    undefined,
    'the prized researcher',
  );
  t.same(
    [0, 1].map((level) => manager.plan.vcbsOfLevel(OCEAN, level)),
    [5, 10],
  );
  const lanes = [change(Kind.TVLS, WEATHER, 6, { qosLevel: 1 }), change(Kind.TVLS, WEATHER, 4, { qosLevel: 0 })];
  t.equal(manager.request(guest(WEATHER), lanes), undefined);
  const [low, high] = [0, 1].map((level) => manager.plan.lanesOfLevel(WEATHER, level));
  t.same([low.length, high.length], [4, 6]);
  t.notOk(
    low.some((lane) => high.includes(lane)),
    'each lane serves one level',
  );
  t.equal(findDisagreement(model), undefined);
});

t.test('figure 11 by explicit map of lanes', async (t) => {
  const model = threeFunctions();
  const { manager } = model;
  const map = [
    change(Kind.TVL_MAP, WEATHER, 0x000003ff),
    change(Kind.TVL_MAP, OCEAN, 0x3ffffc00),
    change(Kind.TVL_MAP, CONTROL, 0xc0000000),
    change(Kind.TVL_MAP, CONTROL, 0x00001fff, { word: 1 }),
  ];
  t.equal(manager.request(guest(CONTROL), map), undefined);
  t.same(manager.plan.lanesOf(WEATHER), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.same(
    [OCEAN, CONTROL].map((owner) => manager.plan.lanesOf(owner).length),
    [20, 15],
  );
  t.equal(manager.request(guest(WEATHER), [change(Kind.TVL_MAP, WEATHER, 0x3, { qosLevel: 1 })]), undefined);
  t.same(manager.plan.lanesOfLevel(WEATHER, 1), [0, 1]);
  t.equal(manager.request(guest(CONTROL), [change(Kind.TVL_MAP, WEATHER, 0x3fe)]), undefined, 'lane 0 becomes shared');
  t.same(manager.plan.lanesOfLevel(WEATHER, 1), [1]);
  t.ok(manager.plan.lanesShared.includes(0));
  t.equal(findDisagreement(model), undefined);
});

t.test('PCBs as in the example of the document: 8 = 6 + 2, and 10 = 5 + 3 and 2 shared', async (t) => {
  const model = threeFunctions();
  const { manager, units } = model;
  manager.request(HOST, [change(Kind.PCBS, WEATHER, 8), change(Kind.PCBS, OCEAN, 10)]);
  const split = (owner: number, low: number, high: number) =>
    manager.request(guest(owner), [
      change(Kind.PCBS, owner, low, { qosLevel: 0 }),
      change(Kind.PCBS, owner, high, { qosLevel: 1 }),
    ]);
  t.equal(split(WEATHER, 2, 6), undefined);
  t.equal(split(OCEAN, 5, 3), undefined);
  t.same(
    [units.functions[WEATHER].levelPcbs, units.functions[OCEAN].levelPcbs],
    [
      [2, 6],
      [5, 3],
    ],
  );
  manager.request(HOST, [change(Kind.PCBS, OCEAN, 9)]);
  t.same(units.functions[OCEAN].levelPcbs, [5, 3], 'what the levels share goes first');
  manager.request(HOST, [change(Kind.PCBS, OCEAN, 5)]);
  t.same(units.functions[OCEAN].levelPcbs, [2, 3], 'then what level 0 has');
  manager.request(HOST, [change(Kind.PCBS, OCEAN, 20)]);
  t.same(units.functions[OCEAN].levelPcbs, [2, 3], 'what comes is shared by the levels');
});

t.test('lanes that come go to every level that has a map, those that go are first what the levels share', async (t) => {
  const model = threeFunctions();
  const { manager } = model;
  const ofLevel = (qosLevel: number) => manager.plan.lanesOfLevel(WEATHER, qosLevel);
  const setLanes = (amount: number) => manager.request(HOST, [change(Kind.TVLS, WEATHER, amount)]);
  setLanes(4);
  t.same([ofLevel(0), ofLevel(1)], [[], []], 'without a map each level takes all of them');
  t.same(manager.plan.lanesOpenTo(WEATHER, 1), [0, 1, 2, 3]);
  manager.request(
    guest(WEATHER),
    [0, 1].map((qosLevel) => change(Kind.TVLS, WEATHER, 2, { qosLevel })),
  );
  t.same(
    [ofLevel(0), ofLevel(1)],
    [
      [0, 1],
      [2, 3],
    ],
  );
  setLanes(6);
  t.same(
    [ofLevel(0), ofLevel(1)],
    [
      [0, 1, 4, 5],
      [2, 3, 4, 5],
    ],
  );
  setLanes(3);
  t.same([ofLevel(0), ofLevel(1)], [[0], [2, 3]], 'then those of level 0');
  setLanes(0);
  t.same(manager.plan.lanesOpenTo(WEATHER, 1), manager.plan.lanesShared, 'without a lane it takes the shared ones');
  t.equal(findDisagreement(model), undefined);
});

/** Status, index of the change, offset in it, limit. */
type Expected = readonly [status: ManagementStatus, index: number, offset: number, limit: number];

const OFFSETS = { resource: 0, level: 1, target: 2, amount: 4 };

t.test('refusals name the field and what would have been accepted, and change nothing', async (t) => {
  const { BAD_FIELD, BAD_OBJECT, BAD_STATE, NO_RESOURCES, NOT_PERMITTED, SHARE_EXCEEDED } = ManagementStatus;
  const [RESOURCE, LEVEL, TARGET, AMOUNT] = Object.values(OFFSETS);
  const cases: [string, number | undefined, ReturnType<typeof change>, Expected][] = [
    ['an unknown resource', 0, change(99, 0, 1), [BAD_FIELD, 0, RESOURCE, Kind.TVL_TABLE_ENTRY]],
    ['resource 0', 0, change(0, 0, 1), [BAD_FIELD, 0, RESOURCE, Kind.TVL_TABLE_ENTRY]],
    ['an unknown function', 0, change(Kind.VCBS, 3, 1), [BAD_OBJECT, 0, TARGET, 2]],
    ['an unknown lane', 0, change(Kind.TVL_WEIGHT, 64, 1), [BAD_OBJECT, 0, TARGET, 63]],
    ['another map of the dedicated buffers', 0, change(Kind.DEDICATED_TVL_MAP, 1, 0), [BAD_OBJECT, 0, TARGET, 0]],
    ['an unknown QoS level', undefined, change(Kind.PCBS, 1, 1, { qosLevel: 2 }), [BAD_FIELD, 0, LEVEL, 1]],
    ['a QoS level of a lane', undefined, change(Kind.TVL_WEIGHT, 1, 1, { qosLevel: 1 }), [BAD_FIELD, 0, LEVEL, 15]],
    ['a QoS level of a base', undefined, change(Kind.VCB_BASE, 1, 1, { qosLevel: 0 }), [BAD_FIELD, 0, LEVEL, 15]],
    ['a word of a number', 0, change(Kind.PCBS, 1, 1, { word: 1 }), [BAD_FIELD, 0, LEVEL, 0]],
    ['a word beyond the lanes', 0, change(Kind.TVL_MAP, 1, 1, { word: 2 }), [BAD_FIELD, 0, LEVEL, 1]],
    ['more VCBs than pages', 0, change(Kind.VCBS, 1, 65), [BAD_FIELD, 0, AMOUNT, 64]],
    ['more VCBs than unallocated', 0, change(Kind.VCBS, 1, 64), [NO_RESOURCES, 0, AMOUNT, 58]],
    ['a base beyond the space', 0, change(Kind.VCB_BASE, 1, 104), [BAD_FIELD, 0, AMOUNT, 103]],
    ['a base in the VCBs of another', 0, change(Kind.VCB_BASE, 1, 40), [NO_RESOURCES, 0, AMOUNT, 0]],
    ['more PCBs than unallocated', 0, change(Kind.PCBS, 1, 60), [NO_RESOURCES, 0, AMOUNT, 59]],
    ['a huge number of PCBs', 0, change(Kind.PCBS, 1, 0xffffffff), [NO_RESOURCES, 0, AMOUNT, 59]],
    [
      'more scheduler buffers than unallocated',
      0,
      change(Kind.SCHEDULER_BUFFERS, 1, 16),
      [NO_RESOURCES, 0, AMOUNT, 15],
    ],
    ['more lanes than unallocated', 0, change(Kind.TVLS, 1, 30), [NO_RESOURCES, 0, AMOUNT, 29]],
    ["another's lane", 0, change(Kind.TVL_MAP, 1, 0x401), [NO_RESOURCES, 0, AMOUNT, 0x3ff]],
    ['an owned lane for the dedicated buffers', 0, change(Kind.DEDICATED_TVL_MAP, 0, 1), [NO_RESOURCES, 0, AMOUNT, 0]],
    [
      'more execution credits than unallocated',
      0,
      change(Kind.TVL_EXECUTION_CREDITS, 1, 64),
      [NO_RESOURCES, 0, AMOUNT, 63],
    ],
    ['more completion credits', 0, change(Kind.TVL_COMPLETION_CREDITS, 1, 999), [NO_RESOURCES, 0, AMOUNT, 255]],
    ['unknown kinds of shared credits', 0, change(Kind.TVL_SHARED_CREDITS, 1, 4), [BAD_FIELD, 0, AMOUNT, 3]],
    ['a lane without credits', 0, change(Kind.TVL_SHARED_CREDITS, 1, 1), [BAD_STATE, 0, AMOUNT, 0]],
    ['a list of no commands', 0, change(Kind.TVL_LIST_SIZE, 1, 0), [BAD_FIELD, 0, AMOUNT, 112]],
    ['a list too long', 0, change(Kind.TVL_LIST_SIZE, 1, 113), [BAD_FIELD, 0, AMOUNT, 112]],
    ['a weight of nothing', 0, change(Kind.TVL_WEIGHT, 1, 0), [BAD_FIELD, 0, AMOUNT, 255]],
    ['a weight too great', 0, change(Kind.TVL_WEIGHT, 1, 256), [BAD_FIELD, 0, AMOUNT, 255]],
    ['more VCBs of a level than owned', 1, change(Kind.VCBS, 1, 26, { qosLevel: 1 }), [SHARE_EXCEEDED, 0, AMOUNT, 25]],
    ['more PCBs of a level than owned', 1, change(Kind.PCBS, 1, 21, { qosLevel: 0 }), [SHARE_EXCEEDED, 0, AMOUNT, 20]],
    ['more lanes of a level than owned', 1, change(Kind.TVLS, 1, 11, { qosLevel: 0 }), [SHARE_EXCEEDED, 0, AMOUNT, 10]],
    [
      'a lane of a level that is not owned',
      1,
      change(Kind.TVL_MAP, 1, 0x400, { qosLevel: 1 }),
      [SHARE_EXCEEDED, 0, AMOUNT, 0x3ff],
    ],
    [
      "the physical function, another's levels",
      0,
      change(Kind.PCBS, 1, 1, { qosLevel: 0 }),
      [NOT_PERMITTED, 0, RESOURCE, 0],
    ],
    [
      "a virtual function, another's levels",
      1,
      change(Kind.PCBS, 2, 1, { qosLevel: 0 }),
      [NOT_PERMITTED, 0, RESOURCE, 0],
    ],
    ...[1, 2, 3, 4, 5, 16, 17, 18, 19, 20, 21, 22].map(
      (kind): [string, number, ReturnType<typeof change>, Expected] => [
        `a virtual function asks for ${resourceKindName(kind)}`,
        1,
        change(kind, 1, 1),
        [NOT_PERMITTED, 0, RESOURCE, 0],
      ],
    ),
  ];
  const model = threeFunctions();
  const { manager, units } = model;
  manager.request(guest(CONTROL), [...figure11, change(Kind.VCBS, OCEAN, 15)]);
  t.equal(
    manager.request(HOST, [
      change(Kind.VCB_BASE, WEATHER, 0),
      change(Kind.VCB_BASE, OCEAN, 25),
      change(Kind.VCB_BASE, CONTROL, 40),
    ]),
    undefined,
  );
  units.notified.length = 0;
  const before = digest(model);
  for (const [name, asking, wrong, [status, index, offset, limit]] of cases) {
    const requester = asking === undefined ? HOST : guest(asking);
    const expected: RequestRefusal = { status, index, offset, limit };
    t.same(manager.request(requester, [wrong]), expected, name);
    const good = change(Kind.TVL_WEIGHT, 5, 7);
    if (requester.host || asking === 0)
      t.same(manager.request(requester, [good, wrong]), { ...expected, index: 1 }, `${name}, behind a good change`);
    t.equal(digest(model), before, `${name}: nothing changed`);
    t.same(units.notified, []);
  }
});

t.test('what would have been accepted is accepted', async (t) => {
  for (const [kind, target] of [
    [Kind.PCBS, 0],
    [Kind.PCBS, 1],
    [Kind.SCHEDULER_BUFFERS, 1],
    [Kind.TVLS, 1],
    [Kind.TVL_EXECUTION_CREDITS, 1],
    [Kind.TVL_COMPLETION_CREDITS, 2],
  ] as const) {
    const model = threeFunctions();
    model.manager.request(HOST, figure11);
    const refusal = model.manager.request(HOST, [change(kind, target, 0xffff)]);
    t.ok(refusal !== undefined && refusal.limit > 0, resourceKindName(kind));
    t.equal(
      model.manager.request(HOST, [change(kind, target, refusal?.limit ?? 0)]),
      undefined,
      `${refusal?.limit} are accepted`,
    );
    t.equal(findDisagreement(model), undefined);
  }
});

t.test(
  'what one change gives back the next one may take, and credits may come after the leave to share is gone',
  async (t) => {
    const model = threeFunctions();
    const { manager } = model;
    t.equal(manager.request(HOST, [change(Kind.PCBS, 1, 96)]), undefined);
    t.equal(manager.request(HOST, [change(Kind.PCBS, 1, 10), change(Kind.PCBS, 2, 86)]), undefined);
    const alone = [
      change(Kind.TVL_SHARED_CREDITS, 3, 0),
      change(Kind.TVL_EXECUTION_CREDITS, 3, 4),
      change(Kind.TVL_COMPLETION_CREDITS, 3, 16),
    ];
    t.equal(manager.request(HOST, alone), undefined);
    t.same(manager.request(HOST, [change(Kind.TVL_EXECUTION_CREDITS, 3, 0), change(Kind.TVL_WEIGHT, 3, 2)]), {
      status: ManagementStatus.BAD_STATE,
      index: 1,
      offset: OFFSETS.amount,
      limit: 0,
    });
    t.equal(findDisagreement(model), undefined);
  },
);

t.test('VCBs still collected into keep others away until they are free', async (t) => {
  const model = threeFunctions();
  const { manager, units } = model;
  manager.request(HOST, [change(Kind.VCBS, 0, 64), change(Kind.VCBS, 1, 64)]);
  manager.request(HOST, [change(Kind.VCBS, 1, 32)]);
  units.held.set(100, 1);
  const { CONVERGING } = ManagementStatus;
  const before = digest(model);
  t.same(manager.request(HOST, [change(Kind.VCBS, 2, 32)]), {
    status: CONVERGING,
    index: 0,
    offset: OFFSETS.amount,
    limit: 0,
  });
  t.equal(digest(model), before);
  t.equal(manager.request(HOST, [change(Kind.VCBS, 2, 16)]), undefined, 'beside it there is room');
  units.held.clear();
  t.equal(manager.request(HOST, [change(Kind.VCBS, 2, 32)]), undefined);
  t.equal(findDisagreement(model), undefined);
});
