// SPDX-License-Identifier: Apache-2.0
/**
 * Launched commands between the arbitrator and their packets, while reads of guest memory take time
 * (US 8,484,392 par. 39, 41-42, 118-121). Each read occupies a DMA context for the latency of
 * `DmaTiming`; lanes take turns for contexts. A command leaves when all its reads are complete and
 * the command before it on its lane has left: lanes overtake each other, commands of one lane do
 * not. Commands hold their PCB and both credits here. Used by the send pipeline.
 */
import { TVL_MAX } from '../../../../protocol/layout/gen/constants.gen.ts';
import type { KickedCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { ArrivalRing } from '../../function/arrival-ring.ts';
import { DMA_CONTEXTS_MAX, type DmaTiming } from '../../function/dma-timing.ts';
import type { UnderlyingFunction } from '../../function/underlying-function.ts';
import { LaneSet } from '../../lane/lane-set.ts';

type Command = KickedCollectBuffer;
const NO_LANE = -1;

export class PipelineStage {
  /** Commands in the stage, and the same by function number. */
  count = 0;
  readonly functionCounts: Int32Array;
  /** Reads issued since power-on. */
  reads = 0;
  readonly #timing: DmaTiming;
  /** By lane: first and last command, and the first one that has reads to issue. */
  readonly #heads = new Array<Command | undefined>(TVL_MAX).fill(undefined);
  readonly #tails = new Array<Command | undefined>(TVL_MAX).fill(undefined);
  readonly #issuing = new Array<Command | undefined>(TVL_MAX).fill(undefined);
  /** Lanes with commands, and lanes with reads to issue. */
  readonly #occupied = new LaneSet();
  readonly #wanting = new LaneSet();
  /** The lanes that had the last context, and whose command left last. */
  #lastServed = NO_LANE;
  #lastLeft = NO_LANE;
  /** Outstanding reads, and the command of each: undefined once it was dropped. */
  readonly #arrivals: ArrivalRing;
  readonly #readers = new Array<Command | undefined>(DMA_CONTEXTS_MAX).fill(undefined);
  /** Time of the last `land`. */
  #nowNs = 0;

  constructor(timing: DmaTiming, functionCount: number) {
    this.#timing = timing;
    this.#arrivals = new ArrivalRing(DMA_CONTEXTS_MAX, timing);
    timing.pool.join(() => this.#issueNext());
    this.functionCounts = new Int32Array(functionCount);
  }

  /** DMA contexts in use, each by an outstanding read of the stage. */
  get contextsUsed(): number {
    return this.#arrivals.count;
  }

  /** True while commands are here, or reads of dropped ones are outstanding. */
  get busy(): boolean {
    return this.count > 0 || this.contextsUsed > 0;
  }

  /** True when launched commands are executed at once, without the stage. */
  get isPassed(): boolean {
    return this.count === 0 && this.#timing.instant;
  }

  /**
   * Earliest time at which a command may become ready, Infinity for never. Commands that were ready
   * at the last `land` do not count: they wait for their port, not for time.
   */
  get nextNs(): number {
    let { nextNs } = this.#arrivals;
    if (this.count === 0) return nextNs;
    for (const head of this.#heads) {
      if (head === undefined || head.stay.readsLeft + head.stay.readsOutstanding > 0) continue;
      const { readyNs } = head.stay;
      if (readyNs > this.#nowNs && readyNs < nextNs) nextNs = readyNs;
    }
    return nextNs;
  }

  /** Takes a launched command that needs `reads` reads. */
  enter(command: Command, reads: number): void {
    const { lane, functionNumber } = command.hold;
    const { clock, latencyNs, pipelineNs } = this.#timing;
    const { stay } = command;
    stay.readsLeft = latencyNs === 0 ? 0 : reads;
    stay.readsOutstanding = 0;
    stay.readyNs = clock.now() + pipelineNs;
    command.queuePair.staged++;
    this.count++;
    this.functionCounts[functionNumber]++;
    this.#append(command, lane);
    if (stay.readsLeft === 0) return;
    this.#issuing[lane] ??= command;
    this.#wanting.add(lane);
    this.#timing.pool.issue();
  }

  /** Takes the completions of reads that have arrived; their contexts serve further reads. */
  land(): void {
    this.#nowNs = this.#timing.clock.now();
    const arrivals = this.#arrivals;
    while (arrivals.hasArrived(this.#nowNs)) {
      const reader = this.#readers[arrivals.first];
      if (reader !== undefined) reader.stay.readsOutstanding--;
      this.#readers[arrivals.first] = undefined;
      arrivals.remove();
      this.#timing.pool.give();
    }
    this.#timing.pool.issue();
  }

  /**
   * Removes and returns the next command that is ready and for which `mayLeave` returns true;
   * undefined when there is none. Lanes take turns.
   */
  take(mayLeave: (command: Command) => boolean): Command | undefined {
    let lane = this.#lastLeft;
    for (let lanes = this.#occupied.size; lanes > 0; lanes--) {
      lane = this.#occupied.after(lane);
      const command = this.#heads[lane] as Command;
      if (!this.#isReady(command) || !mayLeave(command)) continue;
      this.#lastLeft = lane;
      this.#shift(lane);
      return command;
    }
    return undefined;
  }

  /**
   * Removes the commands of a function at its reset and passes them to `drop`. Their contexts stay
   * in use until the completions of their reads arrive.
   */
  drop(owner: UnderlyingFunction, drop: (command: Command) => void): void {
    if (this.functionCounts[owner.number] === 0) return;
    for (let index = 0; index < DMA_CONTEXTS_MAX; index++)
      if (this.#readers[index]?.queuePair.owner === owner) this.#readers[index] = undefined;
    for (let lane = 0; lane < TVL_MAX; lane++) {
      const tail = this.#tails[lane];
      for (let command = this.#heads[lane]; command !== undefined; ) {
        const isLast = command === tail;
        this.#shift(lane);
        if (command.queuePair.owner === owner) drop(command);
        else this.#putBack(command, lane);
        command = isLast ? undefined : this.#heads[lane];
      }
    }
  }

  #isReady({ stay }: Command): boolean {
    return stay.readsLeft === 0 && stay.readsOutstanding === 0 && stay.readyNs <= this.#nowNs;
  }

  #append(command: Command, lane: number): void {
    command.nextKicked = undefined;
    const tail = this.#tails[lane];
    if (tail === undefined) this.#heads[lane] = command;
    else tail.nextKicked = command;
    this.#tails[lane] = command;
    this.#occupied.add(lane);
  }

  #shift(lane: number): void {
    const command = this.#heads[lane] as Command;
    this.#heads[lane] = command.nextKicked;
    if (command.nextKicked === undefined) {
      this.#tails[lane] = undefined;
      this.#occupied.delete(lane);
    }
    if (this.#issuing[lane] === command) this.#findIssuing(lane, command.nextKicked);
    command.nextKicked = undefined;
    command.queuePair.staged--;
    this.count--;
    this.functionCounts[command.hold.functionNumber]--;
  }

  #putBack(command: Command, lane: number): void {
    command.queuePair.staged++;
    this.count++;
    this.functionCounts[command.hold.functionNumber]++;
    this.#append(command, lane);
    if (this.#issuing[lane] === undefined) this.#findIssuing(lane, command);
  }

  /** Finds the first command from `from` on that has reads to issue. */
  #findIssuing(lane: number, from: Command | undefined): void {
    let command = from;
    while (command !== undefined && command.stay.readsLeft === 0) command = command.nextKicked;
    this.#issuing[lane] = command;
    this.#wanting.put(lane, command !== undefined);
  }

  /** Issues a read. Each lane issues one read per turn. Returns false when no lane has any. */
  #issueNext(): boolean {
    const lane = this.#wanting.after(this.#lastServed);
    if (lane < 0) return false;
    this.#lastServed = lane;
    const command = this.#issuing[lane] as Command;
    command.stay.readsLeft--;
    command.stay.readsOutstanding++;
    if (command.stay.readsLeft === 0) this.#findIssuing(lane, command.nextKicked);
    this.#readers[this.#arrivals.issue()] = command;
    this.reads++;
    return true;
  }
}
