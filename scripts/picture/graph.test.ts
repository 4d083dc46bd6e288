// SPDX-License-Identifier: Apache-2.0
/** Graphs of any shape: nothing overlaps, and the same graph gives the same file. */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { drawGraph } from './draw-graph.ts';
import { type Graph, type GraphLink, type GraphNode, linkWords, type NodeKind, nodeWords } from './graph.ts';
import { layOutGraph } from './graph-layout.ts';
import { pointRight } from './graph-ranks.ts';
import { findGraphFaults } from './testing/graph-faults.ts';
import { findCollisions, placeTexts } from './testing/read-svg.ts';

const LINK_KINDS = Object.keys(linkWords) as GraphLink['kind'][];

/** A graph of nodes of these kinds and of links between nodes by their indexes. */
function makeGraph(kinds: readonly NodeKind[], pairs: readonly (readonly [number, number])[]): Graph {
  const used = kinds.map(() => 0);
  const plug = (node: number): string => `n${node}:${++used[node]}`;
  const links = pairs.map(([from, to], index): GraphLink => {
    const ends = [plug(from), plug(to)] as const;
    const lines = ['4x QDR, 40 Gb/s', 'drop 1 %', '!3 symbol errors'].slice(0, index % 4);
    return { ends, kind: LINK_KINDS[index % LINK_KINDS.length], lines, description: ends.join(' - ') };
  });
  const nodes = kinds.map(
    (kind, node): GraphNode => ({
      ...{ id: `n${node}`, kind, title: `node ${node}`, lines: node % 2 === 0 ? ['LID 12'] : [] },
      ports: Array.from({ length: used[node] }, (_, port) => ({ id: `n${node}:${port + 1}`, label: `${port + 1}` })),
    }),
  );
  return { title: `${kinds.length} nodes`, notes: ['The subnet is made for a test.'], nodes, links };
}

/** Switches with links to each other, some of them parallel, and adapters at any of them. */
function drawGraphOf(random: Random): Graph {
  const switches = 1 + random.below(5);
  const adapters = 1 + random.below(6);
  const kinds = [
    ...Array.from({ length: switches }, (): NodeKind => 'switch'),
    ...Array.from({ length: adapters }, (): NodeKind => (random.below(4) === 0 ? 'personality' : 'adapter')),
  ];
  const trunks = Array.from({ length: random.below(2 * switches) }, () => {
    const from = random.below(switches);
    return [from, random.below(switches)] as const;
  });
  const plugs = Array.from({ length: adapters }, (_, index) => [switches + index, random.below(switches)] as const);
  return makeGraph(kinds, [...trunks, ...plugs]);
}

t.test('nothing lies on anything else, whatever the graph', async (t) => {
  for (let seed = 1; seed <= 12; seed++) {
    const graph = drawGraphOf(new Random(seed));
    const faults = findGraphFaults(await layOutGraph(graph));
    if (faults.length > 0) t.fail(`seed ${seed}: ${faults.slice(0, 4).join('; ')}`);
    const collisions = findCollisions(await drawGraph(graph));
    if (collisions.length > 0) t.fail(`seed ${seed}: ${collisions.slice(0, 4).join('; ')}`);
  }
});

t.test('nothing lies on anything else where many links cross', async (t) => {
  const kinds = [
    ...Array.from({ length: 9 }, (): NodeKind => 'switch'),
    ...Array.from({ length: 9 }, (): NodeKind => 'adapter'),
  ];
  const random = new Random(16);
  const trunks = Array.from({ length: 26 }, () => {
    const from = random.below(9);
    return [from, (from + 1 + random.below(8)) % 9] as const;
  });
  const graph = makeGraph(kinds, [
    ...trunks,
    ...Array.from({ length: 9 }, (_, at) => [9 + at, random.below(9)] as const),
  ]);
  const links = graph.links.map((link) => ({ ...link, there: '1.2 Gb/s, 3 %', back: '4 Gb/s, 10 %' }));
  t.same(findGraphFaults(await layOutGraph({ ...graph, links })), []);
  t.same(findCollisions(await drawGraph({ ...graph, links })), []);
});

t.test('labels and links that lie on each other are found', async (t) => {
  const layout = await layOutGraph(
    makeGraph(
      ['switch', 'switch'],
      [
        [0, 1],
        [0, 1],
        [1, 0],
      ],
    ),
  );
  t.same(findGraphFaults(layout), []);
  const [first, second, third] = layout.links;
  const faultsOf = (...links: typeof layout.links) => findGraphFaults({ ...layout, links });
  t.match(faultsOf(first, { ...second, text: third.text }, third)[0], /lies on/);
  t.match(faultsOf(first, { ...second, points: first.points }).join(), /n0:1 - n1:1 lies on n0:2 - n1:2/);
  t.match(faultsOf({ ...first, points: second.points, text: undefined }, second, third).join(), /is behind|lies on/);
  const [box] = layout.nodes;
  const through = [
    { x: box.x - 5, y: box.y + 9 },
    { x: box.x + box.width + 5, y: box.y + 9 },
  ];
  t.match(faultsOf({ ...first, points: through, text: undefined }).join(), /n0:1 - n1:1 passes n0/);
});

t.test('the same graph gives the same file, whatever was drawn before', async (t) => {
  const [one, other] = [21, 22].map((seed) => drawGraphOf(new Random(seed)));
  const first = await drawGraph(one);
  await drawGraph(other);
  t.equal(await drawGraph(one), first);
});

t.test('a ring of any length has two or three columns, a tree one for each level', async (t) => {
  const columnsOf = async (graph: Graph): Promise<number> => {
    const { nodes } = await layOutGraph(graph);
    const switches = nodes.filter(({ node }) => node.kind === 'switch').sort((left, right) => left.x - right.x);
    // A box that begins behind all others begins a column.
    return switches.filter(({ x }, at) => switches.slice(0, at).every((other) => other.x + other.width < x)).length;
  };
  const ring = (length: number): Graph =>
    makeGraph(
      [...Array.from({ length }, (): NodeKind => 'switch'), ...Array.from({ length }, (): NodeKind => 'adapter')],
      Array.from({ length }, (_, at) => [at, (at + 1) % length] as const).concat(
        Array.from({ length }, (_, at) => [at, length + at] as const),
      ),
    );
  t.equal(await columnsOf(ring(6)), 2);
  t.equal(await columnsOf(ring(7)), 3);
  const tree = makeGraph(
    ['switch', 'switch', 'switch', 'adapter', 'adapter'],
    [
      [1, 0],
      [2, 0],
      [3, 1],
      [4, 2],
    ],
  );
  t.equal(await columnsOf(tree), 2);
  t.same(
    pointRight(tree).map(({ ends }) => ends.map((end) => end.split(':')[0])),
    [
      ['n0', 'n1'],
      ['n0', 'n2'],
      ['n1', 'n3'],
      ['n2', 'n4'],
    ],
    'roots are left',
  );
});

t.test('arrows turn with a link', async (t) => {
  const graph = makeGraph(['switch', 'adapter'], [[1, 0]]);
  const [link] = graph.links;
  const [turned] = pointRight({ ...graph, links: [{ ...link, there: 'up', back: 'down' }] });
  t.match(turned, { ends: ['n0:1', 'n1:1'], there: 'down', back: 'up' });
  const svg = await drawGraph({ ...graph, links: [{ ...link, there: 'up', back: 'down', used: 1 }] });
  const texts = placeTexts(svg).map(({ text }) => text);
  t.ok(texts.includes('→ down') && texts.includes('← up'));
  t.match(svg, /stroke-width="6.5"/, 'a link that is used fully is wide');
});

t.test('the legend has the kinds that occur, and no others', async (t) => {
  const texts = placeTexts(await drawGraph(makeGraph(['switch', 'adapter'], [[1, 0]]))).map(({ text }) => text);
  const known = [...Object.values(nodeWords), ...Object.values(linkWords)];
  t.same(
    texts.filter((text) => known.includes(text)),
    [nodeWords.switch, nodeWords.adapter, linkWords.cable],
  );
});
