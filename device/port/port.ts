// SPDX-License-Identifier: Apache-2.0
/**
 * An InfiniBand port of the adapter: its addresses, tables, counters and the packets it sends. Packets to one of its own LIDs turn round
 * inside the port; all others leave by the link (IBTA 14.2.5.6 for the attributes).
 */
import { GID_SIZE, isLidOfPort, writeGid } from '../../protocol/infiniband/addresses.ts';
import { DEFAULT_PKEY } from '../../protocol/infiniband/keys.ts';
import { mtuBytes, mtuCode } from '../../protocol/infiniband/mtu.ts';
import { GID_TABLE_ENTRIES, PKEY_TABLE_ENTRIES } from '../../protocol/layout/gen/constants.gen.ts';
import { PortState } from '../../protocol/layout/gen/values.gen.ts';
import { PacketRing } from './packet-ring.ts';

const GUID_BYTES = 8;
const LARGEST_MTU_CODE = mtuCode(4096);
/** fe80::/64, the default subnet prefix (IBTA 4.1.1). */
const DEFAULT_PREFIX = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0);

/** Sees every packet at a port, for captures. Must not change anything. */
export type PacketObserver = (
  port: Port,
  outgoing: boolean,
  bytes: Uint8Array,
  offset: number,
  lengthBytes: number,
) => void;

export class Port {
  /** From 1. */
  readonly number: number;
  readonly guid: Uint8Array;
  readonly subnetPrefix = DEFAULT_PREFIX.slice();
  lid: number;
  lmc = 0;
  smLid = 0;
  state: PortState = PortState.ACTIVE;
  readonly maxMtuCode = LARGEST_MTU_CODE;
  activeMtuCode = LARGEST_MTU_CODE;
  readonly pkeys = new Uint16Array(PKEY_TABLE_ENTRIES);
  /** GIDs one behind the other; entry 0 is subnet prefix and GUID. */
  readonly gids = new Uint8Array(GID_TABLE_ENTRIES * GID_SIZE);
  transmitPackets = 0;
  /** Packets sent that went nowhere, as the port was not active. */
  transmitDiscards = 0;
  receivePackets = 0;
  receiveDrops = 0;
  badPkeys = 0;
  badQkeys = 0;
  /** What the port has sent: to itself, and to the other end of its link. */
  readonly loopback: PacketRing;
  readonly outgoing: PacketRing;
  /** The other end of the link. */
  peer: Port | undefined = undefined;
  observer: PacketObserver | undefined = undefined;
  /** Packets that go nowhere are built here. */
  readonly #nowhere = new PacketRing(1);

  constructor(number: number, guid: Uint8Array, lid: number, queuePackets: number) {
    this.number = number;
    this.guid = guid;
    this.lid = lid;
    this.loopback = new PacketRing(queuePackets);
    this.outgoing = new PacketRing(queuePackets);
    this.pkeys[0] = DEFAULT_PKEY;
    writeGid(this.gids, 0, this.subnetPrefix, guid);
  }

  get mtuBytes(): number {
    return mtuBytes(this.activeMtuCode);
  }

  get active(): boolean {
    return this.state === PortState.ACTIVE;
  }

  /** The ring a packet to `dlid` is built in. A port that is not active sends no data packets (IBTA 7.2.7): they go nowhere. */
  ringFor(dlid: number): PacketRing {
    if (!this.active) return this.#nowhere;
    return isLidOfPort(dlid, this.lid, this.lmc) ? this.loopback : this.outgoing;
  }

  /** No packet can be sent now, whatever its destination. */
  get congested(): boolean {
    return this.loopback.full || this.outgoing.full;
  }

  /** The packet built at the ring's write offset is complete. */
  transmit(ring: PacketRing, lengthBytes: number): void {
    if (ring === this.#nowhere) {
      this.transmitDiscards++;
      return;
    }
    this.transmitPackets++;
    this.observer?.(this, true, ring.bytes, ring.writeOffset, lengthBytes);
    ring.push(lengthBytes);
  }
}

/** GUID of a port: the node's, plus the port number. */
export function portGuid(nodeGuid: Uint8Array, portNumber: number): Uint8Array {
  const guid = nodeGuid.slice();
  const view = new DataView(guid.buffer);
  view.setUint32(GUID_BYTES - 4, view.getUint32(GUID_BYTES - 4) + portNumber);
  return guid;
}

/** Bytes of an EUI-64 given as 16 hex digits. */
export function parseGuid(hex: string): Uint8Array {
  return Uint8Array.from({ length: GUID_BYTES }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
