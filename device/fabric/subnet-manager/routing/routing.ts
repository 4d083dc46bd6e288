// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses the routes of a subnet: by the fewest hops unless that has a credit loop, then up/down.
 * The sweep writes the tables to the switches (IBTA 14.2.5.10).
 */
import type { RoutingEngine } from '../options.ts';
import { hasCreditLoop } from './credit-loops.ts';
import { distancesTo, emptyTables, type LinearTable, PortLoads, type RoutingGraph } from './routing-graph.ts';
import { upDownTables } from './up-down.ts';

export function linearTables(graph: RoutingGraph, engine: RoutingEngine): readonly LinearTable[] {
  if (graph.hops.length === 0) return [];
  if (engine === 'up-down') return upDownTables(graph);
  const tables = minHopTables(graph);
  return engine === 'auto' && hasCreditLoop(graph, tables) ? upDownTables(graph) : tables;
}

/**
 * Routing by the fewest hops. Among equally short ways each switch takes the one with the fewest
 * destinations so far. Rings may deadlock with it.
 */
export function minHopTables(graph: RoutingGraph): LinearTable[] {
  const tables = emptyTables(graph);
  const loads = new PortLoads(graph);
  const distances = new Map<number, number[]>();
  for (const { lid, home, port } of graph.destinations) {
    const known = distances.get(home);
    const toHome = known ?? distancesTo(graph, home);
    if (known === undefined) distances.set(home, toHome);
    for (let at = 0; at < graph.hops.length; at++)
      tables[at][lid] = at === home ? port : loads.choose(at, graph.hops[at], toHome, toHome[at] - 1);
  }
  return tables;
}
