// SPDX-License-Identifier: Apache-2.0
/**
 * Routing by the fewest hops. Among equally short ways each switch takes the one with the fewest
 * destinations so far. Rings may deadlock with it: `credit-loops.ts` tells, and `up-down.ts` is
 * used instead. `routing.ts` calls it.
 */
import { distancesTo, emptyTables, type LinearTable, PortLoads, type RoutingGraph } from './routing-graph.ts';

export function minHopTables(graph: RoutingGraph): LinearTable[] {
  const tables = emptyTables(graph);
  const loads = new PortLoads(graph);
  const distances = new Map<number, number[]>();
  for (const { lid, home, port } of graph.destinations) {
    const known = distances.get(home);
    const toHome = known ?? distancesTo(graph, home);
    if (known === undefined) distances.set(home, toHome);
    for (const [at, hops] of graph.hops.entries()) {
      if (at === home) tables[at][lid] = port;
      else {
        const nearer = hops.filter(({ to }) => toHome[to] === toHome[at] - 1);
        tables[at][lid] = loads.choose(at, nearer);
      }
    }
  }
  return tables;
}
