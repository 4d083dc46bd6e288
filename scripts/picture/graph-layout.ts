// SPDX-License-Identifier: Apache-2.0
/**
 * Places a graph in columns from left to right, or in rows, by the Eclipse Layout Kernel (elkjs),
 * with room for every text and a separate route for every link. The first picture loads the
 * library. Called by draw-graph.ts and scripts/cli/view.
 */
import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import type { Area, Point } from './area.ts';
import type { Graph, GraphLink, GraphNode } from './graph.ts';
import { besideLoop, describeLoop, joinLoop } from './graph-loops.ts';
import { nodesOfPorts, pointRight } from './graph-ranks.ts';
import { measureText } from './text.ts';

export const FONT_SIZES = { title: 13, line: 10.5, port: 10.5, link: 10.5 } as const;
export const LINE_HEIGHT = 14;
const BOLD_WEIGHT = 600;
/** Room around the title of a box, and at each side of a port's label and of the text on a link. */
const BOX_PADDING = 6;
const LABEL_PADDING = 4;
/** A label without any text would be ignored. */
const NO_TEXT = '-';

export interface PlacedNode extends Area {
  readonly node: GraphNode;
  /** The title and the lines of the box. */
  readonly text: Area;
  readonly ports: readonly (Point & { readonly label: string; readonly text: Area })[];
}

export interface PlacedLink {
  /** From left to right, or down. */
  readonly link: GraphLink;
  readonly points: readonly Point[];
  /** Its lines of text, when it has any. */
  readonly text: Area | undefined;
}

export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly links: readonly PlacedLink[];
}

/** Where layers follow each other, and the sides of a node that its links come from and go to. */
const DIRECTIONS = {
  RIGHT: { from: 'WEST', to: 'EAST', placement: 'BRANDES_KOEPF' },
  // Roots stand in the middle above their leaves.
  DOWN: { from: 'NORTH', to: 'SOUTH', placement: 'NETWORK_SIMPLEX' },
} as const;
export type Direction = keyof typeof DIRECTIONS;

const LAYOUT = {
  'elk.algorithm': 'layered',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.padding': '[top=4,left=4,bottom=4,right=4]',
  'elk.spacing.nodeNode': '8',
  'elk.spacing.edgeNode': '8',
  'elk.spacing.edgeEdge': '8',
  'elk.spacing.componentComponent': '28',
  'elk.layered.spacing.nodeNodeBetweenLayers': '26',
  'elk.layered.spacing.edgeNodeBetweenLayers': '12',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '8',
  'elk.layered.considerModelOrder.strategy': 'PREFER_EDGES',
};
const OF_NODE = {
  'elk.nodeSize.constraints': '[NODE_LABELS, PORTS, PORT_LABELS, MINIMUM_SIZE]',
  'elk.nodeSize.minimum': '(56, 24)',
  'elk.nodeLabels.placement': '[INSIDE, V_CENTER, H_CENTER]',
  'elk.nodeLabels.padding': `[top=${BOX_PADDING},left=${BOX_PADDING},bottom=${BOX_PADDING},right=${BOX_PADDING}]`,
  'elk.portConstraints': 'FIXED_SIDE',
  'elk.portLabels.placement': '[INSIDE]',
  'elk.spacing.portPort': '6',
};
/** The link passes behind its text. */
const OF_TEXT = { 'elk.edgeLabels.inline': 'true' };

/** The texts of a link, line by line. Arrows point to the right and to the left of the picture. */
export function linesOf({ lines, there, back }: GraphLink): string[] {
  return [...lines, ...(there === undefined ? [] : [`→ ${there}`]), ...(back === undefined ? [] : [`← ${back}`])];
}

export async function layOutGraph(graph: Graph, direction: Direction = 'RIGHT'): Promise<GraphLayout> {
  const { default: Elk } = await import('elkjs/lib/elk.bundled.js');
  const nodeOf = nodesOfPorts(graph.nodes);
  const links = pointRight(graph);
  const isLoop = ({ ends: [first, second] }: GraphLink): boolean => nodeOf.get(first) === nodeOf.get(second);
  const incoming = new Set(links.filter((link) => !isLoop(link)).map(({ ends }) => ends[1]));
  const { from, to, placement } = DIRECTIONS[direction];
  const sideOf = (port: string): string => (incoming.has(port) ? from : to);
  const loops = links.flatMap((link, index) =>
    isLoop(link) ? [describeLoop(link, idOf(index), sizeOf(linesOf(link), FONT_SIZES.link), from)] : [],
  );
  const root = await new Elk.default().layout<ElkNode>({
    id: 'graph',
    layoutOptions: {
      ...LAYOUT,
      'elk.direction': direction,
      'elk.layered.nodePlacement.strategy': placement,
    },
    children: [...graph.nodes.map((node) => describeNode(node, sideOf)), ...loops.map(({ node }) => node)],
    edges: [
      ...links.flatMap((link, index) => (isLoop(link) ? [] : [describeLink(link, idOf(index))])),
      ...loops.flatMap(({ edges }) => edges),
    ],
  });
  return {
    width: root.width as number,
    height: root.height as number,
    nodes: graph.nodes.map((node, index) => readNode(node, (root.children as ElkNode[])[index])),
    links: links.map((link, index) => (isLoop(link) ? readLoop : readLink)(link, idOf(index), root)),
  };
}

function idOf(link: number): string {
  return `link ${link}`;
}

/** `sideOf`: the side of a port. */
function describeNode({ id, title, lines, ports, least }: GraphNode, sideOf: (port: string) => string): ElkNode {
  const width = Math.max(
    measureText(title, FONT_SIZES.title, BOLD_WEIGHT),
    ...lines.map((line) => measureText(line, FONT_SIZES.line)),
  );
  return {
    id: `node ${id}`,
    layoutOptions: {
      ...OF_NODE,
      ...(least === undefined ? {} : { 'elk.nodeSize.minimum': `(${least.width}, ${least.height})` }),
    },
    labels: [{ text: title, width, height: LINE_HEIGHT * (1 + lines.length) }],
    ports: ports.map((port) => ({
      id: port.id,
      width: 0,
      height: 0,
      layoutOptions: { 'elk.port.side': sideOf(port.id) },
      labels: port.label === '' ? [] : [{ text: port.label, ...sizeOf([port.label], FONT_SIZES.port) }],
    })),
  };
}

function describeLink(link: GraphLink, id: string): ElkExtendedEdge {
  const lines = linesOf(link);
  const text = { text: lines.join(' ') || NO_TEXT, ...sizeOf(lines, FONT_SIZES.link), layoutOptions: OF_TEXT };
  const [source, target] = link.ends;
  // A link without a text has room for one: texts have columns of their own, which all links pass.
  return { id, sources: [source], targets: [target], labels: [text] };
}

/** The size of the lines of a label. */
function sizeOf(lines: readonly string[], fontSize: number): { readonly width: number; readonly height: number } {
  const width = Math.max(0, ...lines.map((line) => measureText(line, fontSize)));
  return { width: width + 2 * LABEL_PADDING, height: LINE_HEIGHT * Math.max(1, lines.length) };
}

function readNode(node: GraphNode, placed: ElkNode): PlacedNode {
  const area = areaOf(placed);
  const text = areaOf(placed.labels?.[0] ?? {}, area);
  const ports = node.ports.map(({ id, label }) => {
    const port = placed.ports?.find((one) => one.id === id) ?? { id };
    const at = areaOf(port, area);
    return { x: at.x, y: at.y, label, text: areaOf(port.labels?.[0] ?? {}, at) };
  });
  return { ...area, node, text, ports };
}

function readLink(link: GraphLink, id: string, { edges = [] }: ElkNode): PlacedLink {
  const placed = edges.find((edge) => edge.id === id) as ElkExtendedEdge;
  const [label] = placed.labels ?? [];
  return { link, points: pointsOf(placed), text: linesOf(link).length === 0 ? undefined : areaOf(label ?? {}) };
}

function readLoop(link: GraphLink, id: string, { children = [], edges = [] }: ElkNode): PlacedLink {
  const lines = linesOf(link);
  const place = children.find((child) => child.id === id) as ElkNode;
  const text = lines.length === 0 ? undefined : besideLoop(place, sizeOf(lines, FONT_SIZES.link));
  return { link, points: joinLoop(edges.filter((edge) => edge.id.startsWith(`${id} part`)).map(pointsOf)), text };
}

function pointsOf({ sections = [] }: ElkExtendedEdge): Point[] {
  const [{ startPoint, bendPoints = [], endPoint }] = sections;
  return [startPoint, ...bendPoints, endPoint];
}

function areaOf(shape: Partial<Area>, from: Point = { x: 0, y: 0 }): Area {
  const { x = 0, y = 0, width = 0, height = 0 } = shape;
  return { x: from.x + x, y: from.y + y, width, height };
}
