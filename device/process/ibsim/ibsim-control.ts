// SPDX-License-Identifier: Apache-2.0
/**
 * The control messages of ibsim's protocol, without sockets: what a client may ask about its port,
 * and the answers, written over the request as the client expects. `ibsim-server.ts` calls it.
 */

import {
  IBSIM_CLIENT_HOST_BYTES,
  IBSIM_CLIENT_HOST_OFFSET,
  setIbsimClientId,
} from '../../../protocol/infiniband/gen/ibsim-client.gen.ts';
import {
  getIbsimControlMagic,
  getIbsimControlType,
  IBSIM_CONTROL_DATA_BYTES,
  IBSIM_CONTROL_DATA_OFFSET,
  IBSIM_CONTROL_SIZE,
} from '../../../protocol/infiniband/gen/ibsim-control.gen.ts';
import { encodeIbsimPort } from '../../../protocol/infiniband/gen/ibsim-port.gen.ts';
import { encodeIbsimVendor } from '../../../protocol/infiniband/gen/ibsim-vendor.gen.ts';
import { IbsimType } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  getNodeInfoDeviceId,
  getNodeInfoRevision,
  getNodeInfoVendorId,
  NODE_INFO_NODE_GUID_OFFSET,
} from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { getPortInfoLid, getPortInfoPortState } from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import type { SoftwareHost } from './software-host.ts';

/** The data of a control message; that of CONNECT is an `ibsim-client`. */
export const CONTROL_DATA_OFFSET = IBSIM_CONTROL_DATA_OFFSET;
const MAGIC = 0xdeadbeef;
const GUID_BYTES = 8;
const PREFIX_OFFSET = 8;

/** The client as its control messages see it. */
interface ControlledClient {
  readonly host: SoftwareHost;
  setManager(isManager: boolean): void;
}

/** True for a message of the protocol. */
export function isControl(message: Uint8Array): boolean {
  return message.length === IBSIM_CONTROL_SIZE && getIbsimControlMagic(viewOf(message), 0) === MAGIC;
}

/** Name of the host that a CONNECT asks for; '' for any. */
export function readHostName(message: Uint8Array): string {
  const start = CONTROL_DATA_OFFSET + IBSIM_CLIENT_HOST_OFFSET;
  const bytes = message.subarray(start, start + IBSIM_CLIENT_HOST_BYTES);
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.subarray(0, end < 0 ? bytes.length : end)).toString('utf8');
}

/** Writes the answer to a CONNECT: the number of the client and the name of its host. */
export function writeConnected(message: Uint8Array, client: number, hostName: string): void {
  setIbsimClientId(viewOf(message), CONTROL_DATA_OFFSET, client);
  const start = CONTROL_DATA_OFFSET + IBSIM_CLIENT_HOST_OFFSET;
  const bytes = message.subarray(start, start + IBSIM_CLIENT_HOST_BYTES);
  bytes.fill(0);
  new TextEncoder().encodeInto(hostName, bytes.subarray(0, -1));
}

/** Performs any other request and writes the answer over it. Returns false when it is refused. */
export function answerControl(message: Uint8Array, client: ControlledClient): boolean {
  const view = viewOf(message);
  const data = message.subarray(CONTROL_DATA_OFFSET, CONTROL_DATA_OFFSET + IBSIM_CONTROL_DATA_BYTES);
  const [portNumber] = data;
  const { host } = client;
  switch (getIbsimControlType(view, 0)) {
    case IbsimType.GET_NODE_INFO:
      host.writeNodeInfo(data);
      return true;
    case IbsimType.GET_PORT_INFO:
      host.writePortInfo(data, portNumber);
      return true;
    case IbsimType.GET_P_KEYS:
      host.writePKeys(data);
      return true;
    case IbsimType.SET_MANAGER:
      client.setManager(view.getUint32(CONTROL_DATA_OFFSET, true) !== 0);
      return true;
    default:
      return answerFromAttributes(getIbsimControlType(view, 0), view, data, host);
  }
}

/** Requests whose answers are parts of NodeInfo and PortInfo. */
function answerFromAttributes(type: number, view: DataView, data: Uint8Array, host: SoftwareHost): boolean {
  const nodeInfo = new Uint8Array(IBSIM_CONTROL_DATA_BYTES);
  const portInfo = new Uint8Array(IBSIM_CONTROL_DATA_BYTES);
  host.writeNodeInfo(nodeInfo);
  host.writePortInfo(portInfo, 0);
  const node = viewOf(nodeInfo);
  const port = viewOf(portInfo);
  const guid = nodeInfo.subarray(NODE_INFO_NODE_GUID_OFFSET, NODE_INFO_NODE_GUID_OFFSET + GUID_BYTES);
  switch (type) {
    case IbsimType.GET_PORT:
      encodeIbsimPort(view, CONTROL_DATA_OFFSET, {
        lid: getPortInfoLid(port, 0),
        state: getPortInfoPortState(port, 0),
      });
      return true;
    case IbsimType.GET_VENDOR:
      encodeIbsimVendor(view, CONTROL_DATA_OFFSET, {
        vendorId: getNodeInfoVendorId(node, 0),
        deviceId: getNodeInfoDeviceId(node, 0),
        hardwareVersion: getNodeInfoRevision(node, 0),
        firmwareVersionHigh: 0,
        firmwareVersionLow: 1,
      });
      return true;
    case IbsimType.GET_GID:
      data.set(portInfo.subarray(PREFIX_OFFSET, PREFIX_OFFSET + GUID_BYTES));
      data.set(guid, GUID_BYTES);
      return true;
    case IbsimType.GET_GUID:
      data.set(guid);
      return true;
    default:
      return false;
  }
}
