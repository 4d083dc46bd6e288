// SPDX-License-Identifier: Apache-2.0
/** What holds of lanes and credits after every step: credits are conserved, and what is in use is what commands hold, by lane, by function and in all. */
import { TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { Adapter } from '../adapter.ts';
import { PcbState } from '../collect/physical-collect-buffer.ts';
import type { CreditAccounts } from '../lane/credit-accounts.ts';
import { type CreditHold, CreditSource } from '../lane/credit-hold.ts';

/** Credits of one kind as commands hold them. */
class Held {
  all = 0;
  shared = 0;
  // Plain arrays: they are made for every check, and typed ones cost a piece of memory outside the heap each.
  readonly private: number[];
  readonly laneShared: number[];
  readonly byFunction: number[];
  readonly sharedByFunction: number[];

  constructor(functionCount: number, laneCount: number) {
    this.private = new Array<number>(laneCount).fill(0);
    this.laneShared = new Array<number>(laneCount).fill(0);
    this.byFunction = new Array<number>(functionCount).fill(0);
    this.sharedByFunction = new Array<number>(functionCount).fill(0);
  }

  add(hold: CreditHold, source: CreditSource): void {
    if (source === CreditSource.NONE) return;
    this.all++;
    this.byFunction[hold.functionNumber]++;
    if (source === CreditSource.PRIVATE) {
      this.private[hold.lane]++;
      return;
    }
    this.shared++;
    this.laneShared[hold.lane]++;
    this.sharedByFunction[hold.functionNumber]++;
  }

  /** Returns what `accounts` say otherwise. */
  compare(accounts: CreditAccounts): string | undefined {
    if (accounts.used > accounts.total) return `${accounts.used} of ${accounts.total} are in use`;
    if (accounts.used !== this.all) return `${accounts.used} are in use, commands hold ${this.all}`;
    if (accounts.sharedUsed !== this.shared) return `${accounts.sharedUsed} shared are in use, not ${this.shared}`;
    for (let lane = 0; lane < TVL_MAX; lane++) {
      const own = this.private[lane] ?? 0;
      const shared = this.laneShared[lane] ?? 0;
      if (accounts.privateUsed[lane] !== own || accounts.laneSharedUsed[lane] !== shared)
        return `lane ${lane} counts ${accounts.privateUsed[lane]}+${accounts.laneSharedUsed[lane]}, not ${own}+${shared}`;
    }
    const differs = (counts: Int32Array, held: number[]): boolean => held.some((count, at) => counts[at] !== count);
    if (differs(accounts.functionUsed, this.byFunction)) return `functions use ${accounts.functionUsed}`;
    if (differs(accounts.functionSharedUsed, this.sharedByFunction))
      return `functions use ${accounts.functionSharedUsed} shared`;
    return undefined;
  }
}

/** Returns a sentence about the first thing wrong with lanes or credits, or undefined. */
export function findLaneFault(adapter: Adapter): string | undefined {
  const { lanes, functions, resources } = adapter;
  const execution = new Held(functions.length, lanes.count);
  const completion = new Held(functions.length, lanes.count);
  const add = (hold: CreditHold): void => {
    execution.add(hold, hold.execution);
    completion.add(hold, hold.completion);
  };
  const bound = new Set<unknown>();
  for (const pool of [adapter.collectBuffers, adapter.schedulerBuffers])
    for (const buffer of pool.buffers) {
      add(buffer.hold);
      if (buffer.state === PcbState.LAUNCHED) bound.add(buffer);
    }
  let wrong: string | undefined;
  resources.queuePairs.forEach((qp) => {
    for (let record = qp.requester?.oldest; record !== undefined; record = record.next) {
      add(record.hold);
      const executing = record.hold.execution !== CreditSource.NONE;
      if (executing !== (record.buffer !== undefined) || (executing && !bound.delete(record.buffer)))
        wrong ??= `a record of QP ${qp.number} and its PCB disagree about their execution credit`;
    }
  });
  if (bound.size > 0) wrong ??= `${bound.size} launched PCBs belong to no record`;
  const credits = execution.compare(lanes.execution) ?? completion.compare(lanes.completion);
  return wrong ?? credits ?? findListFault(adapter);
}

/** Lists hold kicked commands; a queue pair's are all in one list and counted. */
function findListFault({ lanes, functions }: Adapter): string | undefined {
  const kicked = new Map<{ kicked: number; lane: number }, number>();
  const waiting = functions.map(() => 0);
  for (const lane of lanes.lanes) {
    let length = 0;
    for (let buffer = lane.head; buffer !== undefined; buffer = buffer.nextKicked) {
      const qp = buffer.queuePair;
      if (buffer.state !== PcbState.KICKED || qp === undefined) return `lane ${lane.number} lists a PCB not kicked`;
      if (qp.lane !== lane.number) return `QP ${qp.number} is on lane ${qp.lane}, a command of it on ${lane.number}`;
      kicked.set(qp, (kicked.get(qp) ?? 0) + 1);
      waiting[qp.owner.number]++;
      length++;
    }
    if (length !== lane.length) return `lane ${lane.number} has ${length} commands and counts ${lane.length}`;
  }
  for (const [qp, count] of kicked)
    if (qp.kicked !== count) return `a QP counts ${qp.kicked} kicked commands of ${count}`;
  const off = waiting.findIndex((count, at) => lanes.functionWaiting[at] !== count);
  return off < 0
    ? undefined
    : `function ${off} counts ${lanes.functionWaiting[off]} kicked commands of ${waiting[off]}`;
}
