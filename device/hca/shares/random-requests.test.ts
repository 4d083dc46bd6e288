// SPDX-License-Identifier: Apache-2.0
/**
 * Seeded random requests of all functions and of the host, compared with a simple oracle that
 * counts what must be accepted (US 8,484,392 par. 62-86). After every request no resource is
 * allocated twice, the units have the numbers of the plan, and a refusal has changed nothing.
 */
import t from 'tap';
import type { ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ResourceKind as Kind } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import {
  change,
  digest,
  findDisagreement,
  guest,
  LIMITS,
  makeModel,
  makePlan,
} from '../../rig/fixtures/share-model.ts';
import { adapterSettingKinds, functionSettingKinds, type Settings } from './setting-changes.ts';
import { HOST, type ShareRequester } from './share-changes.ts';
import type { LaneShare, SharePlan } from './share-plan.ts';

const FUNCTIONS = 5;
const LANES = 40;
const REQUESTS = 2000;
const NO_LEVEL = 15;
const SETTINGS = [...adapterSettingKinds, ...functionSettingKinds];

type Model = ReturnType<typeof makeModel>;

t.test('whatever is asked for, by whom ever', async (t) => {
  for (const seed of seedsOf(1, 4)) {
    const random = new Random(seed);
    const model = makeModel(
      makePlan(
        Array.from({ length: FUNCTIONS }, () => ({})),
        LIMITS,
        LANES,
      ),
    );
    const { manager, units } = model;
    let accepted = 0;
    for (let turn = 0; turn < REQUESTS; turn++) {
      const requester = random.below(3) === 0 ? HOST : guest(random.below(3) === 0 ? 0 : random.below(FUNCTIONS));
      const changes = Array.from({ length: 1 + random.below(3) }, () => anyChange(random, requester));
      const before = digest(model);
      const expected = changes.length > 1 ? undefined : isAcceptable(model, requester, changes[0]);
      units.notified.length = 0;
      const refusal = manager.request(requester, changes);
      const where = `seed ${seed}, request ${turn}: ${JSON.stringify([requester, changes])}`;
      if (expected !== undefined && expected !== (refusal === undefined))
        throw new Error(`the oracle differs, ${where}`);
      if (refusal !== undefined && (digest(model) !== before || units.notified.length > 0))
        throw new Error(`a refusal changed something, ${where}`);
      const wrong = findDisagreement(model);
      if (wrong !== undefined) throw new Error(`${wrong}, ${where}`);
      if (refusal === undefined) accepted++;
      if (random.below(200) === 0) disturb(random, model);
    }
    t.ok(accepted > REQUESTS / 8 && accepted < REQUESTS, `seed ${seed}: ${accepted} of ${REQUESTS} accepted`);
  }
});

/** Other events that change shares: resets, guests that leave and return, lending. */
function disturb(random: Random, { manager }: Model): void {
  const owner = random.below(FUNCTIONS);
  const [reset, leave, come] = [0, 1, 2];
  const what = random.below(3);
  if (what === reset) manager.resetSplit(owner);
  if (what === leave) manager.returnShare(owner);
  if (what === come) manager.regainShare(owner);
}

/** Mostly valid requests. */
function anyChange(random: Random, requester: ShareRequester): ResourceChange {
  const kind = random.pick([1, 2, 3, 4, 5, 16, 16, 17, 18, 18, 19, 19, 20, 21, 22, 23, 24, ...SETTINGS]);
  const own = !requester.host && random.below(4) > 0;
  const single = kind === Kind.DEDICATED_TVL_MAP || adapterSettingKinds.includes(kind);
  const target = kind <= Kind.TVL_WEIGHT ? random.below(LANES + 1) : single ? 0 : random.below(FUNCTIONS);
  const amounts: Record<number, () => number> = {
    [Kind.TVL_SHARED_CREDITS]: () => random.below(5),
    [Kind.TVL_MAP]: () => random.next() & random.next() & 0xff,
    [Kind.DEDICATED_TVL_MAP]: () => 1 << random.below(8),
    [Kind.TVL_EXECUTION_CREDITS]: () => random.below(8),
    [Kind.TVL_COMPLETION_CREDITS]: () => random.below(30),
  };
  if (SETTINGS.includes(kind)) return change(kind, target, random.below(random.oneIn(2) ? 3 : 20));
  const amount = amounts[kind]?.() ?? random.below(40);
  const word = kind === Kind.TVL_MAP ? random.below(2) : 0;
  const levelled = [Kind.VCBS, Kind.PCBS, Kind.TVLS, Kind.TVL_MAP].some((one) => one === kind);
  const qosLevel = levelled && own ? random.below(2) : NO_LEVEL;
  const asked = qosLevel !== NO_LEVEL && !requester.host ? requester.function : target;
  return change(kind, asked, amount >>> 0, { word, qosLevel });
}

/** Whether a setting may have the value, by its range and the other threshold. */
function isSettable({ doorbells }: Settings, { resource, target, amount }: ResourceChange): boolean {
  const { low, high, entries } = doorbells[target];
  if (resource === Kind.DOORBELL_THRESHOLD_LOW) return amount >= 1 && amount < high;
  if (resource === Kind.DOORBELL_THRESHOLD_HIGH) return amount > low && amount <= entries;
  return amount <= (resource === Kind.DOORBELL_POLICY ? 2 : 1);
}

/**
 * The expected result of a request with one change, by counting.
 */
function isAcceptable({ manager, units }: Model, requester: ShareRequester, asked: ResourceChange): boolean {
  const { plan } = manager;
  const { resource, target, amount, qosLevel } = asked;
  const physical = requester.host || requester.function === 0;
  const levelled = qosLevel !== NO_LEVEL;
  const own = !requester.host && requester.function === target && functionSettingKinds.includes(resource);
  if (levelled ? !requester.host && requester.function !== target : !physical && !own) return false;
  if (SETTINGS.includes(resource)) return isSettable(units.settings, asked);
  const mine = plan.functions[target];
  if (levelled) {
    if (resource === Kind.VCBS) return amount <= mine.vcbs;
    if (resource === Kind.PCBS) return amount + mine.levelPcbs[1 - qosLevel] <= mine.pcbs;
    const { word } = asked;
    const isOwned = (lane: number) => plan.lanes[lane]?.owner === target;
    if (resource === Kind.TVLS) return amount <= plan.lanes.filter((_, lane) => isOwned(lane)).length;
    return Array.from({ length: 32 }, (_, bit) => bit).every(
      (bit) => ((amount >>> bit) & 1) === 0 || isOwned(32 * word + bit),
    );
  }
  const others = plan.functions.filter((_, number) => number !== target);
  if (resource === Kind.PCBS) return amount + others.reduce((sum, share) => sum + share.pcbs, 0) <= LIMITS.pcbs;
  if (resource === Kind.VCBS) {
    const taken = new Set(others.flatMap((share) => Array.from({ length: share.vcbs }, (_, i) => share.vcbBase + i)));
    let longest = 0;
    for (let vcb = 0, run = 0; vcb < LIMITS.vcbs; vcb++) {
      run = taken.has(vcb) ? 0 : run + 1;
      longest = Math.max(longest, run);
    }
    return amount <= longest && amount <= LIMITS.vcbsPerFunction;
  }
  if (resource === Kind.VCB_BASE) {
    // A base inside the VCBs of another function is refused, even of a function without VCBs.
    const last = amount + mine.vcbs;
    return (
      last <= LIMITS.vcbs &&
      others.every(({ vcbBase, vcbs }) => last <= vcbBase || vcbBase + vcbs <= amount || vcbs === 0)
    );
  }
  if (resource === Kind.SEND_CONTEXTS || resource === Kind.SEND_BLOCKS) {
    const name = resource === Kind.SEND_CONTEXTS ? 'sendContexts' : 'sendBlocks';
    return amount + others.reduce((sum, share) => sum + share[name], 0) <= LIMITS[name];
  }
  if (resource === Kind.SCHEDULER_BUFFERS) {
    const left = LIMITS.schedulerBuffers - others.reduce((sum, share) => sum + share.schedulerBuffers, 0) - amount;
    return amount <= mine.schedulerBuffers || left >= (others.some((share) => share.schedulerBuffers === 0) ? 1 : 0);
  }
  return resource <= Kind.TVL_WEIGHT ? isLaneSettable(plan, asked) : areLanesGiven(plan, asked);
}

/** Credits: those of a lane must stay, of its own or shared, and a shared one for lanes without. */
function isLaneSettable({ lanes }: SharePlan, { resource, target, amount }: ResourceChange): boolean {
  if (target >= LANES) return false;
  if (resource === Kind.TVL_WEIGHT) return amount >= 1 && amount <= 255;
  if (resource === Kind.TVL_LIST_SIZE) return amount >= 1 && amount <= LIMITS.listSize;
  const { executionCredits, completionCredits, sharedCredits } = lanes[target];
  if (resource === Kind.TVL_SHARED_CREDITS)
    return amount <= 3 && (executionCredits > 0 || (amount & 1) !== 0) && (completionCredits > 0 || (amount & 2) !== 0);
  const execution = resource === Kind.TVL_EXECUTION_CREDITS;
  const name = execution ? 'executionCredits' : 'completionCredits';
  const others = lanes.filter((_, number) => number !== target).map((lane) => lane[name]);
  const left = LIMITS[name] - others.reduce((sum, count) => sum + count, 0) - amount;
  const other = execution
    ? completionCredits > 0 || (sharedCredits & 2) !== 0
    : executionCredits > 0 || (sharedCredits & 1) !== 0;
  const itself = amount > 0 || (sharedCredits & (execution ? 1 : 2)) !== 0;
  return itself && other && (amount <= lanes[target][name] || left >= (others.includes(0) ? 1 : 0));
}

/** Lanes by count or by map: only shared ones are given, and one stays for functions without. */
function areLanesGiven(plan: SharePlan, { resource, target, amount, word }: ResourceChange): boolean {
  const { lanes } = plan;
  const shared = lanes.filter(({ owner, dedicated }) => owner === -1 && !dedicated).length;
  const isBare = (number: number) => lanes.every(({ owner }) => owner !== number);
  const kept = plan.functions.some(
    (_, number) => (number !== target || resource === Kind.DEDICATED_TVL_MAP) && isBare(number),
  )
    ? 1
    : 0;
  const owned = lanes.filter(({ owner }) => owner === target).length;
  if (resource === Kind.TVLS) return amount <= owned || shared - (amount - owned) >= kept;
  const isMine = ({ owner, dedicated }: LaneShare) =>
    resource === Kind.DEDICATED_TVL_MAP ? dedicated : owner === target;
  const named = lanes.slice(32 * word, 32 * word + 32);
  const added = named.filter((lane, bit) => ((amount >>> bit) & 1) === 1 && !isMine(lane));
  const removed = named.filter((lane, bit) => ((amount >>> bit) & 1) === 0 && isMine(lane));
  const free = added.every(({ owner, dedicated }) => owner === -1 && !dedicated);
  return free && shared - added.length + removed.length >= kept;
}
