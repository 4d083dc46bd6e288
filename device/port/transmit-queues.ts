// SPDX-License-Identifier: Apache-2.0
/**
 * The transmit side of a port: one ring of packets per virtual lane, the SL to VL mapping that chooses the ring (IBTA 7.6.6), and the arbiter that
 * chooses which lane sends. VL15 carries management packets, goes first and has no flow control (IBTA 7.6.3).
 */
import { PacketRing, packetBlocks } from './packet-ring.ts';
import { VlArbiter } from './vl-arbiter.ts';

export const MANAGEMENT_VL = 15;
export const SERVICE_LEVELS = 16;
/** Numbers of data lanes a port may have. */
export const DATA_VL_COUNTS: readonly number[] = [1, 2, 4, 8];
const DATA_VLS_MAX = 8;
const MANAGEMENT_PACKETS = 16;

/** Says whether a lane may send so many blocks now. */
export interface VirtualLaneCredits {
  allows(virtualLane: number, blocks: number): boolean;
}

export class TransmitQueues {
  /** Data lanes, by VL. */
  readonly rings: readonly PacketRing[];
  readonly management = new PacketRing(MANAGEMENT_PACKETS, MANAGEMENT_VL);
  readonly arbiter: VlArbiter;
  /** Times a packet waited because its lane had no credit. */
  creditStalls = 0;
  readonly #first: PacketRing;
  readonly #slToVl = new Uint8Array(SERVICE_LEVELS);
  readonly #blocksOf = new Uint16Array(DATA_VLS_MAX);

  /** `count`: data lanes, one of `DATA_VL_COUNTS`; `packets`: what each ring holds. */
  constructor(count: number, packets: number) {
    this.rings = Array.from({ length: count }, (_, virtualLane) => new PacketRing(packets, virtualLane));
    this.#first = this.rings[0] as PacketRing;
    this.arbiter = new VlArbiter(count);
  }

  /** VL of a service level. VL15: packets of that level are discarded. */
  getVirtualLane(serviceLevel: number): number {
    return this.#slToVl[serviceLevel];
  }

  /** Maps a service level. False when the lane does not exist. */
  mapServiceLevel(serviceLevel: number, virtualLane: number): boolean {
    if (virtualLane >= this.rings.length && virtualLane !== MANAGEMENT_VL) return false;
    this.#slToVl[serviceLevel] = virtualLane;
    return true;
  }

  /** The ring of a service level; undefined when its packets are discarded. */
  ringOf(serviceLevel: number): PacketRing | undefined {
    return this.rings[this.#slToVl[serviceLevel]];
  }

  /** Some data lane is full. */
  get full(): boolean {
    if (this.rings.length === 1) return this.#first.full;
    return this.rings.some((ring) => ring.full);
  }

  /** Packets waiting in all lanes. */
  get count(): number {
    let { count } = this.management;
    for (const ring of this.rings) count += ring.count;
    return count;
  }

  /** The ring whose oldest packet goes next, by arbitration among lanes with credits; that packet is charged, so the caller must take it. */
  next(credits: VirtualLaneCredits | undefined): PacketRing | undefined {
    if (this.management.count > 0) return this.management;
    if (this.rings.length > 1) return this.#arbitrate(credits);
    const ring = this.#first;
    if (ring.count === 0) return undefined;
    if (credits === undefined || credits.allows(0, packetBlocks(ring.readLength))) return ring;
    this.creditStalls++;
    return undefined;
  }

  /** Throws away everything that waits; returns how many packets. */
  discard(): number {
    let discarded = discardAll(this.management);
    for (const ring of this.rings) discarded += discardAll(ring);
    return discarded;
  }

  #arbitrate(credits: VirtualLaneCredits | undefined): PacketRing | undefined {
    const blocksOf = this.#blocksOf;
    let ready = 0;
    for (const ring of this.rings) {
      if (ring.count === 0) continue;
      const blocks = packetBlocks(ring.readLength);
      blocksOf[ring.virtualLane] = blocks;
      if (credits === undefined || credits.allows(ring.virtualLane, blocks)) ready |= 1 << ring.virtualLane;
      else this.creditStalls++;
    }
    const virtualLane = this.arbiter.pick(ready, blocksOf);
    return virtualLane < 0 ? undefined : this.rings[virtualLane];
  }
}

function discardAll(ring: PacketRing): number {
  const { count } = ring;
  while (ring.count > 0) ring.shift();
  return count;
}
