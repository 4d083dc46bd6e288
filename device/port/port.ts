// SPDX-License-Identifier: Apache-2.0
/**
 * An InfiniBand port of the adapter: addresses, tables, counters, and the packets that it sends
 * (IBTA 14.2.5.6 for the attributes; US 8,484,392 par. 27-28). Packets to one of its own LIDs loop
 * back inside the port; all others leave by the link. Transport and send contexts transmit through
 * it.
 */
import { GID_SIZE, gidsEqual, isLidOfPort, writeGid } from '../../protocol/infiniband/addresses.ts';
import { setLrhVirtualLane } from '../../protocol/infiniband/gen/lrh.gen.ts';
import { DEFAULT_PKEY } from '../../protocol/infiniband/keys.ts';
import { mtuBytes, mtuCode } from '../../protocol/infiniband/mtu.ts';
import { resealVcrc } from '../../protocol/infiniband/packet-builder.ts';
import { getVcrc, setVcrc, VCRC_SIZE } from '../../protocol/infiniband/vcrc.ts';
import { GID_TABLE_ENTRIES, PKEY_TABLE_ENTRIES } from '../../protocol/layout/gen/constants.gen.ts';
import { PortState } from '../../protocol/layout/gen/values.gen.ts';
import type { Link } from './link.ts';
import { PacketRing } from './packet-ring.ts';
import { TransmitQueues } from './transmit-queues.ts';

const GUID_BYTES = 8;
const LARGEST_MTU_CODE = mtuCode(4096);
/** fe80::/64, the default subnet prefix (IBTA 4.1.1). */
const DEFAULT_PREFIX = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0);

/** Observes every packet at a port, for captures. It must not change anything. */
export type PacketObserver = (
  port: Port,
  outgoing: boolean,
  bytes: Uint8Array,
  offset: number,
  lengthBytes: number,
) => void;

/** A port with its transmit queues, its loopback ring and its end of a link. */
export class Port {
  /** From 1. */
  readonly number: number;
  readonly guid: Uint8Array;
  readonly subnetPrefix = DEFAULT_PREFIX.slice();
  lid: number;
  lmc = 0;
  smLid = 0;
  state: PortState = PortState.DOWN;
  /** True without a subnet manager: the port becomes active as soon as its link comes up. */
  selfActivating = true;
  readonly maxMtuCode = LARGEST_MTU_CODE;
  activeMtuCode = LARGEST_MTU_CODE;
  readonly pkeys = new Uint16Array(PKEY_TABLE_ENTRIES);
  /**
   * The GID table, entry after entry. Entry 0 is subnet prefix and GUID; software sets the others,
   * zero while unused.
   */
  readonly gids = new Uint8Array(GID_TABLE_ENTRIES * GID_SIZE);
  transmitPackets = 0;
  /**
   * Packets discarded at the port: the link was down, or the service level maps to no data lane.
   */
  transmitDiscards = 0;
  receivePackets = 0;
  receiveDrops = 0;
  badPkeys = 0;
  badQkeys = 0;
  /** Packets sent to the port itself. */
  readonly loopback: PacketRing;
  readonly transmitQueues: TransmitQueues;
  link: Link | undefined = undefined;
  observer: PacketObserver | undefined = undefined;
  /** Called when the state has changed from `previous`, while the adapter runs. */
  onStateChange: ((port: Port, previous: PortState) => void) | undefined = undefined;
  /**
   * Called when a link moved a packet from or to this port while another adapter ran: the adapter
   * of this port must run too.
   */
  onWork: (() => void) | undefined = undefined;
  /** Packets to be discarded are built here. */
  readonly #nowhere = new PacketRing(1);

  /** `dataLanes` is the number of virtual lanes besides VL15, one of `DATA_VL_COUNTS`. */
  constructor(number: number, guid: Uint8Array, lid: number, queuePackets: number, dataLanes = 1) {
    this.number = number;
    this.guid = guid;
    this.lid = lid;
    this.loopback = new PacketRing(queuePackets);
    this.transmitQueues = new TransmitQueues(dataLanes, queuePackets);
    this.pkeys[0] = DEFAULT_PKEY;
    writeGid(this.gids, 0, this.subnetPrefix, guid);
  }

  /** True when entry `index` of the GID table is in use. */
  hasGid(index: number): boolean {
    const end = (index + 1) * GID_SIZE;
    for (let at = index * GID_SIZE; at < end; at++) if (this.gids[at] !== 0) return true;
    return false;
  }

  /** True when the GID at `offset` is one of the port's own. */
  ownsGid(bytes: Uint8Array, offset: number): boolean {
    for (let index = 0; index < GID_TABLE_ENTRIES; index++)
      if (gidsEqual(this.gids, index * GID_SIZE, bytes, offset) && this.hasGid(index)) return true;
    return false;
  }

  /** Clears the entries that software set. Returns false when there was none. */
  clearGids(): boolean {
    const first = this.gids.findIndex((byte, at) => at >= GID_SIZE && byte !== 0);
    this.gids.fill(0, GID_SIZE);
    return first >= 0;
  }

  get mtuBytes(): number {
    return mtuBytes(this.activeMtuCode);
  }

  get active(): boolean {
    return this.state === PortState.ACTIVE;
  }

  /**
   * Returns the ring in which a data packet to `dlid` is built. It is not full while the port is
   * not congested. A port that is not active discards data packets (IBTA 7.2.7).
   */
  ringFor(dlid: number, serviceLevel = 0): PacketRing {
    if (!this.active) return this.#nowhere;
    if (isLidOfPort(dlid, this.lid, this.lmc)) return this.loopback;
    return this.transmitQueues.ringOf(serviceLevel) ?? this.#nowhere;
  }

  /**
   * Returns the ring in which a subnet management packet (VL15) to `dlid` is built, or undefined
   * when it has no room or the link is down.
   */
  managementRingFor(dlid: number): PacketRing | undefined {
    if (isLidOfPort(dlid, this.lid, this.lmc)) return this.loopback.full ? undefined : this.loopback;
    const { management } = this.transmitQueues;
    return management.full || this.state === PortState.DOWN ? undefined : management;
  }

  /** True when a data lane or the loopback ring is full. */
  get congested(): boolean {
    return this.loopback.full || this.transmitQueues.full;
  }

  /**
   * Sends the packet built at the ring's write offset. It is complete except for VL and VCRC. The
   * port sets the VL, and seals the packet if an observer sees it or a link may damage it.
   */
  transmit(ring: PacketRing, lengthBytes: number): void {
    if (ring === this.#nowhere) {
      this.transmitDiscards++;
      return;
    }
    this.transmitPackets++;
    const offset = ring.writeOffset;
    if (ring.virtualLane !== 0) setLrhVirtualLane(ring.view, offset, ring.virtualLane);
    const isExposed = ring !== this.loopback && this.link?.trusted === false;
    if (isExposed || this.observer !== undefined) resealVcrc(ring.view, offset, offset + lengthBytes - VCRC_SIZE);
    this.observer?.(this, true, ring.bytes, offset, lengthBytes);
    ring.push(lengthBytes);
  }

  /**
   * As `transmit`, for a packet that is damaged on purpose; receivers check its CRCs. `badVcrc`:
   * the VCRC is wrong; otherwise the VCRC is right and covers a wrong ICRC.
   */
  transmitDamaged(ring: PacketRing, lengthBytes: number, badVcrc: boolean): void {
    if (ring === this.#nowhere) {
      this.transmitDiscards++;
      return;
    }
    this.transmitPackets++;
    const offset = ring.writeOffset;
    const vcrcOffset = offset + lengthBytes - VCRC_SIZE;
    resealVcrc(ring.view, offset, vcrcOffset);
    if (badVcrc) setVcrc(ring.view, vcrcOffset, ~getVcrc(ring.view, vcrcOffset));
    this.observer?.(this, true, ring.bytes, offset, lengthBytes);
    ring.push(lengthBytes, true);
  }

  /**
   * Sets the state after the link came up or went down: DOWN, or INITIALIZE and, unless a subnet
   * manager decides, ACTIVE (IBTA 7.2.7).
   */
  setLinkUp(up: boolean): void {
    if (!up) {
      this.transmitDiscards += this.transmitQueues.discard();
      this.setState(PortState.DOWN);
    } else if (this.state === PortState.DOWN) {
      this.setState(PortState.INITIALIZE);
      if (this.selfActivating) this.setState(PortState.ACTIVE);
    }
  }

  /** Sets the state and reports a change. */
  setState(state: PortState): void {
    const previous = this.state;
    if (state === previous) return;
    this.state = state;
    this.onStateChange?.(this, previous);
  }

  /** Replaces the link of the port. */
  plug(link: Link | undefined): void {
    const old = this.link;
    if (old === link) return;
    this.link = link;
    if (old === undefined) return;
    this.setLinkUp(false);
    old.detach(this);
  }
}

/** Returns the GUID of a port: the node GUID plus the port number. */
export function portGuid(nodeGuid: Uint8Array, portNumber: number): Uint8Array {
  const guid = nodeGuid.slice();
  const view = new DataView(guid.buffer);
  view.setUint32(GUID_BYTES - 4, view.getUint32(GUID_BYTES - 4) + portNumber);
  return guid;
}

/** Returns the bytes of an EUI-64 given as 16 hex digits. */
export function parseGuid(hex: string): Uint8Array {
  return Uint8Array.from({ length: GUID_BYTES }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
