// SPDX-License-Identifier: Apache-2.0
/**
 * The channel dependency graph of forwarding tables (Dally and Seitz, 1987). A packet that holds
 * the buffer of one channel waits for the next one; a circle of such waits is a credit loop, and
 * lossless links deadlock in it. `routing.ts` asks, and so do the tests.
 */
import { type LinearTable, NO_PORT, type RoutingGraph } from './routing-graph.ts';

/** A channel is a switch and its output port. */
const PORTS = 256;

/** True if the routes from switches with adapters to all destinations have a credit loop. */
export function hasCreditLoop(graph: RoutingGraph, tables: readonly LinearTable[]): boolean {
  return hasCircle(dependencies(graph, tables));
}

/** Channels that each channel waits for. */
function dependencies(graph: RoutingGraph, tables: readonly LinearTable[]): Map<number, Set<number>> {
  const next = graph.hops.map((hops) => new Map(hops.map(({ port, to }) => [port, to])));
  const sources = new Set(graph.destinations.filter(({ port }) => port !== 0).map(({ home }) => home));
  const waits = new Map<number, Set<number>>();
  for (const { lid } of graph.destinations) {
    for (const source of sources) {
      let at = source;
      let held = -1;
      for (let hops = 0; hops < graph.hops.length; hops++) {
        const port = tables[at][lid];
        const to = port === NO_PORT ? undefined : next[at].get(port);
        if (to === undefined) break;
        const channel = at * PORTS + port;
        if (held >= 0) waits.get(held)?.add(channel);
        if (!waits.has(channel)) waits.set(channel, new Set());
        held = channel;
        at = to;
      }
    }
  }
  return waits;
}

function hasCircle(waits: Map<number, Set<number>>): boolean {
  const incoming = new Map<number, number>();
  for (const targets of waits.values()) {
    for (const target of targets) incoming.set(target, (incoming.get(target) ?? 0) + 1);
  }
  const free = [...waits.keys()].filter((channel) => !incoming.has(channel));
  for (const channel of free) {
    for (const target of waits.get(channel) ?? []) {
      const left = (incoming.get(target) ?? 0) - 1;
      incoming.set(target, left);
      if (left === 0) free.push(target);
    }
  }
  return free.length < waits.size;
}
