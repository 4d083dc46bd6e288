// SPDX-License-Identifier: Apache-2.0
/**
 * The functions of a device of a personality. Each is a node of the fabric with a port, keys and
 * queues of its own. They have the PCI slot and the system image GUID in common, so software and
 * management tools see one device. Topologies are made with them: the command line and files name
 * the device.
 */
import { parseGuid, portGuid } from '../fabric/port/port.ts';
import type { AdapterNode, LocalLinkPlan, PersonalityNode } from './fabric-plan.ts';

/** The GUIDs of a function: its node and its port. */
const GUIDS_OF_FUNCTION = 2;

/**
 * The nodes of a device that has two functions with a port each. `node` describes the device: its
 * LIDs are those of the two ports in order, and its name and node GUID those of function 0.
 */
export function makeTwoFunctions(node: PersonalityNode): readonly [PersonalityNode, PersonalityNode] {
  const { name, personality, options } = node;
  const { nodeGuid, portLids, nodeDescription = `vuhca ${personality}` } = options;
  const [, lid] = portLids;
  const second = {
    ...options,
    nodeGuid: Buffer.from(portGuid(parseGuid(nodeGuid), GUIDS_OF_FUNCTION)).toString('hex'),
    systemImageGuid: nodeGuid,
    nodeDescription: functionName(nodeDescription),
    portLids: [lid, lid] as const,
  };
  return [node, { name: functionName(name), personality, functionOf: name, options: second }];
}

/** Name of function 1 of the device `name`. */
export function functionName(name: string): string {
  return `${name}/1`;
}

/** The link between the ports of the functions of each device, unless `taken` has one of them. */
export function joinFunctions(nodes: readonly AdapterNode[], taken: readonly string[]): LocalLinkPlan[] {
  return nodes.flatMap((node) => {
    if (node.functionOf === undefined) return [];
    const ports = [`${node.functionOf}:1`, `${node.name}:1`] as const;
    return ports.some((port) => taken.includes(port)) ? [] : [{ ports, link: node.options.portLink }];
  });
}
