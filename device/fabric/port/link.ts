// SPDX-License-Identifier: Apache-2.0
/**
 * A link and its ends (IBTA chapter 7). An end is a port of an adapter or of a switch: transmit
 * queues, logical state, counters. The `run` of an adapter or of a switch calls `carry` on the
 * links of its ports and then takes the packets that have arrived; no other code moves packets. The
 * links themselves are in `device/fabric/link`.
 */
import { setLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { PortPhysicalState, TrapNumber } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { mtuBytes, mtuCode } from '../../../protocol/infiniband/mtu.ts';
import { resealVcrc, sealWhole } from '../../../protocol/infiniband/packet-builder.ts';
import { getVcrc, setVcrc, VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { LinkSettings } from './link-settings.ts';
import type { LossObserver } from './packet-loss.ts';
import type { PacketRing } from './packet-ring.ts';
import { PortCounters } from './port-counters.ts';
import { TransmitQueues, type VirtualLaneCredits } from './transmit-queues.ts';
import type { ArbitrationEntry } from './vl-arbiter.ts';

const LARGEST_MTU_CODE = mtuCode(4096);

/** Traps about errors of a link (IBTA 14.2.5.1). */
export type LinkErrorTrap =
  | typeof TrapNumber.LINK_INTEGRITY
  | typeof TrapNumber.BUFFER_OVERRUN
  | typeof TrapNumber.FLOW_CONTROL_WATCHDOG;

/** Observes every packet at the end of a link, for captures. It must not change anything. */
export type PacketObserver = (
  end: LinkEnd,
  outgoing: boolean,
  bytes: Uint8Array,
  offset: number,
  lengthBytes: number,
) => void;

/** A link between two ports. */
export interface Link {
  /**
   * True when nothing between the two ports can change a packet: the sender need not compute CRCs,
   * and the receiver need not check them.
   */
  readonly trusted: boolean;
  /** True when both ports take packets whose payload is on loan (`PacketRing.borrow`). */
  readonly lends?: boolean;
  /**
   * True when the link moves packets by itself, so `carry` must be called. False for a cable: the
   * receiver takes packets directly from the sender's transmit queues.
   */
  readonly active: boolean;
  /**
   * Time of the next work for `carry` if no port does anything: ns of the adapters' clock, Infinity
   * for never.
   */
  readonly nextNs: number;
  /**
   * Moves the packets that may move at `nowNs`, at most `limit` in each direction. Returns the
   * number of packets moved and of state changes.
   */
  carry(nowNs: number, limit: number): number;
  /**
   * Returns the ring whose oldest packet is the next to arrive at `port`, or undefined. The caller
   * takes that packet. A switch takes data packets of the VLs that `room` allows only.
   */
  arrival(port: LinkEnd, room?: VirtualLaneCredits): PacketRing | undefined;
  /** The adapter of `port` has run: wakes the adapter at the other end if there is work for it. */
  settle(port: LinkEnd): void;
  /**
   * Management has restarted or switched off `port`: the link goes down at both ends, and comes up
   * again as `trainLink` allows.
   */
  retrain(port: LinkEnd): void;
  /** The port leaves the link. */
  detach(port: LinkEnd): void;
}

/** One end of a link: a port of an adapter or of a switch. */
export class LinkEnd {
  /** From 1. */
  readonly number: number;
  readonly guid: Uint8Array;
  /** Logical state (IBTA 7.2.7). */
  state: PortState = PortState.DOWN;
  /** Physical state (IBTA 14.2.5.6): POLLING, LINK_UP, SLEEP or DISABLED. */
  physicalState: PortPhysicalState = PortPhysicalState.POLLING;
  /** True without a subnet manager: the port becomes active as soon as its link comes up. */
  selfActivating = true;
  /** Packets that arrive at the port may have payload on loan. */
  readonly takesLoans: boolean = false;
  readonly maxMtuCode = LARGEST_MTU_CODE;
  activeMtuCode = LARGEST_MTU_CODE;
  transmitPackets = 0;
  /**
   * Packets discarded at the port: the link was down, or the service level maps to no data VL.
   */
  transmitDiscards = 0;
  receivePackets = 0;
  receiveDrops = 0;
  readonly transmitQueues: TransmitQueues;
  readonly settings = new LinkSettings();
  readonly counters = new PortCounters();
  link: Link | undefined = undefined;
  observer: PacketObserver | undefined = undefined;
  lossObserver: LossObserver | undefined = undefined;
  /** Called when the link goes down, before what waits is lost; it must not change anything. */
  downObserver: (() => void) | undefined = undefined;
  /** Called when the state has changed from `previous`, while the node runs. */
  onStateChange: ((end: LinkEnd, previous: PortState) => void) | undefined = undefined;
  /** Called when errors of the link have reached a threshold of the settings. */
  onLinkError: ((end: LinkEnd, trap: LinkErrorTrap) => void) | undefined = undefined;
  /**
   * Called when a link moved a packet from or to this port while another node ran: the node of this
   * port must run too.
   */
  onWork: (() => void) | undefined = undefined;

  /** `dataVls` is the number of virtual lanes besides VL15, one of `DATA_VL_COUNTS`. */
  constructor(number: number, guid: Uint8Array, queuePackets: number, dataVls: number) {
    this.number = number;
    this.guid = guid;
    this.transmitQueues = new TransmitQueues(dataVls, queuePackets);
    // As the arbiter begins: one turn of weight 1 for each VL.
    for (let vl = 0; vl < dataVls; vl++) this.settings.vlArbitrationLow.set([vl, 1], vl * 2);
  }

  /** Takes the arbitration tables of the settings into use; turns of VLs that do not exist go. */
  applyArbitration(): void {
    const { arbiter, rings } = this.transmitQueues;
    arbiter.setHigh(arbitrationEntries(this.settings.vlArbitrationHigh, rings.length));
    arbiter.setLow(arbitrationEntries(this.settings.vlArbitrationLow, rings.length));
  }

  get mtuBytes(): number {
    return mtuBytes(this.activeMtuCode);
  }

  get active(): boolean {
    return this.state === PortState.ACTIVE;
  }

  /**
   * Sends the packet built at the write offset of a ring of this port. It is complete except for
   * VL and CRCs. The port sets the VL, and seals the packet if an observer sees it or a link may
   * damage it.
   */
  transmit(ring: PacketRing, lengthBytes: number): void {
    this.push(ring, lengthBytes, this.link?.trusted === false);
  }

  /**
   * As `transmit`, for a packet with an ICRC that is damaged on purpose; receivers check its CRCs.
   * `badVcrc`: the VCRC is wrong; otherwise the VCRC is right and covers a wrong ICRC.
   */
  transmitDamaged(ring: PacketRing, lengthBytes: number, badVcrc: boolean): void {
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
   * manager decides, ACTIVE (IBTA 7.2.7). A port that is switched off stays down.
   */
  setLinkUp(up: boolean): void {
    if (!up) {
      if (this.physicalState === PortPhysicalState.LINK_UP) this.downObserver?.();
      this.transmitDiscards += this.transmitQueues.discard(this.lossObserver);
      if (this.physicalState === PortPhysicalState.LINK_UP) {
        this.physicalState = this.settings.linkDownDefaultState;
        this.counters.linkDowned++;
      }
      this.setState(PortState.DOWN);
    } else if (this.state === PortState.DOWN && this.physicalState !== PortPhysicalState.DISABLED) {
      this.physicalState = PortPhysicalState.LINK_UP;
      this.setState(PortState.INITIALIZE);
      if (this.selfActivating) this.setState(PortState.ACTIVE);
    }
  }

  /** True when a subnet manager may ask for this state now (IBTA 7.2.7). */
  allows(requested: PortState): boolean {
    if (requested === PortState.ARMED) return this.state === PortState.INITIALIZE || this.state === PortState.ARMED;
    if (requested === PortState.ACTIVE) return this.state === PortState.ARMED || this.active;
    return requested === PortState.DOWN;
  }

  /**
   * Takes the link down by management, into the physical state SLEEP, POLLING or DISABLED. Unless
   * that or the other end forbids it, the link comes up again at once.
   */
  restart(physicalState: PortPhysicalState): void {
    this.physicalState = physicalState;
    this.setLinkUp(false);
    this.link?.retrain(this);
  }

  /** The port has received a data packet: an armed one becomes active (IBTA 7.2.7). */
  noteData(): void {
    if (this.state === PortState.ARMED) this.setState(PortState.ACTIVE);
  }

  /** Counts the oldest packet of a ring, which has come over the link. */
  noteArrival(ring: PacketRing): void {
    this.counters.noteArrival(ring.readLength, ring.isMulticast);
  }

  /** Counts a packet that a receiver has dropped: its CRC is wrong, or it is malformed. */
  noteBadPacket(isDamaged: boolean): void {
    const { counters, settings } = this;
    if (!isDamaged) counters.malformedPackets++;
    else if (counters.noteDamage(settings.localPhysicalErrors)) this.onLinkError?.(this, TrapNumber.LINK_INTEGRITY);
  }

  /** The other end has sent more than its credits allow. */
  noteOverrun(): void {
    if (this.counters.noteOverrun(this.settings.overrunErrors)) this.onLinkError?.(this, TrapNumber.BUFFER_OVERRUN);
  }

  /** The other end has announced no credits for too long. */
  noteSilence(): void {
    this.onLinkError?.(this, TrapNumber.FLOW_CONTROL_WATCHDOG);
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

  /** `exposed`: a link may damage the packet, so its receiver checks the CRCs. */
  protected push(ring: PacketRing, lengthBytes: number, exposed: boolean): void {
    this.transmitPackets++;
    const offset = ring.writeOffset;
    if (ring.virtualLane !== 0) setLrhVirtualLane(ring.view, offset, ring.virtualLane);
    if (exposed || this.observer !== undefined) {
      ring.takeNextLoan();
      sealWhole(ring.view, offset, lengthBytes);
    }
    this.observer?.(this, true, ring.bytes, offset, lengthBytes);
    ring.push(lengthBytes);
  }
}

/** Entries of a table of pairs of VL and weight, for the VLs that there are. */
function arbitrationEntries(table: Uint8Array, vls: number): ArbitrationEntry[] {
  return Array.from({ length: table.length / 2 }, (_, row) => ({
    virtualLane: table[row * 2] & 0xf,
    weight: table[row * 2 + 1],
  })).filter(({ virtualLane }) => virtualLane < vls);
}
