// SPDX-License-Identifier: Apache-2.0
/** Load for lanes alone, for tests and the benchmark: queue pairs whose commands are admitted, launched and released by hand. No driver, no packets. */

import { CreditSource } from '../collect/credit-hold.ts';
import { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { LanePort } from '../lane/kick-arbitrator.ts';
import type { LaneMask } from '../lane/lane-set.ts';
import { LaneSet } from '../lane/lane-set.ts';
import { type LaneOptions, TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

const defaults: LaneOptions = {
  laneCount: 8,
  functionCount: 1,
  executionCredits: 8,
  completionCredits: 16,
  listSize: 64,
  ports: [],
};

export class LaneLoad {
  readonly lanes: TransmitVirtualLanes;
  readonly owners: UnderlyingFunction[];
  readonly queuePairs: QueuePair[] = [];
  /** Launched commands that hold a credit. */
  readonly launched: PhysicalCollectBuffer[] = [];
  readonly #free: PhysicalCollectBuffer[] = [];

  constructor(options: Partial<LaneOptions> = {}) {
    this.lanes = new TransmitVirtualLanes({ ...defaults, ...options });
    this.owners = Array.from(
      { length: options.functionCount ?? defaults.functionCount },
      (_, number) => ({ number }) as UnderlyingFunction,
    );
  }

  addQueuePair(functionNumber = 0, qosLevel = 0): QueuePair {
    const qp = {
      number: this.queuePairs.length,
      owner: this.owners[functionNumber],
      qosLevel,
      epoch: 0,
      nextSequence: 0,
      inFlight: 0,
      kicked: 0,
      lane: -1,
      laneGeneration: 0,
      waitsForRoom: false,
      destroyed: false,
    } as unknown as QueuePair;
    this.queuePairs.push(qp);
    return qp;
  }

  /** A command of `qp` through a VCB, or in a dedicated buffer. */
  post(qp: QueuePair, dedicated = false): PhysicalCollectBuffer {
    const buffer = this.#free.pop() ?? new PhysicalCollectBuffer(0);
    buffer.vcb = dedicated ? -1 : 0;
    buffer.view.setUint32(0, qp.nextSequence);
    this.lanes.admit(qp, buffer);
    return buffer;
  }

  /** Launches the next command, if any can be. */
  launch(): PhysicalCollectBuffer | undefined {
    if (this.lanes.peek() === undefined) return undefined;
    const buffer = this.lanes.launch();
    this.launched.push(buffer);
    return buffer;
  }

  /** Ends a launched command: both credits come back, and once more, which must change nothing. */
  finish(buffer: PhysicalCollectBuffer): void {
    const { lanes, launched } = this;
    for (let times = 0; times < 2; times++) {
      lanes.releaseExecution(buffer.hold);
      lanes.releaseCompletion(buffer.hold);
    }
    launched[launched.indexOf(buffer)] = launched[launched.length - 1];
    launched.pop();
    this.#free.push(buffer);
  }

  /** Returns what is wrong with the counts, or undefined. */
  findFault(): string | undefined {
    for (const kind of ['execution', 'completion'] as const) {
      const accounts = this.lanes[kind];
      const held = this.launched.filter(({ hold }) => hold[kind] !== CreditSource.NONE);
      const shared = held.filter(({ hold }) => hold[kind] === CreditSource.SHARED).length;
      const byLane = this.lanes.lanes.findIndex(
        ({ number }) =>
          held.filter(({ hold }) => hold.lane === number).length !==
          accounts.privateUsed[number] + accounts.laneSharedUsed[number],
      );
      if (accounts.used !== held.length || accounts.sharedUsed !== shared)
        return `${kind}: ${accounts.used} used, ${accounts.sharedUsed} shared; held ${held.length}, ${shared}`;
      if (accounts.used > accounts.total) return `${kind}: ${accounts.used} of ${accounts.total} used`;
      if (byLane >= 0) return `${kind}: lane ${byLane} counts wrongly`;
      if (Math.min(accounts.sharedUsed, ...accounts.privateUsed, ...accounts.laneSharedUsed) < 0)
        return `${kind}: a count is negative`;
    }
    return undefined;
  }
}

/** A mask of the lanes named. */
export function maskOf(...numbers: number[]): LaneMask {
  const set = new LaneSet();
  for (const lane of numbers) set.add(lane);
  return set.words;
}

/** A port that is full when told so. */
export class SwitchedPort implements LanePort {
  congested = false;
}
