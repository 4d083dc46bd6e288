// SPDX-License-Identifier: Apache-2.0
/**
 * Up/down routing: every switch has a rank, its distance from a root. A packet goes up towards the
 * root, then down, and never up again, so the channels that wait for each other form no circle, in
 * rings, tori and meshes as well. A switch with a way down alone takes it: whether a packet reached
 * it from above or from below then makes no difference. `routing.ts` calls it.
 */
import {
  type Destination,
  distancesTo,
  emptyTables,
  type Hop,
  type LinearTable,
  PortLoads,
  type RoutingGraph,
} from './routing-graph.ts';

/** The switch in the middle: the sum of the distances to all others is the least. */
export function centreOf(graph: RoutingGraph): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const index of graph.hops.keys()) {
    // Unreachable switches count as far away.
    const sum = distancesTo(graph, index).reduce((total, hops) => total + Math.min(hops, graph.hops.length), 0);
    if (sum < least) {
      least = sum;
      best = index;
    }
  }
  return best;
}

export function upDownTables(graph: RoutingGraph, root: number = centreOf(graph)): LinearTable[] {
  const tables = emptyTables(graph);
  const ranks = distancesTo(graph, root);
  const order = [...graph.hops.keys()].sort((one, other) => ranks[one] - ranks[other] || one - other);
  const position = new Map(order.map((index, at) => [index, at]));
  const isUp = (from: number, to: number) => (position.get(to) ?? 0) < (position.get(from) ?? 0);
  const loads = new PortLoads(graph);
  const known = new Map<number, readonly (readonly Hop[])[]>();
  for (const destination of graph.destinations) {
    const { lid, home, port } = destination;
    const ways = known.get(home) ?? waysTo(graph, destination, order, isUp);
    known.set(home, ways);
    for (const at of graph.hops.keys()) tables[at][lid] = at === home ? port : loads.choose(at, ways[at]);
  }
  return tables;
}

/** The hops of each switch that may lead to a destination. */
function waysTo(
  graph: RoutingGraph,
  { home }: Destination,
  order: readonly number[],
  isUp: (from: number, to: number) => boolean,
): Hop[][] {
  const down = distancesDown(graph, home, isUp);
  const distances = [...down];
  const ways: Hop[][] = graph.hops.map(() => []);
  // From the root down: a switch without a way down needs the distances of those above it.
  for (const at of order) {
    const isDescending = down[at] !== Number.POSITIVE_INFINITY;
    const hops = graph.hops[at].filter(({ to }) => isUp(at, to) !== isDescending);
    const reach = isDescending ? down : distances;
    const nearest = hops.reduce((least, { to }) => Math.min(least, reach[to]), Number.POSITIVE_INFINITY);
    if (!isDescending) distances[at] = nearest + 1;
    if (nearest !== Number.POSITIVE_INFINITY) ways[at] = hops.filter(({ to }) => reach[to] === nearest);
  }
  return ways;
}

/** Hops from each switch to `home` by ways that only go down. */
function distancesDown(graph: RoutingGraph, home: number, isUp: (from: number, to: number) => boolean): number[] {
  const distances = graph.hops.map(() => Number.POSITIVE_INFINITY);
  distances[home] = 0;
  const queue = [home];
  for (const at of queue) {
    for (const { to } of graph.hops[at]) {
      if (!isUp(at, to) || distances[to] !== Number.POSITIVE_INFINITY) continue;
      distances[to] = distances[at] + 1;
      queue.push(to);
    }
  }
  return distances;
}
