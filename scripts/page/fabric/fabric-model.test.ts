// SPDX-License-Identifier: Apache-2.0
/** The page's model of real fabrics: states of links, loads, drops, wiring, routes. */
import t from 'tap';
import { DropCause } from '../../../device/fabric/switch/drop-causes.ts';
import { reportRoute } from '../../../device/process/reports/route-report.ts';
import { layOutFabric } from '../../cli/view/fabric-layout.ts';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { ReportedFabric, treePlan } from '../testing/fabrics.ts';
import { findChangedParts } from './changed-parts.ts';
import { type FabricModel, hasPlaces, lidsOf, listTroubles, modelFabric, nodeOfEnd } from './fabric-model.ts';
import { linksOfRoute } from './route-links.ts';

function stateOf(reported: ReportedFabric, links: ViewState['links'] = []): ViewState {
  const fabric = reported.report();
  return { timeNs: fabric.timeNs ?? 0, fabric, links };
}

/** The state some time later, when `port` has sent some bytes more. */
function later(state: ViewState, ns: number, port: string, bytes: number): ViewState {
  const nodes = state.fabric.nodes.map((node) => ({
    ...node,
    ports: node.ports.map((one) =>
      `${node.name}:${one.number}` === port && one.link !== undefined
        ? { ...one, link: { ...one.link, sentBytes: one.link.sentBytes + bytes } }
        : one,
    ),
  }));
  return { ...state, timeNs: state.timeNs + ns, fabric: { ...state.fabric, nodes } };
}

const linkAt = ({ links }: FabricModel, end: string) =>
  links.find(({ sides }) => sides.some(({ name }) => name === end));

t.test('links train, are active, go down, are cut', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 2, 2), false);
  const layout = await layOutFabric(stateOf(reported));
  const model = () => modelFabric(stateOf(reported), undefined, layout);
  t.ok(model().links.every(({ state }) => state === 'training'));
  t.equal(model().managerLids.size, 0);
  reported.settle();
  t.ok(model().links.every(({ state }) => state === 'active'));
  t.same([...model().managerLids], lidsOf(reported.report().nodes[2]), 'the manager is at s0');
  const down = JSON.parse(JSON.stringify(stateOf(reported)).replace('"state":"ACTIVE"', '"state":"DOWN"')) as ViewState;
  t.equal(modelFabric(down, undefined, layout).links.filter(({ state }) => state === 'down').length, 1);
  const [link] = reported.fabric.links;
  const cut = { ends: ['s0:1', 's1:1'], kind: 'cut', up: false, sent: 0, received: 0, lost: 0 } as const;
  reported.fabric.unplug(link);
  t.equal(linkAt(model(), 's0:1')?.state, 'cut');
  t.equal(linkAt(model(), 's0:2')?.state, 'active');
  t.ok(hasPlaces(stateOf(reported, [cut]), layout), 'the picture stays');
});

t.test('loads are those between two states, of both directions and of each node', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 2, 2));
  const before = stateOf(reported);
  const layout = await layOutFabric(before);
  const alone = modelFabric(before, before, layout);
  t.ok(alone.links.every(({ load, sides }) => load === 0 && sides.every((side) => side.load === undefined)));
  // 4x QDR: 40 Gbit/s, of which 5e8 bytes in half a second are a fifth.
  const now = modelFabric(later(before, 0.5e9, 'a0:1', 5e8), before, layout);
  const link = linkAt(now, 'a0:1');
  t.equal(link?.load, 0.2);
  t.same(link?.sides.find(({ name }) => name === 'a0:1')?.load, { bitsPerSecond: 8e9, part: 0.2 });
  t.equal(link?.sides.find(({ name }) => name !== 'a0:1')?.load?.bitsPerSecond, 0);
  t.equal(now.loads.get('a0'), 0.2);
  t.equal(now.loads.get('s1'), 0.2);
  t.equal(now.loads.get('a1'), 0);
  const reset = modelFabric(later(before, 1e9, 'a0:1', -1), before, layout);
  t.equal(linkAt(reset, 'a0:1')?.sides.find(({ name }) => name === 'a0:1')?.load, undefined);
  t.equal(modelFabric(later(before, 1e9, 'a0:1', 1e12), before, layout).loads.get('a0'), 1, 'at most all of it');
});

t.test('errors and drops are troubles of a link; impaired links are marked', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 2, 2));
  reported.fabric.switches[1].ports[0].drop(DropCause.NO_ROUTE, 2);
  const faulty = { ends: ['s0:2', 's2:1'], kind: 'faulty', up: true, sent: 0, received: 0, lost: 0 } as const;
  const state = stateOf(reported, [faulty]);
  const model = modelFabric(state, undefined, await layOutFabric(state));
  const port = state.fabric.nodes.find(({ name }) => name === 's1')?.ports[1];
  t.ok(port !== undefined && listTroubles(port).some(([name, count]) => name === 'no route' && count === 2));
  t.ok((linkAt(model, 's1:1')?.troubles ?? 0) >= 2);
  t.equal(linkAt(model, 's0:2')?.troubles, 0);
  t.same(
    model.links.filter(({ isImpaired }) => isImpaired).map(({ id }) => id),
    ['s0:2 s2:1'],
  );
});

t.test('a picture is placed anew when a node or a link has no place in it', async (t) => {
  const one = stateOf(new ReportedFabric(treePlan(1, 2, 2), false));
  const layout = await layOutFabric(one);
  t.ok(hasPlaces(one, layout));
  t.ok(hasPlaces(later(one, 1, 'a0:1', 9), layout));
  t.notOk(hasPlaces(stateOf(new ReportedFabric(treePlan(1, 2, 3), false)), layout), 'another adapter');
  t.notOk(hasPlaces(stateOf(new ReportedFabric(treePlan(1, 2, 1), false)), layout), 'an adapter less');
  const plan = treePlan(1, 2, 2);
  const [first, second, ...others] = plan.links;
  const moved = new ReportedFabric({ ...plan, links: [first, second, ...[...others].reverse()] }, false);
  moved.fabric.join('s0', 's1');
  t.notOk(hasPlaces(stateOf(moved), layout), 'another link');
});

t.test('states and wiring that differ are marked, counters are not', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 2, 2));
  const before = stateOf(reported);
  const layout = await layOutFabric(before);
  const model = modelFabric(before, undefined, layout);
  t.same(findChangedParts(before, later(before, 1e9, 'a0:1', 5000), model), new Set());
  reported.fabric.unplug(reported.fabric.links[1]);
  const cut = stateOf(reported);
  t.same(findChangedParts(before, cut, modelFabric(cut, undefined, layout)), new Set(['s0', 's2', 's0:2 s2:1']));
  const less = { ...before, fabric: { ...before.fabric, nodes: before.fabric.nodes.slice(1) } };
  t.ok(findChangedParts(less, before, model).has('a0'), 'a node that is new');
});

t.test('the way marks its nodes and the links between them', async (t) => {
  const reported = new ReportedFabric(treePlan(2, 2, 2));
  const state = stateOf(reported);
  const model = modelFabric(state, undefined, await layOutFabric(state));
  const [from, to] = reported.nodes;
  const route = reportRoute(reported.nodes, from, to);
  const way = linksOfRoute(route, model);
  t.same(
    way.slice(0, 5),
    route.hops.map(({ node }) => node),
  );
  const ends = way.slice(5).flatMap((id) => id.split(' ').map(nodeOfEnd));
  t.equal(way.length, 9, 'four links between five nodes');
  t.same([...new Set(ends)].sort(), route.hops.map(({ node }) => node).sort());
  t.equal(nodeOfEnd('elsewhere s0:4'), 'elsewhere s0:4');
});
