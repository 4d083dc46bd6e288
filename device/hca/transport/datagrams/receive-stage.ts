// SPDX-License-Identifier: Apache-2.0
/**
 * Arrived packets that wait for their receive WQE, while reads of guest memory take time (IBTA
 * 10.2.4, 10.2.9; US 8,484,392 par. 42). The read of a WQE, and before it that of software's tail
 * when no WQE is known, takes the latency and a DMA context. Packets of a QP keep their order and
 * overtake those of others. The WQE is taken when its packet is delivered. The responders hold
 * packets here; `PacketReceiver` delivers them.
 */
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import {
  newParsedPacket,
  PacketCheck,
  type ParsedPacket,
  parsePacket,
} from '../../../../protocol/infiniband/packet.ts';
import { psnDistance } from '../../../../protocol/infiniband/psn.ts';
import { ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { copyPacket, PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { DmaTiming } from '../../function/dma-timing.ts';
import { isHere, type PendingReads, TimedReads } from '../../function/timed-reads.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { receiveSourceOf } from '../responder/xrc-queue.ts';
import { responderOf } from '../state/connected-states.ts';

/** Packets that are held at most; then the ports take no more. */
export const HELD_PACKETS_MAX = 256;
/** A packet needs the tail and a WQE, or a WQE, in one read each. */
const ONE_READ = 1;

const { FIRST, ONLY, SEND, WRITE, IMMEDIATE } = OpcodeFlag;

/** The read that a held packet waits for: of software's tail, or of the WQE. */
const HeldRead = { NONE: 0, TAIL: 1, ENTRY: 2 } as const;
type HeldRead = (typeof HeldRead)[keyof typeof HeldRead];

/** A packet that waits for its WQE: a copy in a slot of its own, so that its port goes on. */
class HeldPacket implements PendingReads {
  readonly active = true;
  readsLeft = 0;
  readsOutstanding = 0;
  readRound = 0;
  read: HeldRead = HeldRead.NONE;
  qp!: QueuePair;
  port!: Port;
  pkeyIndex = 0;
  readonly ring = new PacketRing(1);
  readonly packet = newParsedPacket();

  /** Copies the oldest packet of `ring`, whose CRCs are checked. */
  take(qp: QueuePair, port: Port, ring: PacketRing, pkeyIndex: number): void {
    this.qp = qp;
    this.port = port;
    this.pkeyIndex = pkeyIndex;
    this.read = HeldRead.NONE;
    const own = this.ring;
    copyPacket(ring, own);
    own.push(ring.readLength);
    parsePacket(own.view, own.readOffset, own.readLength, this.packet, PacketCheck.NONE);
  }

  release(): void {
    this.ring.shift();
  }
}

export class ReceiveStage {
  /** Packets held. */
  count = 0;
  readonly #timing: DmaTiming;
  readonly #reads: TimedReads<HeldPacket>;
  /** By QP, oldest first. */
  readonly #held = new Map<QueuePair, HeldPacket[]>();
  /** Slots that hold no packet. There are as many slots as packets were ever held at a time. */
  readonly #free: HeldPacket[] = [];

  constructor(timing: DmaTiming) {
    this.#timing = timing;
    this.#reads = new TimedReads(timing);
  }

  /** True when packets are delivered at once, without the stage. */
  get isPassed(): boolean {
    return this.count === 0 && this.#timing.latencyNs === 0;
  }

  get full(): boolean {
    return this.count === HELD_PACKETS_MAX;
  }

  /** True when there is something to take in, now or later. */
  get busy(): boolean {
    return this.count > 0 || this.#reads.contextsUsed > 0;
  }

  /** DMA contexts in use. */
  get contextsUsed(): number {
    return this.#reads.contextsUsed;
  }

  /** Arrival of the next read that a packet, or another read, waits for; Infinity for none. */
  get nextNs(): number {
    return this.#reads.nextNs(this.count > 0);
  }

  /** Holds the oldest packet of `ring` if it must wait. Returns false when it may be delivered. */
  holds(
    qp: QueuePair,
    port: Port,
    ring: PacketRing,
    packet: Readonly<ParsedPacket>,
    pkeyIndex = qp.attributes.pkeyIndex,
  ): boolean {
    const before = this.#held.get(qp);
    const source = receiveSourceOf(qp, ring, packet);
    const needsEntry = source !== undefined && !this.#reads.instant && mayNeedEntry(qp, packet, before !== undefined);
    if (before === undefined && !needsEntry) return false;
    const held = this.#free.pop() ?? new HeldPacket();
    held.take(qp, port, ring, pkeyIndex);
    if (before === undefined) this.#held.set(qp, [held]);
    else before.push(held);
    this.count++;
    if (needsEntry) this.#read(held, source.known === 0 ? HeldRead.TAIL : HeldRead.ENTRY);
    return true;
  }

  /** Calls `deliver` for each packet whose WQE has arrived, in the order of its QP. */
  land(deliver: (held: HeldPacket) => void): void {
    this.#reads.land();
    for (const [qp, queue] of this.#held) {
      for (const held of queue) if (held.read === HeldRead.TAIL) this.#advance(held);
      while (queue.length > 0) {
        const [held] = queue;
        this.#advance(held);
        if (held.read !== HeldRead.NONE) break;
        queue.shift();
        this.count--;
        deliver(held);
        this.#release(held);
      }
      if (queue.length === 0 && this.#held.get(qp) === queue) this.#held.delete(qp);
    }
  }

  /** The QP is reset or destroyed: drops its packets. Contexts stay in use until reads arrive. */
  drop(qp: QueuePair): void {
    const queue = this.#held.get(qp);
    if (queue === undefined) return;
    this.#held.delete(qp);
    this.count -= queue.length;
    for (const held of queue.splice(0)) {
      this.#reads.drop(held);
      this.#release(held);
    }
  }

  /**
   * The reads of a packet follow each other: first the tail, if no WQE is known. When a WQE has
   * gone to another packet meanwhile, the tail is read again.
   */
  #advance(held: HeldPacket): void {
    if (held.read === HeldRead.NONE || !isHere(held)) return;
    const { qp } = held;
    const source = receiveSourceOf(qp, held.ring, held.packet);
    if (source === undefined) held.read = HeldRead.NONE;
    else if (held.read === HeldRead.TAIL) {
      if (source.available(qp.owner, qp)) this.#read(held, HeldRead.ENTRY);
      else held.read = HeldRead.NONE;
    } else if (source.known === 0) this.#read(held, HeldRead.TAIL);
    else held.read = HeldRead.NONE;
  }

  #read(held: HeldPacket, what: HeldRead): void {
    held.read = what;
    // The latency may be gone since the packet was held.
    if (this.#reads.instant) return this.#advance(held);
    this.#reads.add(held, ONE_READ);
  }

  #release(held: HeldPacket): void {
    held.release();
    this.#free.push(held);
  }
}

/**
 * True when the packet may take a WQE: a datagram, or a request that begins a SEND or carries
 * immediate data, and is no duplicate. Behind held packets it is not known yet which PSN is
 * expected.
 */
function mayNeedEntry(qp: QueuePair, { flags, psn }: Readonly<ParsedPacket>, isBehind: boolean): boolean {
  const state = responderOf(qp);
  if (state === undefined) return true;
  const needs =
    (flags & SEND) !== 0 ? (flags & (FIRST | ONLY)) !== 0 : (flags & WRITE) !== 0 && (flags & IMMEDIATE) !== 0;
  if (!needs) return false;
  if (isBehind) return qp.serviceType === ServiceType.UC || psnDistance(state.expectedPsn, psn) >= 0;
  return !state.wqeTaken && (qp.serviceType === ServiceType.UC || psn === state.expectedPsn);
}
