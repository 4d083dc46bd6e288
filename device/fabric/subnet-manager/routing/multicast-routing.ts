// SPDX-License-Identifier: Apache-2.0
/**
 * Trees of multicast groups (IBTA 14.2.5.12). All groups use parts of one spanning tree of the
 * switches, rooted in the middle, so no packet comes to a switch twice, and trees of different
 * groups have no credit loop among them.
 */
import type { RoutingGraph } from './routing-graph.ts';
import { centreOf } from './up-down.ts';

/** An adapter's place, or a switch's own port 0, in a group. */
export interface GroupMember {
  readonly home: number;
  readonly port: number;
  /** False for members that only send. */
  readonly receives: boolean;
}

/** The edge of a switch to its parent in the tree. */
interface Edge {
  readonly parent: number;
  readonly port: number;
  readonly parentPort: number;
}

/** The spanning tree: for each switch the edge to its parent; none for roots. */
export class SpanningTree {
  readonly #edges: (Edge | undefined)[];
  /** Every parent stands before its children. */
  readonly #order: number[] = [];

  constructor(graph: RoutingGraph) {
    this.#edges = graph.hops.map(() => undefined);
    const seen = new Set<number>();
    const starts = graph.hops.length === 0 ? [] : [centreOf(graph), ...graph.hops.keys()];
    for (const start of starts) {
      if (seen.has(start)) continue;
      seen.add(start);
      const queue = [start];
      for (const at of queue) {
        this.#order.push(at);
        for (const { port, to, toPort } of graph.hops[at]) {
          if (seen.has(to)) continue;
          seen.add(to);
          this.#edges[to] = { parent: at, port: toPort, parentPort: port };
          queue.push(to);
        }
      }
    }
  }

  /** Output ports of a group at each switch of its tree. */
  portsOf(members: readonly GroupMember[]): Map<number, Set<number>> {
    const below = new Map<number, number>();
    for (const { home } of members) below.set(home, (below.get(home) ?? 0) + 1);
    for (const at of [...this.#order].reverse()) {
      const edge = this.#edges[at];
      const count = below.get(at) ?? 0;
      if (edge !== undefined && count > 0) below.set(edge.parent, (below.get(edge.parent) ?? 0) + count);
    }
    const ports = new Map<number, Set<number>>();
    const add = (at: number, port: number) => ports.set(at, (ports.get(at) ?? new Set()).add(port));
    for (const { home, port, receives } of members) if (receives) add(home, port);
    for (const at of this.#order) {
      const edge = this.#edges[at];
      const count = below.get(at) ?? 0;
      // An edge is needed where members are on both of its sides.
      if (edge === undefined || count === 0 || count === this.#total(at, below)) continue;
      add(at, edge.port);
      add(edge.parent, edge.parentPort);
    }
    return ports;
  }

  /** Members in the part of the subnet that a switch belongs to. */
  #total(at: number, below: ReadonlyMap<number, number>): number {
    let root = at;
    for (let edge = this.#edges[root]; edge !== undefined; edge = this.#edges[root]) root = edge.parent;
    return below.get(root) ?? 0;
  }
}
