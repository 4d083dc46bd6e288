// SPDX-License-Identifier: Apache-2.0
/**
 * Maps of lanes in several words (US 8,484,392 par. 74-76): whether a map is accepted depends on
 * the lanes that functions have in the end, not on the words that these lanes are in, nor on the
 * order of the words.
 */

import t from 'tap';
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { LANE_TABLE_ENTRY_SIZE } from '../../../protocol/layout/gen/lane-table-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, ResourceKind as Kind, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { encodeChanges } from '../../rig/driver/resources.ts';
import { change, findDisagreement, LIMITS, makeModel, makePlan } from '../../rig/fixtures/share-model.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Tenant } from '../../rig/qos/tenant.ts';
import { HOST } from './share-changes.ts';
import { NO_OWNER } from './share-plan.ts';

const WORDS = 3;
const LANES = 80;
const FUNCTIONS = 3;
const lanesFrom = (first: number, end: number) => Array.from({ length: end - first }, (_, index) => first + index);
const bitsOf = (lanes: readonly number[], word: number) =>
  lanes.filter((lane) => lane >> 5 === word).reduce((bits, lane) => bits | (1 << (lane & 31)), 0) >>> 0;

/** Draws a division and a map for function 1; returns what depends on the order of words. */
function findDifference(seed: number): string | undefined {
  const random = new Random(seed);
  const kind = random.oneIn(3) ? Kind.DEDICATED_TVL_MAP : Kind.TVL_MAP;
  const plan = makePlan(
    Array.from({ length: FUNCTIONS }, () => ({})),
    LIMITS,
    LANES,
  );
  // Few shared lanes, so that one of them is often the last one.
  for (const lane of plan.lanes) lane.owner = random.oneIn(40) ? NO_OWNER : random.below(2);
  if (plan.lanesShared.length === 0) plan.lanes[random.below(LANES)].owner = NO_OWNER;
  const mine = kind === Kind.TVL_MAP ? plan.lanesOf(1) : plan.lanesDedicated;
  const wanted = [
    ...mine.filter(() => !random.oneIn(40)),
    ...plan.lanesShared.filter(() => !random.oneIn(4)),
    ...(random.oneIn(8) ? [random.below(LANES)] : []),
  ];
  const isFree = wanted.every((lane) => mine.includes(lane) || plan.lanesShared.includes(lane));
  const left =
    plan.lanesShared.filter((lane) => !wanted.includes(lane)).length +
    mine.filter((lane) => !wanted.includes(lane)).length;
  // Function 2 has no lane of its own.
  const expected = isFree && left > 0;
  const words = random.shuffle(lanesFrom(0, WORDS));
  const target = kind === Kind.TVL_MAP ? 1 : 0;
  const model = makeModel(plan);
  const refusal = model.manager.request(
    HOST,
    words.map((word) => change(kind, target, bitsOf(wanted, word), { word })),
  );
  if ((refusal === undefined) !== expected)
    return `seed ${seed}: ${expected ? 'refused' : 'accepted'}, by words ${words}, ${JSON.stringify(refusal)}`;
  const wrong = findDisagreement(model);
  return wrong === undefined ? undefined : `seed ${seed}: ${wrong}`;
}

t.test('a map is accepted or not by its lanes, in whatever order its words come', async (t) => {
  for (let seed = 1; seed <= 400; seed++) t.equal(findDifference(seed), undefined);
});

/** Function 1 has all lanes but one; an entry gives `keep` back and takes `take`. */
function exchange(lanes: number, keep: number, take: number, extra: readonly number[] = []) {
  const machine = new InProcessMachine({ functionCount: 2, adapter: { laneCount: lanes } });
  const [physical, other] = [0, 1].map((index) => new Tenant(machine, index));
  const { address, bytes } = physical.driver.createBuffer(2 * LANE_TABLE_ENTRY_SIZE);
  physical.access.writeRegister(CSR.LANE_TABLE, 8, lowDword(address), highDword(address));
  const own = lanesFrom(0, lanes).filter((lane) => lane !== take);
  const words = Math.ceil(lanes / 32);
  const give = [
    ...[0, 1].map((target) => change(Kind.TVLS, target, 0)),
    ...lanesFrom(0, words).map((word) => change(Kind.TVL_MAP, 1, bitsOf(own, word), { word })),
  ];
  if (machine.functionAt(0).requestResources(encodeChanges(give)).status !== ManagementStatus.OK)
    throw new Error('the division was refused');
  const wanted = [...lanesFrom(0, lanes).filter((lane) => lane !== keep), ...extra];
  for (const lane of wanted) bytes[LANE_TABLE_ENTRY_SIZE + (lane >> 3)] |= 1 << (lane & 7);
  physical.driver.resources.request([change(Kind.TVL_TABLE_ENTRY, 1, 1)]);
  const { driver, pd } = other;
  const qp = driver.createQueuePair({ pd, sendCq: driver.createCompletionQueue({ entriesLog2: 4 }) });
  qp.start({ port: 1 }).post({ header: { opcode: 0 } });
  machine.runUntilIdle();
  return {
    refused: physical.read(CSR.FAULT_COUNT, FaultKind.LANE_TABLE_ENTRY),
    owned: driver.resources.query(1).lanes,
    expected: lanesFrom(0, lanes).filter((lane) => lane !== keep),
  };
}

t.test('an entry that exchanges a lane for the last shared one is taken, whatever words they are in', async (t) => {
  const ofWords = [3, 33, 70, 127];
  for (const keep of ofWords)
    for (const take of ofWords.filter((lane) => lane !== keep)) {
      const { refused, owned, expected } = exchange(128, keep, take);
      t.same([refused, owned], [0, expected], `lane ${keep} for lane ${take}`);
    }
});

t.test('an entry that names a lane that there is not is refused, whatever word it is in', async (t) => {
  for (const absent of [40, 63, 64, 95, 96, 127]) {
    const { refused, owned } = exchange(40, 3, 33, [absent]);
    t.same([refused, owned.includes(3)], [1, true], `lane ${absent}`);
  }
});
