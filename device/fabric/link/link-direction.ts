// SPDX-License-Identifier: Apache-2.0
/**
 * One direction of a faulty link: takes packets from the sending port as rate and flow control
 * allow, applies faults to them, and lands them in the buffer of the receiving port. Flow control
 * (IBTA 7.9) is exact: the packets in flight on a VL and those in its buffer never exceed the
 * buffer, so a packet can always land. A VL without room keeps its packets at the sender and delays
 * no other VL.
 */
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import type { LinkEnd } from '../port/link.ts';
import { PacketLoss } from '../port/packet-loss.ts';
import { type PacketRing, packetBlocks } from '../port/packet-ring.ts';
import { MANAGEMENT_VL, type VirtualLaneCredits } from '../port/transmit-queues.ts';
import { FaultBit, type FaultSource, type RandomSource } from './fault-source.ts';
import { FlightQueue } from './flight-queue.ts';
import type { FaultyLinkOptions } from './link-options.ts';
import { ReceiveBuffer } from './receive-buffer.ts';

const VIRTUAL_LANES = 16;
const BITS_PER_BYTE = 8;
const NS_PER_SECOND = 1e9;
/** Bytes by which LRH to ICRC may exceed the payload (IBTA 7.7.8). */
const OVERHEAD_BYTES = 124;

/** Counters of one direction of a link; every fault and every loss is counted. */
interface DirectionCounters {
  /** Packets taken from the sender, and packets that reached the receive buffer. */
  sent: number;
  landed: number;
  dropped: number;
  duplicated: number;
  /** Duplicates that were not made for lack of room. */
  duplicatesSkipped: number;
  reordered: number;
  corrupted: number;
  delayed: number;
  tooLong: number;
  /** Packets in flight when the link went down. */
  lostByFlap: number;
  /** Packets that had landed, and that nobody had taken when the link was pulled out. */
  lostByUnplug: number;
}

/** One direction, from the port `from` to the port `to`. */
export class LinkDirection implements VirtualLaneCredits {
  readonly counters: DirectionCounters = {
    sent: 0,
    landed: 0,
    dropped: 0,
    duplicated: 0,
    duplicatesSkipped: 0,
    reordered: 0,
    corrupted: 0,
    delayed: 0,
    tooLong: 0,
    lostByFlap: 0,
    lostByUnplug: 0,
  };
  readonly from: LinkEnd;
  readonly to: LinkEnd;
  readonly buffer: ReceiveBuffer;
  readonly flight: FlightQueue;
  /** Blocks and packets in flight, by VL. */
  readonly flightBlocks = new Uint32Array(VIRTUAL_LANES);
  readonly flightPackets = new Uint32Array(VIRTUAL_LANES);
  #options: FaultyLinkOptions;
  #faults: FaultSource;
  #random: RandomSource;
  /** Time at which the sender has sent its last bit; packets wait for it. */
  #busyUntilNs = 0;
  #waiting = false;
  #lastLandNs = 0;

  constructor(from: LinkEnd, to: LinkEnd, options: FaultyLinkOptions, faults: FaultSource, random: RandomSource) {
    this.from = from;
    this.to = to;
    this.#options = options;
    this.#faults = faults;
    this.#random = random;
    this.buffer = new ReceiveBuffer(from.transmitQueues.rings.length, options.bufferBlocks, options.bufferPackets);
    this.flight = new FlightQueue(options.flightPackets);
  }

  /** Packets that are sent from now on have these properties and faults. */
  reconfigure(options: FaultyLinkOptions, faults: FaultSource, random: RandomSource): void {
    this.#options = options;
    this.#faults = faults;
    this.#random = random;
  }

  allows(virtualLane: number, blocks: number): boolean {
    return (
      this.flightBlocks[virtualLane] + blocks <= this.buffer.getFreeBlocks(virtualLane) &&
      this.flightPackets[virtualLane] < this.buffer.getFreePackets(virtualLane)
    );
  }

  /** Time of the next work. */
  get nextNs(): number {
    return this.#waiting ? Math.min(this.#busyUntilNs, this.flight.nextNs) : this.flight.nextNs;
  }

  /**
   * Sends at most `limit` packets and lands those that are due. Returns the number of packets
   * moved.
   */
  carry(nowNs: number, limit: number): number {
    return this.#depart(nowNs, limit) + this.#land(nowNs);
  }

  /** Drops all packets in flight: the link goes down. */
  clear(): void {
    const { flight } = this;
    while (flight.count > 0) {
      const slot = flight.take();
      this.#observe(flight.views[slot], 0, flight.lengths[slot], PacketLoss.LINK_DOWN);
      this.#leave(slot);
      this.counters.lostByFlap++;
    }
    this.#waiting = false;
    this.#busyUntilNs = 0;
    this.#lastLandNs = 0;
  }

  /** Drops the packets that have landed as well: the link is pulled out of the receiving port. */
  unplug(): void {
    this.clear();
    for (let ring = this.buffer.next(); ring !== undefined; ring = this.buffer.next()) {
      this.#observe(ring.view, ring.readOffset, ring.readLength, PacketLoss.LINK_DOWN);
      ring.shift();
      this.counters.lostByUnplug++;
    }
  }

  #depart(nowNs: number, limit: number): number {
    const queues = this.from.transmitQueues;
    let sent = 0;
    while (sent < limit && this.#busyUntilNs <= nowNs && !this.flight.full) {
      const ring = queues.next(this);
      if (ring === undefined) break;
      // A packet that waited for the sender starts when the sender became free, however late the
      // call is.
      if (!this.#waiting) this.#busyUntilNs = nowNs;
      this.#send(ring);
      ring.shift();
      this.#waiting = queues.count > 0;
      sent++;
    }
    this.#waiting = this.#busyUntilNs > nowNs && queues.count > 0;
    if (sent > 0) this.from.onWork?.();
    return sent;
  }

  /** Sends from `#busyUntilNs` on. */
  #send(ring: PacketRing): void {
    const { counters } = this;
    const { bitsPerSecond, mtuBytes } = this.#options;
    const length = ring.readLength;
    const wireNs = bitsPerSecond === 0 ? 0 : Math.ceil((length * BITS_PER_BYTE * NS_PER_SECOND) / bitsPerSecond);
    const source = this.#faults;
    let faults = source.decide(counters.sent++, length);
    // A time that is passed on costs an object unless V8 inlines the call.
    if (source.nextAtNs <= this.#busyUntilNs) faults |= source.decideByTime(this.#busyUntilNs, length);
    this.#busyUntilNs += wireNs;
    if (length - VCRC_SIZE > mtuBytes + OVERHEAD_BYTES) {
      counters.tooLong++;
      this.#observe(ring.view, ring.readOffset, length, PacketLoss.TOO_LONG);
    } else if (faults & FaultBit.DROP) {
      counters.dropped++;
      this.#observe(ring.view, ring.readOffset, length, PacketLoss.DROPPED);
    } else this.#launch(ring, faults);
  }

  /** The sender notes the loss; for a sender that does not, the receiver. */
  #observe(view: DataView, offset: number, lengthBytes: number, loss: PacketLoss): void {
    (this.from.lossObserver ?? this.to.lossObserver)?.(view, offset, lengthBytes, loss);
  }

  #launch(ring: PacketRing, faults: number): void {
    const { counters } = this;
    const isDuplicate = (faults & FaultBit.DUPLICATE) !== 0;
    const slot = this.#enter(ring, faults);
    if (faults & FaultBit.CORRUPT) {
      this.flight.bytes[slot][this.#faults.byte] ^= this.#faults.flip;
      counters.corrupted++;
      this.#observe(ring.view, ring.readOffset, ring.readLength, PacketLoss.DAMAGED);
    }
    if (!isDuplicate) return;
    const vl = ring.virtualLane;
    const hasRoom = vl === MANAGEMENT_VL || this.allows(vl, packetBlocks(ring.readLength));
    if (this.flight.full || !hasRoom) {
      counters.duplicatesSkipped++;
      return;
    }
    this.#enter(ring, 0);
    counters.duplicated++;
  }

  #enter(ring: PacketRing, faults: number): number {
    const { flight, counters } = this;
    const { delayNs, lateNs, reorderWindow } = this.#options;
    let landNs = this.#busyUntilNs + delayNs;
    if (faults & FaultBit.DELAY) {
      landNs += 1 + this.#random.below(lateNs);
      counters.delayed++;
    }
    // A link keeps its order: the packets behind a late one are late too.
    this.#lastLandNs = Math.max(this.#lastLandNs, landNs);
    const slot = flight.add(this.#lastLandNs);
    flight.bytes[slot].set(ring.readSlot);
    flight.lengths[slot] = ring.readLength;
    flight.virtualLanes[slot] = ring.virtualLane;
    flight.overtakers[slot] = faults & FaultBit.REORDER ? 1 + this.#random.below(reorderWindow) : 0;
    this.flightBlocks[ring.virtualLane] += packetBlocks(ring.readLength);
    this.flightPackets[ring.virtualLane]++;
    return slot;
  }

  #land(nowNs: number): number {
    const { flight } = this;
    let landed = 0;
    while (flight.isDue(nowNs)) {
      const slot = flight.take();
      if (flight.overtakers[slot] > 0) {
        this.counters.reordered++;
        flight.hold(slot, this.#options.reorderNs);
        continue;
      }
      this.#deliver(slot);
      landed++;
      for (let due = flight.overtake(true); due >= 0; due = flight.overtake(false)) {
        this.#deliver(due);
        landed++;
      }
    }
    if (landed > 0) this.to.onWork?.();
    return landed;
  }

  #deliver(slot: number): void {
    const { flight } = this;
    this.buffer.put(flight.virtualLanes[slot], flight.bytes[slot], flight.lengths[slot]);
    this.counters.landed++;
    this.#leave(slot);
  }

  #leave(slot: number): void {
    const { flight } = this;
    const vl = flight.virtualLanes[slot];
    this.flightBlocks[vl] -= packetBlocks(flight.lengths[slot]);
    this.flightPackets[vl]--;
    flight.release(slot);
  }
}
