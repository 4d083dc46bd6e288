// SPDX-License-Identifier: Apache-2.0
/**
 * Finds faults in the layout of a graph, as sentences: boxes or texts that overlap, links that
 * overlap, pass through a box or behind the text of another link, and port numbers that are not at
 * their ends. Called by tests of pictures.
 */
import type { Area, Point } from '../area.ts';
import type { GraphLayout, PlacedLink } from '../graph-layout.ts';
import { overlap } from './read-svg.ts';

/**
 * Half the width of a line: links that touch at a corner only do not lie on each other, and a link
 * ends at the edge of a box, give or take what numbers are rounded by.
 */
const TOUCH = 0.9;
const FLAT = 2 * TOUCH + 0.01;

interface Segment {
  readonly area: Area;
  readonly link: PlacedLink;
}

export function findGraphFaults({ nodes, links, width, height }: GraphLayout): string[] {
  const segments = links.flatMap(segmentsOf);
  const labels = nodes.flatMap(({ node, ports }) =>
    ports.map(({ label, text, ...at }) => ({ name: `${node.id} ${label}`, area: text, at })),
  );
  const texts = [
    ...nodes.map(({ node, text }) => ({ name: node.title, area: text })),
    ...labels.filter(({ area }) => area.width > 0),
    ...links.flatMap(({ link, text }) => (text === undefined ? [] : [{ name: link.description, area: text }])),
  ];
  const page = { x: 0, y: 0, width, height };
  return [
    ...pairs(nodes).flatMap(([one, other]) => say(overlap(one, other), one.node.id, 'lies on', other.node.id)),
    ...pairs(texts).flatMap(([one, other]) => say(overlap(one.area, other.area), one.name, 'lies on', other.name)),
    ...pairs(segments)
      .filter(([one, other]) => one.link !== other.link)
      .flatMap(([one, other]) => say(coincide(one, other), nameOf(one), 'lies on', nameOf(other))),
    ...segments.flatMap((segment) => [
      ...nodes.flatMap((node) => say(overlap(segment.area, node), nameOf(segment), 'passes', node.node.id)),
      ...texts
        .filter(({ name }) => name !== nameOf(segment))
        .flatMap(({ name, area }) => say(overlap(segment.area, area), nameOf(segment), 'is behind', name)),
    ]),
    ...[...nodes, ...texts.map(({ area }) => area)].flatMap((area) =>
      say(!isWithin(area, page), JSON.stringify(area), 'leaves', 'the page'),
    ),
    ...nodes.flatMap(({ node, ports, ...box }) =>
      ports.flatMap(({ label, text }) => say(text.width > 0 && !isWithin(text, box), label, 'leaves', node.id)),
    ),
    ...labels
      .filter(({ area, at }) => area.width > 0 && !isNear(area, at))
      .map(({ name }) => `${name} is far from its port`),
  ];
}

function say(isSo: boolean, subject: string, verb: string, object: string): string[] {
  return isSo ? [`${subject} ${verb} ${object}`] : [];
}

function pairs<T>(all: readonly T[]): (readonly [T, T])[] {
  return all.flatMap((one, index) => all.slice(index + 1).map((other) => [one, other] as const));
}

function nameOf({ link }: Segment): string {
  return link.link.description;
}

/** A link as straight pieces of the width of a line. */
function segmentsOf(link: PlacedLink): Segment[] {
  return link.points.slice(1).map((to, index) => {
    const from = link.points[index];
    const [x, y] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
    const [width, height] = [Math.abs(from.x - to.x), Math.abs(from.y - to.y)];
    return { link, area: { x: x - TOUCH, y: y - TOUCH, width: width + 2 * TOUCH, height: height + 2 * TOUCH } };
  });
}

/** True for parallel pieces that share more than a point: crossings are no fault. */
function coincide({ area: one }: Segment, { area: other }: Segment): boolean {
  const isFlat = one.height <= FLAT;
  if (isFlat !== other.height <= FLAT) return false;
  return overlap(one, other);
}

function isWithin(area: Area, box: Area): boolean {
  const [right, bottom] = [area.x + area.width, area.y + area.height];
  return area.x >= box.x && area.y >= box.y && right <= box.x + box.width && bottom <= box.y + box.height;
}

function isNear({ x, y, width, height }: Area, port: Point): boolean {
  const across = Math.min(Math.abs(port.x - x), Math.abs(port.x - x - width));
  return across < 3 && port.y > y - 2 && port.y < y + height + 2;
}
