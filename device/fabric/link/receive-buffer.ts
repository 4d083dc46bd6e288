// SPDX-License-Identifier: Apache-2.0
/**
 * Receive buffer of a link: packets that wait for the receiving adapter, in one ring for each
 * virtual lane, so a full VL never delays another (IBTA 7.6). The sender must not exceed the room
 * of a data VL. VL15 has no flow control and drops a packet without room (IBTA 7.9.1).
 */
import { PacketRing, packetBlocks } from '../port/packet-ring.ts';
import { MANAGEMENT_VL, type VirtualLaneCredits } from '../port/transmit-queues.ts';

const MANAGEMENT_PACKETS = 16;

/** The receive buffer of one port. */
export class ReceiveBuffer {
  /** Blocks that one data VL can hold. */
  readonly blocksPerVirtualLane: number;
  /** By VL; the last one is VL15's. */
  readonly rings: readonly PacketRing[];
  /** Packets dropped on VL15 for lack of room. */
  managementDrops = 0;
  #next = 0;

  /** `packets` is the number of packets that one data VL can hold, whatever their size. */
  constructor(dataVls: number, blocksPerVirtualLane: number, packets: number) {
    this.blocksPerVirtualLane = blocksPerVirtualLane;
    const rings = Array.from({ length: dataVls }, (_, virtualLane) => new PacketRing(packets, virtualLane));
    this.rings = [...rings, new PacketRing(MANAGEMENT_PACKETS, MANAGEMENT_VL)];
  }

  getFreeBlocks(virtualLane: number): number {
    return this.blocksPerVirtualLane - this.rings[virtualLane].blocks;
  }

  getFreePackets(virtualLane: number): number {
    const ring = this.rings[virtualLane];
    return ring.capacity - ring.count;
  }

  /**
   * Takes a packet. `slot` begins with it; a caller that has whole slots need not make a view for
   * each packet. The sender makes sure that a data VL has room.
   */
  put(virtualLane: number, slot: Uint8Array, lengthBytes: number): void {
    const ring = this.#ringOf(virtualLane);
    if (ring.full) {
      this.managementDrops++;
      return;
    }
    ring.bytes.set(slot, ring.writeOffset);
    ring.push(lengthBytes);
  }

  /**
   * Returns the ring with the next packet for the receiver: VL15 first, then in turn the data VLs
   * whose oldest packet `room` allows. Undefined when there is none.
   */
  next(room?: VirtualLaneCredits): PacketRing | undefined {
    const { rings } = this;
    const vl15 = rings[rings.length - 1];
    if (vl15.count > 0) return vl15;
    const dataVls = rings.length - 1;
    for (let step = 0; step < dataVls; step++) {
      const ring = rings[(this.#next + step) % dataVls];
      if (ring.count === 0) continue;
      if (room !== undefined && !room.allows(ring.virtualLane, packetBlocks(ring.readLength), ring)) continue;
      this.#next = (ring.virtualLane + 1) % dataVls;
      return ring;
    }
    return undefined;
  }

  #ringOf(virtualLane: number): PacketRing {
    const { rings } = this;
    return virtualLane === MANAGEMENT_VL ? rings[rings.length - 1] : rings[virtualLane];
  }
}
