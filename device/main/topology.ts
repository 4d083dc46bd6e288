// SPDX-License-Identifier: Apache-2.0
/**
 * The topology of one process: its adapters by name, and the links between their ports or to ports
 * of other processes (docs/TOPOLOGY.md). A port is written `NAME:NUMBER`. Ports without a link stay
 * as the options of their adapter join them; a port whose neighbour is taken by a link is left
 * unplugged. scripts/cli reads it from the command line and from files; `AdapterProcess` builds it.
 */

import { type AdapterOptions, defaultAdapterOptions, findOptionError } from '../adapter/options.ts';
import { findLinkOptionError, type PortLinkOptions } from '../fabric/link-options.ts';
import { parseGuid } from '../port/port.ts';
import type { SocketLinkOptions } from './socket-link.ts';

export interface AdapterPlan {
  readonly name: string;
  /** A vfio-user socket for each function. */
  readonly sockets: readonly string[];
  readonly options: AdapterOptions;
}

/** A link between two ports of this process. */
export interface LocalLinkPlan {
  readonly ports: readonly [string, string];
  readonly link: PortLinkOptions;
}

/** This process's end of a link to another one. */
export interface SocketLinkPlan extends SocketLinkOptions {
  readonly port: string;
}

export type LinkPlan = LocalLinkPlan | SocketLinkPlan;

export interface Topology {
  readonly adapters: readonly AdapterPlan[];
  readonly links: readonly LinkPlan[];
}

const PORTS_OF_ADAPTER = 2;
/** A node's GUID and those of its ports follow each other. */
const GUIDS_OF_ADAPTER = BigInt(PORTS_OF_ADAPTER + 1);

/** Name of the only adapter of a process when none is given. */
export const LONE_NAME = 'a';

/**
 * A topology of one adapter. The socket of each further function has the path of the first one, a
 * dot and the function number.
 */
export function loneAdapter(
  socketPath: string,
  options: AdapterOptions = defaultAdapterOptions,
  links: readonly LinkPlan[] = [],
): Topology {
  const sockets = Array.from({ length: options.functionCount }, (_, number) =>
    number === 0 ? socketPath : `${socketPath}.${number}`,
  );
  return { adapters: [{ name: LONE_NAME, sockets, options }], links };
}

/** Names of the ports of this process that a link joins. */
export function portsOf(link: LinkPlan): readonly string[] {
  return 'ports' in link ? link.ports : [link.port];
}

/** Returns one sentence about the first error, or undefined. */
export function findTopologyError({ adapters, links }: Topology): string | undefined {
  if (adapters.length === 0) return 'there is no adapter; name at least one';
  return findAdapterError(adapters) ?? findClash(adapters) ?? findLinkError(adapters, links);
}

function findAdapterError(adapters: readonly AdapterPlan[]): string | undefined {
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const { name, sockets, options } of adapters) {
    if (!/^[\w.-]{1,32}$/.test(name))
      return `adapter name ${JSON.stringify(name)} must be 1 to 32 letters, digits, dots or dashes`;
    if (names.has(name)) return `two adapters are called ${name}; names must differ`;
    names.add(name);
    if (sockets.length === 0) return `adapter ${name} has no socket; it needs one for each function`;
    for (const path of sockets) {
      if (paths.has(path)) return `adapter ${name}: socket ${path} is named twice; sockets must differ`;
      paths.add(path);
    }
    if (sockets.length !== options.functionCount)
      return `adapter ${name} has ${sockets.length} sockets for ${options.functionCount} functions; it needs one for each`;
    const error = findOptionError(options);
    if (error !== undefined) return `adapter ${name}: ${error}`;
  }
  return undefined;
}

/** One sentence about the first LID that two adapters share, or node GUIDs that are too close. */
function findClash(adapters: readonly AdapterPlan[]): string | undefined {
  for (const [index, first] of adapters.entries()) {
    for (const second of adapters.slice(index + 1)) {
      const who = `adapters ${first.name} and ${second.name}`;
      const lid = first.options.portLids.find((one) => second.options.portLids.includes(one));
      if (lid !== undefined) return `${who} both have LID ${lid}; portLids of two adapters must differ`;
      const apart = guidOf(first) - guidOf(second);
      if (apart > -GUIDS_OF_ADAPTER && apart < GUIDS_OF_ADAPTER)
        return `${who} have nodeGuid ${first.options.nodeGuid} and ${second.options.nodeGuid}; they must be at least ${GUIDS_OF_ADAPTER} apart, port GUIDs follow them`;
    }
  }
  return undefined;
}

function guidOf({ options }: AdapterPlan): bigint {
  return new DataView(parseGuid(options.nodeGuid).buffer).getBigUint64(0);
}

function findLinkError(adapters: readonly AdapterPlan[], links: readonly LinkPlan[]): string | undefined {
  const taken = new Set<string>();
  for (const link of links) {
    const ports = portsOf(link);
    const name = `link ${ports.join(' - ')}`;
    for (const port of ports) {
      const [adapter, number] = splitPort(port);
      if (!adapters.some((one) => one.name === adapter))
        return `${name}: there is no adapter ${adapter}; the adapters are ${adapters.map((one) => one.name).join(', ')}`;
      if (number !== '1' && number !== '2') return `${name}: port ${port} must end in :1 or :2`;
      if (taken.has(port)) return `${name}: port ${port} has a link already; a port has one`;
      taken.add(port);
    }
    if (!('ports' in link)) continue;
    const error = link.link.kind === 'faulty' ? findLinkOptionError(link.link) : undefined;
    if (error !== undefined) return `${name}: ${error}`;
    const [here, there] = ports.map((port) => lanesOf(adapters, port));
    if (here !== there) return `${name}: it joins ports of ${here} and ${there} virtualLanes; both must have the same`;
  }
  return undefined;
}

/** Adapter and number of a port name; a missing part is empty. */
export function splitPort(port: string): readonly [adapter: string, number: string] {
  const colon = port.lastIndexOf(':');
  return colon < 0 ? [port, ''] : [port.slice(0, colon), port.slice(colon + 1)];
}

function lanesOf(adapters: readonly AdapterPlan[], port: string): number | undefined {
  return adapters.find(({ name }) => name === splitPort(port)[0])?.options.virtualLanes;
}
