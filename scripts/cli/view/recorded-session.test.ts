// SPDX-License-Identifier: Apache-2.0
/**
 * The states of a recording are those of the session itself, in the words of a live process, and
 * reading them changes nothing.
 */
import t from 'tap';
import { Adapter } from '../../../device/hca/adapter/adapter.ts';
import { showContents } from '../../../device/hca/adapter/contents/contents.ts';
import { VIEW_NAMES } from '../../../device/hca/adapter/contents/view-names.ts';
import { showViews } from '../../../device/personality/shared/contents.ts';
import { reportFabric } from '../../../device/process/reports/fabric-report.ts';
import { reportLinks } from '../../../device/process/reports/link-report.ts';
import { reportManagers } from '../../../device/process/reports/manager-report.ts';
import { reportPersonality } from '../../../device/process/reports/personality-report.ts';
import { reportRoute } from '../../../device/process/reports/route-report.ts';
import { reportAdapter, reportSwitch } from '../../../device/process/reports/status-report.ts';
import { Random } from '../../../device/random.ts';
import { EventfulSession } from '../../../device/rig/fixtures/eventful-session.ts';
import { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import { ThreeKinds } from '../../../device/rig/mixed/three-kinds.ts';
import { twoFunctionPlan } from '../../../device/rig/mlx5/driver/mlx5-fabric.ts';
import { listNodes } from '../../../device/topology/named-nodes.ts';
import { RecordedSession } from './recorded-session.ts';
import { ViewRefusal } from './view-source.ts';

const SEEDS = [11, 12];
const TURNS = 60;
const LOOKS = 4;
const everything = { adapter: 'a', views: VIEW_NAMES };

/** The state as a client gets it. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

t.test('the state at the end is that of the live adapter, row by row', async (t) => {
  let spilled = 0;
  for (const seed of SEEDS) {
    const live = new EventfulSession(seed);
    const { machine } = live.fixture;
    for (let turn = 0; turn < TURNS; turn++) {
      live.play();
      if (turn % 20 !== 19) continue;
      const session = new RecordedSession(live.takeRecording());
      session.advanceTo(Number.POSITIVE_INFINITY);
      const state = session.describe(everything);
      const where = `seed ${seed}, turn ${turn}`;
      t.equal(session.trouble, undefined, where);
      t.equal(state.call, undefined, where);
      t.same(asJson(state.adapter), asJson({ name: 'a', ...reportAdapter(machine.device) }), where);
      const hosts = machine.device.functions.map(() => live.fixture.host);
      for (const view of VIEW_NAMES) {
        const { rows } = showContents({ adapter: machine.device, hosts }, { view });
        t.same(state.views?.[view], rows, `${where}, ${view}`);
        if (view === 'overflow') spilled += rows.length;
      }
    }
  }
  t.ok(spilled > 0, 'overflow buffers had doorbells');
});

t.test('a fabric has its nodes, links, switches and manager, and adapters of all kinds', async (t) => {
  const live = new ThreeKinds();
  live.connectOwn();
  const session = new RecordedSession(live.takeRecording());
  session.advanceTo(Number.POSITIVE_INFINITY);
  t.same(session.described, [{ name: 'm', personality: 'mlx5' }, { name: 'v' }, { name: 'n', personality: 'mthca' }]);
  const { adapters, switches, joints, managers } = live.built;
  const served = ['m', 'v', 'n'].map((name, index) => ({ name, core: adapters[index] }));
  const relays = switches.map((core) => ({ name: 's', core }));
  const { fabric, links, switches: reported } = session.describe({});
  t.same(fabric.nodes, reportFabric(listNodes(served, relays)).nodes);
  t.same(fabric.managers, reportManagers(managers, session.replay.timeNs));
  t.equal(fabric.timeNs, session.replay.timeNs);
  t.same(links, reportLinks({ served, switches: relays, joints, socketLinks: [] }));
  t.equal(links?.length, 3);
  t.same(reported, relays.map(reportSwitch));
  const nodes = listNodes(served, relays);
  const [from, to] = nodes;
  t.same(session.route({ from: from.name, to: to.name }), reportRoute(nodes, from, to));
  t.throws(() => session.route({ from: 'm', to: 'x' }), { status: 404, message: /^there is no node x; there are / });
  for (const { name, core } of served) {
    const state = session.describe({ adapter: name, views: VIEW_NAMES });
    if (core instanceof Adapter) {
      t.same(asJson(state.adapter), asJson({ name, ...reportAdapter(core) }));
      continue;
    }
    t.same(asJson(state.personality), asJson({ name, ...reportPersonality(core) }));
    t.same(state.views?.queues, showViews(core, { view: 'queues' }).rows);
    t.notOk('vcbs' in (state.views ?? {}), 'a personality has not all views');
  }
});

t.test('a second function names its device', async (t) => {
  const session = new RecordedSession(new RecordedFabric(twoFunctionPlan).takeRecording());
  t.match(session.describe({ adapter: 'c' }).personality, { name: 'c', functionOf: undefined });
  t.match(session.describe({ adapter: 'c/1' }).personality, { name: 'c/1', functionOf: 'c' });
});

t.test('looking changes nothing, wherever and however often', async (t) => {
  for (const seed of SEEDS) {
    const live = new EventfulSession(seed);
    for (let turn = 0; turn < TURNS; turn++) live.play();
    const recording = live.takeRecording();
    const untouched = new RecordedSession(recording);
    untouched.advanceTo(Number.POSITIVE_INFINITY);
    const random = new Random(seed);
    const steps = Array.from({ length: LOOKS }, () => random.below(untouched.step)).sort((one, other) => one - other);
    const looked = new RecordedSession(recording);
    for (const step of steps) {
      const fresh = new RecordedSession(recording);
      t.ok(fresh.advanceTo(step));
      t.ok(looked.advanceTo(step));
      const state = looked.describe(everything);
      t.equal(JSON.stringify(state), JSON.stringify(fresh.describe(everything)), `seed ${seed}, step ${step}`);
      t.equal(state.step, step);
      looked.tell({ adapter: 'a', qp: live.qpn });
    }
    looked.advanceTo(Number.POSITIVE_INFINITY);
    t.equal(looked.trouble, undefined, `seed ${seed}`);
    t.equal(looked.step, untouched.step, `seed ${seed}`);
    t.equal(JSON.stringify(looked.describe(everything)), JSON.stringify(untouched.describe(everything)));
  }
});

t.test('the call that comes next is the one that is made', async (t) => {
  const [seed] = SEEDS;
  const live = new EventfulSession(seed);
  for (let turn = 0; turn < TURNS; turn++) live.play();
  const session = new RecordedSession(live.takeRecording());
  const wrong: string[] = [];
  let announced: string | undefined;
  session.replay.onStep = ({ index, name }) => {
    if (name !== announced) wrong.push(`step ${index}: ${announced}, then ${name}`);
  };
  do announced = session.describe({}).call;
  while (session.advance());
  t.same(wrong, [], `seed ${seed}`);
  t.equal(announced, undefined, 'none comes at the end');
});

t.test('stories have the messages up to a step, and none of the future', async (t) => {
  const [seed] = SEEDS;
  const live = new EventfulSession(seed);
  for (let turn = 0; turn < TURNS; turn++) live.play();
  const session = new RecordedSession(live.takeRecording());
  const { qpn } = live;
  t.match(session.tell({ adapter: 'a', qp: qpn }), { stories: [], reason: /QP \d+ is not ready to receive by step 0/ });
  session.advanceTo(Number.POSITIVE_INFINITY);
  const all = session.tell({ adapter: 'a', qp: qpn }).stories;
  t.ok(all.length > 2, `seed ${seed}: ${all.length} stories`);
  const early = new RecordedSession(live.takeRecording());
  while (early.tell({ adapter: 'a', qp: qpn }).stories.length === 0 && early.advanceTo(early.step + 10));
  const some = early.tell({ adapter: 'a', qp: qpn });
  t.equal(some.stories.length, 1);
  t.ok(some.queuePairs.includes(qpn));
});

t.test('what there is not is said in one sentence', async (t) => {
  const live = new EventfulSession(1);
  live.play();
  const recording = live.takeRecording();
  const session = new RecordedSession(recording);
  const refusal = new ViewRefusal('unknown', 'there is no adapter b; there are a');
  t.throws(() => session.describe({ adapter: 'b' }), refusal);
  t.throws(() => session.tell({ adapter: 'b', qp: 1 }), refusal);
  const cut = new RecordedSession(recording.subarray(0, recording.length - 1));
  t.notOk(cut.advanceTo(Number.POSITIVE_INFINITY));
  t.match(cut.trouble, /^the end of the recording is missing, after step \d+$/);
  t.notOk(cut.advance(), 'it stays where it is');
});
