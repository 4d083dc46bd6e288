// SPDX-License-Identifier: Apache-2.0
/**
 * What a link holds for a port until its adapter takes it: one buffer per virtual lane, so that a full lane never holds up another (IBTA 7.6). The sender
 * must not send what a data lane has no room for; VL15 is not flow controlled and drops what does not fit (IBTA 7.9.1).
 */
import { PacketRing } from '../port/packet-ring.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';

const MANAGEMENT_PACKETS = 16;

export class ReceiveBuffer {
  /** Blocks one data lane holds. */
  readonly blocksPerVirtualLane: number;
  /** By VL; the last one is VL15's. */
  readonly rings: readonly PacketRing[];
  /** Packets dropped on VL15 for want of room. */
  managementDrops = 0;
  #next = 0;

  /** `packets`: how many packets one data lane holds, whatever their size. */
  constructor(dataLanes: number, blocksPerVirtualLane: number, packets: number) {
    this.blocksPerVirtualLane = blocksPerVirtualLane;
    const rings = Array.from({ length: dataLanes }, (_, virtualLane) => new PacketRing(packets, virtualLane));
    this.rings = [...rings, new PacketRing(MANAGEMENT_PACKETS, MANAGEMENT_VL)];
  }

  getFreeBlocks(virtualLane: number): number {
    return this.blocksPerVirtualLane - this.rings[virtualLane].blocks;
  }

  getFreePackets(virtualLane: number): number {
    const ring = this.rings[virtualLane];
    return ring.capacity - ring.count;
  }

  /** Takes a packet given as a slot: a whole one, so that no view must be made. Room is the sender's care, but for VL15. */
  put(virtualLane: number, slot: Uint8Array, lengthBytes: number): void {
    const ring = this.#ringOf(virtualLane);
    if (ring.full) {
      this.managementDrops++;
      return;
    }
    ring.bytes.set(slot, ring.writeOffset);
    ring.push(lengthBytes);
  }

  /** The ring with the next packet for the adapter: VL15 first, data lanes in turn. Undefined when all are empty. */
  next(): PacketRing | undefined {
    const { rings } = this;
    const management = rings[rings.length - 1];
    if (management.count > 0) return management;
    const dataLanes = rings.length - 1;
    for (let step = 0; step < dataLanes; step++) {
      const ring = rings[(this.#next + step) % dataLanes];
      if (ring.count === 0) continue;
      this.#next = (ring.virtualLane + 1) % dataLanes;
      return ring;
    }
    return undefined;
  }

  #ringOf(virtualLane: number): PacketRing {
    const { rings } = this;
    return virtualLane === MANAGEMENT_VL ? rings[rings.length - 1] : rings[virtualLane];
  }
}
