// SPDX-License-Identifier: Apache-2.0
/**
 * The links to other processes that the options of a command describe (link-option.ts).
 * topology-links.ts reads those of files. Called by `vuhca device`, and by `vuhca run` to find
 * mistakes before anything starts.
 */
import type { SocketLinkPlan } from '../../../device/process/host/topology.ts';
import { LONE_NAME } from '../../../device/topology/lone-fabric.ts';
import { findEndpointError, takesKey } from '../../../protocol/system/socket-address.ts';
import { readFaults } from './adapter-arguments.ts';
import { readLinkKey } from './link-key-file.ts';
import { KEY_NAME, LINK_SYNTAX, splitLink } from './link-option.ts';
import { UsageError } from './usage-error.ts';

/** The options that a link depends on. */
interface LinkArguments {
  readonly link?: readonly string[];
  readonly linkKey?: string;
  readonly ports: number;
  readonly fault?: string;
}

/**
 * The links to other processes. `portNames`: those of the device, in order; of an adapter of one
 * node when absent. Throws UsageError.
 */
export function readLinks(
  { link = [], linkKey, ports, fault }: LinkArguments,
  portNames: readonly string[] = Array.from({ length: ports }, (_, index) => `${LONE_NAME}:${index + 1}`),
): SocketLinkPlan[] {
  const links = link.map((text): SocketLinkPlan => {
    const { number, ...plan } = splitLink(text);
    const error = findEndpointError(plan.role, plan.endpoint, linkKey !== undefined, KEY_NAME);
    if (error !== undefined) throw new UsageError(`option --link is ${text}, but ${error}`);
    if (number > ports)
      throw new UsageError(`option --link is ${text}; it must be ${LINK_SYNTAX}, with a port up to ${ports} (--ports)`);
    return { port: portNames[number - 1], ...plan };
  });
  if (linkKey !== undefined && !links.some(({ endpoint }) => takesKey(endpoint)))
    throw new UsageError('option --link-key needs a --link at a tcp:// address; give one, or leave out the key');
  const again = links.find(({ port }, index) => links.findIndex((one) => one.port === port) < index);
  if (again !== undefined)
    throw new UsageError(`option --link names port ${portNames.indexOf(again.port) + 1} twice; a port has one link`);
  const key = linkKey === undefined ? undefined : readLinkKey('option --link-key', linkKey);
  const outgoing = fault === undefined ? {} : { link: { outgoing: readFaults(fault) } };
  return links.map((plan) => ({
    ...plan,
    ...outgoing,
    ...(key !== undefined && takesKey(plan.endpoint) ? { key } : {}),
  }));
}
