// SPDX-License-Identifier: Apache-2.0
/**
 * The views of `vuhca show` of an adapter whose contents are known: each row tells an entry as the
 * load made it, in the order in which the adapter serves it, and looking changes nothing.
 */
import t from 'tap';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { OverflowPolicy } from '../../../../protocol/layout/gen/values.gen.ts';
import { planStores, storeCollected } from '../../../rig/driver/collect-writer.ts';
import type { DriverQueuePair } from '../../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../../rig/fixtures/command-poster.ts';
import { DoorbellFlood } from '../../../rig/fixtures/doorbell-flood.ts';
import { PacketPeer, PEER_QPN } from '../../../rig/fixtures/packet-peer.ts';
import { SendContextFixture } from '../../../rig/fixtures/send-context-fixture.ts';
import { type ContentsRequest, ROWS_MAX, showContents } from './contents.ts';
import type { Row } from './rows.ts';
import { VIEW_NAMES, type ViewName } from './view-names.ts';

/** Rows of a view. */
function show(fixture: AdapterFixture, view: ViewName, request: ContentsRequest = {}): readonly Row[] {
  const { machine } = fixture;
  const hosts = machine.device.functions.map(() => fixture.host);
  return showContents({ adapter: machine.device, hosts }, { ...request, view }).rows;
}

/** The named fields of each row, in this order. */
function pick(rows: readonly Row[], ...fields: readonly string[]): unknown[][] {
  return rows.map((row) => fields.map((field) => row[field]));
}

/** Writes `count` stores of the collect copy of the next command of the QP. */
function writeSome(fixture: AdapterFixture, qp: DriverQueuePair, count: number, page = qp.parts.page): void {
  const bytes = qp.fill({ inline: new Uint8Array(24) }).slice();
  const view = new DataView(bytes.buffer);
  for (const item of planStores(bytes.length).slice(0, count)) storeCollected(fixture.access, page, view, item);
}

t.test('VCBs show their PCBs, the accounts that pay, and send-queue mode', async (t) => {
  const fixture = new AdapterFixture({ adapter: { pcbCount: 2, pcbGuaranteed: [1, 0] } });
  fixture.machine.device.functions[0].collect.levelOneCount = 1;
  const qp = fixture.createQueuePair();
  const pages = [qp.parts.page, qp.parts.page + 4096, qp.parts.page + 8192, 63 * 4096];
  writeSome(fixture, qp, 0);
  t.same(show(fixture, 'vcbs'), []);
  for (const [index, page] of [pages[3], pages[0], pages[1]].entries())
    writeSome(fixture, qp, index === 0 ? 1 : 2, page);
  const first = qp.parts.page / 4096;
  const shown = show(fixture, 'vcbs');
  t.same(pick(shown, 'function', 'page', 'vcb', 'level', 'mode', 'pcb', 'account', 'qp', 'sequence'), [
    [0, first, first, 0, 'collect', 1, 'level', qp.qpn, 0],
    [0, first + 1, null, 0, 'send queue', null, null, qp.qpn, 0],
    [0, 63, 63, 1, 'collect', 0, 'function', qp.qpn, 0],
  ]);
  t.same(pick(shown, 'arrived', 'length'), [
    [16, 88],
    [16, 88],
    [8, 88],
  ]);
  t.same(pick(show(fixture, 'pcbs'), 'pool', 'pcb', 'state', 'level', 'account', 'vcb', 'qp', 'lane'), [
    ['collect', 0, 'collecting', 1, 'function', 63, qp.qpn, null],
    ['collect', 1, 'collecting', 0, 'level', first, qp.qpn, null],
  ]);
  t.same(show(fixture, 'vcbs', { qp: qp.qpn + 1 }), []);
  for (const page of pages) qp.cancel(page);
  t.same(show(fixture, 'pcbs'), []);
  fixture.finish();
});

t.test('a locked dedicated buffer of management is shown until it is free', async (t) => {
  const fixture = new AdapterFixture();
  t.equal(fixture.read(CSR.DEDICATED_LOCK), 1, 'taken by this read');
  t.same(pick(show(fixture, 'pcbs'), 'pool', 'state', 'function', 'pcb'), [['management', 'locked', 0, 0]]);
  fixture.access.writeRegister(CSR.DEDICATED_LOCK, 4, 0, 0);
  t.same(show(fixture, 'pcbs'), []);
});

t.test('kick lists show commands in the order of their launch, with their PCBs', async (t) => {
  const fixture = new AdapterFixture();
  const [a, b] = [fixture.createQueuePair(), fixture.createQueuePair()];
  for (const qp of [a, b, a]) qp.post(NOP);
  const { lanes } = fixture.machine.device;
  const laneOf = (qp: DriverQueuePair) => fixture.machine.device.tables.queuePairs.get(qp.qpn)?.lane ?? -1;
  const ofA = pick(show(fixture, 'lanes', { qp: a.qpn }), 'lane', 'place', 'qp', 'sequence', 'opcode', 'pool', 'pcb');
  const place = laneOf(a) === laneOf(b) ? 2 : 1;
  t.same(ofA, [
    [laneOf(a), 0, a.qpn, 0, 'NOP', 'collect', lanes.lanes[laneOf(a)].head?.index],
    [laneOf(a), place, a.qpn, 1, 'NOP', 'collect', 2],
  ]);
  t.same(pick(show(fixture, 'pcbs'), 'state', 'lane', 'qp', 'sequence'), [
    ['kicked', laneOf(a), a.qpn, 0],
    ['kicked', laneOf(b), b.qpn, 0],
    ['kicked', laneOf(a), a.qpn, 1],
  ]);
  t.same(pick(show(fixture, 'commands', { qp: b.qpn }), 'where', 'sequence', 'execution', 'completion'), [
    ['kick list', 0, null, null],
  ]);
  a.toReset();
  t.same(pick(show(fixture, 'lanes', { qp: a.qpn }), 'isVoid'), [], 'the commands of a reset QP have left');
  fixture.finish();
});

t.test('the completion list of a connected QP, with PSNs and credits', async (t) => {
  const peer = new PacketPeer();
  for (const bytes of [8, 300]) peer.qp.post({ sges: [peer.fixture.sge(peer.fixture.createBuffer(bytes))] });
  peer.settle().take();
  const fields = [
    'where',
    'service',
    'sequence',
    'opcode',
    'pcb',
    'execution',
    'firstPsn',
    'lastPsn',
    'packets',
    'done',
  ];
  t.same(pick(show(peer.fixture, 'commands'), ...fields), [
    ['completion list', 'RC', 0, 'SEND', null, null, 100, 100, 1, false],
    ['completion list', 'RC', 1, 'SEND', null, null, 101, 102, 2, false],
  ]);
  const [held] = show(peer.fixture, 'commands');
  t.match(held.completion, /private|shared/);
  peer.acknowledge(0);
  t.same(pick(show(peer.fixture, 'commands'), 'sequence'), [[1]], 'acknowledged messages have left');
});

t.test('connections show what is outstanding, why they wait, and the retries that are left', async (t) => {
  const peer = new PacketPeer({ rnrRetry: 3 });
  for (const bytes of [8, 300]) peer.qp.post({ sges: [peer.fixture.sge(peer.fixture.createBuffer(bytes))] });
  peer.settle().take();
  const fields = ['service', 'messages', 'unackedPsn', 'sentPsn', 'nextPsn', 'outstanding', 'waitsFor'];
  const shown = () => pick(show(peer.fixture, 'connections', { qp: peer.qp.qpn }), ...fields);
  t.same(shown(), [['RC', 2, 100, 103, 103, 3, null]]);
  peer.acknowledge(0);
  t.same(shown(), [['RC', 1, 101, 103, 103, 2, null]]);
  peer.receiverNotReady(1, 12);
  t.same(shown(), [['RC', 1, 101, 103, 103, 2, 'receiver not ready']]);
  t.match(show(peer.fixture, 'connections'), [
    { state: 'RTS', rnrRetriesLeft: 2, remoteQp: PEER_QPN, expectedPsn: 500 },
  ]);
  peer.fixture.createQueuePair();
  t.equal(show(peer.fixture, 'connections').length, 1, 'no datagram QPs');
});

t.test('doorbells on the bus, in the scheduler buffer and in lists, in the order of service', async (t) => {
  const fixture = new AdapterFixture({ adapter: { schedulerBufferCount: 1, busReads: 1 }, budget: 1 });
  const qps = Array.from({ length: 4 }, () => fixture.createQueuePair());
  for (const qp of qps) qp.post(NOP, 'doorbell');
  const fields = ['where', 'place', 'entry', 'qp', 'sequence'];
  t.same(
    pick(show(fixture, 'lists'), ...fields),
    qps.map(({ qpn }, place) => ['bus', place, 'doorbell', qpn, 0]),
  );
  const seen = new Set<unknown>();
  for (let step = 0; step < 40; step++) {
    fixture.machine.step();
    const shown = show(fixture, 'lists');
    for (const { where, entry } of shown) seen.add(`${where}: ${entry}`);
    for (const where of new Set(shown.map((row) => row.where))) {
      const places = shown.filter((row) => row.where === where).map(({ place }) => place);
      t.same(places, [...places.keys()], `${where}: in order, none missing`);
    }
  }
  for (const entry of [
    'bus: doorbell',
    'scheduler buffer: doorbell',
    'bus: read of descriptor',
    'bus: read of command',
  ])
    t.ok(seen.has(entry), `${entry} in ${[...seen].join('; ')}`);
  fixture.finish();
});

t.test('a scheduler list from its head to its tail', async (t) => {
  const fixture = new AdapterFixture({ bringUp: { levelOnePages: 8 } });
  const { scheduler, tables } = fixture.machine.device;
  const qps = Array.from({ length: 3 }, (_, index) => fixture.createQueuePair({ qosLevel: index === 1 ? 1 : 0 }));
  for (const { qpn } of [qps[2], qps[0], qps[1]]) scheduler.schedule(tables.queuePairs.get(qpn) as never);
  t.same(pick(show(fixture, 'lists'), 'where', 'place', 'qp', 'state'), [
    ['list 0', 0, qps[2].qpn, 'RTS'],
    ['list 0', 1, qps[0].qpn, 'RTS'],
    ['list 1', 0, qps[1].qpn, 'RTS'],
  ]);
});

t.test('overflow entries as they lie in guest memory', async (t) => {
  const flood = new DoorbellFlood({ queuePairs: 24, policy: OverflowPolicy.NEWEST, ringLog2: 6, budget: 1 });
  const { fixture } = flood;
  for (const qp of flood.qps) flood.post(qp);
  const { overflow } = fixture.machine.device.functions[0].doorbells;
  for (let step = 0; step < 1000 && overflow.pending < 4; step++) fixture.machine.step();
  t.ok(overflow.pending >= 4, 'doorbells were spilled');
  const rows = show(fixture, 'overflow');
  t.equal(rows.length, overflow.pending);
  t.ok(rows.every(({ state, sequence }) => state === 'waits' && sequence === 0));
  const qpns = rows.map(({ qp }) => qp);
  t.same(
    qpns,
    flood.qps.map(({ qpn }) => qpn).filter((qpn) => qpns.includes(qpn)),
    'in the order of their arrival',
  );
  const address = Number(rows[1].address);
  t.equal(address, Number(rows[0].address) + 8);
  fixture.access.view(address, 8).setUint32(0, 0xffffff00, true);
  t.match(show(fixture, 'overflow')[1], { qp: 0xffffff, state: 'no such QP' });
});

t.test('queues by number, with their state', async (t) => {
  const fixture = new AdapterFixture({ bringUp: { levelOnePages: 8 } });
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 4 });
  const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 3 });
  const idle = fixture.createQueuePair({ sendCq, state: 'init', qosLevel: 1, creation: { process: 711 } });
  fixture.driver.createSharedReceiveQueue({ pd: fixture.pd });
  qp.post(NOP);
  fixture.settle();
  t.same(pick(show(fixture, 'queues'), 'queue', 'number', 'state', 'service', 'level', 'entries', 'next', 'unread'), [
    ['QP', qp.qpn, 'RTS', 'UD', 0, 8, 1, null],
    ['QP', idle.qpn, 'INIT', 'UD', 1, idle.parts.sendBuffer.entries, 0, null],
    ['CQ', sendCq.cqn, 'UNARMED', null, null, 16, 1, 1],
    ['SRQ', 1, 'UNARMED', null, null, show(fixture, 'queues')[3].entries, 0, 0],
  ]);
  t.same(pick(show(fixture, 'queues', { qp: idle.qpn }), 'number', 'sendCq'), [[idle.qpn, sendCq.cqn]]);
  t.same(pick(show(fixture, 'queues', { process: 711 }), 'number', 'process'), [[idle.qpn, 711]]);
  t.same(pick(show(fixture, 'queues', { qp: qp.qpn }), 'number', 'process'), [[qp.qpn, null]]);
  t.same(show(fixture, 'commands', { process: 711 }), []);
  sendCq.notify();
  const { number: cq, function: owner, ...rest } = show(fixture, 'queues')[2];
  const [completions] = show(fixture, 'completions');
  t.same(completions, { cq, function: owner, ...completions });
  t.match(rest, { ...completions, cq: undefined, function: undefined });
  t.equal(show(fixture, 'completions').length, 1);
  t.match(show(fixture, 'queues')[2], { state: 'TRIGGERED', eqPending: true, eq: fixture.events.eqn });
  fixture.finish();
});

t.test('event queues with their stamp and counters', async (t) => {
  const fixture = new AdapterFixture();
  const eq = fixture.driver.createEventQueue({ vector: 7, attributes: { nextInterruptDelayNsLow: 5000 } });
  const polled = fixture.driver.createEventQueue({
    vector: 8,
    attributes: { nextInterruptDelayNsLow: 0xffffffff, nextInterruptDelayNsHigh: 0xffffffff },
  });
  const cq = fixture.createCompletionQueue({ eventQueue: eq });
  const qp = fixture.createQueuePair({ sendCq: cq });
  fixture.machine.clock.advance(1000);
  qp.post(NOP);
  fixture.settle();
  cq.notify();
  const [row, last] = show(fixture, 'events').slice(2);
  t.match(row, {
    eq: eq.eqn,
    function: 0,
    vector: 7,
    controls: 'INTERRUPT',
    posted: 1,
    unread: 1,
    pending: 1,
    interrupts: 1,
  });
  t.match(row, { delayNs: 5000, stampNs: 6000, late: 0, asynchronous: false, error: false, primary: null });
  t.match(row, { summary: null });
  t.match(last, { eq: polled.eqn, delayNs: 'poll only', posted: 0 });
});

t.test('the primary summary byte as guest memory has it', async (t) => {
  const fixture = new AdapterFixture();
  const { address, bytes } = fixture.createBuffer(64);
  const eq = fixture.driver.createEventQueue({ vector: 7, attributes: { primarySummaryAddress: address } });
  const summary = () => pick(show(fixture, 'events'), 'eq', 'summary').at(-1);
  t.same(summary(), [eq.eqn, 0]);
  bytes[0] = 1;
  t.same(summary(), [eq.eqn, 1]);
});

t.test('send contexts with their credits', async (t) => {
  const fixture = new SendContextFixture({ blocks: 16, threshold: 9 });
  const { context } = fixture;
  fixture.postReceive();
  context.send(fixture.packet(new Uint8Array(100)));
  t.match(show(fixture.adapterFixture, 'contexts'), [
    { context: context.number, state: 'ENABLED', waiting: 1, atPort: 0, free: 0 },
  ]);
  fixture.settle();
  t.match(show(fixture.adapterFixture, 'contexts'), [
    { port: 1, cause: 'NONE', blocks: 16, free: 3, returned: 0, unreturned: 3, waiting: 0, threshold: 9, sent: 1 },
  ]);
});

t.test('blocks of a send context in runs, from the oldest one in use on', async (t) => {
  const fixture = new SendContextFixture({ blocks: 16, threshold: 9 });
  const { context } = fixture;
  const runs = () => pick(show(fixture.adapterFixture, 'blocks'), 'first', 'count', 'state');
  t.same(runs(), [[0, 16, 'free']]);
  for (let count = 0; count < 3; count++) fixture.postReceive();
  const blocks = 3;
  const [oldest, whole, half] = [1, 2, 3].map(() => context.allocate(fixture.packet(new Uint8Array(100))) ?? []);
  for (const store of [...whole, half[0]]) context.write(store);
  t.same(runs(), [
    [0, blocks, 'free'],
    [blocks, blocks, 'complete'],
    [2 * blocks, 1, 'filling'],
    [2 * blocks + 1, 15 - 2 * blocks, 'free'],
  ]);
  fixture.settle();
  t.same(runs()[1], [blocks, blocks, 'left, behind an older one']);
  for (const store of oldest) context.write(store);
  fixture.settle();
  t.same(runs(), [
    [2 * blocks, 1, 'filling'],
    [2 * blocks + 1, 15, 'free'],
  ]);
});

t.test('long views come in parts; bad requests are refused in words', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 2 ** 26 });
  const sendCq = fixture.createCompletionQueue();
  for (let count = 0; count < ROWS_MAX; count++) fixture.createQueuePair({ sendCq, state: 'reset' });
  const shown = { adapter: fixture.machine.device, hosts: [fixture.host] };
  const first = showContents(shown, { view: 'queues' });
  t.equal(first.next, ROWS_MAX);
  t.ok(JSON.stringify(first).length < 2 ** 19, 'half of what the control socket keeps for a client');
  const second = showContents(shown, { view: 'queues', first: first.next });
  t.match(second.rows, [{ queue: 'CQ' }]);
  t.equal(second.next, undefined);
  t.equal(showContents(shown, { view: 'queues', function: 1 }).rows.length, 0);
  t.throws(() => showContents(shown, { view: 'nothing' }), { message: /^view must be vcbs, pcbs, .*blocks$/ });
  t.throws(() => showContents(shown, { view: 'toString' }), { message: /^view must be/ });
  t.throws(() => showContents(shown, { view: 'pcbs', first: -1 }), { message: 'first must be a whole number' });
  t.throws(() => showContents(shown, { view: 'pcbs', qp: 'x' }), { message: 'qp must be a whole number' });
});

t.test('looking changes nothing', async (t) => {
  const [seen, unseen] = [0, 1].map(() => new DoorbellFlood({ seed: 5, queuePairs: 24, ringLog2: 6, budget: 3 }));
  for (const flood of [seen, unseen]) flood.burst();
  const digest = ({ fixture }: DoorbellFlood) => {
    const { dma, faults } = fixture.machine.device.functions[0].underlying;
    return {
      read: dma.bytesRead,
      written: dma.bytesWritten,
      faults: [...faults.counts],
      all: VIEW_NAMES.map((view) => show(fixture, view)),
    };
  };
  for (let step = 0; step < 60; step++) {
    digest(seen);
    for (const flood of [seen, unseen]) flood.fixture.machine.step();
  }
  t.same(digest(seen), digest(unseen));
});
