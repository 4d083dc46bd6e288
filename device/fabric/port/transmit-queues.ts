// SPDX-License-Identifier: Apache-2.0
/**
 * Transmit queues of a port: one ring of packets for each virtual lane (VL), the SL to VL mapping
 * that selects the ring (IBTA 7.6.6), and the arbiter that selects the VL to send. VL15 carries
 * management packets, goes first and has no flow control (IBTA 7.6.3). These VLs of a link are not
 * the transmit virtual lanes (TVLs) of `device/hca/lane`. Links take the packets.
 */
import { type LossObserver, PacketLoss } from './packet-loss.ts';
import { PacketRing, packetBlocks } from './packet-ring.ts';
import { VlArbiter } from './vl-arbiter.ts';

/** The virtual lane of management packets. */
export const MANAGEMENT_VL = 15;
export const SERVICE_LEVELS = 16;
/** Possible numbers of data VLs of a port. */
export const DATA_VL_COUNTS: readonly number[] = [1, 2, 4, 8, 15];
const DATA_VLS_MAX = 15;
/** Numbers of data VLs by their codes in PortInfo (IBTA 14.2.5.6). */
export const VLS_OF_CODE: readonly number[] = [0, 1, 2, 4, 8, 15];
const MANAGEMENT_PACKETS = 16;

/** The flow control credits of a link's sending side, or the room of its receiver. */
export interface VirtualLaneCredits {
  /**
   * True when the VL may send the oldest packet of `ring`, which has this number of blocks, now.
   */
  allows(virtualLane: number, blocks: number, ring: PacketRing): boolean;
}

/** The queues of one port. */
export class TransmitQueues {
  /** The rings of the data VLs, by VL. */
  readonly rings: readonly PacketRing[];
  /** The ring of subnet management. */
  readonly vl15 = new PacketRing(MANAGEMENT_PACKETS, MANAGEMENT_VL);
  readonly arbiter: VlArbiter;
  /** Number of times that a packet waited because its VL had no credit. */
  creditStalls = 0;
  readonly #first: PacketRing;
  readonly #slToVl = new Uint8Array(SERVICE_LEVELS);
  /** The ring of each service level. */
  readonly #ringOfLevel: (PacketRing | undefined)[];
  /** Data VLs in use; packets for others are discarded. */
  #operationalVls: number;
  readonly #blocksOf = new Uint16Array(DATA_VLS_MAX);

  /**
   * `count` is the number of data VLs, one of `DATA_VL_COUNTS`; `packets` the capacity of each
   * ring.
   */
  constructor(count: number, packets: number) {
    this.rings = Array.from({ length: count }, (_, virtualLane) => new PacketRing(packets, virtualLane));
    this.#first = this.rings[0] as PacketRing;
    this.arbiter = new VlArbiter(count);
    this.#operationalVls = count;
    this.#ringOfLevel = new Array<PacketRing | undefined>(SERVICE_LEVELS).fill(this.#first);
  }

  get operationalVls(): number {
    return this.#operationalVls;
  }

  /** Sets the number of data VLs in use (PortInfo:OperationalVLs). */
  set operationalVls(count: number) {
    this.#operationalVls = Math.min(count, this.rings.length);
    for (let level = 0; level < SERVICE_LEVELS; level++) this.#selectRing(level);
  }

  /** Packets and bytes (LRH to VCRC) that have left by the link. */
  get transmittedPackets(): number {
    return this.rings.reduce((sum, ring) => sum + ring.leftPackets, this.vl15.leftPackets);
  }

  get transmittedBytes(): number {
    return this.rings.reduce((sum, ring) => sum + ring.leftBytes, this.vl15.leftBytes);
  }

  get transmittedMulticast(): number {
    return this.rings.reduce((sum, ring) => sum + ring.leftMulticast, 0);
  }

  /** VL of a service level. For VL15 the packets of that level are discarded. */
  getVirtualLane(serviceLevel: number): number {
    return this.#slToVl[serviceLevel];
  }

  /** Maps a service level to a VL. Returns false when the VL does not exist. */
  mapServiceLevel(serviceLevel: number, virtualLane: number): boolean {
    if (virtualLane >= this.rings.length && virtualLane !== MANAGEMENT_VL) return false;
    this.setVirtualLane(serviceLevel, virtualLane);
    return true;
  }

  /** As `mapServiceLevel`, to any VL: packets for a VL that is not in use are discarded. */
  setVirtualLane(serviceLevel: number, virtualLane: number): void {
    this.#slToVl[serviceLevel] = virtualLane;
    this.#selectRing(serviceLevel);
  }

  /** The ring of a service level, or undefined when its packets are discarded. */
  ringOf(serviceLevel: number): PacketRing | undefined {
    return this.#ringOfLevel[serviceLevel];
  }

  /** True when the ring of some data VL is full. */
  get full(): boolean {
    if (this.rings.length === 1) return this.#first.full;
    return this.rings.some((ring) => ring.full);
  }

  /** Number of packets that wait on all VLs. */
  get count(): number {
    let { count } = this.vl15;
    for (const ring of this.rings) count += ring.count;
    return count;
  }

  /**
   * Returns the ring whose oldest packet goes next, by arbitration among VLs with credits. The
   * arbiter charges that packet, so the caller must take it.
   */
  next(credits: VirtualLaneCredits | undefined): PacketRing | undefined {
    if (this.vl15.count > 0) return this.vl15;
    if (this.rings.length > 1) return this.#arbitrate(credits);
    const ring = this.#first;
    if (ring.count === 0) return undefined;
    if (credits === undefined || credits.allows(0, packetBlocks(ring.readLength), ring)) return ring;
    this.creditStalls++;
    return undefined;
  }

  /** Discards all waiting packets, because the link is down, and returns their number. */
  discard(observer: LossObserver | undefined): number {
    let discarded = discardAll(this.vl15, observer);
    for (const ring of this.rings) discarded += discardAll(ring, observer);
    return discarded;
  }

  #selectRing(serviceLevel: number): void {
    const virtualLane = this.#slToVl[serviceLevel];
    this.#ringOfLevel[serviceLevel] = virtualLane < this.#operationalVls ? this.rings[virtualLane] : undefined;
  }

  #arbitrate(credits: VirtualLaneCredits | undefined): PacketRing | undefined {
    const blocksOf = this.#blocksOf;
    let ready = 0;
    for (const ring of this.rings) {
      if (ring.count === 0) continue;
      const blocks = packetBlocks(ring.readLength);
      blocksOf[ring.virtualLane] = blocks;
      if (credits === undefined || credits.allows(ring.virtualLane, blocks, ring)) ready |= 1 << ring.virtualLane;
      else this.creditStalls++;
    }
    const virtualLane = this.arbiter.pick(ready, blocksOf);
    return virtualLane < 0 ? undefined : this.rings[virtualLane];
  }
}

function discardAll(ring: PacketRing, observer: LossObserver | undefined): number {
  const { count } = ring;
  while (ring.count > 0) {
    observer?.(ring.view, ring.readOffset, ring.readLength, PacketLoss.LINK_DOWN);
    ring.discard();
  }
  return count;
}
