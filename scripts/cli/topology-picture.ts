// SPDX-License-Identifier: Apache-2.0
/**
 * Draws a topology as SVG: switches, adapters, links with their ports and rates. A link with
 * properties of a real one is dashed, and its tooltip says them. `vuhca topology --picture` writes
 * it.
 */
import type { LinkPlan, Topology } from '../../device/main/topology.ts';
import { splitPort } from '../../device/topology/fabric-plan.ts';
import { printable } from '../../protocol/system/printable.mjs';
import { ARC_MAX, BOX_HEIGHT, type Layout, layOut, type Place } from './topology-layout.ts';
import { describeProperties, describeRate, endsOf } from './topology-text.ts';

/** Distance between links of the same two nodes. */
const PARALLEL = 16;
/** Height of an arc between nodes of one row, for each pixel of their distance. */
const ARC = 0.18;
/** How far a link leaves its box towards the other one: a part of their distance. */
const LEAN = 0.12;
const CORNER = 10;
/** Distance of a port number from its box, in pixels. */
const NEAR = 16;
const STYLE = `
  text { font: 12px sans-serif; text-anchor: middle; dominant-baseline: central; fill: #1a1a1a; }
  .port, .rate { font-size: 10px; paint-order: stroke; stroke: white; stroke-width: 3px; }
  .rate { fill: #555; }
  .switch { fill: #dbe7f5; stroke: #34618f; }
  .adapter { fill: #e6f2df; stroke: #4c7a33; }
  .mthca { fill: #f7edd8; stroke: #8a6414; }
  .link { fill: none; stroke: #555; stroke-width: 1.5; }
  .faulty { stroke-dasharray: 5 3; stroke: #b3541e; }
`;

interface Point {
  readonly x: number;
  readonly y: number;
}

export function drawTopology(topology: Topology): string {
  const layout = layOut(topology);
  const { width, height, places } = layout;
  const links = topology.links.map((link, index) => drawLink(layout, topology.links, link, index));
  const nodes = [...places.values()].map((place) => drawNode(place, personalityOf(topology, place.name)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<style>${STYLE}</style>`,
    `<rect width="100%" height="100%" fill="white"/>`,
    ...links,
    ...nodes,
    '</svg>',
    '',
  ].join('\n');
}

function personalityOf({ adapters }: Topology, name: string): string | undefined {
  return adapters.find((node) => node.name === name)?.personality;
}

function drawNode({ name, isSwitch, x, y, width }: Place, personality = ''): string {
  const kind = isSwitch ? 'switch' : `adapter ${personality}`.trim();
  const box = `x="${x - width / 2}" y="${y - BOX_HEIGHT / 2}" width="${width}" height="${BOX_HEIGHT}"`;
  return `<rect class="${kind}" ${box} rx="${isSwitch ? 3 : 12}"/><text x="${x}" y="${y}">${escapeXml(name)}</text>`;
}

function drawLink({ places }: Layout, links: readonly LinkPlan[], link: LinkPlan, index: number): string {
  const [from, to] = endsOf(link);
  const title = `${from} - ${to}: ${[describeRate(link), describeProperties(link)].filter(Boolean).join('; ')}`;
  const [[first, firstPort], [second, secondPort]] = [splitPort(from), splitPort(to)];
  const here = places.get(first) as Place;
  const there = 'ports' in link ? places.get(second) : undefined;
  const isFaulty = 'ports' in link && link.link.kind === 'faulty';
  const draw = (d: string): string =>
    `<path class="link${isFaulty ? ' faulty' : ''}" d="${d}"><title>${escapeXml(title)}</title></path>`;
  if (there === undefined) {
    // A link to another process leaves the picture downwards.
    const end = { x: here.x, y: here.y + 2 * BOX_HEIGHT };
    return draw(`M${here.x},${here.y} L${end.x},${end.y - NEAR}`) + text('rate', to, end);
  }
  const { order, count } = orderOf(links, index);
  const shift = (order - (count - 1) / 2) * PARALLEL;
  const start = leave(here, there, shift);
  const end = leave(there, here, shift);
  const middle = control(start, end, here, shift);
  const at = (part: number): Point => curve(start, middle, end, part);
  const near = NEAR / Math.max(4 * NEAR, Math.hypot(end.x - start.x, end.y - start.y));
  const rate = describeRate(link).replace(/^.*, /, '');
  return [
    draw(`M${round(start.x)},${start.y} Q${round(middle.x)},${round(middle.y)} ${round(end.x)},${end.y}`),
    text('port', firstPort, at(near)),
    text('port', secondPort, at(1 - near)),
    // One word for all links of two nodes.
    order === 0 ? text('rate', count === 1 ? rate : `${count} x ${rate}`, at(here.y === there.y ? 0.5 : 0.3)) : '',
  ].join('');
}

/** Position of a link among those of the same two nodes, which lie side by side. */
function orderOf(links: readonly LinkPlan[], index: number): { order: number; count: number } {
  const key = (link: LinkPlan): string =>
    endsOf(link)
      .map((port) => splitPort(port)[0])
      .sort()
      .join(' ');
  const same = links.flatMap((link, at) => ('ports' in link && key(link) === key(links[index]) ? [at] : []));
  return { order: same.indexOf(index), count: same.length };
}

/** The point at which a link leaves the box of a node: at its upper or lower edge. */
function leave(box: Place, other: Place, shift: number): Point {
  const room = Math.max(0, box.width / 2 - CORNER - Math.abs(shift));
  const lean = Math.max(-room, Math.min(room, (other.x - box.x) * LEAN)) + shift;
  const isUpwards = other.y === box.y ? box.isSwitch : other.y < box.y;
  return { x: box.x + lean, y: box.y + (isUpwards ? -BOX_HEIGHT / 2 : BOX_HEIGHT / 2) };
}

/** The control point of the curve: straight between rows, an arc inside a row. */
function control(start: Point, end: Point, box: Place, shift: number): Point {
  const x = (start.x + end.x) / 2;
  if (start.y !== end.y) return { x, y: (start.y + end.y) / 2 };
  const distance = Math.abs(end.x - start.x);
  const height = Math.min(ARC_MAX - PARALLEL, Math.max(BOX_HEIGHT / 2, distance * ARC)) + shift;
  return { x, y: start.y + (box.isSwitch ? -1 : 1) * 2 * height };
}

/** The point of a quadratic curve. */
function curve(start: Point, middle: Point, end: Point, part: number): Point {
  const mix = (a: number, b: number, c: number): number =>
    (1 - part) ** 2 * a + 2 * part * (1 - part) * b + part ** 2 * c;
  return { x: mix(start.x, middle.x, end.x), y: mix(start.y, middle.y, end.y) };
}

function text(kind: string, words: string, { x, y }: Point): string {
  return `<text class="${kind}" x="${round(x)}" y="${round(y)}">${escapeXml(words)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeXml(words: string): string {
  return printable(words)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
