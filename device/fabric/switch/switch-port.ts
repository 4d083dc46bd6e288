// SPDX-License-Identifier: Apache-2.0
/**
 * An external port of a switch (IBTA chapter 18): the end of a link, an output queue for each data
 * VL, the partitions that it enforces, and its drops by cause. The relay of the switch passes
 * packets through it.
 */
import { getLrhVirtualLane, setLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { resealVcrc, sealWhole } from '../../../protocol/infiniband/packet-builder.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterClock } from '../../host.ts';
import { LinkEnd } from '../port/link.ts';
import { PacketLoss } from '../port/packet-loss.ts';
import { copyPacket, type PacketRing } from '../port/packet-ring.ts';
import { countDrop, DropCause, dropCauseNames } from './drop-causes.ts';
import type { InputTurns } from './input-turns.ts';
import { OutputQueue } from './output-queue.ts';
import { PartitionFilter } from './partition-filter.ts';
import { lifeNs, type WaitLimits } from './wait-limits.ts';

export class SwitchPort extends LinkEnd {
  override readonly takesLoans = true;
  /** Output queues of the data VLs, by VL. */
  readonly queues: readonly OutputQueue[];
  readonly partitions: PartitionFilter;
  /** Packets dropped, by `DropCause`. */
  readonly drops = new Uint32Array(dropCauseNames.length);
  /** A VL is stalled. */
  #hasStall = false;

  /**
   * `inputs` is the number of inputs of the switch: ports and their VLs. `pkeys` is the P_Key table
   * that the port enforces.
   */
  constructor(
    number: number,
    guid: Uint8Array,
    queuePackets: number,
    dataVls: number,
    inputs: number,
    pkeys: Uint16Array,
  ) {
    super(number, guid, queuePackets, dataVls);
    this.queues = this.transmitQueues.rings.map((ring) => new OutputQueue(ring, inputs));
    this.partitions = new PartitionFilter(pkeys);
    for (const queue of this.queues)
      queue.onDrop = (ring, isExpired) =>
        this.noteLoss(ring, isExpired ? DropCause.LIFE_TIME : DropCause.HEAD_OF_QUEUE);
  }

  /** No packet waits at the port, no VL is stalled, and its link moves nothing by itself. */
  get isEmpty(): boolean {
    return !this.#hasStall && this.link?.active !== true && this.transmitQueues.count === 0;
  }

  /** Lets the inputs of the switch share the port by weighted turns, on all of its VLs. */
  shareAmongInputs(turns: InputTurns): void {
    for (const queue of this.queues) queue.turns = turns;
  }

  /** Counts packets dropped, also in the counters that performance management reports. */
  drop(cause: DropCause, packets = 1): void {
    this.drops[cause] += packets;
    countDrop(this, cause, packets);
  }

  /** Drops the oldest packet of a ring, which the caller shifts. */
  dropFrom(ring: PacketRing, cause: DropCause): void {
    this.noteLoss(ring, cause);
    this.drop(cause);
  }

  /** Tells the observer of a packet that is dropped. The link has told of a damaged one. */
  noteLoss({ view, readOffset, readLength }: PacketRing, cause: DropCause): void {
    if (cause !== DropCause.DAMAGED)
      this.lossObserver?.(view, readOffset, readLength, (PacketLoss.SWITCH + cause) as PacketLoss);
  }

  /**
   * Copies the oldest packet of `source` into an output queue with room. `sealed`: the packet has
   * crossed a link that may damage it, and its VCRC is right. It keeps the ICRC of its sender, and
   * the next receiver checks it as well.
   */
  relay(source: PacketRing, target: PacketRing, sealed: boolean): void {
    const offset = target.writeOffset;
    const lengthBytes = source.readLength;
    const isExposed = this.observer !== undefined || this.link?.trusted === false;
    copyPacket(source, target, !isExposed && this.link?.lends === true);
    const { view, virtualLane } = target;
    const changed = getLrhVirtualLane(view, offset) !== virtualLane;
    if (changed) setLrhVirtualLane(view, offset, virtualLane);
    if (sealed) {
      if (changed) resealVcrc(view, offset, offset + lengthBytes - VCRC_SIZE);
    } else if (isExposed) sealWhole(view, offset, lengthBytes);
    this.observer?.(this, true, target.bytes, offset, lengthBytes);
    this.transmitPackets++;
    target.push(lengthBytes, sealed);
    this.queues[virtualLane]?.notePush();
  }

  /** Copies a management packet to VL15, which drops what has no room. */
  relayManagement(source: PacketRing, sealed: boolean): void {
    const { vl15 } = this.transmitQueues;
    if (this.state === PortState.DOWN) this.dropFrom(source, DropCause.OUTPUT_INACTIVE);
    else if (vl15.full) this.dropFrom(source, DropCause.NO_MANAGEMENT_ROOM);
    else this.relay(source, vl15, sealed);
  }

  /** Shows the observer a packet that arrives; one from a trusted link may lack its CRCs. */
  observe(ring: PacketRing): void {
    const { readOffset, readLength } = ring;
    ring.takeOldestLoan();
    if (this.link?.trusted === true && !ring.readSuspect) sealWhole(ring.view, readOffset, readLength);
    this.observer?.(this, false, ring.bytes, readOffset, readLength);
  }

  /**
   * Ends a pass: drops packets that waited too long in output queues (IBTA 18.2.5). Returns true
   * when packets wait whose time is not known yet: another pass notes it.
   */
  age(limits: WaitLimits, clock: AdapterClock): boolean {
    limits.headNs = lifeNs(this.settings.headOfQueueLife);
    const never = Number.POSITIVE_INFINITY;
    if (limits.headNs === never && limits.switchNs === never && !this.#hasStall) return false;
    limits.stallCount = this.settings.vlStallCount || never;
    this.#hasStall = false;
    let waits = false;
    for (const queue of this.queues) {
      if (queue.isStalled) {
        limits.nowNs = clock.now();
        queue.endStall(limits);
      }
      if (queue.stalled) {
        limits.nowNs = clock.now();
        const dropped = queue.age(limits);
        if (dropped > queue.expired) this.drop(DropCause.HEAD_OF_QUEUE, dropped - queue.expired);
        if (queue.expired > 0) this.drop(DropCause.LIFE_TIME, queue.expired);
      } else if (queue.rest()) waits = true;
      if (queue.isStalled) this.#hasStall = true;
    }
    return waits;
  }

  protected override push(ring: PacketRing, lengthBytes: number, exposed: boolean): void {
    super.push(ring, lengthBytes, exposed);
    this.queues[ring.virtualLane]?.notePush();
  }
}
