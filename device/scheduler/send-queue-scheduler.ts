// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue scheduler (US9069485): lets the doorbell units of the functions work, and gives the lists of linked send queues their turns. There is one list for
 * each function and QoS level; lists take turns, and so do the queues of a list. Only units and lists with work are looked at.
 */
import { FUNCTION_MAX, QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { DoorbellUnit } from '../doorbells/doorbell-unit.ts';
import type { DoorbellScheduler } from '../doorbells/doorbell-unit-parts.ts';
import type { SendQueueList } from '../doorbells/send-queue-list.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { CommandFetcher, takesCommands } from './command-fetcher.ts';
import { TurnRing } from './turn-ring.ts';

/** Steps of one function before the next has its turn. */
const UNIT_STEPS = 64;

export class SendQueueScheduler implements DoorbellScheduler<DoorbellUnit> {
  readonly fetcher: CommandFetcher;
  /** Doorbell units by function number. */
  readonly #unitsByFunction: DoorbellUnit[] = [];
  readonly #units = new TurnRing<DoorbellUnit>(FUNCTION_MAX);
  readonly #lists = new TurnRing<SendQueueList>(FUNCTION_MAX * QOS_LEVELS);
  /** Lists that had to go without in these turns. */
  readonly #refused = new Array<SendQueueList>(FUNCTION_MAX * QOS_LEVELS);

  /** `shared`: by several functions. */
  constructor(buffers: PcbAllocator, lanes: TransmitVirtualLanes, shared: boolean) {
    this.fetcher = new CommandFetcher(buffers, lanes, this, shared);
  }

  /** The unit of the next function. */
  addUnit(unit: DoorbellUnit): void {
    this.#unitsByFunction[unit.owner.number] = unit;
  }

  /** The unit of the QP's function. */
  unitOf(qp: QueuePair): DoorbellUnit {
    return this.#unitsByFunction[qp.owner.number];
  }

  /** A unit may have something to do. */
  wake(unit: DoorbellUnit): void {
    this.#units.add(unit);
  }

  /** Puts the QP at the end of its list unless it is there. */
  schedule(qp: QueuePair): void {
    if (qp.scheduled || qp.stopped) return;
    const list = this.#listOf(qp);
    qp.owner.counters.queuesLinked++;
    list.push(qp);
    this.#lists.add(list);
  }

  /** Where nobody waits for a turn the QP has it at once, and no link needs to be written. False when it has to wait in its list. */
  beginAtOnce(unit: DoorbellUnit, qp: QueuePair): boolean {
    if (qp.scheduled || this.#lists.length > 0 || !takesCommands(qp) || !this.fetcher.begin(unit, qp)) return false;
    // Counted either way: the function's counters must not show whether others have queues that wait.
    qp.owner.counters.queuesLinked++;
    return true;
  }

  /** Takes the QP off its list, wherever it stands. */
  unschedule(qp: QueuePair): void {
    if (qp.scheduled) this.#listOf(qp).remove(qp);
  }

  /** Does up to `limit` units of work; returns how many. */
  serve(limit: number): number {
    let done = this.#advanceUnits(limit);
    done += this.#takeTurns(limit - done);
    // What the turns have asked for is there already.
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
    // Who had to go without is first the next time; otherwise the same list could take what came free each time.
    while (refused > 0) this.#lists.restore(this.#refused[--refused]);
    return turns;
  }

  /** The queue leaves its list before its record is read, so that a doorbell that comes later links it again. */
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
