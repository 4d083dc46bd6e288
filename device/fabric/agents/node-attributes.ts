// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes that describe a node (IBTA 14.2.5.2, 14.2.5.3, 14.2.5.14, 14.2.5.15): NodeDescription,
 * NodeInfo, VendorDiag and LedInfo. The subnet management agent calls the handlers.
 */
import { getLedInfoIsOn, setLedInfoIsOn } from '../../../protocol/infiniband/mad/gen/led-info.gen.ts';
import {
  encodeNodeInfo,
  NODE_INFO_NODE_GUID_OFFSET,
  NODE_INFO_PORT_GUID_OFFSET,
  NODE_INFO_SYSTEM_IMAGE_GUID_OFFSET,
  newNodeInfo,
} from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { MadStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { type AttributeHandler, type AttributeRequest, DATA, namedPort, subnetData } from './attribute-request.ts';
import { endPortOf, portCount } from './managed-node.ts';

const VERSION = 1;
const info = newNodeInfo();

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

export const nodeDescriptionHandler: AttributeHandler = { get: getNodeDescription };
export const nodeInfoHandler: AttributeHandler = { get: getNodeInfo };
export const vendorDiagHandler: AttributeHandler = { get: getVendorDiag };
export const ledInfoHandler: AttributeHandler = { get: getLedInfo, set: setLedInfo };
