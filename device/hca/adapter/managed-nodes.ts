// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter as managed nodes (IBTA chapters 13, 14 and 16): their agents answer with no driver
 * loaded, and what they leave to software goes to QP0 and QP1 of the port. An adapter has one such
 * node, or one for each function; `PortLinks` runs them.
 */

import { NodeType, TrapNumber } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MadInterface } from '../../fabric/agents/mad-interface.ts';
import type { MadPort } from '../../fabric/agents/mad-port.ts';
import { type ManagedNode, nodeDescription } from '../../fabric/agents/managed-node.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { AdapterClock } from '../../host.ts';
import type { ChannelAdapter } from '../management/managed-adapter.ts';
import type { SpecialQueuePairs } from '../queues/special-queue-pairs.ts';
import type { MadReceiver } from '../transport/engine/mad-receiver.ts';
import type { ChannelIdentity, PortModel } from './port-model.ts';

/** OUI of the GUIDs. */
const VENDOR_ID = 0x005655;

/** Units that the nodes use. */
export interface NodeParts {
  readonly clock: AdapterClock;
  readonly receiver: MadReceiver;
  readonly special: SpecialQueuePairs;
}

/** Makes the MAD interface of each channel adapter, with doors to QP0 and QP1 of each port. */
export function createChannels({ channels }: PortModel, parts: NodeParts): readonly ChannelAdapter[] {
  const made = channels.map((channel) => ({ ...channel, mads: createNode(channel, parts.clock) }));
  openDoors(made, parts);
  return made;
}

/**
 * Connects the ports of each node to its MAD interface. The interface gets the datagrams that
 * arrive; those that it leaves to software go to QP0 or QP1 of the port. Errors of a port raise
 * traps.
 */
export function openDoors(
  nodes: readonly { readonly ports: readonly Port[]; readonly mads: MadInterface }[],
  { receiver, special }: Omit<NodeParts, 'clock'>,
): void {
  const doors: { readonly port: Port; readonly door: MadPort }[] = [];
  for (const { ports, mads } of nodes) {
    for (const port of ports) {
      doors[port.index] = { port, door: mads.openPort(port.number) };
      receiver.interfaces[port.index] = mads;
    }
    raisePortTraps(ports, mads);
  }
  special.onChange = (portIndex) => {
    const { port, door } = doors[portIndex];
    door.onMad = special.has(portIndex) ? (address, mad) => receiver.deliver(port, address, mad) : undefined;
  };
}

function createNode(
  { nodeGuid, systemImageGuid, description, deviceId, ports }: ChannelIdentity,
  clock: AdapterClock,
): MadInterface {
  const node: ManagedNode = {
    nodeType: NodeType.CHANNEL_ADAPTER,
    nodeGuid,
    systemImageGuid,
    description: nodeDescription(description),
    vendorId: VENDOR_ID,
    deviceId,
    revision: 0,
    ports,
    endPorts: ports,
  };
  return new MadInterface(node, clock);
}

/** Has errors that ports find in packets raise traps of the node (IBTA 14.3.8, 14.3.9). */
export function raisePortTraps(ports: readonly Port[], { traps }: MadInterface): void {
  for (const port of ports) {
    port.onKeyViolation = (_port, isQueueKey, violation) =>
      traps.raiseKeyViolation(isQueueKey ? TrapNumber.BAD_Q_KEY : TrapNumber.BAD_P_KEY, port.number, violation);
    port.onLinkError = (_, trap) => traps.raisePortError(trap, port.number);
  }
}
