// SPDX-License-Identifier: Apache-2.0
/**
 * Draws a graph as SVG: title, notes and legend above boxes with ports and links with texts. Kinds
 * of nodes and links differ in shape and dashes as well as in colour. `vuhca topology --picture`
 * and `vuhca fabric --picture` call it.
 */
import type { Area, Point } from './area.ts';
import { COLOURS } from './colours.ts';
import type { Graph, LinkKind, NodeKind } from './graph.ts';
import { FONT_SIZES, LINE_HEIGHT, layOutGraph, linesOf, type PlacedLink, type PlacedNode } from './graph-layout.ts';
import { drawLegend } from './graph-legend.ts';
import { type Attributes, element, svgFile } from './svg.ts';
import { escapeXml, wrapText } from './text.ts';

const MARGIN = 20;
const TITLE = { 'font-size': 17, 'font-weight': 600, fill: COLOURS.title };
const TITLE_HEIGHT = 22;
const NOTE = { 'font-size': 12.5, fill: COLOURS.muted };
const NOTE_HEIGHT = 17;
/** Title, notes and legend may be wider than a small graph. */
const LEAST_WIDTH = 560;
const CORNER = 5;
/** From the middle of a line of text to its baseline, in parts of the font's size. */
const BASELINE = 0.35;
const LINE_WIDTH = 1.5;
/** What a link that is used fully has in addition. */
const USED_WIDTH = 5;
/** Begins a line of text that needs attention. */
const ALARM = '!';

const NODE_STYLES: Readonly<Record<NodeKind, Attributes>> = {
  switch: { rx: 2, fill: COLOURS.relay, stroke: COLOURS.first },
  adapter: { rx: 11, fill: COLOURS.host, stroke: COLOURS.third },
  personality: { rx: 11, fill: COLOURS.guest, stroke: COLOURS.fourth, 'stroke-dasharray': '6 2' },
  outside: { rx: 0, fill: COLOURS.outside, stroke: COLOURS.muted, 'stroke-dasharray': '2 3' },
};
const LINK_STYLES: Readonly<Record<LinkKind, Attributes>> = {
  cable: { stroke: COLOURS.text },
  impaired: { stroke: COLOURS.second, 'stroke-dasharray': '7 3' },
  socket: { stroke: COLOURS.fourth, 'stroke-dasharray': '10 3 2 3' },
  down: { stroke: COLOURS.muted, 'stroke-dasharray': '1.5 4' },
};

/** The text of the SVG file. */
export async function drawGraph(graph: Graph): Promise<string> {
  const layout = await layOutGraph(graph);
  const width = Math.max(LEAST_WIDTH, layout.width);
  const lines = [
    ...wrapText(graph.title, width, TITLE['font-size'], TITLE['font-weight']).map((text) => ({ text, style: TITLE })),
    ...graph.notes.flatMap((note) => wrapText(note, width, NOTE['font-size'])).map((text) => ({ text, style: NOTE })),
  ];
  let y = MARGIN;
  const heading = lines.map(({ text, style }) => {
    y += style === TITLE ? TITLE_HEIGHT : NOTE_HEIGHT;
    return element('text', { x: MARGIN, y: y - 4, ...style }, escapeXml(text));
  });
  const legend = drawLegend(graph, { x: MARGIN, y: y + 8, width }, { nodes: NODE_STYLES, links: LINK_STYLES });
  y += 8 + legend.height + 12;
  const move = { transform: `translate(${Math.round(MARGIN + (width - layout.width) / 2)} ${Math.round(y)})` };
  const content = [...layout.links.map(drawLine), ...layout.nodes.map(drawNode), ...layout.links.map(drawWords)];
  return svgFile(2 * MARGIN + width, y + layout.height + MARGIN, `${graph.title}. ${graph.notes.join(' ')}`, [
    ...heading,
    ...legend.elements,
    element('g', move, `\n${content.filter((one) => one !== '').join('\n')}\n`),
  ]);
}

function drawNode({ node, text, ports, ...area }: PlacedNode): string {
  const parts = [
    element('rect', { ...area, ...NODE_STYLES[node.kind], 'stroke-width': LINE_WIDTH }),
    drawLines([node.title], text, { 'font-size': FONT_SIZES.title, 'font-weight': 600, fill: COLOURS.title }),
    drawLines(node.lines, below(text, 1), { 'font-size': FONT_SIZES.line, fill: COLOURS.text }),
    ...ports.map((port) => drawLines([port.label], port.text, { 'font-size': FONT_SIZES.port, fill: COLOURS.text })),
  ];
  return element('g', { class: `node ${node.kind}` }, parts.join(''));
}

function drawLine({ link, points }: PlacedLink): string {
  const width = LINE_WIDTH + USED_WIDTH * Math.sqrt(Math.min(1, link.used ?? 0));
  const path = { d: roundCorners(points), fill: 'none', 'stroke-width': width, ...LINK_STYLES[link.kind] };
  const line = element('path', path, element('title', {}, escapeXml(link.description)));
  return element('g', { class: `link ${link.kind}` }, line);
}

function drawWords({ link, text }: PlacedLink): string {
  if (text === undefined) return '';
  // The link does not show between the words.
  const ground = element('rect', { ...text, fill: COLOURS.background });
  return ground + drawLines(linesOf(link), text, { 'font-size': FONT_SIZES.link, fill: COLOURS.text });
}

/** Lines in the middle of an area, from its upper edge. */
function drawLines(lines: readonly string[], area: Area, style: Attributes & { readonly 'font-size': number }): string {
  const x = area.x + area.width / 2;
  return lines
    .map((line, index) => {
      const y = area.y + LINE_HEIGHT * (index + 0.5) + BASELINE * style['font-size'];
      const alarm = line.startsWith(ALARM) ? { fill: COLOURS.second, 'font-weight': 600 } : {};
      return element('text', { x, y, 'text-anchor': 'middle', ...style, ...alarm }, escapeXml(line));
    })
    .join('');
}

function below({ x, y, width, height }: Area, lines: number): Area {
  return { x, y: y + lines * LINE_HEIGHT, width, height: height - lines * LINE_HEIGHT };
}

/** A path along the points. */
function roundCorners(points: readonly Point[]): string {
  const [start, ...rest] = points;
  const parts = rest.map((corner, index) => {
    const next = rest[index + 1];
    if (next === undefined) return `L${format(corner)}`;
    const before = approach(points[index], corner);
    const after = approach(next, corner);
    return `L${format(before)}Q${format(corner)} ${format(after)}`;
  });
  return `M${format(start)}${parts.join('')}`;
}

/** The point on the way from `from` to `corner` at which the curve begins. */
function approach(from: Point, corner: Point): Point {
  const length = Math.hypot(corner.x - from.x, corner.y - from.y);
  const part = length === 0 ? 0 : Math.min(CORNER, length / 2) / length;
  return { x: corner.x + (from.x - corner.x) * part, y: corner.y + (from.y - corner.y) * part };
}

function format({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
