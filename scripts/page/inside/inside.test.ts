// SPDX-License-Identifier: Apache-2.0
/**
 * The picture of an adapter, from states that adapters of this process made: each unit shows the
 * adapter's state, whatever the load, and a personality has the units of its report.
 */
import t from 'tap';
import { planStores, storeCollected } from '../../../device/rig/driver/collect-writer.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../../device/rig/fixtures/command-poster.ts';
import { DoorbellFlood } from '../../../device/rig/fixtures/doorbell-flood.ts';
import { PacketPeer } from '../../../device/rig/fixtures/packet-peer.ts';
import { SendContextFixture } from '../../../device/rig/fixtures/send-context-fixture.ts';
import { DataFixture as Mlx5DataFixture } from '../../../device/rig/mlx5/driver/data-fixture.ts';
import { DataFixture } from '../../../device/rig/mthca/driver/data-fixture.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { describeInside, INSIDE_VIEWS } from './inside.ts';
import type { Cell, Picture, Unit, UnitId } from './picture.ts';
import { BusyAdapter } from './testing/busy-adapter.ts';
import { personalityStateOf, stateOf } from './testing/view-state.ts';

/** The picture of the fixture's adapter now. */
function pictureOf({ machine }: AdapterFixture, chosen?: number): Picture {
  return describeInside(stateOf(machine), chosen) as Picture;
}

function unitOf(picture: Picture, id: UnitId): Unit {
  return picture.units.find((unit) => unit.id === id) as Unit;
}

function factOf(unit: Unit, name: string): string | number | undefined {
  return unit.facts.find((fact) => fact.name === name)?.value;
}

function cellsOf(unit: Unit, grid: string): readonly Cell[] {
  return unit.grids.find(({ name }) => name.startsWith(grid))?.cells ?? [];
}

function wordsOf(unit: Unit, meter: string): string | undefined {
  return unit.meters.find(({ name }) => name === meter)?.words;
}

t.test('a VCB fills and its PCB with it; without a PCB it is in send-queue mode', async (t) => {
  const fixture = new AdapterFixture({ adapter: { pcbCount: 1, pcbGuaranteed: [0, 0], vcbCount: 8 } });
  const qp = fixture.createQueuePair();
  const bytes = qp.fill({ inline: new Uint8Array(24) }).slice();
  const stores = planStores(bytes.length);
  for (const page of [0, 1])
    for (const store of stores.slice(0, 4))
      storeCollected(fixture.access, page * 4096, new DataView(bytes.buffer), store);
  const collect = unitOf(pictureOf(fixture), 'collect');
  t.equal(cellsOf(collect, 'VCBs').length, 8);
  t.match(cellsOf(collect, 'VCBs').slice(0, 3), [
    {
      kind: 'filling',
      text: '0',
      bars: [32 / bytes.length],
      words: /bound to PCB 0, 32 of \d+ bytes, QP \d+ number 0/,
    },
    { kind: 'refused', words: /no PCB was free: send-queue mode/ },
    { kind: 'free' },
  ]);
  t.match(cellsOf(collect, 'PCBs'), [{ kind: 'filling', bars: [32 / bytes.length], words: /PCB 0: collecting/ }]);
  t.equal(wordsOf(collect, 'PCBs'), '1 of 1');
  t.equal(factOf(collect, 'without a PCB'), 1);
});

t.test('a locked buffer, and commands that wait on their lane with its order', async (t) => {
  const fixture = new AdapterFixture();
  const [a, b] = [fixture.createQueuePair(), fixture.createQueuePair()];
  fixture.read(CSR.DEDICATED_LOCK);
  for (const qp of [a, a, b]) qp.post(NOP);
  const picture = pictureOf(fixture);
  const waiting = cellsOf(unitOf(picture, 'collect'), 'PCBs').filter(({ kind }) => kind === 'waiting');
  t.match(waiting, [{ text: `${a.qpn}` }, { text: `${a.qpn}` }, { text: `${b.qpn}`, words: /kicked.*number 0, lane/ }]);
  const lanes = unitOf(picture, 'lanes');
  t.equal(factOf(lanes, 'waiting'), 3);
  const rows = lanes.tables[0].rows.map(({ cells }) => cells[1]);
  t.ok(
    rows.some((row) => `${row}`.includes(`QP ${a.qpn} number 0, 1`)),
    `${rows}`,
  );
  t.ok(cellsOf(lanes, 'lanes').some(({ kind, words }) => kind === 'waiting' && /[23] of \d+ wait/.test(words)));
});

t.test('a message that is not acknowledged: its PSNs, its credit, its wait', async (t) => {
  const peer = new PacketPeer();
  for (const bytes of [8, 300]) peer.qp.post({ sges: [peer.fixture.sge(peer.fixture.createBuffer(bytes))] });
  peer.settle().take();
  const before = pictureOf(peer.fixture);
  const [connection] = unitOf(before, 'transport').tables[0].rows;
  t.same(connection.cells.slice(0, 2), [`${peer.qp.qpn} RC`, '3: 100 to 102']);
  t.equal(factOf(unitOf(before, 'transport'), 'in the completion list'), 2);
  t.match(wordsOf(unitOf(before, 'lanes'), 'completion credits'), /^2 of \d+, \d of \d+ shared$/);
  t.match(cellsOf(unitOf(before, 'lanes'), 'lanes').filter(({ kind }) => kind === 'running').length, 1);
  peer.receiverNotReady(0, 12);
  t.match(unitOf(pictureOf(peer.fixture), 'transport').tables[0].rows[0].cells.at(-1), 'receiver not ready');
  peer.qp.toError();
  t.match(unitOf(pictureOf(peer.fixture), 'transport').tables[0].rows[0], { isBad: true });
});

t.test('doorbells that overflow: thresholds of the scheduler buffer, entries of the overflow buffer', async (t) => {
  const flood = new DoorbellFlood({ queuePairs: 24, policy: OverflowPolicy.NEWEST, ringLog2: 6, budget: 1 });
  const { fixture } = flood;
  for (const qp of flood.qps) flood.post(qp);
  const { doorbells } = fixture.machine.device.functions[0];
  for (let step = 0; step < 1000 && doorbells.overflow.pending < 4; step++) fixture.machine.step();
  const unit = unitOf(pictureOf(fixture), 'doorbells');
  const { entries, used } = doorbells.buffer;
  const { low, high } = doorbells.thresholds;
  const meter = unit.meters.find(({ name }) => name === 'scheduler buffer');
  t.match(meter?.marks, [{ at: entries - low }, { at: entries - high }]);
  t.equal(meter?.words, `${used} of ${entries}`);
  t.equal(wordsOf(unit, 'overflow buffer'), `${doorbells.overflow.pending} of 64`);
  const buffer = cellsOf(unit, 'scheduler buffer');
  t.equal(buffer.length, entries);
  t.equal(buffer.filter(({ kind }) => kind !== 'free').length, used);
  t.equal(cellsOf(unit, 'bus').length, Math.min(64, doorbells.inbound.posted + doorbells.inbound.reads));
});

t.test('an event queue before and after its stamp, its summary byte, and a queue that is polled', async (t) => {
  const fixture = new AdapterFixture();
  const { address, bytes } = fixture.createBuffer(64);
  const eq = fixture.driver.createEventQueue({
    vector: 7,
    attributes: { nextInterruptDelayNsLow: 5000, primarySummaryAddress: address },
  });
  const cq = fixture.createCompletionQueue({ eventQueue: eq });
  const qp = fixture.createQueuePair({ sendCq: cq });
  const row = () =>
    unitOf(pictureOf(fixture), 'events')
      .tables[0].rows.find(({ key }) => key === `${eq.eqn}`)
      ?.cells.slice(2);
  t.same(row(), ['0', '0', 'idle', 'clear', '0']);
  qp.post(NOP);
  fixture.settle();
  cq.notify();
  t.same(row(), ['1', '1', 'in 5.0 us', 'set', '1']);
  bytes[0] = 0;
  fixture.machine.clock.advance(7000);
  t.same(row(), ['1', '1', '2.0 us ago', 'clear', '1']);
});

t.test('blocks of a send context that were filled out of order', async (t) => {
  const fixture = new SendContextFixture({ blocks: 16, threshold: 9 });
  const { context } = fixture;
  for (let count = 0; count < 2; count++) fixture.postReceive();
  const [, whole, half] = [1, 2, 3].map(() => context.allocate(fixture.packet(new Uint8Array(100))) ?? []);
  for (const store of [...whole, half[0]]) context.write(store);
  fixture.settle();
  const unit = unitOf(pictureOf(fixture.adapterFixture), 'contexts');
  t.same(unit.meters[0].parts, [
    { kind: 'free', value: 3 },
    { kind: 'left', value: 3 },
    { kind: 'filling', value: 1 },
    { kind: 'free', value: 9 },
  ]);
  context.halt();
  t.match(unitOf(pictureOf(fixture.adapterFixture), 'contexts').facts.at(-1), {
    value: 'HALTED SOFTWARE',
    isBad: true,
  });
});

t.test('every unit adds up, and every word is known, whatever the load', async (t) => {
  for (const seed of [1, 2]) {
    const busy = new BusyAdapter({
      seed,
      functions: 3,
      flowsOfEach: 4,
      adapter: { pcbCount: 12, pcbGuaranteed: [1, 1], schedulerBufferCount: 6, laneCount: 8, doorbellEntries: 8 },
    });
    for (let step = 0; step < 10; step++) {
      const state = busy.next();
      for (const chosen of [undefined, 1])
        t.same(findFaults(describeInside(state, chosen) as Picture), [], `seed ${seed} step ${step}`);
    }
  }
});

/** Faults of a picture: parts beyond the whole, missing values. */
function findFaults({ units, flows }: Picture): string[] {
  const faults = units.flatMap(({ id, meters, tables, grids, facts }) => [
    ...meters
      .filter(({ total, parts }) => parts.reduce((sum, { value }) => sum + value, 0) > total)
      .map(({ name, words }) => `${id} ${name}: ${words}`),
    ...tables
      .filter(({ columns, rows }) => rows.some(({ cells }) => cells.length !== columns.length))
      .map(({ name }) => `${id} ${name}: columns`),
    ...tables
      .filter(({ rows }) => new Set(rows.map(({ key }) => key)).size !== rows.length)
      .map(({ name }) => `${id} ${name}: keys`),
    ...(new Set(facts.map(({ name }) => name)).size === facts.length ? [] : [`${id}: facts`]),
    ...grids.flatMap(({ cells }) => cells.filter((cell) => cell === undefined).map(() => `${id}: no cell`)),
  ]);
  const text = JSON.stringify([units, flows]);
  return [...faults, ...(/undefined|NaN|null|-1\b/.exec(text) ?? [])];
}

t.test('one of several functions: its sums, the cells of others dimmed', async (t) => {
  const busy = new BusyAdapter({
    seed: 5,
    functions: 3,
    flowsOfEach: 4,
    adapter: { pcbCount: 24, pcbGuaranteed: [2, 2] },
  });
  const states = Array.from({ length: 12 }, () => busy.next());
  const pictures = states.map((state) => [
    describeInside(state),
    ...[0, 1, 2].map((one) => describeInside(state, one)),
  ]);
  for (const [all, ...each] of pictures as Picture[][]) {
    const kicks = (picture: Picture) => factOf(unitOf(picture, 'collect'), 'kicks') as number;
    t.equal(
      each.reduce((sum, picture) => sum + kicks(picture), 0),
      kicks(all),
    );
    const used = cellsOf(unitOf(all, 'collect'), 'PCBs').filter(({ kind }) => kind !== 'free');
    const own = each.flatMap((picture) =>
      cellsOf(unitOf(picture, 'collect'), 'PCBs').filter(({ kind, isOther }) => kind !== 'free' && !isOther),
    );
    t.equal(own.length, used.length, 'each buffer belongs to one function');
  }
  t.ok(
    pictures.some(([all]) => all?.units.some(({ grids }) => grids.some(({ cells }) => cells.some((one) => one.text)))),
  );
});

t.test('cells of lanes show their credits and lists, and whose they are', async (t) => {
  const busy = new BusyAdapter({
    seed: 7,
    functions: 2,
    flowsOfEach: 6,
    adapter: { laneCount: 4, completionCredits: 12 },
  });
  const seen = new Set<string>();
  for (let step = 0; step < 12; step++) {
    const state = busy.next();
    const lanes = cellsOf(unitOf(describeInside(state, 1) as Picture, 'lanes'), 'lanes');
    for (const [place, { number, owner, length, listSize, execution, completion }] of (
      state.adapter?.lanes.lanes ?? []
    ).entries()) {
      const part = ({ private: own, used, sharedUsed }: typeof execution): number =>
        used + sharedUsed === 0 ? 0 : (used + sharedUsed) / (own + sharedUsed);
      t.match(lanes[place], {
        text: `${number}`,
        bars: [part(execution), part(completion), length / listSize],
        isOther: owner === 0,
      });
      seen
        .add(`owner ${owner}`)
        .add(`list ${length > 0}`)
        .add(`shared ${completion.sharedUsed > 0}`);
    }
  }
  t.ok(
    ['owner 0', 'owner 1', 'list true', 'shared true'].every((one) => seen.has(one)),
    `${[...seen]}`,
  );
});

t.test('virtual lanes of ports have the packets that wait and that left', async (t) => {
  const peer = new PacketPeer();
  peer.qp.post({ inline: new Uint8Array(8) });
  peer.settle();
  const { capacity, leftPackets } = peer.adapter.ports[0].transmitQueues.rings[0];
  const ports = unitOf(pictureOf(peer.fixture), 'ports');
  t.equal(wordsOf(ports, 'port 1 VL0'), `1 of ${capacity}, ${leftPackets} sent`);
  t.match(ports.tables[0].rows[0].cells.slice(0, 3), [1, 'ACTIVE', peer.fixture.lidOf(1)]);
});

t.test('the page asks for no view that the picture does not use', async (t) => {
  const states = [new BusyAdapter({ seed: 9, functions: 2, flowsOfEach: 8 }).next()];
  states.push(personalityStateOf(new DataFixture().driver.device, 5));
  for (const state of states) {
    const used = new Set<string>();
    const views = new Proxy(state.views ?? {}, {
      get: (all, name: string) => {
        used.add(name);
        return all[name];
      },
    });
    describeInside({ ...state, views }, 0);
    const asked: readonly string[] = INSIDE_VIEWS[state.adapter === undefined ? 'personality' : 'adapter'];
    t.same([...used].sort(), [...asked].sort());
  }
});

t.test('a long list is cut, and says what is left out; states of QPs are summed over functions', async (t) => {
  const busy = new BusyAdapter({ seed: 9, functions: 2, flowsOfEach: 8 });
  const state = busy.next();
  const completions = unitOf(describeInside(state) as Picture, 'completions');
  const cqs = state.views?.completions.length ?? 0;
  const [{ rows, more }] = completions.tables;
  t.equal(rows.length, 24);
  t.equal(rows.length + more, cqs);
  const qps = state.adapter?.functions.reduce((sum, { queuePairs }) => sum + (queuePairs.RTS ?? 0), 0);
  t.ok(state.adapter?.functions.every(({ queuePairs }) => queuePairs.RTS > 0));
  t.equal(factOf(completions, 'QPs in RTS'), qps);
});

t.test('personalities have the units of their reports', async (t) => {
  const mthca = new DataFixture();
  const [a] = mthca.connect();
  const local = mthca.memory(4096);
  a.post({ opcode: 10, pieces: [local] });
  mthca.run();
  const mlx5 = new Mlx5DataFixture();
  const states = [personalityStateOf(mthca.driver.device, 5), personalityStateOf(mlx5.driver.device, 7)];
  for (const state of states) {
    const picture = describeInside(state) as Picture;
    t.same(
      picture.units.map(({ id }) => id),
      ['driver', 'lanes', 'transport', 'ports', 'completions', 'events'],
    );
    t.same(findFaults(picture), []);
    t.match(unitOf(picture, 'driver'), { title: `Driver of ${state.personality?.personality}` });
    t.equal(factOf(unitOf(picture, 'driver'), 'HCA'), 'running');
    const personality = { ...(state.personality as object), functionOf: 'f' } as NonNullable<ViewState['personality']>;
    const second = describeInside({ ...state, personality }) as Picture;
    t.equal(factOf(unitOf(second, 'driver'), 'second function of'), 'f');
  }
  t.match(unitOf(describeInside(states[0]) as Picture, 'transport').tables[0].rows[0], { cells: [`${a.number} RC`] });
});

t.test('a state without an adapter has no picture', async (t) => {
  t.equal(describeInside({ timeNs: 0, fabric: { nodes: [] } }), undefined);
});
