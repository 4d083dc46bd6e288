// SPDX-License-Identifier: Apache-2.0
/** Layout of real fabrics: nothing overlaps, and each link ends at its boxes. */
import t from 'tap';
import { Random } from '../../../device/random.ts';
import type { ManagedFabricPlan } from '../../../device/rig/fixtures/managed-fabric.ts';
import { ReportedFabric, treePlan } from '../../page/testing/fabrics.ts';
import { overlap } from '../../picture/testing/read-svg.ts';
import { layOutFabric } from './fabric-layout.ts';
import type { Area, FabricLayout, Place } from './view-protocol.ts';

const nameOf = (end: string): string => (end.startsWith('elsewhere') ? end : end.slice(0, end.lastIndexOf(':')));

/** Faults of a layout, as sentences. */
function findFaults({ nodes, links, width, height }: FabricLayout): string[] {
  const page = { x: 0, y: 0, width, height };
  const areaOf = (name: string) => nodes.find((node) => node.name === name);
  const texts = links.flatMap(({ ends, text }) => (text === undefined ? [] : [{ name: ends.join('-'), ...text }]));
  const areas = [...nodes, ...texts];
  const isPair = (one: (typeof areas)[number], other: (typeof areas)[number]) =>
    !('home' in one && one.home === other.name) && !('home' in other && other.home === one.name);
  return [
    ...areas.flatMap((one, at) =>
      areas.slice(at + 1).flatMap((other) => {
        return isPair(one, other) && overlap(one, other) ? [`${one.name} lies on ${other.name}`] : [];
      }),
    ),
    ...nodes.flatMap((node) =>
      isWithin(node, node.home === undefined ? page : (areaOf(node.home) as Area)) ? [] : [`${node.name} leaves`],
    ),
    ...links.flatMap(({ ends, points }) =>
      [ends[0], ends[1]].flatMap((end, at) => {
        const area = areaOf(nameOf(end));
        const point = points.at(-at) as Place;
        return area !== undefined && touches(point, area) ? [] : [`${ends.join('-')} does not end at ${end}`];
      }),
    ),
  ];
}

function isWithin(area: Area, box: Area): boolean {
  const [right, bottom] = [area.x + area.width, area.y + area.height];
  return area.x >= box.x && area.y >= box.y && right <= box.x + box.width && bottom <= box.y + box.height;
}

function touches({ x, y }: Place, area: Area): boolean {
  return x >= area.x - 1 && x <= area.x + area.width + 1 && y >= area.y - 1 && y <= area.y + area.height + 1;
}

/** Switches joined at random, adapters with one or two links. */
function planOf(random: Random): ManagedFabricPlan {
  const switches = 1 + random.below(6);
  const adapters = 1 + random.below(12);
  const any = (): string => `s${random.below(switches)}`;
  return {
    switches: Array.from({ length: switches }, () => 36),
    adapters,
    links: [
      ...Array.from({ length: switches - 1 }, (_, at): [string, string] => [`s${at + 1}`, `s${random.below(at + 1)}`]),
      ...Array.from({ length: random.below(4) }, (): [string, string] => [any(), any()]),
      ...Array.from({ length: adapters }, (_, at): [string, string] => [`a${at}`, any()]),
    ],
    managers: [],
  };
}

t.test('nothing lies on anything else, whatever the fabric', async (t) => {
  for (let seed = 1; seed <= 6; seed++) {
    const fabric = new ReportedFabric(planOf(new Random(seed)), false).report();
    const layout = await layOutFabric({ fabric });
    const faults = findFaults(layout);
    if (faults.length > 0) t.fail(`seed ${seed}: ${faults.slice(0, 4).join('; ')}`);
    const ends = layout.links
      .flatMap((link) => link.ends)
      .filter((end) => !end.startsWith('elsewhere'))
      .sort();
    const plugged = fabric.nodes.flatMap(({ name, ports }) =>
      ports.flatMap(({ number, link }) => (link?.peer === undefined ? [] : [`${name}:${number}`])),
    );
    t.same(ends, plugged.sort(), `seed ${seed}: each end once`);
  }
});

t.test('a fabric without nodes, and a node without links', async (t) => {
  t.match(await layOutFabric({ fabric: { nodes: [] } }), { width: Number, height: Number, nodes: [], links: [] });
  const reported = new ReportedFabric({ switches: [], adapters: 1, links: [], managers: [] }, false);
  t.match((await layOutFabric({ fabric: reported.report() })).nodes, [{ name: 'a0', kind: 'adapter' }]);
});

t.test('64 adapters on 12 switches fill a page without becoming small', async (t) => {
  const layout = await layOutFabric({ fabric: new ReportedFabric(treePlan(4, 8, 64), false).report() });
  t.same(findFaults(layout), []);
  t.equal(layout.nodes.filter(({ home }) => home !== undefined).length, 64);
  const scale = Math.min(1240 / layout.width, 640 / layout.height);
  t.ok(scale > 0.75, `${layout.width} x ${layout.height}: ${scale}`);
  const [root, leaf] = ['s0', 's4'].map((name) => layout.nodes.find((node) => node.name === name) as Area);
  t.ok(root.y + root.height < leaf.y, 'roots stand above');
});

t.test('links that are cut keep their places, and those of other processes have an end', async (t) => {
  const reported = new ReportedFabric({
    switches: [4, 4],
    adapters: 2,
    links: [
      ['a0', 's0'],
      ['a1', 's1'],
      ['s0', 's1'],
    ],
  });
  const before = await layOutFabric({ fabric: reported.report() });
  const cuts = [
    ['a0:1', 's0:1'],
    ['a1:1', 's1:1'],
    ['s1:2', 's0:2'],
  ].map((ends) => ({ ends, kind: 'cut' as const, up: false, sent: 0, received: 0, lost: 0 }));
  for (const count of [1, 2, 3]) {
    reported.fabric.unplug(reported.fabric.links[0]);
    const links = cuts.slice(0, count);
    const fabric = reported.report();
    t.notSame(await layOutFabric({ fabric }), before);
    t.same(await layOutFabric({ fabric, links }), before, `${count} links are cut`);
  }
  reported.fabric.join('a0', 's0');
  reported.fabric.join('a1', 's1');
  const fabric = reported.report();
  const without = await layOutFabric({ fabric: { nodes: fabric.nodes.slice(1) } });
  t.same(
    without.nodes.map(({ name }) => name),
    before.nodes.map(({ name }) => name).filter((name) => name !== 'a0'),
    'a link to a node that is not reported is left out',
  );
  const away = { ...fabric, nodes: fabric.nodes.map((node) => withPeer(node, 's1', 2, 'elsewhere')) };
  const layout = await layOutFabric({ fabric: away });
  t.same(findFaults(layout), []);
  t.match(
    layout.nodes.find(({ kind }) => kind === 'outside'),
    { name: 'elsewhere s1:2' },
  );
});

type Node = ReturnType<ReportedFabric['report']>['nodes'][number];

/** The node, with the link of its port to `peer` when that is named. */
function withPeer(node: Node, name: string, number: number, peer: string): Node {
  if (node.name !== name) return node;
  const ports = node.ports.map((port) =>
    port.number === number && port.link !== undefined ? { ...port, link: { ...port.link, peer } } : port,
  );
  return { ...node, ports };
}
