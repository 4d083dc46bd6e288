// SPDX-License-Identifier: Apache-2.0
/**
 * Routes of generated fat trees of three levels: each is as short as can be, goes up and then down,
 * so that no packets wait for each other in a circle, and the ways up of a switch are used alike.
 */
import t from 'tap';
import { hasCreditLoop } from '../fabric/subnet-manager/routing/credit-loops.ts';
import { linearTables, minHopTables } from '../fabric/subnet-manager/routing/routing.ts';
import { type Destination, distancesTo, type Hop } from '../fabric/subnet-manager/routing/routing-graph.ts';
import { type GeneratedFabric, generate } from './generate.ts';

const LEVELS = ['leaf', 'spine', 'core'];

/** The graph that routing gets, with the level of each switch. */
function graphOf({ switches, trunks, places }: GeneratedFabric) {
  const numbers = new Map(switches.map(({ name }, index) => [name, index]));
  const end = (name: string) => {
    const [node, port] = name.split(':');
    return { at: numbers.get(node as string) as number, port: Number(port) };
  };
  const hops: Hop[][] = switches.map(() => []);
  for (const [low, high] of trunks.map((ports) => ports.map(end))) {
    hops[low.at].push({ port: low.port, to: high.at, toPort: high.port });
    hops[high.at].push({ port: high.port, to: low.at, toPort: low.port });
  }
  const homes = [...switches.map((_, at) => ({ at, port: 0 })), ...places.map(end)];
  const destinations = homes.map(({ at, port }, index): Destination => ({ lid: index + 1, home: at, port }));
  const levels = switches.map(({ name }) => LEVELS.indexOf(name.replace(/\d+$/, '')));
  return { graph: { hops, destinations, lidLimit: homes.length + 1 }, levels };
}

for (const [name, parameters] of Object.entries({
  'the default': {},
  'no bottleneck': { pods: 4, leaves: 4, spines: 4, coresPerSpine: 4, adaptersPerLeaf: 4 },
  'trunks, and few ways up': { pods: 3, leaves: 4, spines: 2, coresPerSpine: 1, adaptersPerLeaf: 6, trunks: 2 },
})) {
  const fabric = generate('fat-tree', { levels: 3, ...parameters });
  const { graph, levels } = graphOf(fabric);
  const tables = linearTables(graph, 'auto');
  const adapters = graph.destinations.slice(fabric.switches.length);

  t.test(`${name}: routes are minimal, go up and then down, and have no credit loop`, async (t) => {
    t.same(tables, minHopTables(graph));
    t.notOk(hasCreditLoop(graph, tables));
    for (const { lid, home } of adapters) {
      const distances = distancesTo(graph, home);
      for (const start of graph.hops.keys()) {
        const way = [start];
        for (let at = start; at !== home && way.length <= LEVELS.length * 2; ) {
          at = graph.hops[at].find(({ port }) => port === tables[at][lid])?.to ?? home;
          way.push(at);
        }
        const isDown = way.map((at, step) => step > 0 && levels[at] < levels[way[step - 1]]);
        const isGood =
          way.length - 1 === distances[start] &&
          !isDown.some((down, step) => down && !isDown[step + 1] && step < way.length - 1);
        if (!isGood) return t.fail(`from switch ${start} to LID ${lid}: ${way.join(' ')}`);
      }
    }
  });

  t.test(`${name}: adapters are spread over the ways up`, async (t) => {
    for (const [at, hops] of graph.hops.entries()) {
      const up = hops.filter(({ to }) => levels[to] > levels[at]);
      const loads = up.map(({ port }) => adapters.filter(({ lid }) => tables[at][lid] === port).length);
      if (Math.max(...loads, 0) - Math.min(...loads, Infinity) > 1) return t.fail(`switch ${at}: ${loads.join(' ')}`);
    }
  });
}
