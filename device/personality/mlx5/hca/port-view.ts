// SPDX-License-Identifier: Apache-2.0
/**
 * A port as the commands of virtual ports show it (QUERY_HCA_VPORT_CONTEXT). The function has no
 * virtual ports beside its own ports, so that is the state of the port itself, with the components
 * that PortInfo has (IBTA 14.2.5.6).
 */
import {
  encodeHcaVportContext,
  HCA_VPORT_CONTEXT_NODE_GUID_OFFSET,
  HCA_VPORT_CONTEXT_PORT_GUID_OFFSET,
  HCA_VPORT_CONTEXT_SYSTEM_IMAGE_GUID_OFFSET,
  type HcaVportContext,
  newHcaVportContext,
} from '../../../../protocol/mlx5/gen/hca-vport-context.gen.ts';
import { VportStatePolicy } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { ManagedNode } from '../../../fabric/agents/managed-node.ts';
import { SOFTWARE_CAPABILITIES } from '../../../fabric/port/end-port.ts';
import type { Port } from '../../../fabric/port/port.ts';

/** Counters of violations stay at their largest value. */
const COUNTER_MAX = 0xffff;

/** Writes the context of `port` to `at` of `bytes`, which are zeros there. */
export function describePort(port: Port, node: ManagedNode, bytes: Uint8Array, at: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  encodeHcaVportContext(view, at, contextOf(port));
  bytes.set(node.systemImageGuid, at + HCA_VPORT_CONTEXT_SYSTEM_IMAGE_GUID_OFFSET);
  bytes.set(port.guid, at + HCA_VPORT_CONTEXT_PORT_GUID_OFFSET);
  bytes.set(node.nodeGuid, at + HCA_VPORT_CONTEXT_NODE_GUID_OFFSET);
}

/** The context without its GUIDs. */
function contextOf(port: Port): HcaVportContext {
  const { subnet } = port;
  return {
    ...newHcaVportContext(),
    hasSmi: 1,
    portPhysicalState: port.physicalState,
    vportStatePolicy: VportStatePolicy.FOLLOW,
    portState: port.state,
    vportState: port.state,
    capMask1: subnet.capabilityMask,
    capMask1FieldSelect: SOFTWARE_CAPABILITIES,
    lid: port.lid,
    lmc: port.lmc,
    smLid: port.smLid,
    smSl: subnet.masterSmSl,
    initTypeReply: subnet.initTypeReply,
    subnetTimeout: subnet.subnetTimeout,
    pkeyViolationCounter: Math.min(port.badPkeys, COUNTER_MAX),
    qkeyViolationCounter: Math.min(port.badQkeys, COUNTER_MAX),
  };
}
