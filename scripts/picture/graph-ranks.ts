// SPDX-License-Identifier: Apache-2.0
/**
 * Direction of each link in a picture, chosen so that a layered layout has few columns: switches by
 * their distance from adapters, then adapters, then other processes. Switches of one distance that
 * have links to each other are coloured, and each colour is a column: a ring of any length has two
 * or three. Called by graph-layout.ts.
 */
import type { Graph, GraphLink, GraphNode } from './graph.ts';

const BEHIND_ALL = 1e6;

/** The links, each from left to right. A link that had to be turned has its words turned, too. */
export function pointRight(graph: Graph): GraphLink[] {
  const nodeOf = nodesOfPorts(graph.nodes);
  const neighbours = findNeighbours(graph, nodeOf);
  const distances = findDistances(graph.nodes, neighbours);
  const colours = colour(graph.nodes, neighbours, distances);
  const rank = (port: string): number => {
    const { id } = nodeOf.get(port) as GraphNode;
    return (colours.get(id) as number) - BEHIND_ALL * (distances.get(id) as number);
  };
  return graph.links.map((link) => {
    const [first, second] = link.ends;
    if (rank(first) <= rank(second)) return link;
    return { ...link, ends: [second, first], there: link.back, back: link.there };
  });
}

export function nodesOfPorts(nodes: readonly GraphNode[]): Map<string, GraphNode> {
  return new Map(nodes.flatMap((node) => node.ports.map(({ id }) => [id, node] as const)));
}

type Neighbours = ReadonlyMap<string, ReadonlySet<string>>;

function findNeighbours({ nodes, links }: Graph, nodeOf: ReadonlyMap<string, GraphNode>): Neighbours {
  const neighbours = new Map(nodes.map(({ id }) => [id, new Set<string>()]));
  for (const { ends } of links) {
    const [first, second] = ends.map((port) => (nodeOf.get(port) as GraphNode).id);
    if (first === second) continue;
    neighbours.get(first)?.add(second);
    neighbours.get(second)?.add(first);
  }
  return neighbours;
}

/** Of a switch from the nearest adapter; 0 for adapters, and -1 for other processes. */
function findDistances(nodes: readonly GraphNode[], neighbours: Neighbours): Map<string, number> {
  const distances = new Map<string, number>();
  for (const { id, kind } of nodes) if (kind !== 'switch') distances.set(id, kind === 'outside' ? -1 : 0);
  let row = nodes.filter(({ kind }) => kind !== 'switch' && kind !== 'outside').map(({ id }) => id);
  for (let distance = 1; row.length > 0; distance++) {
    const next = row.flatMap((id) => [...(neighbours.get(id) ?? [])]).filter((id) => !distances.has(id));
    for (const id of next) distances.set(id, distance);
    row = [...new Set(next)];
  }
  for (const { id } of nodes) if (!distances.has(id)) distances.set(id, 1);
  return distances;
}

/** The least colour that no neighbour of the same distance has, in the order of the nodes. */
function colour(
  nodes: readonly GraphNode[],
  neighbours: Neighbours,
  distances: ReadonlyMap<string, number>,
): Map<string, number> {
  const colours = new Map<string, number>();
  for (const { id } of nodes) {
    const taken = [...(neighbours.get(id) ?? [])]
      .filter((other) => distances.get(other) === distances.get(id))
      .map((other) => colours.get(other));
    let free = 0;
    while (taken.includes(free)) free++;
    colours.set(id, free);
  }
  return colours;
}
