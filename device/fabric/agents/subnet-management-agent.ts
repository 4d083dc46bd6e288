// SPDX-License-Identifier: Apache-2.0
/**
 * The subnet management agent of a node (IBTA 14.2): checks the management key, and serves the
 * attributes of `responsibilities.ts` by their handlers. Adapters and switches have the same one.
 * `Agents` calls it.
 */
import {
  getMadHeaderAttributeId,
  getMadHeaderAttributeModifier,
  getMadHeaderMethod,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadMethod, MadStatus, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { AttributeHandler, AttributeRequest } from './attribute-request.ts';
import { endPortOf, isSwitch } from './managed-node.ts';
import { passesKey } from './management-key.ts';
import { ledInfoHandler, nodeDescriptionHandler, nodeInfoHandler, vendorDiagHandler } from './node-attributes.ts';
import { noticeHandler } from './notice-attribute.ts';
import { getPortInfo, setPortInfo } from './port-info.ts';
import { linearTableHandler, multicastTableHandler, switchInfoHandler } from './switch-attributes.ts';
import { arbitrationHandler, guidInfoHandler, pkeyTableHandler, serviceLevelHandler } from './table-attributes.ts';

/** The handlers of subnet management, by attribute. */
export const subnetHandlers: ReadonlyMap<number, AttributeHandler> = new Map<number, AttributeHandler>([
  [SubnetAttribute.NOTICE, noticeHandler],
  [SubnetAttribute.NODE_DESCRIPTION, nodeDescriptionHandler],
  [SubnetAttribute.NODE_INFO, nodeInfoHandler],
  [SubnetAttribute.SWITCH_INFO, switchInfoHandler],
  [SubnetAttribute.GUID_INFO, guidInfoHandler],
  [SubnetAttribute.PORT_INFO, { get: getPortInfo, set: setPortInfo }],
  [SubnetAttribute.P_KEY_TABLE, pkeyTableHandler],
  [SubnetAttribute.SL_TO_VL_TABLE, serviceLevelHandler],
  [SubnetAttribute.VL_ARBITRATION_TABLE, arbitrationHandler],
  [SubnetAttribute.LINEAR_FORWARDING_TABLE, linearTableHandler],
  [SubnetAttribute.MULTICAST_FORWARDING_TABLE, multicastTableHandler],
  [SubnetAttribute.VENDOR_DIAG, vendorDiagHandler],
  [SubnetAttribute.LED_INFO, ledInfoHandler],
]);

/** Serves a Get or a Set with a handler; returns the status. */
export function serveAttribute(handler: AttributeHandler, request: AttributeRequest): MadStatus {
  if (getMadHeaderMethod(request.view, 0) !== MadMethod.SET) return handler.get(request);
  const status = handler.set?.(request) ?? MadStatus.UNSUPPORTED_ATTRIBUTE;
  // The response to a Set holds the attribute as it is now.
  return status === MadStatus.SUCCESS ? handler.get(request) : status;
}

/**
 * The number of a port whose management key a request lacks, or undefined. Requests that concern
 * another port of an adapter need its key, too. SMInfo is protected by the key of the manager.
 */
export function findLockedPort(request: AttributeRequest, nowNs: number): number | undefined {
  const { node, arrivalPort, bytes, view } = request;
  const attribute = getMadHeaderAttributeId(view, 0);
  if (attribute === SubnetAttribute.SM_INFO) return undefined;
  if (!passesKey(endPortOf(node, arrivalPort), bytes, nowNs)) return arrivalPort;
  const other = getMadHeaderAttributeModifier(view, 0);
  const namesOther = attribute === SubnetAttribute.PORT_INFO && other > 0 && other !== arrivalPort;
  if (!namesOther || isSwitch(node) || other > node.ports.length) return undefined;
  return passesKey(endPortOf(node, other), bytes, nowNs) ? undefined : other;
}
