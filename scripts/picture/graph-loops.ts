// SPDX-License-Identifier: Apache-2.0
/**
 * Links between two ports of one node. The layout sees a node in place of their text, with a link
 * to each of the two ports, so that the text gets room like everything else. Called by
 * graph-layout.ts.
 */
import type { ElkExtendedEdge, ElkNode, ElkShape } from 'elkjs/lib/elk-api.js';
import type { Point } from './area.ts';
import type { GraphLink } from './graph.ts';

/** Room for a loop without a text. */
const LEAST = { width: 8, height: 16 };
/** From the line of the loop to its text. */
const GAP = 3;

/**
 * The node in the place of the text, and the links to both ports. `size`: that of the text; `side`:
 * that at which links come to a node.
 */
export function describeLoop(
  { ends }: GraphLink,
  id: string,
  size: { readonly width: number; readonly height: number },
  side: string,
): { readonly node: ElkNode; readonly edges: ElkExtendedEdge[] } {
  const turns = ends.map((_, index) => `${id} turn ${index}`);
  const node = {
    id,
    width: Math.max(LEAST.width, size.width + GAP),
    height: Math.max(LEAST.height, size.height),
    layoutOptions: { 'elk.portConstraints': 'FIXED_SIDE' },
    ports: turns.map((turn) => ({ id: turn, width: 0, height: 0, layoutOptions: { 'elk.port.side': side } })),
  };
  const edges = ends.map((end, index) => ({ id: `${id} part ${index}`, sources: [end], targets: [turns[index]] }));
  return { node, edges };
}

/** The way from the first port by the place of the text to the second port. */
export function joinLoop(parts: readonly (readonly Point[])[]): Point[] {
  const [there, back] = parts;
  return [...there, ...[...back].reverse()];
}

/** The place of the text beside the loop. */
export function besideLoop({ x = 0, y = 0 }: ElkShape, size: { readonly width: number; readonly height: number }) {
  return { x: x + GAP, y, ...size };
}
