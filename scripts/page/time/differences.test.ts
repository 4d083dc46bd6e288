// SPDX-License-Identifier: Apache-2.0
/** Differences of real states, and of states that differ at random in known places. */
import t from 'tap';
import { Random } from '../../../device/random.ts';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { ReportedFabric, treePlan } from '../testing/fabrics.ts';
import { findDifferences } from './differences.ts';

function stateOf(reported: ReportedFabric, rest: Partial<ViewState> = {}): ViewState {
  const fabric = reported.report();
  return { timeNs: fabric.timeNs ?? 0, fabric, ...rest };
}

t.test('what a subnet manager has changed, by node and port', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 1, 1), false);
  const before = stateOf(reported);
  t.same(findDifferences(before, before), []);
  reported.settle();
  const found = new Map(findDifferences(before, stateOf(reported)).map((one) => [`${one.group} ${one.place}`, one]));
  t.match(found.get('fabric a0 port 1 lid'), { before: 0 });
  t.match(found.get('fabric a0 port 1 link state'), { before: 'INITIALIZE', after: 'ACTIVE' });
  const guid = before.fabric.managers?.[0].guid;
  t.match(found.get(`fabric manager ${guid} heavy sweeps`), { before: 0, after: 1 });
  t.notOk([...found.keys()].some((key) => key.includes('time')));
});

t.test('rows are told by their keys: one that goes leaves the others alone', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 1, 1), false);
  const rows = [5, 6, 7].map((qp) => ({ qp, state: 'RTS' }));
  const one = stateOf(reported, { views: { queues: rows } });
  const other = stateOf(reported, { views: { queues: [rows[0], { ...rows[2], state: 'ERR' }] } });
  t.same(findDifferences(one, other), [
    { group: 'queues', place: '6 qp', before: 6, after: undefined },
    { group: 'queues', place: '6 state', before: 'RTS', after: undefined },
    { group: 'queues', place: '7 state', before: 'RTS', after: 'ERR' },
  ]);
  const plain = { views: { queues: [{ qp: 5 }, { qp: 5 }] } };
  t.match(findDifferences(stateOf(reported, plain), stateOf(reported)), [{ place: '0 qp' }, { place: '1 qp' }]);
});

t.test('links by their ends, and numbers of lists by their places', async (t) => {
  const reported = new ReportedFabric(treePlan(1, 1, 1), false);
  const link = { ends: ['a:1', 'b:1'], kind: 'cable', up: true, sent: 1, received: 1, lost: 0 } as const;
  const one = stateOf(reported, { links: [link] });
  t.same(findDifferences(one, stateOf(reported, { links: [{ ...link, kind: 'cut', up: false }] })), [
    { group: 'links', place: 'a:1 - b:1 kind', before: 'cable', after: 'cut' },
    { group: 'links', place: 'a:1 - b:1 up', before: true, after: false },
  ]);
});

t.test('each change at random is found, once, and nothing else', async (t) => {
  const reported = new ReportedFabric(treePlan(2, 3, 6));
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    const before = stateOf(reported);
    const changed = new Map<string, number>();
    const nodes = before.fabric.nodes.map((node) => ({
      ...node,
      ports: node.ports.map((port) => {
        if (port.link === undefined || random.below(4) > 0) return port;
        const sent = port.link.sent + 1 + random.below(9);
        changed.set(`${node.name} port ${port.number} link sent`, sent);
        return { ...port, link: { ...port.link, sent } };
      }),
    }));
    const found = findDifferences(before, { ...before, fabric: { ...before.fabric, nodes } });
    t.same(new Map(found.map(({ place, after }) => [place, after])), changed, `seed ${seed}`);
    t.equal(found.length, changed.size, `seed ${seed}`);
  }
});
