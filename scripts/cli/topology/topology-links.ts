// SPDX-License-Identifier: Apache-2.0
/**
 * The links of a topology file (docs/TOPOLOGY.md): reads them, and assigns free ports to ends that
 * name only a switch. `topology-file.ts` calls it.
 */
import { resolve } from 'node:path';
import {
  defaultFaultyLinkOptions,
  findLinkOptionError,
  linkFaults,
  type PortLinkOptions,
} from '../../../device/fabric/link/link-options.ts';
import type { LinkPlan, SocketLinkPlan } from '../../../device/process/host/topology.ts';
import type { LocalLinkPlan, SwitchNode } from '../../../device/topology/fabric-plan.ts';
import {
  ADDRESS_SYNTAX,
  findEndpointError,
  type LinkEndpoint,
  parseEndpoint,
  takesKey,
} from '../../../protocol/system/socket-address.ts';
import { isObject, type JsonObject, readObject } from '../options/json-shape.ts';
import { readLinkKey } from '../options/link-key-file.ts';
import { UsageError } from '../options/usage-error.ts';

/** Members of a link of this process besides its ports. */
export const linkMembers = { width: '', speed: '', seed: 1, ...defaultFaultyLinkOptions };
const { flaps: _, flapEveryNs: __, flapLengthNs: ___, ...changeable } = defaultFaultyLinkOptions;
/** Members of a link to another process: effects on packets, but no flaps. */
const outsideMembers = { port: '', listen: '', connect: '', key: '', seed: 1, ...changeable };
/** Kinds of values in objects whose names are not those of defaults. */
const probabilities = Object.fromEntries(linkFaults.map((fault) => [fault, 0]));
const scheduled = { fault: '', direction: 0, packet: 0, atNs: 0, byte: 0, flip: 0 };
const flap = { atNs: 0, lengthNs: 0 };

/** Reads one link. `folder` is that of the file. */
export function readLink(value: unknown, index: number, folder: string): LinkPlan {
  const name = `link ${index + 1}`;
  if (isObject(value) && 'port' in value) {
    const { port, listen, connect, key, ...given } = readObject(value, name, outsideMembers);
    if ((listen === undefined) === (connect === undefined))
      throw new UsageError(`${name}: port ${port} needs either listen or connect, with an address`);
    const role = listen === undefined ? 'connect' : 'listen';
    const endpoint = readEndpoint(role, (listen ?? connect) as string, name, key !== undefined);
    return {
      port: port as string,
      role,
      endpoint: 'path' in endpoint ? { path: resolve(folder, endpoint.path) } : endpoint,
      ...(key === undefined ? {} : { key: readLinkKey(`${name}: key`, resolve(folder, key as string)) }),
      ...readOutgoing(given, name),
    };
  }
  const { ports, ...given } = readObject(value, name, { ports: [''], ...linkMembers });
  if (!Array.isArray(ports) || ports.length !== 2)
    throw new UsageError(`${name} must have ports, two of them, or port with listen or connect`);
  return { ports: [ports[0], ports[1]], ...readLinkMembers(given, name) };
}

function readEndpoint(role: 'listen' | 'connect', text: string, name: string, isKeyed: boolean): LinkEndpoint {
  const endpoint = parseEndpoint(text);
  if (endpoint === undefined) throw new UsageError(`${name}: ${role} is ${text}; it must be ${ADDRESS_SYNTAX}`);
  const error = findEndpointError(role, endpoint, isKeyed, '"key": FILE');
  if (error !== undefined) throw new UsageError(`${name}: ${error}`);
  if (isKeyed && !takesKey(endpoint)) throw new UsageError(`${name}: ${text} takes no key; that is for tcp:// alone`);
  return endpoint;
}

/** Properties and faults of packets sent by a link to another process. */
function readOutgoing(given: JsonObject, name: string): Partial<Pick<SocketLinkPlan, 'link'>> {
  checkFaults(given, name);
  if (Object.keys(given).length === 0) return {};
  const error = findLinkOptionError(given);
  if (error !== undefined) throw new UsageError(`${name}: ${error}`);
  return { link: { outgoing: { seed: 1, ...given } } };
}

/** Width, speed and properties of a link, whose kinds of values are known to be right. */
export function readLinkMembers(given: JsonObject, name: string): Omit<LocalLinkPlan, 'ports'> {
  const { width, speed, ...faulty } = given;
  checkFaults(faulty, name);
  const isCable = Object.keys(faulty).length === 0;
  const link = (isCable ? { kind: 'cable' } : { kind: 'faulty', seed: 1, ...faulty }) as PortLinkOptions;
  return {
    link,
    ...(width === undefined ? {} : { width: width as string }),
    ...(speed === undefined ? {} : { speed: speed as string }),
  };
}

function checkFaults({ faults, schedule, flaps }: JsonObject, name: string): void {
  readObject(faults ?? {}, `${name}: faults`, probabilities);
  for (const [index, entry] of ((schedule ?? []) as unknown[]).entries()) {
    const what = `${name}: schedule entry ${index + 1}`;
    const { fault, direction } = readObject(entry, what, scheduled);
    if (!linkFaults.some((one) => one === fault))
      throw new UsageError(`${what}: fault is ${fault}; it must be ${linkFaults.join(', ')}`);
    if (direction !== 0 && direction !== 1)
      throw new UsageError(`${what}: direction is ${direction}; it must be 0 or 1`);
  }
  for (const [index, entry] of ((flaps ?? []) as unknown[]).entries())
    readObject(entry, `${name}: flap ${index + 1}`, flap);
}

/** Assigns the lowest free port to each end that names a switch without a port. */
export function assignPorts(links: readonly LinkPlan[], switches: readonly SwitchNode[]): LinkPlan[] {
  const taken = new Set(links.flatMap((link) => ('ports' in link ? link.ports : [link.port])));
  const assign = (port: string): string => {
    const node = switches.find(({ name }) => name === port);
    if (node === undefined) return port;
    for (let number = 1; number <= node.ports; number++) {
      const free = `${port}:${number}`;
      if (taken.has(free)) continue;
      taken.add(free);
      return free;
    }
    throw new UsageError(`switch ${port} has ${node.ports} ports, and more links name it; give it more ports`);
  };
  return links.map((link) =>
    'ports' in link ? { ...link, ports: [assign(link.ports[0]), assign(link.ports[1])] } : link,
  );
}
