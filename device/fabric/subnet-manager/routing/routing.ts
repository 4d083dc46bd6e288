// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses the routes of a subnet: by the fewest hops unless that has a credit loop, then up/down.
 * The sweep writes the tables to the switches (InfiniBand specification, 14.2.5.10).
 */

import type { RoutingEngine } from '../options.ts';
import { hasCreditLoop } from './credit-loops.ts';
import { minHopTables } from './min-hop.ts';
import type { LinearTable, RoutingGraph } from './routing-graph.ts';
import { upDownTables } from './up-down.ts';

export function linearTables(graph: RoutingGraph, engine: RoutingEngine): readonly LinearTable[] {
  if (graph.hops.length === 0) return [];
  if (engine === 'up-down') return upDownTables(graph);
  const tables = minHopTables(graph);
  return engine === 'auto' && hasCreditLoop(graph, tables) ? upDownTables(graph) : tables;
}
