// SPDX-License-Identifier: Apache-2.0
/** Ways through real switches, by their forwarding tables, and why packets do not arrive. */
import t from 'tap';
import { Random } from '../../random.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../rig/fixtures/managed-fabric.ts';
import type { NamedNode } from '../../topology/named-nodes.ts';
import { type RouteReport, reportRoute } from './route-report.ts';

/** Two leaves below two roots, two adapters at each leaf. */
const TREE: ManagedFabricPlan = {
  switches: [4, 4, 4, 4],
  adapters: 4,
  links: [
    ['s0', 's2'],
    ['s0', 's3'],
    ['s1', 's2'],
    ['s1', 's3'],
    ['a0', 's2'],
    ['a1', 's2'],
    ['a2', 's3'],
    ['a3', 's3'],
  ],
};

function settle(plan: ManagedFabricPlan) {
  const fabric = new ManagedFabric(plan);
  const isDone = fabric.runUntil(() => fabric.allActive && fabric.managers.every(({ isSettled }) => isSettled));
  if (!isDone) throw new Error('the fabric does not settle');
  const nodes: NamedNode[] = [
    ...fabric.adapters.map((node, index) => ({ name: `a${index}`, mads: node.mads })),
    ...fabric.switches.map((node, index) => ({ name: `s${index}`, mads: node.mads })),
  ];
  const find = (name: string): NamedNode => nodes.find((node) => node.name === name) as NamedNode;
  return { fabric, nodes, route: (from: string, to: string) => reportRoute(nodes, find(from), find(to)) };
}

function namesOf({ hops }: RouteReport): string {
  return hops.map(({ node, in: entry, out }) => `${entry ?? ''}>${node}>${out ?? ''}`).join(' ');
}

t.test('the way has each node with its ports, from the first to the last', (t) => {
  const { fabric, route } = settle(TREE);
  t.same(namesOf(route('a0', 'a1')), '>a0>1 3>s2>4 1>a1>');
  t.equal(route('a0', 'a1').lid, fabric.adapters[1].endPorts[0].lid);
  t.match(namesOf(route('a0', 'a3')), /^>a0>1 3>s2>[12] 1>s[01]>2 [12]>s3>4 1>a3>$/);
  t.equal(namesOf(route('s2', 'a0')), '>s2>3 1>a0>');
  t.equal(namesOf(route('a0', 's2')), '>a0>1 3>s2>');
  t.equal(namesOf(route('s0', 's0')), '>s0>');
  t.equal(namesOf(route('a0', 'a0')), '>a0>1 3>s2>3 1>a0>', 'the switch sends it back, and would drop it');
  t.end();
});

t.test('each pair of random trees has a way in which links join', (t) => {
  for (let seed = 1; seed <= 2; seed++) {
    const random = new Random(seed);
    const switches = 2 + random.below(4);
    const trunks = Array.from({ length: switches - 1 }, (_, at): [string, string] => [
      `s${at + 1}`,
      `s${random.below(at + 1)}`,
    ]);
    const plugs = Array.from({ length: 4 }, (_, at): [string, string] => [`a${at}`, `s${random.below(switches)}`]);
    const { nodes, route } = settle({
      switches: Array.from({ length: switches }, () => 12),
      adapters: 4,
      links: [...trunks, ...plugs],
    });
    const linkOf = (name: string, port = 0) =>
      nodes.find((node) => node.name === name)?.mads.node.ports[port - 1]?.link ?? name;
    for (const from of nodes) {
      for (const to of nodes) {
        if (from === to) continue;
        const { hops, fault } = route(from.name, to.name);
        const label = `seed ${seed}: ${from.name} to ${to.name}`;
        if (fault !== undefined) t.fail(`${label}: ${fault}`);
        if (hops[0].node !== from.name || hops.at(-1)?.node !== to.name) t.fail(`${label}: ${JSON.stringify(hops)}`);
        for (const [at, { node, in: entry }] of hops.entries()) {
          if (at === 0) continue;
          const before = hops[at - 1];
          if (linkOf(node, entry) !== linkOf(before.node, before.out)) t.fail(`${label}: hop ${at} is no link`);
        }
      }
    }
  }
  t.end();
});

t.test('a way that does not arrive ends with the reason', (t) => {
  const { fabric, nodes, route } = settle(TREE);
  const [, , leaf] = fabric.switches;
  const tables = leaf.switchTables;
  const lidOf = (adapter: number): number => fabric.adapters[adapter].endPorts[0].lid;
  tables.linear[lidOf(1)] = 255;
  t.match(route('a0', 'a1'), {
    hops: [{ node: 'a0' }, { node: 's2', in: 3 }],
    fault: `s2 has no port for LID ${lidOf(1)}`,
  });
  tables.linear[lidOf(1)] = 3;
  t.equal(route('s2', 'a1').fault, `a0 does not have LID ${lidOf(1)}`);
  tables.linear[lidOf(1)] = 0;
  t.equal(route('a0', 'a1').fault, `s2 takes LID ${lidOf(1)} for its own`);
  tables.linear[lidOf(1)] = 1;
  fabric.switches[0].switchTables.linear[lidOf(1)] = 1;
  const circle = route('a0', 'a1');
  t.equal(circle.fault, `packets to LID ${lidOf(1)} go in a circle`);
  t.equal(circle.hops.length, nodes.length + 1);
  tables.linear[lidOf(1)] = 4;
  tables.linearTop = lidOf(1) - 1;
  t.equal(route('a0', 'a1').fault, `s2 has no port for LID ${lidOf(1)}`, 'above the top of the table');
  t.end();
});

t.test('links that are cut, and nodes without LID or link', (t) => {
  const { fabric, nodes, route } = settle(TREE);
  fabric.unplug(fabric.links[5]);
  t.equal(route('a0', 'a1').fault, 's2:4 has no link');
  t.equal(route('a1', 'a0').fault, 'a1 has no link');
  fabric.adapters[3].endPorts[0].lid = 0;
  t.same(route('a0', 'a3'), { hops: [{ node: 'a0' }], fault: 'a3 has no LID' });
  const others = nodes.filter(({ name }) => name !== 'a2');
  const [from] = nodes;
  const lost = nodes.find(({ name }) => name === 'a2') as NamedNode;
  t.equal(reportRoute(others, from, lost).fault, 'the link of s3:3 leads to another process');
  t.end();
});
