// SPDX-License-Identifier: Apache-2.0
/**
 * Places the nodes of a topology for its picture: adapters in the lowest row, each below its
 * switch; switches with adapters above them; other switches further up by their distance. Pure.
 * `topology-picture.ts` calls it.
 */
import type { Topology } from '../../device/main/topology.ts';
import { splitPort } from '../../device/topology/fabric-plan.ts';
import { endsOf } from './topology-text.ts';

/** A node and its place: the middle of its box. */
export interface Place {
  readonly name: string;
  readonly isSwitch: boolean;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface Layout {
  readonly places: ReadonlyMap<string, Place>;
  readonly width: number;
  readonly height: number;
}

export const BOX_HEIGHT = 36;
const COLUMN = 110;
const ROW = 130;
const MARGIN = 60;
const ADAPTER_WIDTH = 80;
const SWITCH_WIDTH = 96;
/** Room above and below for the arcs of links inside a row. */
export const ARC_MAX = 80;

export function layOut(topology: Topology): Layout {
  const neighbours = findNeighbours(topology);
  const levels = findLevels(topology, neighbours);
  const top = Math.max(0, ...levels.values());
  const columns = new Map<string, number>();
  let next = 0;
  for (const name of orderLowest(topology, levels)) {
    const own = topology.adapters.filter((node) => neighbours.get(node.name)?.[0] === name);
    for (const [index, node] of own.entries()) columns.set(node.name, next + index);
    const span = Math.max(1, own.length);
    columns.set(name, next + (span - 1) / 2);
    next += span;
  }
  for (const { name } of topology.adapters) if (!columns.has(name)) columns.set(name, next++);
  const columnCount = Math.max(1, next);
  for (let level = 2; level <= top; level++) {
    const row = topology.switches.filter(({ name }) => levels.get(name) === level);
    for (const [index, { name }] of row.entries()) columns.set(name, ((index + 0.5) * columnCount) / row.length - 0.5);
  }
  const above = isJoined(topology, levels, top) ? MARGIN + ARC_MAX : MARGIN;
  const below = isJoined(topology, levels, undefined) ? MARGIN + ARC_MAX : MARGIN;
  const places = [...topology.switches, ...topology.adapters].map(({ name }): Place => {
    const level = levels.get(name);
    return {
      name,
      isSwitch: level !== undefined,
      x: MARGIN + ((columns.get(name) ?? 0) + 0.5) * COLUMN,
      y: above + (top - (level ?? 0)) * ROW + BOX_HEIGHT / 2,
      width: level === undefined ? ADAPTER_WIDTH : SWITCH_WIDTH,
    };
  });
  return {
    places: new Map(places.map((place) => [place.name, place])),
    width: 2 * MARGIN + columnCount * COLUMN,
    height: above + below + top * ROW + BOX_HEIGHT,
  };
}

/** Names of the nodes at the other ends of the links of each node, switches first. */
function findNeighbours({ links, switches }: Topology): Map<string, string[]> {
  const neighbours = new Map<string, string[]>();
  const isSwitch = (name: string): boolean => switches.some((node) => node.name === name);
  for (const link of links) {
    if (!('ports' in link)) continue;
    const [first, second] = endsOf(link).map((port) => splitPort(port)[0]);
    for (const [from, to] of [
      [first, second],
      [second, first],
    ]) {
      const known = neighbours.get(from) ?? [];
      if (isSwitch(to)) known.unshift(to);
      else known.push(to);
      neighbours.set(from, known);
    }
  }
  return neighbours;
}

/** Level of each switch: 1 with adapters, else its distance from such a switch and one more. */
function findLevels({ switches, adapters }: Topology, neighbours: Map<string, string[]>): Map<string, number> {
  const levels = new Map<string, number>();
  let row = switches.map(({ name }) => name);
  const hasAdapter = (name: string): boolean =>
    (neighbours.get(name) ?? []).some((other) => adapters.some((node) => node.name === other));
  row = row.filter(hasAdapter);
  for (let level = 1; row.length > 0; level++) {
    for (const name of row) levels.set(name, level);
    const isNext = ({ name }: { name: string }): boolean =>
      !levels.has(name) && (neighbours.get(name) ?? []).some((other) => levels.get(other) === level);
    row = switches.filter(isNext).map(({ name }) => name);
  }
  for (const { name } of switches) if (!levels.has(name)) levels.set(name, 1);
  return levels;
}

/** True when a link stays in a row, or leaves the row of adapters for another process. */
function isJoined({ links }: Topology, levels: Map<string, number>, level: number | undefined): boolean {
  return links.some((link) => {
    const [first, second] = endsOf(link).map((port) => levels.get(splitPort(port)[0]));
    return first === level && second === level;
  });
}

function orderLowest({ switches }: Topology, levels: Map<string, number>): string[] {
  return switches.map(({ name }) => name).filter((name) => levels.get(name) === 1);
}
