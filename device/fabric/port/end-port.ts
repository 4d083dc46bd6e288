// SPDX-License-Identifier: Apache-2.0
/**
 * A port at which paths end: each port of a channel adapter, and port 0 of a switch (IBTA
 * 14.2.5.6). It has LIDs, GIDs, partition keys and a management key. The agents of a node read and
 * set it; the owner of the port hears of changes by `onChange`.
 */
import { GID_SIZE, gidsEqual, writeGid } from '../../../protocol/infiniband/addresses.ts';
import { PortCapability } from '../../../protocol/infiniband/mad/gen/values.gen.ts';

const GUID_BYTES = 8;

/** The bits of the capability mask that stand for software of the host. */
export const SOFTWARE_CAPABILITIES =
  PortCapability.IS_SM |
  PortCapability.COMMUNICATION |
  PortCapability.SNMP_TUNNELING |
  PortCapability.DEVICE_MANAGEMENT |
  PortCapability.VENDOR_CLASS;

/** A change of a subnet manager at a port; software hears of it by an event (IBTA 11.6.3). */
export const PortChange = { LID: 0, SM: 1, PKEY: 2, GID: 3, CLIENT_REREGISTER: 4 } as const;
export type PortChange = (typeof PortChange)[keyof typeof PortChange];

/** The parts of PortInfo of an end of paths that data packets never need. */
export class SubnetSettings {
  /** The management key; zeros: none. */
  readonly mKey = new Uint8Array(GUID_BYTES);
  mKeyProtect = 0;
  /** Seconds from a violation until the protection ends; 0: never. */
  mKeyLease = 0;
  /** Time at which the lease ends; Infinity while it does not run. */
  leaseEndNs = Number.POSITIVE_INFINITY;
  mKeyViolations = 0;
  masterSmSl = 0;
  /** `PortCapability` bits; software adds those of its own. */
  capabilityMask: number =
    PortCapability.NOTICE |
    PortCapability.TRAP |
    PortCapability.SL_MAPPING |
    PortCapability.LED_INFO |
    PortCapability.SYSTEM_IMAGE_GUID |
    PortCapability.CAPABILITY_MASK_NOTICE |
    PortCapability.CLIENT_REREGISTRATION |
    PortCapability.OTHER_LOCAL_CHANGES_NOTICE;
  /** Codes of times, 4.096 us * 2^n. */
  subnetTimeout = 18;
  responseTime = 16;
  clientReregister = 0;
  multicastPkeyTrapSuppression = 0;
  diagCode = 0;
  initType = 0;
  initTypeReply = 0;
}

/** A port at which paths end. */
export interface EndPort {
  readonly guid: Uint8Array;
  readonly subnetPrefix: Uint8Array;
  /** Base LID; 0 while the port has none. */
  lid: number;
  lmc: number;
  smLid: number;
  readonly pkeys: Uint16Array;
  /** GIDs of 16 bytes; zeros: the entry is free. Entry 0 is prefix and GUID of the port. */
  readonly gids: Uint8Array;
  badPkeys: number;
  badQkeys: number;
  readonly subnet: SubnetSettings;
  /** Called after a subnet manager has changed the port, while the node runs. */
  onChange: ((port: EndPort, change: PortChange) => void) | undefined;
}

/** Port 0 of a switch, or any other end of paths without a link of its own. */
export class PlainEndPort implements EndPort {
  readonly guid: Uint8Array;
  readonly subnetPrefix = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0);
  lid = 0;
  lmc = 0;
  smLid = 0;
  readonly pkeys: Uint16Array;
  readonly gids: Uint8Array;
  badPkeys = 0;
  badQkeys = 0;
  readonly subnet = new SubnetSettings();
  onChange: ((port: EndPort, change: PortChange) => void) | undefined = undefined;

  constructor(guid: Uint8Array, pkeyEntries = 32, gidEntries = 8) {
    this.guid = guid;
    this.pkeys = new Uint16Array(pkeyEntries);
    this.pkeys[0] = 0xffff;
    this.gids = new Uint8Array(gidEntries * GID_SIZE);
    writeGid(this.gids, 0, this.subnetPrefix, guid);
  }
}

/** Sets the subnet prefix of a port, also in those of its GIDs that have the old one. */
export function setSubnetPrefix(port: EndPort, prefix: Uint8Array): void {
  const { gids, subnetPrefix } = port;
  for (let at = 0; at < gids.length; at += GID_SIZE)
    if (hasPrefix(gids, at, subnetPrefix)) gids.set(prefix.subarray(0, GUID_BYTES), at);
  subnetPrefix.set(prefix.subarray(0, GUID_BYTES));
  port.onChange?.(port, PortChange.GID);
}

/**
 * Sets entry `index` of the GUIDs of a port to the 8 bytes at `offset`; zeros free it. The GID is
 * subnet prefix and GUID. Returns true when that changed the entry.
 */
export function setGuid(port: EndPort, index: number, bytes: Uint8Array, offset: number): boolean {
  const gid = new Uint8Array(GID_SIZE);
  const guid = bytes.subarray(offset, offset + GUID_BYTES);
  if (guid.some((byte) => byte !== 0)) writeGid(gid, 0, port.subnetPrefix, guid);
  if (gidsEqual(port.gids, index * GID_SIZE, gid, 0)) return false;
  port.gids.set(gid, index * GID_SIZE);
  return true;
}

function hasPrefix(gids: Uint8Array, at: number, prefix: Uint8Array): boolean {
  for (let index = 0; index < GUID_BYTES; index++) if (gids[at + index] !== prefix[index]) return false;
  return true;
}
