// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters that answer no request of a sweep although their links stand: on a busy machine the
 * software of a guest, which answers for QP0 of a stock driver, may take seconds. A link that is
 * still ACTIVE has not gone down since the manager made it so (IBTA 14.4.4): what was behind it is
 * still there, and keeps its routes and its LID. `discover` calls it; the next sweep asks again.
 */
import { PortState } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { join, type Subnet, SubnetNode, SubnetPort } from '../subnet.ts';

/** Takes silent ports of adapters over from the last sweep, with all that was known of them. */
export function keepSilentPorts(before: Subnet, subnet: Subnet): void {
  for (const node of subnet.switches) {
    for (const port of node.knownPorts) {
      const known = before.nodes.get(node.guid)?.ports[port.number]?.peer;
      if (known === undefined || known.node.isSwitch || port.state !== PortState.ACTIVE) continue;
      if (port.peer === undefined) revive(subnet, port, known);
      else if (port.peer.state === PortState.NO_CHANGE && port.peer.guid === known.guid) restore(port.peer, known);
    }
  }
}

/** Puts a port that did not answer behind `from`. */
function revive(subnet: Subnet, from: SubnetPort, known: SubnetPort): void {
  const { guid, type, portCount, nodeInfo, description } = known.node;
  let node = subnet.nodes.get(guid);
  if (node?.ports[known.number] !== undefined) return;
  if (node === undefined) {
    node = new SubnetNode(guid, type, portCount, nodeInfo);
    node.description = description;
    subnet.nodes.set(guid, node);
  }
  const port = new SubnetPort(node, known.number, known.guid, [...from.path, from.number]);
  node.ports[known.number] = port;
  restore(port, known);
  join(from, port);
}

/** Everything that was read from the port or written to it. */
function restore(port: SubnetPort, known: SubnetPort): void {
  port.isSilent = true;
  port.info.set(known.info);
  for (const table of ['pKeys', 'guids', 'laneMaps', 'arbitration'] as const)
    for (const [number, block] of known[table]) port[table].set(number, block);
}
