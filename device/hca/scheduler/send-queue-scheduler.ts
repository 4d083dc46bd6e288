// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue scheduler (US 8,484,392 par. 34; US 9,069,485 par. 21, 70, 75): advances the
 * doorbell units and gives the linked send queues their turns. There is one list per function and
 * QoS level; lists take turns, and so do the queues of a list. Only units and lists with work are
 * visited, so idle functions cost nothing. `Adapter.run` calls `serve`.
 */
import { FUNCTION_MAX, QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendSource } from '../queues/send-source.ts';
import { CommandFetcher, takesCommands } from './command-fetcher.ts';
import type { DoorbellScheduler, DoorbellUnit } from './doorbell-unit.ts';
import type { SendQueueList } from './send-queue-list.ts';
import type { ShadowTails } from './shadow-tails.ts';
import { TurnRing } from './turn-ring.ts';

/** Units of work of one function per turn. */
const UNIT_STEPS = 64;
const NEVER = Number.POSITIVE_INFINITY;

export class SendQueueScheduler implements DoorbellScheduler, SendSource {
  readonly fetcher: CommandFetcher;
  /** The watched send queues, which queue pairs leave that are reset or destroyed. */
  tails: ShadowTails | undefined = undefined;
  readonly #shared: boolean;
  /** Doorbell units by function number. */
  readonly #unitsByFunction: DoorbellUnit[] = [];
  readonly #units = new TurnRing<DoorbellUnit>(FUNCTION_MAX);
  readonly #lists = new TurnRing<SendQueueList>(FUNCTION_MAX * QOS_LEVELS);
  /** Lists whose turn found no dedicated buffer, in the current call. */
  readonly #refused = new Array<SendQueueList>(FUNCTION_MAX * QOS_LEVELS);

  /**
   * `shared`: several functions share the adapter. `quantum`: commands per turn of a send queue;
   * undefined: that of the fetcher.
   */
  constructor(buffers: PcbAllocator, lanes: TransmitVirtualLanes, shared: boolean, quantum?: number) {
    this.#shared = shared;
    this.fetcher = new CommandFetcher(buffers, lanes, this, shared, quantum);
  }

  /** Registers the doorbell unit of a function. Called once per function, before traffic. */
  addUnit(unit: DoorbellUnit): void {
    this.#unitsByFunction[unit.owner.number] = unit;
  }

  /** The doorbell unit of the QP's function. */
  unitOf(qp: QueuePair): DoorbellUnit {
    return this.#unitsByFunction[qp.owner.number];
  }

  /** Takes in the completions of bus reads that have arrived by `nowNs`. */
  land(nowNs: number): void {
    for (const unit of this.#unitsByFunction) if (unit.inbound.land(nowNs)) this.wake(unit);
  }

  /** Arrival of the next completion of a bus read; Infinity when no read is in flight. */
  get nextNs(): number {
    return this.#unitsByFunction.reduce((nextNs, { inbound }) => Math.min(nextNs, inbound.nextNs), NEVER);
  }

  /** Schedules `unit.advance`. No effect when it is scheduled. */
  wake(unit: DoorbellUnit): void {
    this.#units.add(unit);
  }

  /** Appends the QP to its list. No effect when it is there, stopped, or an XRC target. */
  schedule(qp: QueuePair): void {
    if (qp.scheduled || qp.stopped || qp.isXrcTarget) return;
    const list = this.#listOf(qp);
    qp.owner.counters.queuesLinked++;
    list.push(qp);
    this.#lists.add(list);
  }

  /**
   * Gives the QP a turn. While all lists are empty, the turn begins at once, which saves the writes
   * of the link; returns true then. Otherwise the QP waits in its list, as it always does beside
   * other functions: its descriptor must not show whether they have queues that wait.
   */
  giveTurn(unit: DoorbellUnit, qp: QueuePair): boolean {
    const isAlone = !this.#shared && !qp.scheduled && this.#lists.length === 0;
    if (isAlone && takesCommands(qp) && this.fetcher.begin(unit, qp)) return true;
    this.schedule(qp);
    return false;
  }

  /** Removes the QP from its list, if it is linked. */
  unschedule(qp: QueuePair): void {
    if (qp.scheduled) this.#listOf(qp).remove(qp);
    this.wake(this.unitOf(qp));
  }

  /** The descriptor of a stopped QP still says `destroyed`. */
  restart(qp: QueuePair, wasStopped: boolean): void {
    this.tails?.drop(qp);
    if (wasStopped) this.unitOf(qp).descriptors.publish(qp);
  }

  forget(qp: QueuePair): void {
    this.tails?.forget(qp);
    const unit = this.unitOf(qp);
    unit.overflow.orphan(qp);
    this.wake(unit);
  }

  /** Does up to `limit` units of work and returns their number. */
  serve(limit: number): number {
    let done = this.#advanceUnits(limit);
    done += this.#takeTurns(limit - done);
    // The completions of the reads issued by these turns have arrived already.
    return done + this.#advanceUnits(limit - done);
  }

  #advanceUnits(limit: number): number {
    let done = 0;
    for (let count = this.#units.length; count > 0 && done < limit; count--) {
      const unit = this.#units.take();
      const steps = Math.min(UNIT_STEPS, limit - done);
      const taken = unit.advance(steps);
      done += taken;
      if (taken === steps) this.#units.add(unit);
    }
    return done;
  }

  #takeTurns(limit: number): number {
    let turns = 0;
    let refused = 0;
    for (let count = this.#lists.length; count > 0 && turns < limit; count--) {
      const list = this.#lists.take();
      if (list.head === undefined) continue;
      if (!this.#takeTurn(list, list.head)) this.#refused[refused++] = list;
      else {
        turns++;
        if (list.head !== undefined) this.#lists.add(list);
      }
    }
    // Refused lists are first the next time. Otherwise one list could take every buffer that
    // becomes free.
    while (refused > 0) this.#lists.restore(this.#refused[--refused]);
    return turns;
  }

  /**
   * The queue leaves its list before its record is read, so that a later doorbell links it again.
   */
  #takeTurn(list: SendQueueList, qp: QueuePair): boolean {
    const unit = this.#unitsByFunction[list.owner.number];
    if (takesCommands(qp)) {
      if (!this.fetcher.begin(unit, qp)) return false;
      this.wake(unit);
    }
    list.remove(qp);
    return true;
  }

  #listOf(qp: QueuePair): SendQueueList {
    return this.#unitsByFunction[qp.owner.number].lists[qp.qosLevel];
  }
}
