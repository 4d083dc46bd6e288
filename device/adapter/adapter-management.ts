// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter as a managed node (IBTA chapters 13, 14 and 16): its agents answer with no driver
 * loaded, and what they leave to software goes to QP0 and QP1 of the port. The adapter makes one,
 * and `Adapter.run` calls `run`.
 */

import { NodeType, TrapNumber } from '../../protocol/infiniband/mad/gen/values.gen.ts';
import { DEVICE_ID_PF } from '../../protocol/layout/gen/constants.gen.ts';
import { type ManagedNode, nodeDescription } from '../agents/managed-node.ts';
import { ManagementInterface } from '../agents/management-interface.ts';
import type { AdapterClock } from '../host.ts';
import type { Port } from '../port/port.ts';
import type { SpecialQueuePairs } from '../queues/special-queue-pairs.ts';
import type { ManagementReceiver } from '../transport/management-receiver.ts';

/** OUI of the GUIDs. */
const VENDOR_ID = 0x005655;

/** What the node is made of. */
export interface ManagementParts {
  readonly nodeGuid: Uint8Array;
  readonly ports: readonly Port[];
  readonly clock: AdapterClock;
  readonly receiver: ManagementReceiver;
  readonly special: SpecialQueuePairs;
}

/** Makes the management interface of an adapter, with doors to QP0 and QP1 of each port. */
export function createManagement(parts: ManagementParts): ManagementInterface {
  const { nodeGuid, ports, clock, receiver, special } = parts;
  const node: ManagedNode = {
    nodeType: NodeType.CHANNEL_ADAPTER,
    nodeGuid,
    systemImageGuid: nodeGuid,
    description: nodeDescription('vuhca'),
    vendorId: VENDOR_ID,
    deviceId: DEVICE_ID_PF,
    revision: 0,
    ports,
    endPorts: ports,
  };
  const management = new ManagementInterface(node, clock);
  const doors = ports.map((port) => management.openPort(port.number));
  special.onChange = (portNumber) => {
    const port = ports[portNumber - 1];
    const door = doors[portNumber - 1];
    door.onMad = special.has(portNumber) ? (address, mad) => receiver.deliver(port, address, mad) : undefined;
  };
  for (const port of ports) {
    port.onKeyViolation = (_port, isQueueKey, violation) =>
      management.traps.raiseKeyViolation(
        isQueueKey ? TrapNumber.BAD_Q_KEY : TrapNumber.BAD_P_KEY,
        port.number,
        violation,
      );
    port.onErrorThreshold = () => management.traps.raisePortError(TrapNumber.LINK_INTEGRITY, port.number);
  }
  receiver.interface = management;
  return management;
}
