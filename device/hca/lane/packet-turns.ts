// SPDX-License-Identifier: Apache-2.0
/**
 * Turns of packets of connections (US 8,484,392 par. 41; docs/ARCHITECTURE.md, Shares of time). For
 * each port number: the least-served owner first (owner-turns.ts), then its lanes by deficit round
 * robin in bytes: a lane's share follows its weight whatever its number of queue pairs. Then come
 * the queue pairs of the lane in order. A full port costs no queue pair its turn. With embedded
 * switches each function has a port of each number: those of one number share the turns, and a full
 * one holds up its function alone. Called by the requester, for requests and for READ responses.
 */
import { FUNCTION_MAX, TVL_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { LanePort } from './kick-arbitrator.ts';
import type { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';
import type { OwnerTurns } from './owner-turns.ts';
import { ReadyQueue } from './ready-queue.ts';

/** Bytes per turn and unit of weight: more than the longest packet, so that each turn sends one. */
const QUANTUM_BYTES = 8192;

export class PacketTurns<T> {
  /** By port number, from 0. */
  readonly #numbers: readonly PortTurns<T>[];
  /** By port: its turns, and its place there. */
  readonly #turnsOf: readonly PortTurns<T>[];
  readonly #placeOf: readonly number[];
  /** Queue pairs that wait. */
  #length = 0;
  #last = 0;

  /** `ports` are those of all functions, in turn; a function has `portsOfFunction` of them. */
  constructor(
    ports: readonly LanePort[],
    lanes: readonly Lane[],
    owners: OwnerTurns,
    portsOfFunction: number = ports.length,
  ) {
    this.#numbers = Array.from({ length: portsOfFunction }, (_, number) => {
      const alike = ports.filter((_port, index) => index % portsOfFunction === number);
      return new PortTurns<T>(alike, lanes, owners);
    });
    this.#turnsOf = ports.map((_, index) => this.#numbers[index % portsOfFunction]);
    this.#placeOf = ports.map((_, index) => Math.floor(index / portsOfFunction));
  }

  /** Queue pairs at ports with room. */
  get waiting(): number {
    if (this.#length === 0) return 0;
    let waiting = 0;
    for (const turns of this.#numbers) waiting += turns.waiting;
    return waiting;
  }

  /** Appends a queue pair to its lane. The caller keeps it from being queued twice. */
  push(port: number, lane: number, item: T): void {
    this.#length++;
    this.#turnsOf[port].push(this.#placeOf[port], lane, item);
  }

  /**
   * Removes and returns the next queue pair of a port with room. `allowance` and `charge` then
   * apply to its turn.
   */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const count = this.#numbers.length;
    for (let tried = 0; tried < count; tried++) {
      if (++this.#last === count) this.#last = 0;
      const turns = this.#numbers[this.#last];
      if (!turns.isOpen) continue;
      this.#length--;
      return turns.shift();
    }
    return undefined;
  }

  /** Bytes left in this turn. The packet that exceeds them is still sent. */
  get allowance(): number {
    return this.#numbers[this.#last].allowance;
  }

  charge(bytes: number): void {
    this.#numbers[this.#last].charge(bytes);
  }
}

/** Queue pairs that wait for one port, by lane. */
class PortQueues<T> {
  length = 0;
  readonly port: LanePort;
  readonly active = new LaneSet();
  readonly #queues: readonly ReadyQueue<T>[];

  constructor(port: LanePort, lanes: number) {
    this.port = port;
    this.#queues = Array.from({ length: lanes }, () => new ReadyQueue<T>());
  }

  get isOpen(): boolean {
    return this.length > 0 && !this.port.congested;
  }

  push(lane: number, item: T): void {
    this.#queues[lane].push(item);
    this.active.add(lane);
    this.length++;
  }

  shift(lane: number): T | undefined {
    const queue = this.#queues[lane];
    if (queue.length === 1) this.active.delete(lane);
    this.length--;
    return queue.shift();
  }
}

/** The turns at the ports of one number. */
class PortTurns<T> {
  readonly #lanes: readonly Lane[];
  readonly #ports: readonly PortQueues<T>[];
  readonly #owners: OwnerTurns;
  /** Lanes with queue pairs at ports with room. */
  readonly #open = new LaneSet();
  readonly #deficits = new Int32Array(TVL_MAX);
  /** By owner: the lane in its turn, which continues after turns of other owners. */
  readonly #currents = new Uint8Array(FUNCTION_MAX + 1);
  /** By lane: the port served last. Functions without lanes of their own share lanes. */
  readonly #served = new Uint8Array(TVL_MAX);
  #current = 0;

  constructor(ports: readonly LanePort[], lanes: readonly Lane[], owners: OwnerTurns) {
    this.#lanes = lanes;
    this.#owners = owners;
    this.#ports = ports.map((port) => new PortQueues<T>(port, lanes.length));
  }

  get waiting(): number {
    let waiting = 0;
    for (const port of this.#ports) if (port.isOpen) waiting += port.length;
    return waiting;
  }

  get isOpen(): boolean {
    for (const port of this.#ports) if (port.isOpen) return true;
    return false;
  }

  push(port: number, lane: number, item: T): void {
    // A lane saves up no deficit while it is idle.
    const isCurrent = lane === this.#currents[this.#owners.groups.owners[lane]];
    if (!isCurrent && this.#deficits[lane] > 0 && !this.#isActive(lane)) this.#deficits[lane] = 0;
    this.#ports[port].push(lane, item);
  }

  shift(): T | undefined {
    const lanes = this.#owners.choose(this.#findOpen());
    const owner = this.#owners.groups.owners[lanes.after(0)];
    let lane = this.#currents[owner];
    while (!lanes.has(lane) || this.#deficits[lane] <= 0) {
      lane = lanes.after(lane);
      this.#deficits[lane] += this.#lanes[lane].weight * QUANTUM_BYTES;
    }
    this.#currents[owner] = lane;
    this.#current = lane;
    return this.#findPort(lane).shift(lane);
  }

  get allowance(): number {
    return Math.min(this.#deficits[this.#current], this.#owners.allowance);
  }

  charge(bytes: number): void {
    this.#deficits[this.#current] -= bytes;
    this.#owners.charge(this.#current, bytes);
  }

  #isActive(lane: number): boolean {
    for (const { active } of this.#ports) if (active.has(lane)) return true;
    return false;
  }

  #findOpen(): LaneSet {
    if (this.#ports.length === 1) return this.#ports[0].active;
    const open = this.#open.clear();
    for (const port of this.#ports) if (port.isOpen) open.unite(port.active.words);
    return open;
  }

  /** The next port with room and a queue pair in this lane. There is one. */
  #findPort(lane: number): PortQueues<T> {
    const count = this.#ports.length;
    if (count === 1) return this.#ports[0];
    let index = this.#served[lane];
    do index = (index + 1) % count;
    while (!this.#ports[index].active.has(lane) || !this.#ports[index].isOpen);
    this.#served[lane] = index;
    return this.#ports[index];
  }
}
