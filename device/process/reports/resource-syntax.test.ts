// SPDX-License-Identifier: Apache-2.0
/**
 * Words of resource requests: the changes they mean, and the sentence for each mistake and each
 * refusal.
 */
import t from 'tap';
import { decodeResourceChange, newResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ResourceKind as Kind, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { describeRefusal, encodeRequest, formatLanes, readResourceWords } from './resource-syntax.ts';

const NO_LEVEL = 15;
const read = (text: string, laneCount?: number) => readResourceWords(text.split(' '), laneCount);

t.test('words become changes, in their order', async (t) => {
  const whole = { qosLevel: NO_LEVEL, word: 0 };
  const cases: [string, object[]][] = [
    [
      'function 1 vcbs=25 pcbs=20',
      [
        { resource: Kind.VCBS, target: 1, amount: 25, ...whole },
        { resource: Kind.PCBS, target: 1, amount: 20, ...whole },
      ],
    ],
    [
      'function 2 tvls=0x10 base=64 buffers=3',
      [
        { resource: Kind.TVLS, amount: 16 },
        { resource: Kind.VCB_BASE, amount: 64 },
        { resource: Kind.SCHEDULER_BUFFERS, amount: 3 },
      ],
    ],
    [
      'function 1 level 1 vcbs=15 level 0 pcbs=8',
      [
        { resource: Kind.VCBS, qosLevel: 1 },
        { resource: Kind.PCBS, qosLevel: 0, target: 1 },
      ],
    ],
    [
      'lane 3 execution=4 completion=16 weight=2 list=9',
      [
        { resource: Kind.TVL_EXECUTION_CREDITS, target: 3, amount: 4, ...whole },
        { resource: Kind.TVL_COMPLETION_CREDITS },
        { resource: Kind.TVL_WEIGHT },
        { resource: Kind.TVL_LIST_SIZE, amount: 9 },
      ],
    ],
    [
      'lane 3 shared=none shared=completion shared=both',
      [{ amount: 0 }, { resource: Kind.TVL_SHARED_CREDITS, amount: 2 }, { amount: 3 }],
    ],
    [
      'dedicated lanes=none',
      [0, 1, 2, 3].map((word) => ({ resource: Kind.DEDICATED_TVL_MAP, target: 0, word, amount: 0 })),
    ],
    [
      'function 1 level 0 lanes=0-2,33,31',
      [
        { resource: Kind.TVL_MAP, qosLevel: 0, word: 0, amount: 0x80000007 },
        { word: 1, amount: 2 },
        { word: 2, amount: 0 },
        { word: 3, amount: 0 },
      ],
    ],
    [
      'function 2 policy=most-spilled link-check=compare-swap adaptive=on host-queue=on low=3 high=9',
      [
        { resource: Kind.DOORBELL_POLICY, target: 2, amount: 2 },
        { resource: Kind.DOORBELL_LINK_CHECK, target: 2, amount: 1 },
        { resource: Kind.DOORBELL_ADAPTIVE, target: 2, amount: 1 },
        { resource: Kind.DOORBELL_HOST_QUEUE, target: 2, amount: 1 },
        { resource: Kind.DOORBELL_THRESHOLD_LOW, target: 2, amount: 3 },
        { resource: Kind.DOORBELL_THRESHOLD_HIGH, target: 2, amount: 9 },
      ],
    ],
    [
      'function 2 spill-buffered=on spill-commands=off',
      [
        { resource: Kind.DOORBELL_SPILL_BUFFERED, target: 2, amount: 1 },
        { resource: Kind.DOORBELL_SPILL_COMMANDS, target: 2, amount: 0 },
      ],
    ],
    ['function 1 lane-table=invalid', [{ resource: Kind.TVL_TABLE_ENTRY, target: 1, amount: 1, ...whole }]],
    [
      'adapter disable=on return=off lend=on freeze=off',
      [
        { resource: Kind.ADAPTER_DISABLE, target: 0, amount: 1 },
        { resource: Kind.ADAPTER_RETURN_SHARES, target: 0, amount: 0 },
        { resource: Kind.ADAPTER_LEND_IDLE, target: 0, amount: 1 },
        { resource: Kind.ADAPTER_FREEZE_SENDS, target: 0, amount: 0 },
      ],
    ],
  ];
  for (const [text, changes] of cases) {
    t.match(read(text), changes, text);
    t.equal(read(text).length, changes.length);
  }
  t.equal(read('function 1 lanes=0-3', 5).length, 1, 'no word for lanes that there are not');
  const changes = read('function 1 level 1 pcbs=8 lane 3 weight=2');
  const view = new DataView(encodeRequest(changes).buffer);
  for (const [index, { words, ...change }] of changes.entries())
    t.same(decodeResourceChange(view, 8 * index, newResourceChange()), change, words);
});

t.test('each mistake has its sentence', async (t) => {
  const mistakes: [string, RegExp][] = [
    ['', /is not understood/],
    ['function 1', /^nothing to set/],
    ['pcbs=3', /^pcbs=3: of what\?/],
    ['level 1 pcbs=3', /^level 1: of what\?/],
    ['lane 1 level 0 pcbs=3', /^level 0: of what\?/],
    ['function x pcbs=3', /^function is x; it must be a whole number from 0 to 65535$/],
    ['function', /^function is missing/],
    ['function 1 pcbs=', /^function 1 pcbs is ; it must be a whole number/],
    ['function 1 pcbs=-3', /^function 1 pcbs is -3/],
    ['function 1 pcbs=4294967296', /^function 1 pcbs is 4294967296/],
    [
      'function 1 level 1 base=3',
      /^function 1 level 1 base=3: there is no base to set; there are vcbs, pcbs, tvls, lanes$/,
    ],
    ['function 1 toString=3', /there is no toString to set/],
    ['lane 1 shared=some', /^lane 1 shared=some: it must be none, execution, completion, both$/],
    ['function 1 policy=2', /^function 1 policy=2: it must be off, newest, most-spilled$/],
    ['function 1 level 0 policy=off', /there is no policy to set; there are vcbs, pcbs, tvls, lanes$/],
    ['adapter disable=1', /^adapter disable=1: it must be off, on$/],
    ['adapter pcbs=1', /^adapter pcbs=1: there is no pcbs to set; there are disable, return, lend, freeze$/],
    ['function 1 lanes=9-3', /lanes are numbers from 0 to 127/],
    ['function 1 lanes=1-2-3', /lanes are numbers/],
    ['function 1 lanes=128', /lanes are numbers/],
    [`function 1${' pcbs=1'.repeat(33)}`, /^33 changes are more than a request can hold \(32\)$/],
  ];
  for (const [text, message] of mistakes) t.throws(() => read(text), { message }, text);
});

t.test('a refusal is one sentence that names the words at fault', async (t) => {
  const changes = read('function 1 pcbs=20 level 1 lanes=40');
  const say = (status: number, index: number, limit: number) =>
    describeRefusal(changes, { status, index, limit, offset: 4 });
  t.equal(
    say(ManagementStatus.NO_RESOURCES, 0, 7),
    'function 1 pcbs=20: not so much is unallocated; at most 7 would be accepted (NO_RESOURCES); nothing was changed',
  );
  t.match(say(ManagementStatus.SHARE_EXCEEDED, 2, 0x30), /of lanes 32 on, 36-37 would be accepted \(SHARE_EXCEEDED\)/);
  t.match(say(ManagementStatus.CONVERGING, 0, 0), /try again \(CONVERGING\)/);
  t.match(say(ManagementStatus.NOT_PERMITTED, 0, 0), /^function 1 pcbs=20: NOT_PERMITTED \(NOT_PERMITTED\)/);
  const [table, lane] = [read('function 1 lane-table=invalid'), read('lane 3 execution=0')];
  const state = { status: ManagementStatus.BAD_STATE, index: 0, offset: 4, limit: 0 };
  t.match(describeRefusal(table, state), /^function 1 lane-table=invalid: the physical function has no lane table /);
  t.match(describeRefusal(lane, state), /^lane 3 execution=0: a lane needs credits of each kind/);
  t.equal(formatLanes([0, 1, 2, 9, 11, 12]), '0-2,9,11-12');
  t.equal(formatLanes([]), 'none');
});
