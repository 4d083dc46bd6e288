// SPDX-License-Identifier: Apache-2.0
/**
 * Whose packets are next: those of the owner of lanes that has had least (`owner-turns`); of its lanes that have queue pairs with something to send, by deficit round robin in bytes, for each port, so that a lane's share
 * follows its weight, however many queue pairs it has. The queue pairs of a lane take turns. A full port takes no turn away from anyone.
 */
import { FUNCTION_MAX, TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { LanePort } from './kick-arbitrator.ts';
import type { Lane } from './lane.ts';
import { LaneSet } from './lane-set.ts';
import type { OwnerTurns } from './owner-turns.ts';
import { ReadyQueue } from './ready-queue.ts';

/** Bytes per turn and unit of weight; above the longest packet, so that a turn always leads to one. */
const QUANTUM_BYTES = 8192;

export class PacketTurns<T> {
  readonly #ports: readonly LanePort[];
  readonly #portTurns: readonly PortTurns<T>[];
  #last = 0;

  constructor(ports: readonly LanePort[], lanes: readonly Lane[], owners: OwnerTurns) {
    this.#ports = ports;
    this.#portTurns = ports.map(() => new PortTurns<T>(lanes, owners));
  }

  /** Queue pairs that could have a turn now. */
  get waiting(): number {
    let waiting = 0;
    for (let port = 0; port < this.#ports.length; port++)
      if (this.#portTurns[port].length > 0 && !this.#ports[port].congested) waiting += this.#portTurns[port].length;
    return waiting;
  }

  push(port: number, lane: number, item: T): void {
    this.#portTurns[port].push(lane, item);
  }

  /** The next one, of a port that has room; `allowance` and `charge` are about its turn. */
  shift(): T | undefined {
    for (let tried = 0; tried < this.#ports.length; tried++) {
      this.#last = (this.#last + 1) % this.#ports.length;
      const turns = this.#portTurns[this.#last];
      if (turns.length > 0 && !this.#ports[this.#last].congested) return turns.shift();
    }
    return undefined;
  }

  /** Bytes left to the lane in this turn; the packet that exceeds them is still sent. */
  get allowance(): number {
    return this.#portTurns[this.#last].allowance;
  }

  charge(bytes: number): void {
    this.#portTurns[this.#last].charge(bytes);
  }
}

/** The lanes of one port. */
class PortTurns<T> {
  length = 0;
  readonly #lanes: readonly Lane[];
  readonly #queues: readonly ReadyQueue<T>[];
  readonly #owners: OwnerTurns;
  readonly #active = new LaneSet();
  readonly #deficits = new Int32Array(TVL_MAX);
  /** By owner: the lane whose turn it is among the owner's; it goes on when others had theirs meanwhile. */
  readonly #currents = new Uint8Array(FUNCTION_MAX + 1);
  #current = 0;

  constructor(lanes: readonly Lane[], owners: OwnerTurns) {
    this.#lanes = lanes;
    this.#owners = owners;
    this.#queues = lanes.map(() => new ReadyQueue<T>());
  }

  push(lane: number, item: T): void {
    // A lane saves nothing up while it is idle.
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
