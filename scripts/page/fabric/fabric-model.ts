// SPDX-License-Identifier: Apache-2.0
/**
 * A fabric as the page draws it: nodes by name, links with the load, the errors and the state of
 * both ends. Each state gives a new model; fabric-view.tsx draws it. Pure.
 */
import type { FabricLayout, ViewState } from '../../cli/view/view-protocol.ts';
import { gigabitsOf } from '../../picture/link-rate.ts';

export type FabricNode = ViewState['fabric']['nodes'][number];
export type FabricPort = FabricNode['ports'][number];

/** Traffic of one direction of a link. */
export interface Load {
  readonly bitsPerSecond: number;
  /** Part of the signalling rate, 0 to 1. */
  readonly part: number;
}

/** One end of a link, as its port is now. Of a port that is not in the report, only the name. */
export interface LinkSide {
  /** `NAME:PORT` */
  readonly name: string;
  readonly port: FabricPort | undefined;
  /** Traffic that the port sends; undefined while no time has passed. */
  readonly load: Load | undefined;
}

/** `training`: a side is neither down nor active. */
export type LinkState = 'active' | 'training' | 'down' | 'cut';

export interface FabricLink {
  readonly id: string;
  readonly sides: readonly [LinkSide, LinkSide];
  readonly state: LinkState;
  /** The busier direction, 0 to 1. */
  readonly load: number;
  /** Errors and drops that its ports have counted. */
  readonly troubles: number;
  /** Has faults, delay or a rate of its own. */
  readonly isImpaired: boolean;
}

export interface FabricModel {
  readonly nodes: ReadonlyMap<string, FabricNode>;
  readonly links: readonly FabricLink[];
  /** The load of the busiest link of each node. */
  readonly loads: ReadonlyMap<string, number>;
  /** LIDs that ports take for that of their manager. */
  readonly managerLids: ReadonlySet<number>;
}

const NS_PER_SECOND = 1e9;
const BITS = 8;
const BITS_PER_GIGABIT = 1e9;
const OUTSIDE = /^elsewhere /;

/** `before`: an earlier state, from which the load is computed. */
export function modelFabric(state: ViewState, before: ViewState | undefined, layout: FabricLayout): FabricModel {
  const ports = portsOf(state);
  const earlier = before === undefined || before === state ? undefined : portsOf(before);
  const seconds = before === undefined ? 0 : (state.timeNs - before.timeNs) / NS_PER_SECOND;
  const side = (name: string): LinkSide => {
    const port = ports.get(name);
    return { name, port, load: loadOf(port, earlier?.get(name), seconds) };
  };
  const impaired = new Set(state.links?.flatMap(({ kind, ends }) => (kind === 'faulty' ? ends : [])));
  const links = layout.links.map(({ ends }): FabricLink => {
    const sides = [side(ends[0]), side(ends[1])] as const;
    return {
      id: ends.join(' '),
      sides,
      state: stateOf(sides),
      load: Math.max(...sides.map(({ load }) => load?.part ?? 0)),
      troubles: sides.reduce((sum, { port }) => sum + countTroubles(port), 0),
      isImpaired: ends.some((end) => impaired.has(end)),
    };
  });
  const loads = new Map<string, number>();
  for (const { sides, load } of links)
    for (const { name } of sides) loads.set(nodeOfEnd(name), Math.max(load, loads.get(nodeOfEnd(name)) ?? 0));
  return {
    nodes: new Map(state.fabric.nodes.map((node) => [node.name, node])),
    links,
    loads,
    managerLids: new Set([...ports.values()].flatMap(({ managerLid = 0 }) => (managerLid > 0 ? [managerLid] : []))),
  };
}

/**
 * The wiring of a state: equal texts have equal pictures. A link that is cut is still there, as
 * `links` says.
 */
export function hasPlaces({ fabric, links = [] }: ViewState, layout: FabricLayout): boolean {
  const nodes = new Set(layout.nodes.map(({ name }) => name));
  const placed = new Set(layout.links.flatMap(({ ends }) => [ends.join(' '), [...ends].reverse().join(' ')]));
  const isKnown = ({ name }: FabricNode): boolean => nodes.has(name);
  const plugged = fabric.nodes.flatMap(({ name, ports }) =>
    ports.flatMap(({ number, link }) => {
      if (link?.peer === undefined) return [];
      const end = `${name}:${number}`;
      return [`${end} ${link.peer === 'elsewhere' ? `elsewhere ${end}` : link.peer}`];
    }),
  );
  const cut = links.flatMap(({ kind, ends }) => (kind === 'cut' && ends.length === 2 ? [ends.join(' ')] : []));
  const boxes = layout.nodes.filter(({ kind }) => kind !== 'outside').length;
  return (
    boxes === fabric.nodes.length &&
    fabric.nodes.every(isKnown) &&
    [...plugged, ...cut].every((link) => placed.has(link))
  );
}

/** Errors and drops by their names, without those that are 0. */
export function listTroubles({ link }: FabricPort): (readonly [name: string, count: number])[] {
  return Object.entries({ ...link?.errors, ...link?.drops }).filter(([, count]) => count > 0);
}

/** `NAME` of `NAME:PORT`. */
export function nodeOfEnd(end: string): string {
  return OUTSIDE.test(end) ? end : end.slice(0, end.lastIndexOf(':'));
}

/** The LIDs of a node. */
export function lidsOf({ ports }: FabricNode): number[] {
  return ports.flatMap(({ lid = 0 }) => (lid > 0 ? [lid] : []));
}

function portsOf({ fabric }: ViewState): Map<string, FabricPort> {
  return new Map(fabric.nodes.flatMap(({ name, ports }) => ports.map((port) => [`${name}:${port.number}`, port])));
}

function loadOf(port: FabricPort | undefined, before: FabricPort | undefined, seconds: number): Load | undefined {
  if (port?.link === undefined || before?.link === undefined || seconds <= 0) return undefined;
  const bits = (port.link.sentBytes - before.link.sentBytes) * BITS;
  // Counters restart after a reset.
  if (bits < 0) return undefined;
  const bitsPerSecond = bits / seconds;
  const rate = gigabitsOf(port.link.width, port.link.speed) * BITS_PER_GIGABIT;
  return { bitsPerSecond, part: rate === 0 ? 0 : Math.min(1, bitsPerSecond / rate) };
}

function stateOf(sides: readonly [LinkSide, LinkSide]): LinkState {
  const known = sides.filter(({ port }) => port !== undefined);
  if (known.some(({ port }) => port?.link?.peer === undefined)) return 'cut';
  const states = known.map(({ port }) => port?.link?.state);
  if (states.includes('DOWN')) return 'down';
  return states.every((state) => state === 'ACTIVE') ? 'active' : 'training';
}

function countTroubles(port: FabricPort | undefined): number {
  return port === undefined ? 0 : listTroubles(port).reduce((sum, [, count]) => sum + count, 0);
}
