// SPDX-License-Identifier: Apache-2.0
/**
 * Turns of packets of connections (US 8,484,392 par. 41; docs/ARCHITECTURE.md, Shares of time). For
 * each port: the least-served owner first (owner-turns.ts), then its lanes by deficit round robin
 * in bytes, so that a lane's share follows its weight whatever its number of queue pairs, then the
 * queue pairs of the lane in order. A full port costs no queue pair its turn. Called by the
 * requester, for requests and for READ responses.
 */
import { FUNCTION_MAX, TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { LanePort } from './kick-arbitrator.ts';
import type { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';
import type { OwnerTurns } from './owner-turns.ts';
import { ReadyQueue } from './ready-queue.ts';

/** Bytes per turn and unit of weight: more than the longest packet, so that each turn sends one. */
const QUANTUM_BYTES = 8192;

export class PacketTurns<T> {
  readonly #ports: readonly LanePort[];
  readonly #portTurns: readonly PortTurns<T>[];
  #last = 0;

  constructor(ports: readonly LanePort[], lanes: readonly Lane[], owners: OwnerTurns) {
    this.#ports = ports;
    this.#portTurns = ports.map(() => new PortTurns<T>(lanes, owners));
  }

  /** Queue pairs at ports with room. */
  get waiting(): number {
    let waiting = 0;
    for (let port = 0; port < this.#ports.length; port++)
      if (this.#portTurns[port].length > 0 && !this.#ports[port].congested) waiting += this.#portTurns[port].length;
    return waiting;
  }

  /** Appends a queue pair to its lane. The caller keeps it from being queued twice. */
  push(port: number, lane: number, item: T): void {
    this.#portTurns[port].push(lane, item);
  }

  /**
   * Removes and returns the next queue pair of a port with room. `allowance` and `charge` then
   * apply to its turn.
   */
  shift(): T | undefined {
    for (let tried = 0; tried < this.#ports.length; tried++) {
      this.#last = (this.#last + 1) % this.#ports.length;
      const turns = this.#portTurns[this.#last];
      if (turns.length > 0 && !this.#ports[this.#last].congested) return turns.shift();
    }
    return undefined;
  }

  /** Bytes left in this turn. The packet that exceeds them is still sent. */
  get allowance(): number {
    return this.#portTurns[this.#last].allowance;
  }

  charge(bytes: number): void {
    this.#portTurns[this.#last].charge(bytes);
  }
}

/** The lanes of one port with queue pairs that wait. */
class PortTurns<T> {
  length = 0;
  readonly #lanes: readonly Lane[];
  readonly #queues: readonly ReadyQueue<T>[];
  readonly #owners: OwnerTurns;
  readonly #active = new LaneSet();
  readonly #deficits = new Int32Array(TVL_MAX);
  /** By owner: the lane in its turn, which continues after turns of other owners. */
  readonly #currents = new Uint8Array(FUNCTION_MAX + 1);
  #current = 0;

  constructor(lanes: readonly Lane[], owners: OwnerTurns) {
    this.#lanes = lanes;
    this.#owners = owners;
    this.#queues = lanes.map(() => new ReadyQueue<T>());
  }

  push(lane: number, item: T): void {
    // A lane saves up no deficit while it is idle.
    const isCurrent = lane === this.#currents[this.#owners.groups.owners[lane]];
    if (this.#queues[lane].length === 0 && !isCurrent && this.#deficits[lane] > 0) this.#deficits[lane] = 0;
    this.#queues[lane].push(item);
    this.#active.add(lane);
    this.length++;
  }

  shift(): T | undefined {
    const lanes = this.#owners.choose(this.#active);
    const owner = this.#owners.groups.owners[lanes.after(0)];
    let lane = this.#currents[owner];
    while (!lanes.has(lane) || this.#deficits[lane] <= 0) {
      lane = lanes.after(lane);
      this.#deficits[lane] += this.#lanes[lane].weight * QUANTUM_BYTES;
    }
    this.#currents[owner] = lane;
    this.#current = lane;
    const queue = this.#queues[this.#current];
    if (queue.length === 1) this.#active.delete(this.#current);
    this.length--;
    return queue.shift();
  }

  get allowance(): number {
    return Math.min(this.#deficits[this.#current], this.#owners.allowance);
  }

  charge(bytes: number): void {
    this.#deficits[this.#current] -= bytes;
    this.#owners.charge(this.#current, bytes);
  }
}
