// SPDX-License-Identifier: Apache-2.0
/**
 * The input of one port of a switch (IBTA 18.2.4). It tells the link which VLs may hand over their
 * oldest packet: those whose packet has room at its output, or is to be dropped. Any other packet
 * stays in the buffer of the link, or in the queue of the sender on a cable, where it holds up its
 * own VL only. `Switch` takes packets through it.
 */
import { getLrhDlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { VirtualLaneCredits } from '../port/transmit-queues.ts';
import { DropCause } from './drop-causes.ts';
import { LOCAL, MULTICAST, type Relay, VLS_OF_PORT, WORD_PORTS } from './relay.ts';
import type { SwitchPort } from './switch-port.ts';
import type { WaitLimits } from './wait-limits.ts';

/** No decision, and no output queue waited for. */
const NONE = -0x10000;

export class InputGate implements VirtualLaneCredits {
  readonly port: SwitchPort;
  /** The packet taken last had a weighted turn, which may go on with the next packet. */
  hasTurn = false;
  /** Takes a packet for the switch itself; set by the switch. */
  onLocal: (port: SwitchPort, ring: PacketRing) => void = () => {};
  /** Told of each packet that is dropped, before that. */
  onDrop: ((port: SwitchPort, cause: DropCause, ring: PacketRing) => void) | undefined = undefined;
  /** VLs whose oldest packet waits for room: a bit mask. */
  #blocked = 0;
  readonly #relay: Relay;
  /** By VL: decision on the oldest packet, and the output queue in whose line it stands. */
  readonly #decisions = new Int32Array(VLS_OF_PORT).fill(NONE);
  readonly #lines = new Int32Array(VLS_OF_PORT).fill(NONE);
  /** By VL: 1 when the oldest packet was found whole. */
  readonly #whole = new Uint8Array(VLS_OF_PORT);
  /** By VL: 1 when the oldest packet is a multicast, and the ports that still get it. */
  readonly #spreads = new Uint8Array(VLS_OF_PORT);
  readonly #low = new Int32Array(VLS_OF_PORT);
  readonly #high = new Int32Array(VLS_OF_PORT);
  /** By VL: time from which the oldest packet is known to wait, ns; NaN: none. */
  readonly #sinceNs = new Float64Array(VLS_OF_PORT).fill(Number.NaN);
  /** VLs whose oldest packet has waited too long: a bit mask. */
  #expired = 0;

  constructor(port: SwitchPort, relay: Relay) {
    this.port = port;
    this.#relay = relay;
  }

  get isBlocked(): boolean {
    return this.#blocked !== 0;
  }

  /** True when the switch takes the oldest packet of a VL now. */
  allows(virtualLane: number, _blocks: number, ring: PacketRing): boolean {
    if (this.port.state === PortState.ARMED) this.port.noteData();
    const decision = this.#decide(virtualLane, ring);
    this.#decisions[virtualLane] = decision;
    let isFree = true;
    if (decision === MULTICAST) {
      isFree = this.#spread(virtualLane, ring);
    } else {
      const isQueued = decision >= 0 && decision !== LOCAL;
      if (this.#lines[virtualLane] !== NONE && this.#lines[virtualLane] !== decision) this.#leaveLine(virtualLane);
      if (isQueued) isFree = this.#join(virtualLane, decision);
    }
    if (!isFree) this.#blocked |= 1 << virtualLane;
    return isFree;
  }

  /** Takes the oldest packet of a ring that `allows` has let pass; the caller shifts it. */
  take(ring: PacketRing): void {
    const { virtualLane } = ring;
    const decision = this.#decisions[virtualLane];
    this.hasTurn = false;
    if (decision < 0) this.#drop(ring, ~decision as DropCause);
    else if (decision === LOCAL) this.onLocal(this.port, ring);
    else if (decision !== MULTICAST) this.#send(decision, ring);
    this.#forget(virtualLane);
  }

  /** Forgets all packets seen: the link went down or tables have changed. */
  reset(): void {
    for (let virtualLane = 0; virtualLane < VLS_OF_PORT; virtualLane++) this.#forget(virtualLane);
  }

  /**
   * Ends a pass: notes the time at packets that began to wait, expires those that have waited too
   * long, and notes when the next one is due. Returns true when one expired.
   */
  age(limits: WaitLimits): boolean {
    const before = this.#expired;
    const sinceNs = this.#sinceNs;
    for (let left = this.#blocked; left !== 0; left &= left - 1) {
      const virtualLane = 31 - Math.clz32(left & -left);
      if (Number.isNaN(sinceNs[virtualLane])) sinceNs[virtualLane] = limits.nowNs;
      const dueNs = sinceNs[virtualLane] + limits.switchNs;
      if (limits.nowNs >= dueNs) this.#expired |= 1 << virtualLane;
      else limits.nextNs = Math.min(limits.nextNs, dueNs);
    }
    return this.#expired !== before;
  }

  #decide(virtualLane: number, ring: PacketRing): number {
    if ((this.#expired >>> virtualLane) & 1) return ~DropCause.LIFE_TIME;
    if (this.#spreads[virtualLane] === 1) return MULTICAST;
    if (this.#whole[virtualLane] === 0) {
      const damage = this.#isSealed(ring) ? this.#relay.findDamage(ring) : -1;
      if (damage >= 0) return ~damage;
      this.#whole[virtualLane] = 1;
    }
    return this.#relay.decide(this.port, ring);
  }

  /** True when the packet crossed a link that may damage it; its VCRC must be right then. */
  #isSealed(ring: PacketRing): boolean {
    return ring.readSuspect || this.port.link?.trusted === false;
  }

  /** Stands in the line of an output queue. True when it is the turn of this input. */
  #join(virtualLane: number, decision: number): boolean {
    if (this.#relay.getQueue(decision).admits(this.#inputOf(virtualLane))) return true;
    this.#lines[virtualLane] = decision;
    return false;
  }

  #send(decision: number, ring: PacketRing): void {
    const relay = this.#relay;
    const queue = relay.getQueue(decision);
    if (queue.turns !== undefined) {
      queue.turns.charge(this.port.number, ring.readLength);
      this.hasTurn = true;
    }
    relay.getPort(decision).relay(ring, queue.ring, this.#isSealed(ring));
  }

  #drop(ring: PacketRing, cause: DropCause): void {
    const atExit = cause >= DropCause.OUTPUT_INACTIVE;
    const exit = atExit ? this.#relay.findExit(ring) : undefined;
    const port = exit ?? this.port;
    this.onDrop?.(port, cause, ring);
    port.dropFrom(ring, cause);
  }

  /**
   * Copies a multicast to those of its ports that have room, each once; never back to the port of
   * arrival (IBTA 18.2.4). Returns true when all ports have it, or when it has none.
   */
  #spread(virtualLane: number, ring: PacketRing): boolean {
    if (this.#spreads[virtualLane] === 0 && !this.#beginSpread(virtualLane, ring)) return true;
    this.#low[virtualLane] = this.#spreadWord(virtualLane, ring, this.#low[virtualLane], 0);
    this.#high[virtualLane] = this.#spreadWord(virtualLane, ring, this.#high[virtualLane], WORD_PORTS);
    return this.#low[virtualLane] === 0 && this.#high[virtualLane] === 0;
  }

  #beginSpread(virtualLane: number, ring: PacketRing): boolean {
    const dlid = getLrhDlid(ring.view, ring.readOffset);
    const low = this.#relay.getLowPorts(dlid, this.port.number);
    const high = this.#relay.getHighPorts(dlid, this.port.number);
    if (low === 0 && high === 0) {
      this.#decisions[virtualLane] = ~DropCause.NO_MEMBER;
      return false;
    }
    this.#spreads[virtualLane] = 1;
    this.#low[virtualLane] = low;
    this.#high[virtualLane] = high;
    return true;
  }

  /** Copies a multicast to ports of one word of the mask; returns the ports without room. */
  #spreadWord(virtualLane: number, ring: PacketRing, ports: number, first: number): number {
    let waiting = 0;
    for (let left = ports; left !== 0; left &= left - 1) {
      const bit = left & -left;
      const number = first + 31 - Math.clz32(bit);
      if (number === 0) this.onLocal(this.port, ring);
      else if (!this.#spreadTo(virtualLane, ring, number)) waiting |= bit;
    }
    return waiting;
  }

  /** True when the port has the packet, or drops it. */
  #spreadTo(virtualLane: number, ring: PacketRing, number: number): boolean {
    const relay = this.#relay;
    const decision = relay.decideExit(this.port.number, number, ring);
    if (decision < 0) {
      const port = relay.findPort(number) ?? this.port;
      this.onDrop?.(port, ~decision as DropCause, ring);
      port.dropFrom(ring, ~decision as DropCause);
      return true;
    }
    const queue = relay.getQueue(decision);
    const input = this.#inputOf(virtualLane);
    if (!queue.admits(input)) return false;
    queue.release(input);
    this.#send(decision, ring);
    return true;
  }

  #leaveLine(virtualLane: number): void {
    this.#relay.getQueue(this.#lines[virtualLane]).release(this.#inputOf(virtualLane));
    this.#lines[virtualLane] = NONE;
  }

  #forget(virtualLane: number): void {
    if (this.#lines[virtualLane] !== NONE) this.#leaveLine(virtualLane);
    this.#whole[virtualLane] = 0;
    this.#decisions[virtualLane] = NONE;
    const bit = 1 << virtualLane;
    if (((this.#blocked | this.#expired) & bit) !== 0) {
      this.#blocked &= ~bit;
      this.#expired &= ~bit;
      this.#sinceNs[virtualLane] = Number.NaN;
    }
    if (this.#spreads[virtualLane] === 1) this.#endSpread(virtualLane);
  }

  /** Leaves the lines in which a multicast stands that was taken before all ports had it. */
  #endSpread(virtualLane: number): void {
    this.#spreads[virtualLane] = 0;
    this.#low[virtualLane] = 0;
    this.#high[virtualLane] = 0;
    this.#relay.leaveAll(this.#inputOf(virtualLane));
  }

  #inputOf(virtualLane: number): number {
    return this.port.number * VLS_OF_PORT + virtualLane;
  }
}
