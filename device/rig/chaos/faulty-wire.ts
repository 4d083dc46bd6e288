// SPDX-License-Identifier: Apache-2.0
/**
 * The wire of a chaos run: takes the packets that one port sent, drops, duplicates, damages and
 * delays them by the plan, and delivers them to the other port. `Network` uses only the interface
 * `Wire`, so that `ProductLink` can take its place.
 */
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { Random } from '../../random.ts';
import { ScriptedLink } from '../fixtures/scripted-link.ts';
import type { WirePlan } from './plan.ts';
import type { Trace } from './trace.ts';

/** Carries packets between two ports. */
export interface Wire {
  /** Time of the next arrival; Infinity if no packet is in flight. */
  readonly nextNs: number;
  /** Moves the packets that are due; false if there were none. */
  carry(nowNs: number): boolean;
  /** From now on no packet is lost, damaged or late. A slow wire stays slow. */
  heal(): void;
}

interface Flight {
  readonly arriveNs: number;
  readonly order: number;
  readonly bytes: Uint8Array;
}

const ARRIVALS = 64;
const BITS = 8;
const NS_PER_SECOND = 1e9;
/** Offset of the PSN in a packet without GRH: LRH of 8 bytes, then 9 bytes of the BTH. */
const PSN_OFFSET = 17;

/** One direction of a cable. */
class FaultyWire implements Wire {
  readonly #from: Port;
  readonly #plan: WirePlan;
  readonly #random: Random;
  readonly #trace: Trace;
  readonly #name: string;
  /** Arrivals at the receiving port. */
  readonly #arrived: PacketRing;
  readonly #flights: Flight[] = [];
  #order = 0;
  #lastNs = 0;
  /** Time at which the last bit of the newest packet is sent. */
  #freeNs = 0;
  #healed = false;

  constructor(from: Port, to: Port, arrived: PacketRing, plan: WirePlan, random: Random, trace: Trace) {
    this.#from = from;
    this.#plan = plan;
    this.#random = random;
    this.#trace = trace;
    this.#name = `to LID ${to.lid}:`;
    this.#arrived = arrived;
  }

  get nextNs(): number {
    const arriveNs = this.#flights[0]?.arriveNs ?? Number.POSITIVE_INFINITY;
    return this.#from.transmitQueues.count === 0 ? arriveNs : Math.min(arriveNs, this.#freeNs);
  }

  heal(): void {
    this.#healed = true;
  }

  carry(nowNs: number): boolean {
    let moved = false;
    const queues = this.#from.transmitQueues;
    while (this.#freeNs <= nowNs) {
      const sent = queues.next(undefined);
      if (sent === undefined) break;
      const { readOffset: at, readLength: length } = sent;
      this.#depart(nowNs, sent.bytes.slice(at, at + length));
      sent.shift();
      moved = true;
    }
    const target = this.#arrived;
    while ((this.#flights[0]?.arriveNs ?? Number.POSITIVE_INFINITY) <= nowNs && !target.full) {
      const { bytes } = this.#flights.shift() as Flight;
      target.bytes.set(bytes, target.writeOffset);
      target.push(bytes.length);
      moved = true;
    }
    return moved;
  }

  #depart(nowNs: number, bytes: Uint8Array): void {
    const { drop, duplicate, reorder, corrupt, delayNs, jitterNs, bitsPerSecond, flaps } = this.#plan;
    if (bitsPerSecond > 0) this.#freeNs = nowNs + Math.ceil((bytes.length * BITS * NS_PER_SECOND) / bitsPerSecond);
    const landNs = Math.max(nowNs, this.#freeNs) + delayNs;
    // The number of draws is the same for each packet, whatever its fate.
    const [drops, doubles, overtakes, damages] = [drop, duplicate, reorder, corrupt].map((chance) =>
      this.#happens(chance),
    );
    const lateNs = this.#random.below(jitterNs) * Number(!this.#healed);
    const isDown = !this.#healed && flaps.some(([from, to]) => nowNs >= from && nowNs < to);
    const fate = isDown ? 'lost' : drops ? 'dropped' : damages ? 'damaged' : doubles ? 'doubled' : 'sent';
    this.#trace.add(nowNs, `${this.#name} ${fate}`, bytes.length, (bytes[8] as number) | 0, psnOf(bytes));
    if (isDown || drops) return;
    const arriveNs = landNs + (overtakes ? lateNs : 0);
    if (doubles) this.#add(arriveNs + lateNs, bytes.slice());
    if (damages) this.#damage(bytes);
    // In order behind the previous packet, unless this one is reordered.
    this.#lastNs = Math.max(this.#lastNs, landNs);
    this.#add(overtakes ? arriveNs : this.#lastNs, bytes);
  }

  #damage(bytes: Uint8Array): void {
    const at = this.#random.below(bytes.length);
    bytes[at] = (bytes[at] as number) ^ (1 << this.#random.below(BITS));
  }

  #happens(chance: number): boolean {
    return this.#random.next() / 0x1_0000_0000 < chance && !this.#healed;
  }

  #add(arriveNs: number, bytes: Uint8Array): void {
    const flight = { arriveNs, order: this.#order++, bytes };
    let place = this.#flights.length;
    while (place > 0 && (this.#flights[place - 1] as Flight).arriveNs > arriveNs) place--;
    this.#flights.splice(place, 0, flight);
  }
}

/** Both directions of a cable. */
export class FaultyCable implements Wire {
  readonly #wires: readonly FaultyWire[];

  constructor(a: Port, b: Port, plan: WirePlan, random: Random, trace: Trace) {
    const atA = new ScriptedLink(a, ARRIVALS);
    const atB = new ScriptedLink(b, ARRIVALS);
    this.#wires = [
      new FaultyWire(a, b, atB.wire, plan, random, trace),
      new FaultyWire(b, a, atA.wire, plan, random, trace),
    ];
  }

  get nextNs(): number {
    return Math.min(...this.#wires.map(({ nextNs }) => nextNs));
  }

  carry(nowNs: number): boolean {
    let moved = false;
    for (const wire of this.#wires) moved = wire.carry(nowNs) || moved;
    return moved;
  }

  heal(): void {
    for (const wire of this.#wires) wire.heal();
  }
}

/** PSN of the packet without GRH that begins at `offset`. For the trace. */
export function psnOf(bytes: Uint8Array, offset = 0): number {
  const at = offset + PSN_OFFSET;
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
}
