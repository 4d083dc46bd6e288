// SPDX-License-Identifier: Apache-2.0
/**
 * A function has a budget of translation entries: every page list of a region or queue takes some,
 * whatever memory the list itself needs, and destruction, refusal and reset give them back
 * (docs/LIMITS.md).
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import {
  MR_ATTRIBUTES_LENGTH_OFFSET,
  MR_ATTRIBUTES_PAGE_COUNT_OFFSET,
  type MrAttributes,
} from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import {
  AccessFlag,
  CqMask,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MrMask,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import type { ManagementResult } from '../../rig/driver/management-channel.ts';
import { cqPayload, mrPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { findLostTranslations } from '../../rig/fixtures/invariants.ts';
import { LIST_ENTRIES, SamePages, writeSameList } from '../../rig/fixtures/page-lists.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { OnDemandRegion } from '../protection/on-demand-region.ts';
import { capacities } from '../queues/object-tables.ts';

const HEADER_BYTES = 64;
/** Most functions, so the least entries for each. */
const FUNCTIONS = 34;
const { CREATE_MR, MODIFY_MR, DESTROY_MR, CREATE_CQ, MODIFY_CQ, DESTROY_CQ } = ManagementOpcode;
const { OK, NO_TRANSLATIONS } = ManagementStatus;

function create(driver: Driver, attributes: Partial<MrAttributes>): ManagementResult {
  return driver.management.execute({ opcode: CREATE_MR, payload: mrPayload(attributes) });
}

function destroy(driver: Driver, { objectNumber }: ManagementResult): void {
  driver.management.perform({ opcode: DESTROY_MR, objectNumber });
}

function entriesOf(fixture: AdapterFixture, functionNumber = 0) {
  return fixture.machine.device.functions[functionNumber].underlying.translations;
}

t.test('regions take entries up to the quota of their function, and no other function loses any', async (t) => {
  const fixture = new AdapterFixture({ functionCount: FUNCTIONS });
  const { driver, pd } = fixture;
  const entries = entriesOf(fixture);
  const quota = Math.floor(capacities.translationEntries / FUNCTIONS);
  t.equal(entries.quota, quota);
  const same = new SamePages(driver);
  const most = create(driver, same.region(pd, quota - 1));
  t.equal(most.status, OK);
  const refused = create(driver, same.region(pd, 2));
  t.same(
    [refused.status, refused.badOffset, refused.limit],
    [NO_TRANSLATIONS, HEADER_BYTES + MR_ATTRIBUTES_PAGE_COUNT_OFFSET, 1],
    'the field and what is left',
  );
  t.equal(entries.used, quota - 1);
  t.equal(create(driver, same.region(pd, 1)).status, OK);
  t.equal(entries.free, 0);
  const other = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  t.equal(create(other, new SamePages(other).region(other.createProtectionDomain(), quota)).status, OK);
  t.equal(entriesOf(fixture, 1).used, quota);
  destroy(driver, most);
  t.equal(entries.used, 1);
  fixture.finish();
});

t.test('every kind of region and queue is refused when no entry is left, and contiguous ones are not', async (t) => {
  const fixture = new AdapterFixture({ functionCount: FUNCTIONS });
  const { driver, pd } = fixture;
  const entries = entriesOf(fixture);
  const sendCq = fixture.createCompletionQueue();
  const taken = entries.free - 1;
  entries.take(taken);
  const fast = { pd, kind: MrKind.FAST, access: AccessFlag.LOCAL_WRITE };
  const demand = { pd, kind: MrKind.PAGED, access: AccessFlag.ON_DEMAND, pageShift: 12, length: PAGE_BYTES };
  t.match(create(driver, { ...fast, pageCount: 2 }), {
    status: NO_TRANSLATIONS,
    badOffset: HEADER_BYTES + MR_ATTRIBUTES_PAGE_COUNT_OFFSET,
    limit: 1,
  });
  t.match(create(driver, demand), {
    status: NO_TRANSLATIONS,
    badOffset: HEADER_BYTES + MR_ATTRIBUTES_LENGTH_OFFSET,
    limit: 1,
  });
  for (const [what, make] of [
    ['CQ', () => fixture.createCompletionQueue({ entriesLog2: 7, paged: true })],
    ['EQ', () => driver.createEventQueue({ entriesLog2: 7, paged: true })],
    ['SRQ', () => driver.createSharedReceiveQueue({ pd, entriesLog2: 4, paged: true })],
    ['QP', () => driver.createQueuePair({ pd, sendCq, strideLog2: 6, paged: true })],
  ] as const) {
    t.throws(make, /NO_TRANSLATIONS/, what);
    t.equal(entries.free, 1, `${what}: the command has given back what it took`);
  }
  const queue = fixture.createCompletionQueue({ entriesLog2: 6, paged: true });
  t.equal(entries.free, 0);
  t.match(driver.resizeCompletionQueue(queue, 7), {
    status: NO_TRANSLATIONS,
    badOffset: HEADER_BYTES + CQ_ATTRIBUTES_ENTRIES_LOG2_OFFSET,
    limit: 0,
  });
  t.equal(driver.resizeCompletionQueue(sendCq, 7).status, OK, 'a contiguous ring takes none');
  driver.createDmaRegion(pd);
  entries.give(taken);
  fixture.finish();
});

t.test('a command that fails behind its list gives the entries back', async (t) => {
  const fixture = new AdapterFixture();
  const { driver, pd } = fixture;
  const entries = entriesOf(fixture);
  const same = new SamePages(driver);
  const bad = { ...same.region(pd, 3 * LIST_ENTRIES), pageListAddress: driver.allocator.allocate(32, 8) };
  const directory = driver.access.view(bad.pageListAddress, 24);
  for (const index of [0, 1]) directory.setBigUint64(8 * index, BigInt(same.list), true);
  directory.setBigUint64(16, 1n << 40n, true);
  t.equal(create(driver, bad).status, ManagementStatus.BAD_ADDRESS, 'the third list page is nowhere');
  t.equal(entries.used, 0);
  const sendCq = fixture.createCompletionQueue();
  const creation = { descriptorAddress: 2 ** 40 };
  t.throws(() => driver.createQueuePair({ pd, sendCq, paged: true, creation }), /BAD_ADDRESS/);
  t.equal(entries.used, 0);
  fixture.finish();
});

t.test('an on-demand region makes pages present with the entries that it has', async (t) => {
  const fixture = new AdapterFixture({ functionCount: FUNCTIONS });
  const { driver, pd } = fixture;
  const entries = entriesOf(fixture);
  const { objectNumber } = create(driver, {
    pd,
    kind: MrKind.PAGED,
    access: AccessFlag.ON_DEMAND,
    pageShift: 12,
    length: 8 * LIST_ENTRIES * PAGE_BYTES,
  });
  t.equal(entries.used, 2 * LIST_ENTRIES, 'two tables are reserved');
  const region = fixture.machine.device.tables.memoryRegions.get(objectNumber);
  t.equal(region?.translationEntries, 2 * LIST_ENTRIES);
  if (!(region instanceof OnDemandRegion)) throw new Error('the region is not on demand');
  const { directory } = region;
  const rest = entries.free - LIST_ENTRIES;
  entries.take(rest);
  for (let table = 0; table < 5; table++) directory.set(table * LIST_ENTRIES, 0x1001);
  t.equal(directory.size, 3, 'two reserved ones, and one that was free');
  t.equal(entries.free, 0);
  t.same(
    [0, 1, 2, 3, 4].map((table) => directory.get(table * LIST_ENTRIES) !== 0),
    [false, false, true, true, true],
    'the oldest ones went',
  );
  entries.give(rest);
  directory.clear(0, 8 * LIST_ENTRIES);
  t.equal(entries.used, 2 * LIST_ENTRIES);
  fixture.finish();
  driver.management.perform({ opcode: DESTROY_MR, objectNumber });
  t.equal(entries.used, 0);
});

t.test('random creation, change and destruction lose no entry', async (t) => {
  for (const seed of seedsOf(2, 40)) {
    const fixture = new AdapterFixture({ seed, functionCount: FUNCTIONS });
    const { driver, pd, random } = fixture;
    const same = new SamePages(driver);
    const list = writeSameList(driver, 4 * LIST_ENTRIES, same.page);
    const recordAddress = driver.allocator.allocate(64);
    const ring = () => ({
      queueAddress: list,
      entriesLog2: 6 + random.below(11),
      paged: random.below(2),
      pageShift: 12,
      recordAddress,
    });
    const regions: number[] = [];
    const queues: number[] = [];
    const region = (): Partial<MrAttributes> => {
      const pageCount = 1 + random.below(2 ** random.below(17));
      const kind = [MrKind.PAGED, MrKind.FAST, MrKind.PHYSICAL][random.below(3)] as MrKind;
      return { ...same.region(pd, kind === MrKind.FAST ? 1 + (pageCount % 512) : pageCount), kind };
    };
    const run = (opcode: ManagementOpcode, objectNumber: number, payload: Uint8Array): ManagementResult =>
      driver.management.execute({ opcode, objectNumber, payload });
    const pick = (from: number[]): number => from[random.below(from.length)] ?? 0;
    for (let turn = 0; turn < 120; turn++) {
      const choice = random.below(6);
      if (choice === 0) {
        const demand = random.below(3) === 0 ? { kind: MrKind.PAGED, access: AccessFlag.ON_DEMAND } : {};
        const made = create(driver, { ...region(), ...demand });
        if (made.status === OK) regions.push(made.objectNumber);
      } else if (choice === 1)
        run(MODIFY_MR, pick(regions), mrPayload({ ...region(), attributeMask: MrMask.TRANSLATION }));
      else if (choice === 2) {
        const made = run(CREATE_CQ, 0, cqPayload(ring()));
        if (made.status === OK) queues.push(made.objectNumber);
      } else if (choice === 3) run(MODIFY_CQ, pick(queues), cqPayload({ ...ring(), attributeMask: CqMask.RESIZE }));
      else {
        const [from, opcode] = choice === 4 ? [regions, DESTROY_MR] : [queues, DESTROY_CQ];
        if (from.length > 3) driver.management.execute({ opcode, objectNumber: from.shift() as number });
      }
      const lost = findLostTranslations(fixture.machine.device);
      if (lost !== undefined) t.fail(`${lost} after turn ${turn} (${choice}), seed ${seed}`);
    }
    t.ok(entriesOf(fixture).used > 0, `seed ${seed}`);
    fixture.machine.reset(0, 'function');
    t.equal(entriesOf(fixture).used, 0, `after a reset, seed ${seed}`);
  }
});

t.test('entries of each function add up to at most those of the adapter', async (t) => {
  for (const functionCount of [1, 2, FUNCTIONS]) {
    const fixture = new AdapterFixture({ functionCount });
    const total = fixture.machine.device.functions.reduce(
      (sum, { underlying }) => sum + underlying.translations.quota,
      0,
    );
    t.ok(total <= capacities.translationEntries && total > capacities.translationEntries - functionCount);
    t.equal(fixture.faults(FaultKind.DMA_READ), 0);
  }
});
