// SPDX-License-Identifier: Apache-2.0
/**
 * Places a fabric for the page of `vuhca view`: switches in rows, roots above, and the adapters of
 * a switch as cells inside its box, so that large fabrics stay compact. Links between boxes are
 * laid out as in all pictures (scripts/picture). The server answers `viewPaths.layout` with it.
 */
import type { FabricNodeReport, FabricReport } from '../../../device/process/reports/fabric-report.ts';
import type { Graph, GraphNode } from '../../picture/graph.ts';
import { layOutGraph, type PlacedLink } from '../../picture/graph-layout.ts';
import type { Area, FabricLayout, ViewState } from './view-protocol.ts';

/** Value of `peer` for a port of another process. */
const ELSEWHERE = 'elsewhere';
/** A box without cells, and the title of one with cells. */
const BOX = { width: 112, height: 40 };
const CELL = { width: 104, height: 38 };
const GAP = 6;
/** Room for the line that joins the cells, at the left of each column. */
const BUS = 10;
/** Ports of an adapter, and the distance of their lines. */
const MOST_PORTS = 2;
const PORT_STEP = 3;
/** A page in the usual proportion; rows of switches above those with cells take some of it. */
const PAGE = { width: 1240, height: 640 };
const RELAY_ROWS_HEIGHT = 170;
/** Pictures with more links than this have no texts at their links. */
const MOST_TEXTS = 24;
/** The widest text of a link. */
const WIDEST_TEXT = '12x QDR 100 %';

type Link = readonly [string, string];

/** A switch and the adapters in its box. */
interface Home {
  readonly node: FabricNodeReport;
  readonly cells: readonly FabricNodeReport[];
}

export async function layOutFabric({ fabric, links = [] }: Pick<ViewState, 'fabric' | 'links'>): Promise<FabricLayout> {
  const wires = listLinks(fabric, links);
  const homes = findHomes(fabric, wires);
  const columns = chooseColumns([...homes.values()]);
  const inside = new Set([...homes.values()].flatMap(({ cells }) => cells.map(({ name }) => name)));
  const isInside = (link: Link): boolean => link.some((end) => inside.has(nodeOf(end)));
  const between = wires.filter((link) => !isInside(link));
  const layout = await layOutGraph(graphOf(fabric, homes, inside, between, columns), 'DOWN');
  const boxes = layout.nodes.map(({ node, x, y, width, height }) => ({ name: node.id, x, y, width, height }));
  const cells = boxes.flatMap((box) => placeCells(box, homes.get(box.name)?.cells ?? [], columns));
  const kinds = new Map(fabric.nodes.map(({ name, type }) => [name, type]));
  return {
    width: layout.width,
    height: layout.height,
    nodes: [...boxes, ...cells].map((box) => ({ ...box, kind: kinds.get(box.name) ?? 'outside' })),
    links: [
      ...layout.links.map(readLink),
      ...wires.filter(isInside).map((link) => joinCell(link, [...boxes, ...cells])),
    ],
  };
}

/**
 * Each link between known nodes once, including cut ones, in the order of nodes and ports: a cut
 * link keeps its place.
 */
function listLinks({ nodes }: FabricReport, links: NonNullable<ViewState['links']>): Link[] {
  const ranks = new Map(
    nodes.flatMap(({ name, ports }) => ports.map(({ number }) => `${name}:${number}`)).map(withIndex),
  );
  const rank = (end: string): number => ranks.get(end) ?? ranks.size;
  const plugged = nodes.flatMap(({ name, ports }) =>
    ports.flatMap(({ number, link }): Link[] => {
      if (link?.peer === undefined) return [];
      const end = `${name}:${number}`;
      return [[end, link.peer === ELSEWHERE ? `${ELSEWHERE} ${end}` : link.peer]];
    }),
  );
  const cut = links.flatMap(({ kind, ends }): Link[] =>
    kind === 'cut' && ends.length === 2 ? [[ends[0], ends[1]]] : [],
  );
  const seen = new Set<string>();
  return [...plugged, ...cut]
    .map(([one, other]): Link => (rank(one) <= rank(other) ? [one, other] : [other, one]))
    .sort(([one], [other]) => rank(one) - rank(other))
    .filter((link) => {
      const isNew = link.every((end) => !seen.has(end) && (end.startsWith(ELSEWHERE) || ranks.has(end)));
      for (const end of link) seen.add(end);
      return isNew;
    });
}

function withIndex<Item>(item: Item, index: number): readonly [Item, number] {
  return [item, index];
}

/** Adapters all of whose links lead to one switch are in its box, in the order of its ports. */
function findHomes({ nodes }: FabricReport, links: readonly Link[]): Map<string, Home> {
  const kinds = new Map(nodes.map(({ name, type }) => [name, type]));
  const neighbours = new Map<string, Set<string>>();
  const order = new Map<string, number>();
  for (const [one, other] of [...links, ...links.map(([one, other]): Link => [other, one])]) {
    const [name, peer] = [nodeOf(one), nodeOf(other)];
    neighbours.set(name, (neighbours.get(name) ?? new Set()).add(peer));
    order.set(name, Math.min(order.get(name) ?? Number.POSITIVE_INFINITY, portOf(other)));
  }
  const homeOf = ({ name, type }: FabricNodeReport): string | undefined => {
    const [peer, ...others] = neighbours.get(name) ?? [];
    return type === 'adapter' && others.length === 0 && kinds.get(peer) === 'switch' ? peer : undefined;
  };
  const rank = ({ name }: FabricNodeReport): number => order.get(name) ?? 0;
  const homes = nodes
    .filter(({ type }) => type === 'switch')
    .map((node): [string, Home] => {
      const cells = nodes.filter((one) => homeOf(one) === node.name).sort((one, other) => rank(one) - rank(other));
      return [node.name, { node, cells }];
    });
  return new Map(homes.filter(([, { cells }]) => cells.length > 0));
}

/** The number of columns of cells in each box that makes the boxes largest on the page. */
function chooseColumns(homes: readonly Home[]): number {
  const most = Math.max(1, ...homes.map(({ cells }) => cells.length));
  const scaleOf = (columns: number): number => {
    const widths = homes.map(({ cells }) => boxOf(cells.length, columns).width + 2 * GAP);
    const height = boxOf(most, columns).height + RELAY_ROWS_HEIGHT;
    return Math.min(PAGE.width / widths.reduce((sum, width) => sum + width, 1), PAGE.height / height);
  };
  let best = 1;
  for (let columns = 2; columns <= Math.ceil(Math.sqrt(most)) * 2; columns++)
    if (scaleOf(columns) > scaleOf(best)) best = columns;
  return best;
}

/** The size of a box with this many cells. */
function boxOf(cells: number, columns: number): { readonly width: number; readonly height: number } {
  if (cells === 0) return BOX;
  const used = Math.min(columns, cells);
  const rows = Math.ceil(cells / columns);
  return {
    width: Math.max(BOX.width, used * (BUS + CELL.width + GAP) + GAP),
    height: BOX.height + rows * (CELL.height + GAP) + GAP,
  };
}

function graphOf(
  { nodes }: FabricReport,
  homes: ReadonlyMap<string, Home>,
  inside: ReadonlySet<string>,
  links: readonly Link[],
  columns: number,
): Graph {
  const isRanked = homes.size > 0;
  const lines = links.length > MOST_TEXTS ? [] : [WIDEST_TEXT];
  const portsOf = (name: string) => links.flat().filter((end) => nodeOf(end) === name);
  const outside = links.flat().filter((end) => end.startsWith(ELSEWHERE));
  const boxes = nodes
    .filter(({ name }) => !inside.has(name))
    .map(({ name, type }): GraphNode => {
      const cells = homes.get(name)?.cells.length ?? 0;
      // Switches with cells are below all others, like adapters.
      const kind = isRanked && cells > 0 ? 'adapter' : type;
      return box(name, kind, portsOf(name), boxOf(cells, columns));
    });
  return {
    title: '',
    notes: [],
    nodes: [...boxes, ...outside.map((end) => box(end, 'outside', [end], BOX))],
    links: links.map((ends) => ({ ends, kind: 'cable', lines, description: '' })),
  };
}

function box(id: string, kind: GraphNode['kind'], ports: readonly string[], least: typeof BOX): GraphNode {
  return { id, kind, title: '', lines: [], least, ports: ports.map((port) => ({ id: port, label: '' })) };
}

type NamedArea = Area & { readonly name: string };

function placeCells(home: NamedArea, cells: readonly FabricNodeReport[], columns: number) {
  return cells.map(({ name }, index) => ({
    name,
    home: home.name,
    x: home.x + GAP + BUS + (index % columns) * (BUS + CELL.width + GAP),
    y: home.y + BOX.height + Math.floor(index / columns) * (CELL.height + GAP),
    ...CELL,
  }));
}

/**
 * The link of a cell comes down at the left of its column; links of one adapter end below each
 * other.
 */
function joinCell(link: Link, boxes: readonly NamedArea[]): FabricLayout['links'][number] {
  const areaOf = (end: string) => boxes.find(({ name }) => name === nodeOf(end)) as NamedArea & { home?: string };
  const [above, below] = areaOf(link[0]).home === undefined ? link : [link[1], link[0]];
  const [home, cell] = [areaOf(above), areaOf(below)];
  const x = cell.x - BUS + PORT_STEP * portOf(below);
  const y = cell.y + (cell.height * portOf(below)) / (MOST_PORTS + 1);
  return {
    ends: [above, below],
    points: [
      { x, y: home.y + BOX.height - GAP },
      { x, y },
      { x: cell.x, y },
    ],
    isInside: true,
  };
}

function readLink({ link, points, text }: PlacedLink): FabricLayout['links'][number] {
  return { ends: link.ends, points, ...(text === undefined ? {} : { text }) };
}

/** `NAME` of `NAME:PORT`; all of the end elsewhere. */
function nodeOf(end: string): string {
  return end.startsWith(ELSEWHERE) ? end : end.slice(0, end.lastIndexOf(':'));
}

function portOf(end: string): number {
  return Number(end.slice(end.lastIndexOf(':') + 1));
}
