// SPDX-License-Identifier: Apache-2.0
/**
 * The way that packets take from a node to another one: by the forwarding tables of the switches as
 * they are now (IBTA 18.2.4.3.1), through links that are up. The control server reports it on
 * request; `vuhca view` draws it.
 */
import { isLidOfPort } from '../../../protocol/infiniband/addresses.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { isSwitch } from '../../fabric/agents/managed-node.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import type { NamedNode } from '../../topology/named-nodes.ts';

/** A node on the way, and its ports: none where the way begins or ends, 0 inside a switch. */
export interface RouteHop {
  readonly node: string;
  readonly in?: number;
  readonly out?: number;
}

export interface RouteReport {
  /** The LID that packets are sent to. */
  readonly lid?: number;
  readonly hops: readonly RouteHop[];
  /** Why packets do not arrive, in one sentence. */
  readonly fault?: string;
}

/** An end of a link, and its node. */
interface Plug {
  readonly at: NamedNode;
  readonly end: LinkEnd;
}

/** No port, in a forwarding table. */
const NO_PORT = 255;

/**
 * The first way that arrives, of those from each port of `from` to each LID of `to`; without one,
 * the first of all.
 */
export function reportRoute(nodes: readonly NamedNode[], from: NamedNode, to: NamedNode): RouteReport {
  const lids = to.mads.node.endPorts.map(({ lid }) => lid).filter((lid) => lid > 0);
  if (lids.length === 0) return { hops: [{ node: from.name }], fault: `${to.name} has no LID` };
  const { node } = from.mads;
  const starts = isSwitch(node) ? [undefined] : node.ports.filter(({ link }) => link !== undefined);
  if (starts.length === 0) return { hops: [{ node: from.name }], fault: `${from.name} has no link` };
  const ways = starts.flatMap((start) => lids.map((lid) => walk(nodes, from, start, lid)));
  return ways.find(({ fault }) => fault === undefined) ?? ways[0];
}

/** From `start`, or from inside of a switch. */
function walk(nodes: readonly NamedNode[], from: NamedNode, start: LinkEnd | undefined, lid: number): RouteReport {
  const hops: RouteHop[] = [];
  const stop = (hop: RouteHop, fault?: string): RouteReport => ({
    lid,
    hops: [...hops, hop],
    ...(fault === undefined ? {} : { fault }),
  });
  let at = from;
  let arrival: number | undefined;
  let exit: LinkEnd | undefined = start;
  // A way through more nodes than there are is a circle.
  while (hops.length <= nodes.length) {
    const hop = { node: at.name, ...(arrival === undefined ? {} : { in: arrival }) };
    if (exit === undefined) {
      if (hasLid(at, arrival, lid)) return stop(hop);
      const choice = chooseExit(at, lid);
      if (typeof choice === 'string') return stop(hop, choice);
      exit = choice;
    }
    const leaving = { ...hop, out: exit.number };
    const peer = crossLink(nodes, at, exit);
    if (typeof peer === 'string') return stop(leaving, peer);
    hops.push(leaving);
    at = peer.at;
    arrival = peer.end.number;
    exit = undefined;
  }
  const [last] = hops.splice(-1);
  return stop(last, `packets to LID ${lid} go in a circle`);
}

/** The port by which a packet leaves a node that is not its end, or why it does not. */
function chooseExit({ name, mads }: NamedNode, lid: number): LinkEnd | string {
  const { ports, switchTables } = mads.node;
  if (switchTables === undefined) return `${name} does not have LID ${lid}`;
  const { linear, linearTop } = switchTables;
  const port = lid <= linearTop && lid < linear.length ? linear[lid] : NO_PORT;
  if (port === 0) return `${name} takes LID ${lid} for its own`;
  return ports[port - 1] ?? `${name} has no port for LID ${lid}`;
}

/** The other end of the link, or why packets do not cross it. */
function crossLink(nodes: readonly NamedNode[], at: NamedNode, exit: LinkEnd): Plug | string {
  const name = `${at.name}:${exit.number}`;
  if (exit.link === undefined) return `${name} has no link`;
  if (exit.state === PortState.DOWN) return `the link of ${name} is down`;
  for (const other of nodes) {
    const end = other.mads.node.ports.find((one) => one !== exit && one.link === exit.link);
    if (end !== undefined) return { at: other, end };
  }
  return `the link of ${name} leads to another process`;
}

/** An adapter has a LID at the port of arrival, a switch at port 0. */
function hasLid({ mads: { node } }: NamedNode, arrival: number | undefined, lid: number): boolean {
  const end = isSwitch(node) ? node.endPorts[0] : node.endPorts[(arrival ?? 1) - 1];
  return end !== undefined && isLidOfPort(lid, end.lid, end.lmc);
}
