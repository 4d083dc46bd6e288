// SPDX-License-Identifier: Apache-2.0
/**
 * A link between two ports of one process with the properties of a real one (rate, delay, MTU,
 * credits) and with seeded faults (docs/TOPOLOGY.md): packets dropped, duplicated, reordered,
 * corrupted or late, and the link going down and up. The same seed and traffic give the same
 * faults. No allocation per packet.
 */
import type { Link, LinkEnd } from '../port/link.ts';
import { trainLink } from '../port/link-training.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { VirtualLaneCredits } from '../port/transmit-queues.ts';
import { FaultSource, type RandomSource } from './fault-source.ts';
import { FlapSchedule } from './flap-schedule.ts';
import { LinkDirection } from './link-direction.ts';
import { defaultFaultyLinkOptions, type FaultyLinkOptions, findLinkOptionError } from './link-options.ts';

/** A faulty link; the link of both its ports. */
export class FaultyLink implements Link {
  readonly trusted = false;
  readonly active = true;
  /** Called when the link goes down or comes up, after both ports have changed state. */
  onStateChange: ((up: boolean, atNs: number) => void) | undefined = undefined;
  /** Number of times that the link went down. */
  flaps = 0;
  /** The directions from the first port to the second and from the second to the first. */
  readonly directions: readonly [LinkDirection, LinkDirection];
  readonly #first: LinkEnd;
  readonly #second: LinkEnd;
  readonly #schedule: FlapSchedule;

  /**
   * Plugs the link into both ports, which have the same number of data VLs. Throws RangeError when
   * an option is out of range.
   */
  constructor(first: LinkEnd, second: LinkEnd, options: Partial<FaultyLinkOptions>, random: RandomSource) {
    const error = findLinkOptionError(options) ?? findLaneMismatch(first, second);
    if (error !== undefined) throw new RangeError(error);
    const all: FaultyLinkOptions = { ...defaultFaultyLinkOptions, ...options };
    this.#first = first;
    this.#second = second;
    this.directions = [
      new LinkDirection(first, second, all, new FaultSource(all, 0, random), random),
      new LinkDirection(second, first, all, new FaultSource(all, 1, random), random),
    ];
    this.#schedule = new FlapSchedule(all, random);
    first.plug(this);
    second.plug(this);
    this.#setUp(true);
  }

  /**
   * Takes other properties and faults, and draws from `random`. State, flaps, receive buffers and
   * packets on the way stay. The options are within their ranges.
   */
  reconfigure(options: Partial<FaultyLinkOptions>, random: RandomSource): void {
    const all: FaultyLinkOptions = { ...defaultFaultyLinkOptions, ...options };
    for (const [index, direction] of this.directions.entries())
      direction.reconfigure(all, new FaultSource(all, index === 0 ? 0 : 1, random), random);
  }

  get up(): boolean {
    return this.#schedule.up;
  }

  get nextNs(): number {
    const [there, back] = this.directions;
    return Math.min(there.nextNs, back.nextNs, this.#schedule.nextNs);
  }

  carry(nowNs: number, limit: number): number {
    const schedule = this.#schedule;
    let moved = 0;
    // Packets due before the link went down still land, however late `carry` is called.
    while (schedule.nextNs <= nowNs) {
      const edgeNs = schedule.nextNs;
      if (schedule.up) moved += this.#carryUntil(edgeNs, limit);
      schedule.advance();
      this.#setUp(schedule.up);
      this.onStateChange?.(schedule.up, edgeNs);
      moved++;
    }
    return schedule.up ? moved + this.#carryUntil(nowNs, limit) : moved;
  }

  arrival(port: LinkEnd, room?: VirtualLaneCredits): PacketRing | undefined {
    return this.directions[port === this.#first ? 1 : 0].buffer.next(room);
  }

  /** Does nothing: the directions wake the ports when packets move. */
  settle(): void {}

  retrain(): void {
    if (!this.#schedule.up) return;
    this.#takeDown();
    this.#setUp(true);
  }

  detach(port: LinkEnd): void {
    for (const direction of this.directions) direction.unplug();
    const other = port === this.#first ? this.#second : this.#first;
    // The leaving port may have its next link already.
    if (other.link === this) other.plug(undefined);
  }

  #carryUntil(nowNs: number, limit: number): number {
    const [there, back] = this.directions;
    return there.carry(nowNs, limit) + back.carry(nowNs, limit);
  }

  #setUp(up: boolean): void {
    if (up) {
      trainLink(this.#first, this.#second);
    } else {
      this.flaps++;
      this.#takeDown();
    }
    for (const port of [this.#first, this.#second]) port.onWork?.();
  }

  #takeDown(): void {
    for (const direction of this.directions) direction.clear();
    for (const port of [this.#first, this.#second]) port.setLinkUp(false);
  }
}

function findLaneMismatch(first: LinkEnd, second: LinkEnd): string | undefined {
  const [here, there] = [first.transmitQueues.rings.length, second.transmitQueues.rings.length];
  return here === there
    ? undefined
    : `a link joins ports of ${here} and of ${there} data lanes; both must have the same`;
}
