// SPDX-License-Identifier: Apache-2.0
/**
 * Switches, their links and the LIDs behind them as plain numbers: what routing needs of a subnet
 * (IBTA 14.3.4: forwarding tables). Routing engines are pure functions of it.
 */
import type { Subnet, SubnetNode } from '../subnet.ts';

/** A link to another switch. */
export interface Hop {
  readonly port: number;
  readonly to: number;
  readonly toPort: number;
}

/** The switch and the port by which packets for a LID leave the switches. */
export interface Destination {
  readonly lid: number;
  /** Switch at which the destination is. */
  readonly home: number;
  /** Port of that switch; 0 is the switch itself. */
  readonly port: number;
}

export interface RoutingGraph {
  /** Links of each switch, by port. */
  readonly hops: readonly (readonly Hop[])[];
  readonly destinations: readonly Destination[];
  /** LIDs are below it. */
  readonly lidLimit: number;
}

/** Output ports of a switch by LID. */
export type LinearTable = Uint8Array;

/** The entry of a LID that is not routed. */
export const NO_PORT = 255;

export function routingGraphOf(subnet: Subnet): {
  readonly graph: RoutingGraph;
  readonly switches: readonly SubnetNode[];
} {
  const { switches } = subnet;
  const numbers = new Map(switches.map((node, index) => [node, index]));
  const hops = switches.map((node) =>
    node.linkedPorts.flatMap(({ number, peer }): Hop[] => {
      const to = peer === undefined || peer.node === node ? undefined : numbers.get(peer.node);
      return to === undefined || peer === undefined ? [] : [{ port: number, to, toPort: peer.number }];
    }),
  );
  const destinations: Destination[] = [];
  for (const port of subnet.endPorts) {
    const place = port.node.isSwitch ? port : port.peer;
    const home = place === undefined ? undefined : numbers.get(place.node);
    if (place === undefined || home === undefined || port.lid === 0) continue;
    for (let index = 0; index < port.lidCount; index++)
      destinations.push({ lid: port.lid + index, home, port: place.number });
  }
  destinations.sort((one, other) => one.lid - other.lid);
  const lidLimit = destinations.reduce((limit, { lid }) => Math.max(limit, lid + 1), 1);
  return { graph: { hops, destinations, lidLimit }, switches };
}

/** Tables without a route. */
export function emptyTables({ hops, lidLimit }: RoutingGraph): LinearTable[] {
  return hops.map(() => new Uint8Array(lidLimit).fill(NO_PORT));
}

/** Hops from each switch to `home`; Infinity where there is no way. */
export function distancesTo(graph: RoutingGraph, home: number): number[] {
  const distances = graph.hops.map(() => Number.POSITIVE_INFINITY);
  distances[home] = 0;
  const queue = [home];
  for (const at of queue) {
    for (const { to } of graph.hops[at]) {
      if (distances[to] !== Number.POSITIVE_INFINITY) continue;
      distances[to] = distances[at] + 1;
      queue.push(to);
    }
  }
  return distances;
}

/** Counts the destinations that leave by each port, to spread them. */
export class PortLoads {
  readonly #loads: number[][];

  constructor(graph: RoutingGraph) {
    this.#loads = graph.hops.map(() => []);
  }

  /**
   * Takes the hop with the fewest destinations so far; the lower port among equals. With
   * `distances` only hops to switches at this distance count.
   */
  choose(at: number, candidates: readonly Hop[], distances?: readonly number[], distance = 0): number {
    const loads = this.#loads[at];
    let best = NO_PORT;
    for (const { port, to } of candidates) {
      if (distances !== undefined && distances[to] !== distance) continue;
      if (best === NO_PORT || (loads[port] ?? 0) < (loads[best] ?? 0)) best = port;
    }
    if (best !== NO_PORT) loads[best] = (loads[best] ?? 0) + 1;
    return best;
  }
}
