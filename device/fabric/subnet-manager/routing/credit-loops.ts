// SPDX-License-Identifier: Apache-2.0
/**
 * The channel dependency graph of forwarding tables (Dally and Seitz, 1987). A packet that holds
 * the buffer of one channel waits for the next one; a circle of such waits is a credit loop, and
 * lossless links deadlock in it. `routing.ts` asks, and so do the tests.
 */
import { type Hop, type LinearTable, NO_PORT, type RoutingGraph } from './routing-graph.ts';

/** A channel is a switch and its output port. */
const PORTS = 256;

/** True if the routes from switches with adapters to all destinations have a credit loop. */
export function hasCreditLoop(graph: RoutingGraph, tables: readonly LinearTable[]): boolean {
  return hasCircle(dependencies(graph, tables));
}

/**
 * Channels that each channel waits for. All ways to a destination that have met go on together, so
 * each switch is passed once for a destination.
 */
function dependencies(graph: RoutingGraph, tables: readonly LinearTable[]): Map<number, Set<number>> {
  const next = graph.hops.map((hops) => neighboursOf(hops));
  const sources = new Set(graph.destinations.filter(({ port }) => port !== 0).map(({ home }) => home));
  const waits = new Map<number, Set<number>>();
  const passedFor = new Int32Array(graph.hops.length).fill(-1);
  for (const [index, { lid }] of graph.destinations.entries()) {
    for (const source of sources) {
      let at = source;
      let held: Set<number> | undefined;
      for (;;) {
        const port = tables[at][lid];
        const to = port === NO_PORT ? undefined : next[at][port];
        if (to === undefined) break;
        const channel = at * PORTS + port;
        held?.add(channel);
        if (passedFor[at] === index) break;
        passedFor[at] = index;
        held = waits.get(channel) ?? new Set();
        waits.set(channel, held);
        at = to;
      }
    }
  }
  return waits;
}

/** The switch at each port, by number. */
function neighboursOf(hops: readonly Hop[]): (number | undefined)[] {
  const neighbours: (number | undefined)[] = [];
  for (const { port, to } of hops) neighbours[port] = to;
  return neighbours;
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
