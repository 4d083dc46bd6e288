// SPDX-License-Identifier: Apache-2.0
/**
 * The subnet management agent of a node (IBTA 14.2): checks the management key, and serves the
 * attributes of `responsibilities.ts` by their handlers. Those that describe the node, and the
 * notices for managers that poll, are here. Adapters and switches have the same agent. `Agents`
 * calls it.
 */
import { getLedInfoIsOn, setLedInfoIsOn } from '../../../protocol/infiniband/mad/gen/led-info.gen.ts';
import {
  getMadHeaderAttributeId,
  getMadHeaderAttributeModifier,
  getMadHeaderMethod,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  encodeNodeInfo,
  NODE_INFO_NODE_GUID_OFFSET,
  NODE_INFO_PORT_GUID_OFFSET,
  NODE_INFO_SYSTEM_IMAGE_GUID_OFFSET,
  newNodeInfo,
} from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { getNoticeToggle } from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import { MadMethod, MadStatus, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { type AttributeHandler, type AttributeRequest, DATA, namedPort, subnetData } from './attribute-request.ts';
import { endPortOf, isSwitch, portCount } from './managed-node.ts';
import { passesKey } from './management-key.ts';
import type { NoticeQueue } from './notice-queue.ts';
import { getPortInfo, setPortInfo } from './port-info.ts';
import { linearTableHandler, multicastTableHandler, switchInfoHandler } from './switch-attributes.ts';
import { arbitrationHandler, guidInfoHandler, pkeyTableHandler, serviceLevelHandler } from './table-attributes.ts';

/** Versions of management datagrams and of their class (IBTA 14.2.5.3). */
const VERSION = 1;
const info = newNodeInfo();

/** The handlers of subnet management, by attribute. */
export const subnetHandlers: ReadonlyMap<number, AttributeHandler> = new Map<number, AttributeHandler>([
  [SubnetAttribute.NOTICE, { get: getNotice, set: setNotice }],
  [SubnetAttribute.NODE_DESCRIPTION, { get: getNodeDescription }],
  [SubnetAttribute.NODE_INFO, { get: getNodeInfo }],
  [SubnetAttribute.SWITCH_INFO, switchInfoHandler],
  [SubnetAttribute.GUID_INFO, guidInfoHandler],
  [SubnetAttribute.PORT_INFO, { get: getPortInfo, set: setPortInfo }],
  [SubnetAttribute.P_KEY_TABLE, pkeyTableHandler],
  [SubnetAttribute.SL_TO_VL_TABLE, serviceLevelHandler],
  [SubnetAttribute.VL_ARBITRATION_TABLE, arbitrationHandler],
  [SubnetAttribute.LINEAR_FORWARDING_TABLE, linearTableHandler],
  [SubnetAttribute.MULTICAST_FORWARDING_TABLE, multicastTableHandler],
  [SubnetAttribute.VENDOR_DIAG, { get: getVendorDiag }],
  [SubnetAttribute.LED_INFO, { get: getLedInfo, set: setLedInfo }],
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

function getNodeDescription(request: AttributeRequest): MadStatus {
  if (request.modifier !== 0) return MadStatus.INVALID_VALUE;
  subnetData(request).set(request.node.description);
  return MadStatus.SUCCESS;
}

function getNodeInfo(request: AttributeRequest): MadStatus {
  if (request.modifier !== 0) return MadStatus.INVALID_VALUE;
  const { node, bytes, view, arrivalPort } = request;
  const port = endPortOf(node, arrivalPort);
  info.nodeBaseVersion = VERSION;
  info.nodeClassVersion = VERSION;
  info.nodeType = node.nodeType;
  info.portCount = portCount(node);
  info.partitionCapacity = port.pkeys.length;
  info.deviceId = node.deviceId;
  info.revision = node.revision;
  info.localPort = arrivalPort;
  info.vendorId = node.vendorId;
  subnetData(request).fill(0);
  encodeNodeInfo(view, DATA, info);
  bytes.set(node.systemImageGuid, DATA + NODE_INFO_SYSTEM_IMAGE_GUID_OFFSET);
  bytes.set(node.nodeGuid, DATA + NODE_INFO_NODE_GUID_OFFSET);
  bytes.set(port.guid, DATA + NODE_INFO_PORT_GUID_OFFSET);
  return MadStatus.SUCCESS;
}

/** There are no diagnostics of the vendor. */
function getVendorDiag(request: AttributeRequest): MadStatus {
  if (request.modifier !== 0) return MadStatus.INVALID_VALUE;
  subnetData(request).fill(0);
  return MadStatus.SUCCESS;
}

function getLedInfo(request: AttributeRequest): MadStatus {
  const settings = namedPort(request, request.modifier)?.end?.settings;
  if (settings === undefined) return MadStatus.INVALID_VALUE;
  subnetData(request).fill(0);
  setLedInfoIsOn(request.view, DATA, settings.hasBeacon ? 1 : 0);
  return MadStatus.SUCCESS;
}

function setLedInfo(request: AttributeRequest): MadStatus {
  const settings = namedPort(request, request.modifier)?.end?.settings;
  if (settings === undefined) return MadStatus.INVALID_VALUE;
  settings.hasBeacon = getLedInfoIsOn(request.view, DATA) === 1;
  return MadStatus.SUCCESS;
}

/** The queue of the attribute Notice (IBTA 13.4.8.1, 14.2.5.1). */
function queueOf({ node, arrivalPort, notices }: AttributeRequest): NoticeQueue {
  return notices.of(isSwitch(node) ? 0 : arrivalPort);
}

function getNotice(request: AttributeRequest): MadStatus {
  queueOf(request).write(request.bytes, request.view);
  return MadStatus.SUCCESS;
}

/** A Set with the toggle of the oldest notice clears it. */
function setNotice(request: AttributeRequest): MadStatus {
  queueOf(request).clear(getNoticeToggle(request.view, DATA));
  return MadStatus.SUCCESS;
}
