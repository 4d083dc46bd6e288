// SPDX-License-Identifier: Apache-2.0
/**
 * An InfiniBand port of the adapter: addresses, tables, counters, and the packets that it sends
 * (IBTA 14.2.5.6 for the attributes; US 8,484,392 par. 27-28). Packets to one of its own LIDs loop
 * back inside the port; all others leave by the link. Transport and send contexts transmit through
 * it.
 */
import { GID_SIZE, gidsEqual, isLidOfPort, writeGid } from '../../../protocol/infiniband/addresses.ts';
import { DEFAULT_PKEY } from '../../../protocol/infiniband/keys.ts';
import { GID_TABLE_ENTRIES, PKEY_TABLE_ENTRIES } from '../../../protocol/layout/gen/constants.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { type EndPort, type PortChange, SubnetSettings } from './end-port.ts';
import type { KeyViolation } from './key-violation.ts';
import { LinkEnd } from './link.ts';
import { PacketLoss } from './packet-loss.ts';
import { PacketRing } from './packet-ring.ts';

const GUID_BYTES = 8;
/** No function in particular: all functions share the port. */
const ALL_FUNCTIONS = -1;
/** fe80::/64, the default subnet prefix (IBTA 4.1.1). */
const DEFAULT_PREFIX = Uint8Array.of(0xfe, 0x80, 0, 0, 0, 0, 0, 0);

/** A port of the adapter: an end of a link, addresses and tables, and a loopback ring. */
export class Port extends LinkEnd implements EndPort {
  override readonly takesLoans = true;
  readonly subnetPrefix = DEFAULT_PREFIX.slice();
  /** Place among the ports of its adapter, and the only function that uses it, if there is one. */
  index: number;
  owner = ALL_FUNCTIONS;
  lid: number;
  lmc = 0;
  smLid = 0;
  readonly pkeys = new Uint16Array(PKEY_TABLE_ENTRIES);
  /**
   * The GID table, entry after entry. Entry 0 is subnet prefix and GUID; software sets the others,
   * zero while unused.
   */
  readonly gids: Uint8Array;
  badPkeys = 0;
  badQkeys = 0;
  readonly subnet = new SubnetSettings();
  /** Called after a subnet manager has changed the port, while the adapter runs. */
  onChange: ((port: EndPort, change: PortChange) => void) | undefined = undefined;
  /** Called for each packet with a wrong partition key, or queue key. */
  onKeyViolation: ((port: Port, isQueueKey: boolean, violation: KeyViolation) => void) | undefined = undefined;
  /** Packets sent to the port itself. */
  readonly loopback: PacketRing;
  /** Packets to be discarded are built here. */
  readonly #nowhere = new PacketRing(1);

  /**
   * `dataVls` is the number of virtual lanes besides VL15, one of `DATA_VL_COUNTS`; `gidEntries` is
   * the length of the GID table.
   */
  constructor(
    number: number,
    guid: Uint8Array,
    lid: number,
    queuePackets: number,
    dataVls = 1,
    gidEntries = GID_TABLE_ENTRIES,
  ) {
    super(number, guid, queuePackets, dataVls);
    this.gids = new Uint8Array(gidEntries * GID_SIZE);
    this.lid = lid;
    this.index = number - 1;
    this.loopback = new PacketRing(queuePackets);
    this.pkeys[0] = DEFAULT_PKEY;
    writeGid(this.gids, 0, this.subnetPrefix, guid);
  }

  /** True when queue pairs of the function use this port. */
  serves(functionNumber: number): boolean {
    return this.owner === ALL_FUNCTIONS || this.owner === functionNumber;
  }

  /** True when entry `index` of the GID table is in use. */
  hasGid(index: number): boolean {
    const end = Math.min((index + 1) * GID_SIZE, this.gids.length);
    for (let at = index * GID_SIZE; at < end; at++) if (this.gids[at] !== 0) return true;
    return false;
  }

  /** True when the GID at `offset` is one of the port's own. */
  ownsGid(bytes: Uint8Array, offset: number): boolean {
    for (let index = 0; index * GID_SIZE < this.gids.length; index++)
      if (gidsEqual(this.gids, index * GID_SIZE, bytes, offset) && this.hasGid(index)) return true;
    return false;
  }

  /** Clears the entries that software set. Returns false when there was none. */
  clearGids(): boolean {
    const first = this.gids.findIndex((byte, at) => at >= GID_SIZE && byte !== 0);
    this.gids.fill(0, GID_SIZE);
    return first >= 0;
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
   * True when payload of a packet in `ring` may stay in guest memory until the packet arrives:
   * nothing on the way looks at it, keeps it or can damage it.
   */
  lendsTo(ring: PacketRing): boolean {
    if (this.observer !== undefined || ring === this.#nowhere) return false;
    return ring === this.loopback || this.link?.lends === true;
  }

  /**
   * A multicast packet is complete in `ring`, except for VL and CRCs, and about to be transmitted:
   * a copy loops back to the members at this port (IBTA 10.5.2).
   */
  loopBack(ring: PacketRing, lengthBytes: number): void {
    const { loopback } = this;
    if (ring === this.#nowhere || ring === loopback) return;
    if (loopback.full) {
      this.transmitDiscards++;
      return;
    }
    const [from, to] = [ring.writeOffset, loopback.writeOffset];
    for (let at = 0; at < lengthBytes; at++) loopback.bytes[to + at] = ring.bytes[from + at];
    loopback.push(lengthBytes);
  }

  /**
   * Returns the ring in which a subnet management packet (VL15) to `dlid` is built, or undefined
   * when it has no room or the link is down.
   */
  vl15RingFor(dlid: number): PacketRing | undefined {
    if (isLidOfPort(dlid, this.lid, this.lmc)) return this.loopback.full ? undefined : this.loopback;
    const { vl15 } = this.transmitQueues;
    return vl15.full || this.state === PortState.DOWN ? undefined : vl15;
  }

  /** True when a data VL or the loopback ring is full. */
  get congested(): boolean {
    return this.loopback.full || this.transmitQueues.full;
  }

  /** As the end of any link does; a packet that may not leave is discarded. */
  override transmit(ring: PacketRing, lengthBytes: number): void {
    if (ring === this.#nowhere) this.#discard(ring, lengthBytes);
    else this.push(ring, lengthBytes, ring !== this.loopback && this.link?.trusted === false);
  }

  override transmitDamaged(ring: PacketRing, lengthBytes: number, badVcrc: boolean): void {
    if (ring === this.#nowhere) this.#discard(ring, lengthBytes);
    else super.transmitDamaged(ring, lengthBytes, badVcrc);
  }

  #discard({ view, writeOffset }: PacketRing, lengthBytes: number): void {
    this.transmitDiscards++;
    this.lossObserver?.(view, writeOffset, lengthBytes, PacketLoss.PORT);
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

/** Returns the bytes of an EUI-64 given as a number. */
export function guidBytes(guid: bigint): Uint8Array {
  const bytes = new Uint8Array(GUID_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, guid);
  return bytes;
}
