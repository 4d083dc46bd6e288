// SPDX-License-Identifier: Apache-2.0
/**
 * Bounds of page faults (docs/FEATURES.md, On-demand paging): one event for a page, few for a
 * protection domain, none for a queue of events that is half full, and directories of bounded size.
 */
import t from 'tap';
import {
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
} from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { type Connected, connect } from '../../rig/fixtures/connected-fixture.ts';
import { DemandPager, PAGE, serveUntil } from '../../rig/fixtures/demand-pager.ts';
import { TranslationEntries } from '../function/translation-entries.ts';
import { PageDirectory } from './page-directory.ts';
import { FAULTS_PER_DOMAIN } from './page-faults.ts';

function countersOf(fixture: AdapterFixture) {
  return fixture.machine.device.functions[0].underlying.counters;
}

/** Each of `count` connections sends a byte of the page that `pageOf` names. */
function sendMany(
  fixture: AdapterFixture,
  pager: DemandPager,
  count: number,
  pageOf: (index: number) => number,
): Connected[] {
  fixture.events = fixture.driver.createEventQueue({ entriesLog2: 9 });
  return Array.from({ length: count }, (_, index) => {
    const pair = connect(fixture, { sendEntriesLog2: 1, receiveEntriesLog2: 1, completionEntriesLog2: 1 });
    fixture.postReceive(pair.b, 1);
    pair.a.post({ sges: [{ address: pager.at(pageOf(index) * PAGE), length: 1, lkey: pager.region.lkey }] });
    return pair;
  });
}

t.test('queue pairs that miss one page share one event', async (t) => {
  const fixture = new AdapterFixture();
  const pager = new DemandPager(fixture);
  const pairs = sendMany(fixture, pager, 5, () => 3);
  fixture.settle();
  t.equal(pager.take().length, 1);
  t.match(countersOf(fixture), { pageFaults: 1, pageFaultsShared: 4 });
  pager.resolve(3);
  for (const { a } of pairs) t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('a protection domain has few faults outstanding; another one is not delayed', async (t) => {
  const fixture = new AdapterFixture();
  fixture.asynchronous = fixture.driver.createEventQueue({ entriesLog2: 9, asynchronous: true });
  const count = FAULTS_PER_DOMAIN + 8;
  const pager = new DemandPager(fixture, { pages: count });
  const pairs = sendMany(fixture, pager, count, (index) => index);
  fixture.settle();
  t.match(countersOf(fixture), { pageFaults: FAULTS_PER_DOMAIN, pageFaultsDeferred: 8 });
  const own = fixture.pd;
  fixture.pd = fixture.driver.createProtectionDomain();
  fixture.region = fixture.driver.createDmaRegion(fixture.pd);
  const other = new DemandPager(fixture, { pages: 1 });
  const [pair] = sendMany(fixture, other, 1, () => 0);
  fixture.settle();
  t.equal(other.take().length, 1, 'its event is there');
  other.resolve(0);
  t.equal(pair.a.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'of the other domain');
  for (let page = 0; page < FAULTS_PER_DOMAIN; page++) pager.resolve(page);
  serveUntil([pager], () => pairs.every(({ a }) => a.parts.sendCq.ready));
  t.equal(countersOf(fixture).pageFaults, count + 1, 'all pages had their fault');
  fixture.pd = own;
  fixture.finish();
});

t.test('waits that are not raised go on when other pages have come', async (t) => {
  const fixture = new AdapterFixture();
  const count = FAULTS_PER_DOMAIN + 40;
  const pager = new DemandPager(fixture, { pages: count });
  const pairs = sendMany(fixture, pager, count, (index) => index);
  fixture.settle();
  // Prefetched without a fault; then the faults are answered.
  for (let page = FAULTS_PER_DOMAIN; page < count; page++) pager.resolve(page);
  serveUntil([pager], () => pairs.every(({ a }) => a.parts.sendCq.ready));
  t.equal(countersOf(fixture).pageFaults, FAULTS_PER_DOMAIN);
  fixture.finish();
});

t.test('faults leave half of the event queue to other events, and are told later', async (t) => {
  const fixture = new AdapterFixture();
  const { entries } = fixture.machine.device.tables.eventQueues.get(fixture.asynchronous.eqn) ?? { entries: 0 };
  const pagers = [0, 1].map(() => {
    fixture.pd = fixture.driver.createProtectionDomain();
    return new DemandPager(fixture, { pages: FAULTS_PER_DOMAIN });
  });
  const pairs = pagers.flatMap((pager) => {
    fixture.pd = fixture.machine.device.tables.memoryRegions.get(pager.region.number)?.pd.number ?? 0;
    fixture.region = fixture.driver.createDmaRegion(fixture.pd);
    return sendMany(fixture, pager, FAULTS_PER_DOMAIN, (index) => index);
  });
  fixture.settle();
  const { pageFaults } = fixture.machine.device.tables.keys;
  t.ok(pageFaults.unposted > 0, 'some wait for room');
  t.ok(fixture.asynchronous.walk(false).length <= entries / 2 + 2 * pairs.length);
  t.equal(fixture.faults(FaultKind.EQ_OVERRUN), 0);
  fixture.asynchronous.consumed = fixture.asynchronous.returned;
  serveUntil(pagers, () => pairs.every(({ a }) => a.parts.sendCq.ready));
  t.equal(pageFaults.unposted, 0);
  t.equal(countersOf(fixture).pageFaults, 2 * FAULTS_PER_DOMAIN);
  fixture.finish();
});

t.test('faults without an event queue for them are told once there is one', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  management.perform({ opcode: ManagementOpcode.DESTROY_EQ, objectNumber: fixture.asynchronous.eqn });
  const pager = new DemandPager(fixture);
  const [pair] = sendMany(fixture, pager, 1, () => 0);
  fixture.settle();
  t.equal(fixture.machine.device.tables.keys.pageFaults.unposted, 1);
  fixture.asynchronous = fixture.driver.createEventQueue({ asynchronous: true });
  t.equal(pager.take().length, 1, 'without a further pass');
  pager.resolve(0);
  t.equal(pair.a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('a reset forgets faults and waits', async (t) => {
  const fixture = new AdapterFixture();
  const pager = new DemandPager(fixture);
  sendMany(fixture, pager, 3, (index) => index);
  fixture.settle();
  fixture.machine.reset(0, 'function');
  const { device } = fixture.machine;
  t.same(device.tables.keys.pageFaults.count(device.functions[0].underlying), { outstanding: 0, waiting: 0 });
  fixture.machine.resume();
  fixture.bringUp();
  fixture.proveItWorks();
});

t.test('pages of an ordinary region, of another function or outside the region are refused', async (t) => {
  const fixture = new AdapterFixture();
  const pager = new DemandPager(fixture, { pages: 2 });
  t.throws(() => pager.resolve(2), 'outside');
  t.throws(() => pager.refuse(-1), 'before');
  const { status } = fixture.driver.management.execute({
    opcode: ManagementOpcode.INVALIDATE_PAGES,
    objectNumber: fixture.region.number,
    payload: new Uint8Array(32),
  });
  t.equal(status, ManagementStatus.BAD_OBJECT);
});

t.test('a directory keeps the newest tables', async (t) => {
  const directory = new PageDirectory(new TranslationEntries(2 ** 24), 0);
  const far = 2 ** 35;
  for (let table = 0; table < 2049; table++) directory.set(far + table * 512, 4096 * (table + 1) + 1);
  t.equal(directory.size, 2048);
  t.equal(directory.get(far), 0, 'the oldest one is gone');
  t.equal(directory.get(far + 512), 8193);
  t.equal(directory.get(far + 513), 0);
  t.equal(directory.clear(far + 512, 1), 1);
  t.equal(directory.clear(0, Number.MAX_SAFE_INTEGER), 2047);
  t.equal(directory.size, 0);
});
