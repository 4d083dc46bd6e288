// SPDX-License-Identifier: Apache-2.0
/**
 * The attribute PortInfo of a node (IBTA 14.2.5.6): read from the ends of its links and paths, and
 * written to them. A request with one illegal value changes nothing: there is a rule for each
 * component that has illegal values. The subnet management agent calls it.
 */
import { GID_SIZE, isUnicastLid } from '../../../protocol/infiniband/addresses.ts';
import { MAD_HEADER_METHOD_OFFSET } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  decodePortInfo,
  encodePortInfo,
  newPortInfo,
  PORT_INFO_GID_PREFIX_OFFSET,
  PORT_INFO_M_KEY_OFFSET,
  type PortInfo,
} from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { MadMethod, MadStatus, PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { type EndPort, PortChange, setSubnetPrefix } from '../port/end-port.ts';
import type { LinkEnd } from '../port/link.ts';
import { VL_ARBITRATION_ENTRIES } from '../port/link-settings.ts';
import { VLS_OF_CODE } from '../port/transmit-queues.ts';
import { type AttributeRequest, DATA, type NamedPort, namedPort } from './attribute-request.ts';
import { isKeyHidden } from './management-key.ts';

const KEY_BYTES = 8;
const COUNTER_MAX = 0xffff;
const ROUND_TRIP_UNKNOWN = 0xffffff;
/** Values that stand for all that is supported, and for what is set already. */
const ALL_WIDTHS = 255;
const ALL_SPEEDS = 15;
const NO_CHANGE = 0;

const none = newPortInfo();
const found = newPortInfo();
const asked = newPortInfo();

export function getPortInfo(request: AttributeRequest): MadStatus {
  const port = namedPort(request, request.modifier);
  if (port === undefined) return MadStatus.INVALID_VALUE;
  writePortInfo(request, port);
  return MadStatus.SUCCESS;
}

export function setPortInfo(request: AttributeRequest): MadStatus {
  const port = namedPort(request, request.modifier);
  if (port === undefined) return MadStatus.INVALID_VALUE;
  decodePortInfo(request.view, DATA, asked);
  if (!isPortInfoLegal(asked, port)) return MadStatus.INVALID_VALUE;
  const { endPort, end } = port;
  if (endPort !== undefined) setAddresses(endPort, request, asked);
  if (end !== undefined) setLink(end, asked);
  return MadStatus.SUCCESS;
}

/** Code of the number of data VLs. */
function vlCode(vls: number): number {
  return VLS_OF_CODE.indexOf(vls);
}

function writePortInfo(request: AttributeRequest, { end, endPort }: NamedPort): void {
  Object.assign(found, none);
  // The end of the first link stands for port 0 of a switch, which has no link.
  describeLink(found, end ?? request.node.ports[0]);
  if (end === undefined) {
    found.portState = PortState.ACTIVE;
    found.portPhysicalState = PortPhysicalState.LINK_UP;
  }
  if (endPort !== undefined) describeAddresses(found, endPort);
  // The response to a Set repeats the bit (o14-12.2.1); it is never read.
  const isSet = request.bytes[MAD_HEADER_METHOD_OFFSET] === MadMethod.SET;
  found.clientReregister = isSet && endPort !== undefined ? asked.clientReregister : 0;
  found.localPort = request.arrivalPort;
  found.linkRoundTrip = ROUND_TRIP_UNKNOWN;
  encodePortInfo(request.view, DATA, found);
  if (endPort === undefined) return;
  request.bytes.set(endPort.subnetPrefix, DATA + PORT_INFO_GID_PREFIX_OFFSET);
  if (!isKeyHidden(endPort, request.bytes)) request.bytes.set(endPort.subnet.mKey, DATA + PORT_INFO_M_KEY_OFFSET);
}

function describeLink(info: PortInfo, end: LinkEnd): void {
  const { settings, transmitQueues } = end;
  info.portState = end.state;
  info.portPhysicalState = end.physicalState;
  info.linkWidthSupported = settings.linkWidthSupported;
  info.linkWidthEnabled = settings.linkWidthEnabled;
  info.linkWidthActive = settings.linkWidthActive;
  info.linkSpeedSupported = settings.linkSpeedSupported;
  info.linkSpeedEnabled = settings.linkSpeedEnabled;
  info.linkSpeedActive = settings.linkSpeedActive;
  info.linkDownDefaultState = settings.linkDownDefaultState;
  info.neighborMtu = end.activeMtuCode;
  info.mtuCapability = end.maxMtuCode;
  info.vlCapability = vlCode(transmitQueues.rings.length);
  info.operationalVls = vlCode(transmitQueues.operationalVls);
  info.vlHighLimit = transmitQueues.arbiter.highLimit;
  info.vlArbitrationHighCapacity = VL_ARBITRATION_ENTRIES;
  info.vlArbitrationLowCapacity = VL_ARBITRATION_ENTRIES;
  info.vlStallCount = settings.vlStallCount;
  info.headOfQueueLife = settings.headOfQueueLife;
  info.partitionEnforcementInbound = settings.isInboundEnforced ? 1 : 0;
  info.partitionEnforcementOutbound = settings.isOutboundEnforced ? 1 : 0;
  info.filterRawInbound = settings.isRawInboundFiltered ? 1 : 0;
  info.filterRawOutbound = settings.isRawOutboundFiltered ? 1 : 0;
  info.localPhysicalErrors = settings.localPhysicalErrors;
  info.overrunErrors = settings.overrunErrors;
}

function describeAddresses(info: PortInfo, port: EndPort): void {
  const { subnet } = port;
  info.lid = port.lid;
  info.lmc = port.lmc;
  info.masterSmLid = port.smLid;
  info.masterSmSl = subnet.masterSmSl;
  info.capabilityMask = subnet.capabilityMask;
  info.diagCode = subnet.diagCode;
  info.mKeyLease = subnet.mKeyLease;
  info.mKeyProtect = subnet.mKeyProtect;
  info.mKeyViolations = Math.min(subnet.mKeyViolations, COUNTER_MAX);
  info.pKeyViolations = Math.min(port.badPkeys, COUNTER_MAX);
  info.qKeyViolations = Math.min(port.badQkeys, COUNTER_MAX);
  info.guidCapacity = port.gids.length / GID_SIZE;
  info.multicastPkeyTrapSuppression = subnet.multicastPkeyTrapSuppression;
  info.subnetTimeout = subnet.subnetTimeout;
  info.responseTime = subnet.responseTime;
  info.initType = subnet.initType;
  info.initTypeReply = subnet.initTypeReply;
}

/** Software hears of addresses first, then of the manager, and of the state of the port last. */
function setAddresses(port: EndPort, { bytes }: AttributeRequest, info: Readonly<PortInfo>): void {
  setKeys(port, bytes, info);
  const prefix = bytes.subarray(DATA + PORT_INFO_GID_PREFIX_OFFSET, DATA + PORT_INFO_GID_PREFIX_OFFSET + KEY_BYTES);
  if (prefix.some((byte, at) => byte !== port.subnetPrefix[at])) setSubnetPrefix(port, prefix);
  const hasMoved = info.lid !== port.lid || info.lmc !== port.lmc;
  port.lid = info.lid;
  port.lmc = info.lmc;
  const hasOtherManager = info.masterSmLid !== port.smLid || info.masterSmSl !== port.subnet.masterSmSl;
  port.smLid = info.masterSmLid;
  port.subnet.masterSmSl = info.masterSmSl;
  if (hasMoved) port.onChange?.(port, PortChange.LID);
  if (hasOtherManager) port.onChange?.(port, PortChange.SM);
  if (info.clientReregister === 1) port.onChange?.(port, PortChange.CLIENT_REREGISTER);
}

function setKeys(port: EndPort, bytes: Uint8Array, info: Readonly<PortInfo>): void {
  const { subnet } = port;
  const key = DATA + PORT_INFO_M_KEY_OFFSET;
  subnet.mKey.set(bytes.subarray(key, key + KEY_BYTES));
  subnet.mKeyProtect = info.mKeyProtect;
  subnet.mKeyLease = info.mKeyLease;
  subnet.leaseEndNs = Number.POSITIVE_INFINITY;
  subnet.subnetTimeout = info.subnetTimeout;
  subnet.multicastPkeyTrapSuppression = info.multicastPkeyTrapSuppression;
  // Counters of violations are cleared by 0; other values leave them.
  if (info.mKeyViolations === 0) subnet.mKeyViolations = 0;
  if (info.pKeyViolations === 0) port.badPkeys = 0;
  if (info.qKeyViolations === 0) port.badQkeys = 0;
}

function setLink(end: LinkEnd, info: Readonly<PortInfo>): void {
  const { settings, transmitQueues } = end;
  settings.linkWidthEnabled = enabled(
    info.linkWidthEnabled,
    ALL_WIDTHS,
    settings.linkWidthSupported,
    settings.linkWidthEnabled,
  );
  settings.linkSpeedEnabled = enabled(
    info.linkSpeedEnabled,
    ALL_SPEEDS,
    settings.linkSpeedSupported,
    settings.linkSpeedEnabled,
  );
  if (info.linkDownDefaultState !== 0) settings.linkDownDefaultState = info.linkDownDefaultState as PortPhysicalState;
  end.activeMtuCode = info.neighborMtu;
  transmitQueues.arbiter.setHighLimit(info.vlHighLimit);
  if (info.operationalVls !== 0) transmitQueues.operationalVls = VLS_OF_CODE[info.operationalVls];
  settings.vlStallCount = info.vlStallCount;
  settings.headOfQueueLife = info.headOfQueueLife;
  settings.isInboundEnforced = info.partitionEnforcementInbound === 1;
  settings.isOutboundEnforced = info.partitionEnforcementOutbound === 1;
  settings.isRawInboundFiltered = info.filterRawInbound === 1;
  settings.isRawOutboundFiltered = info.filterRawOutbound === 1;
  settings.localPhysicalErrors = info.localPhysicalErrors;
  settings.overrunErrors = info.overrunErrors;
  setState(end, info);
}

/** 0 changes nothing, and all ones stand for what is supported. */
function enabled(value: number, all: number, supported: number, current: number): number {
  if (value === NO_CHANGE) return current;
  return value === all ? supported : value;
}

function setState(end: LinkEnd, info: Readonly<PortInfo>): void {
  const physical = info.portPhysicalState as PortPhysicalState;
  if (physical !== PortPhysicalState.NO_CHANGE) end.restart(physical);
  else if (info.portState === PortState.DOWN) end.restart(end.settings.linkDownDefaultState);
  else if (info.portState !== NO_CHANGE) end.setState(info.portState as PortState);
}

/** True when a manager may set all components of `info` at the port. */
function isPortInfoLegal(info: Readonly<PortInfo>, { end, endPort }: NamedPort): boolean {
  if (endPort !== undefined && !addressRules.every((rule) => rule(info, endPort))) return false;
  if (end !== undefined) return linkRules.every((rule) => rule(info, end));
  return isStateOfPortZeroLegal(info);
}

const addressRules: readonly ((info: Readonly<PortInfo>, port: EndPort) => boolean)[] = [
  // A port without a LID may stay so.
  ({ lid }, port) => isUnicastLid(lid) || lid === port.lid,
  ({ masterSmLid }, port) => isUnicastLid(masterSmLid) || masterSmLid === port.smLid,
  // The base LID has zeros where the path bits are.
  ({ lid, lmc }) => (lid & ((1 << lmc) - 1)) === 0,
];

const linkRules: readonly ((info: Readonly<PortInfo>, end: LinkEnd) => boolean)[] = [
  ({ linkWidthEnabled }, end) => isSubset(linkWidthEnabled, ALL_WIDTHS, end.settings.linkWidthSupported),
  ({ linkSpeedEnabled }, end) => isSubset(linkSpeedEnabled, ALL_SPEEDS, end.settings.linkSpeedSupported),
  ({ linkDownDefaultState }) => linkDownDefaultState <= PortPhysicalState.POLLING,
  ({ neighborMtu }, end) => neighborMtu > 0 && neighborMtu <= end.maxMtuCode,
  ({ operationalVls }, { transmitQueues }) => operationalVls <= VLS_OF_CODE.indexOf(transmitQueues.rings.length),
  // The physical state can be set when the link is to go down, or is down.
  ({ portPhysicalState, portState }) =>
    portPhysicalState === PortPhysicalState.NO_CHANGE ||
    (portPhysicalState <= PortPhysicalState.DISABLED && portState <= PortState.DOWN),
  ({ portState }, end) => portState === NO_CHANGE || end.allows(portState as PortState),
];

/** Port 0 is always active: it can be armed and activated, which changes nothing. */
function isStateOfPortZeroLegal({ portState, portPhysicalState }: Readonly<PortInfo>): boolean {
  return (
    portPhysicalState === PortPhysicalState.NO_CHANGE &&
    (portState === NO_CHANGE || portState === PortState.ARMED || portState === PortState.ACTIVE)
  );
}

function isSubset(value: number, all: number, supported: number): boolean {
  return value === all || (value & ~supported) === 0;
}
