// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of routing on graphs without a subnet: chains, trees, rings, tori, fat trees and random
 * graphs. Every pair is reachable, no route has a circle, and up/down has no credit loop.
 */
import t from 'tap';
import { Random } from '../../../random.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { hasCreditLoop } from './credit-loops.ts';
import { type GroupMember, SpanningTree } from './multicast-routing.ts';
import { linearTables, minHopTables } from './routing.ts';
import {
  type Destination,
  distancesTo,
  type Hop,
  type LinearTable,
  NO_PORT,
  type RoutingGraph,
} from './routing-graph.ts';
import { upDownTables } from './up-down.ts';

/** A graph of switches with links between them and adapters at some, each with the next LID. */
function graph(
  switches: number,
  links: readonly (readonly [number, number])[],
  adapters: readonly number[],
): RoutingGraph {
  const hops: Hop[][] = Array.from({ length: switches }, () => []);
  const nextPort = new Array<number>(switches).fill(1);
  for (const [one, other] of links) {
    const [port, toPort] = [nextPort[one]++, nextPort[other]++];
    hops[one].push({ port, to: other, toPort });
    hops[other].push({ port: toPort, to: one, toPort: port });
  }
  const destinations: Destination[] = [];
  for (let home = 0; home < switches; home++) destinations.push({ lid: destinations.length + 1, home, port: 0 });
  for (const home of adapters) destinations.push({ lid: destinations.length + 1, home, port: nextPort[home]++ });
  return { hops, destinations, lidLimit: destinations.length + 1 };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function ring(count: number): RoutingGraph {
  const links = range(count).map((at) => [at, (at + 1) % count] as const);
  return graph(count, links, range(count));
}

function torus(side: number): RoutingGraph {
  const at = (x: number, y: number) => (x % side) + side * (y % side);
  const links = range(side * side).flatMap((index) => {
    const [x, y] = [index % side, Math.floor(index / side)];
    return [[index, at(x + 1, y)] as const, [index, at(x, y + 1)] as const];
  });
  return graph(side * side, links, range(side * side));
}

/** Leaves with adapters, each joined to all spines. */
function fatTree(leaves: number, spines: number, adaptersPerLeaf: number): RoutingGraph {
  const links = range(leaves).flatMap((leaf) => range(spines).map((spine) => [leaf, leaves + spine] as const));
  return graph(
    leaves + spines,
    links,
    range(leaves).flatMap((leaf) => range(adaptersPerLeaf).map(() => leaf)),
  );
}

function randomGraph(seed: number): RoutingGraph {
  const random = new Random(seed);
  const switches = 2 + random.below(14);
  // A tree, so that all are joined, and links across it, also parallel ones.
  const links = range(switches - 1).map((index) => [index + 1, random.below(index + 1)] as [number, number]);
  for (let extra = random.below(2 * switches); extra > 0; extra--) {
    const [one, other] = [random.below(switches), random.below(switches)];
    if (one !== other) links.push([one, other]);
  }
  return graph(
    switches,
    links,
    range(1 + random.below(30)).map(() => random.below(switches)),
  );
}

const shapes: Readonly<Record<string, RoutingGraph>> = {
  'one switch': graph(1, [], [0, 0, 0]),
  chain: graph(
    5,
    range(4).map((at) => [at, at + 1] as const),
    [0, 2, 4, 4],
  ),
  'ring of 3': ring(3),
  'ring of 8': ring(8),
  'torus of 16': torus(4),
  'fat tree': fatTree(8, 4, 8),
};

/** Hops of the route of each switch to each destination; a message on the first that is wrong. */
function follow({ hops, destinations }: RoutingGraph, tables: readonly LinearTable[]): string | undefined {
  for (const { lid, home, port } of destinations) {
    for (const start of hops.keys()) {
      let at = start;
      for (let steps = 0; at !== home; steps++) {
        const out = tables[at][lid];
        const hop = hops[at].find((each) => each.port === out);
        if (hop === undefined) return `switch ${at} has no way to LID ${lid}: port ${out}`;
        if (steps > hops.length) return `the route from switch ${start} to LID ${lid} has a circle`;
        at = hop.to;
      }
      if (tables[home][lid] !== port)
        return `LID ${lid} leaves switch ${home} by port ${tables[home][lid]}, not ${port}`;
    }
  }
  return undefined;
}

for (const [name, shape] of Object.entries(shapes)) {
  t.test(`${name}: every switch reaches every LID, by both engines`, async (t) => {
    ledger(t, '14.2.5.10', 'The forwarding tables lead from every switch to every LID without a circle.');
    t.equal(follow(shape, minHopTables(shape)), undefined);
    t.equal(follow(shape, upDownTables(shape)), undefined);
    t.notOk(hasCreditLoop(shape, upDownTables(shape)), 'up/down has no credit loop');
    t.notOk(hasCreditLoop(shape, linearTables(shape, 'auto')), 'nor has the engine that is chosen');
  });
}

t.test('the fewest hops are taken', async (t) => {
  const shape = torus(4);
  const tables = minHopTables(shape);
  for (const { lid, home } of shape.destinations) {
    const distances = distancesTo(shape, home);
    for (const at of shape.hops.keys()) {
      const hop = shape.hops[at].find(({ port }) => port === tables[at][lid]);
      if (at !== home) t.equal(distances[hop?.to ?? at], distances[at] - 1, `switch ${at} to LID ${lid}`);
    }
  }
});

t.test('rings deadlock with the fewest hops, so up/down is chosen', async (t) => {
  const shape = ring(8);
  t.ok(hasCreditLoop(shape, minHopTables(shape)));
  t.same(linearTables(shape, 'auto'), upDownTables(shape));
  t.same(linearTables(shape, 'min-hop'), minHopTables(shape), 'unless the fewest hops are asked for');
});

t.test('trees keep the fewest hops', async (t) => {
  const shape = fatTree(8, 4, 8);
  t.same(linearTables(shape, 'auto'), minHopTables(shape));
});

t.test('destinations are spread over the ways up', async (t) => {
  const shape = fatTree(4, 4, 4);
  const [first] = minHopTables(shape);
  const loads = new Map<number, number>();
  for (const { lid, home, port } of shape.destinations) {
    if (home === 0 || home >= 4 || port === 0) continue;
    loads.set(first[lid], (loads.get(first[lid]) ?? 0) + 1);
  }
  t.same([...loads.values()], [3, 3, 3, 3]);
});

t.test('a part that is not joined has no routes', async (t) => {
  const shape = graph(2, [], [0, 1]);
  for (const tables of [minHopTables(shape), upDownTables(shape)]) {
    t.equal(tables[0][4], NO_PORT);
    t.equal(tables[0][3], 1);
  }
});

t.test('random graphs: all reachable, up/down without credit loops', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const shape = randomGraph(seed);
    for (const tables of [minHopTables(shape), upDownTables(shape)]) {
      const error = follow(shape, tables);
      if (error !== undefined) t.fail(`seed ${seed}: ${error}`);
    }
    if (hasCreditLoop(shape, upDownTables(shape))) t.fail(`seed ${seed}: up/down has a credit loop`);
    if (hasCreditLoop(shape, linearTables(shape, 'auto'))) t.fail(`seed ${seed}: there is a credit loop`);
  }
  t.pass('300 seeds');
});

/** Sends a packet of a group from a member's port; returns how often each place received it. */
function flood(
  { hops }: RoutingGraph,
  ports: ReadonlyMap<number, ReadonlySet<number>>,
  from: GroupMember,
): Map<string, number> {
  const received = new Map<string, number>();
  const queue: [at: number, inPort: number][] = [[from.home, from.port]];
  for (const [at, inPort] of queue) {
    if (queue.length > 1000) break;
    for (const port of ports.get(at) ?? []) {
      if (port === inPort) continue;
      const hop = hops[at].find((each) => each.port === port);
      if (hop !== undefined) queue.push([hop.to, hop.toPort]);
      else received.set(`${at}:${port}`, (received.get(`${at}:${port}`) ?? 0) + 1);
    }
  }
  return received;
}

t.test('multicast trees: every receiver gets one copy, and no other place', async (t) => {
  ledger(t, '14.2.5.12', 'The multicast tables of a group bring one copy to every member and none to the sender.');
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const shape = random.below(2) === 0 ? randomGraph(seed) : torus(4);
    const places = shape.destinations.filter(() => random.below(3) === 0);
    const members = places.map(({ home, port }) => ({ home, port, receives: random.below(4) > 0 }));
    const ports = new SpanningTree(shape).portsOf(members);
    for (const sender of members) {
      const wanted = members.filter((member) => member.receives && member !== sender);
      const received = flood(shape, ports, sender);
      const expected = new Map(wanted.map(({ home, port }) => [`${home}:${port}`, 1]));
      if (JSON.stringify([...received].sort()) !== JSON.stringify([...expected].sort()))
        t.same(received, expected, `seed ${seed}`);
    }
  }
  t.pass('200 seeds');
});
