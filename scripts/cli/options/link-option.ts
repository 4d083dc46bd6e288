// SPDX-License-Identifier: Apache-2.0
/**
 * The option `--link`, which `vuhca device` and `vuhca run` share: links of ports to those of other
 * processes (docs/TOPOLOGY.md). topology-links.ts reads the same addresses from files.
 */
import { Option } from 'commander';
import type { SocketLinkPlan } from '../../../device/process/host/topology.ts';
import { LONE_NAME } from '../../../device/topology/lone-fabric.ts';
import { PORT_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  ADDRESS_SYNTAX,
  findEndpointError,
  type LinkEndpoint,
  parseEndpoint,
} from '../../../protocol/system/socket-address.ts';
import { UsageError } from './usage-error.ts';

/** The options that a link depends on. */
interface LinkArguments {
  readonly link?: readonly string[];
  readonly ports: number;
  readonly fault?: string;
  readonly record?: string;
}

const LINK_SYNTAX = `PORT=listen:ADDRESS or PORT=connect:ADDRESS, where an address is ${ADDRESS_SYNTAX}`;
const LINK_PATTERN = /^([1-4])=(listen|connect):(.+)$/;

export function linkOption(): Option {
  return new Option(
    '--link <LINK>',
    `Links a port to one of another process: ${LINK_SYNTAX}; LIDs and node GUIDs of the two must differ. May be given for each port`,
  ).argParser((text, before: readonly string[] = []) => {
    splitLink(text);
    return [...before, text];
  });
}

/**
 * The links to other processes. `portNames`: those of the device, in order; of an adapter of one
 * node when absent. Throws UsageError.
 */
export function readLinks(
  { link = [], ports, record, fault }: LinkArguments,
  portNames: readonly string[] = Array.from({ length: ports }, (_, index) => `${LONE_NAME}:${index + 1}`),
): SocketLinkPlan[] {
  const links = link.map((text): SocketLinkPlan => {
    const { number, ...plan } = splitLink(text);
    if (number > ports)
      throw new UsageError(`option --link is ${text}; it must be ${LINK_SYNTAX}, with a port up to ${ports} (--ports)`);
    return { port: portNames[number - 1], ...plan };
  });
  const again = links.find(({ port }, index) => links.findIndex((one) => one.port === port) < index);
  if (again !== undefined)
    throw new UsageError(`option --link names port ${portNames.indexOf(again.port) + 1} twice; a port has one link`);
  if (links.length > 0 && fault !== undefined)
    throw new UsageError('option --fault cannot be given with --link: it is about the link between the two ports');
  if (links.length > 0 && record !== undefined)
    throw new UsageError(
      'option --record cannot be given with --link: a recording would miss what comes in by the link',
    );
  return links;
}

/** Port, role and endpoint of a link. Throws UsageError. */
function splitLink(text: string): { number: number; role: 'listen' | 'connect'; endpoint: LinkEndpoint } {
  const [, digits, word, address = ''] = LINK_PATTERN.exec(text) ?? [];
  const role = word as 'listen' | 'connect';
  const endpoint = word === undefined ? undefined : parseEndpoint(address);
  if (endpoint === undefined)
    throw new UsageError(`option --link is ${text}; it must be ${LINK_SYNTAX}, with port 1 to ${PORT_MAX}`);
  const error = findEndpointError(role, endpoint);
  if (error !== undefined) throw new UsageError(`option --link is ${text}, but ${error}`);
  return { number: Number(digits), role, endpoint };
}
