// SPDX-License-Identifier: Apache-2.0
/**
 * A load for lanes alone (US 8,484,392 par. 41-47): QPs whose commands are admitted, launched and
 * finished by the caller, without driver and packets. Used by the tests of lanes and by
 * `scripts/bench/lanes.ts`.
 */

import { CreditSource } from '../collect/credit-hold.ts';
import { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { FunctionCounters } from '../function/function-counters.ts';
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

/** Lanes, their QPs and the commands that hold credits. */
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
      (_, number) => ({ number, counters: new FunctionCounters() }) as UnderlyingFunction,
    );
  }

  /** A QP with the fields that lanes use. */
  addQueuePair(functionNumber = 0, qosLevel = 0): QueuePair {
    const qp = {
      number: this.queuePairs.length,
      owner: this.owners[functionNumber],
      qosLevel,
      epoch: 0,
      nextSequence: 0,
      inFlight: 0,
      kicked: 0,
      staged: 0,
      lane: -1,
      laneGeneration: 0,
      waitsForRoom: false,
      destroyed: false,
    } as unknown as QueuePair;
    this.queuePairs.push(qp);
    return qp;
  }

  /** Admits the next command of `qp`, from a VCB of `qosLevel` or in a dedicated buffer. */
  post(qp: QueuePair, dedicated = false, qosLevel = qp.qosLevel): PhysicalCollectBuffer {
    const buffer = this.#free.pop() ?? new PhysicalCollectBuffer(0);
    buffer.vcb = dedicated ? -1 : 0;
    buffer.qosLevel = dedicated ? 0 : qosLevel;
    buffer.view.setUint32(0, qp.nextSequence);
    this.lanes.admit(qp, buffer);
    return buffer;
  }

  /** Launches the next command; undefined if none can be launched. */
  launch(): PhysicalCollectBuffer | undefined {
    if (this.lanes.peek() === undefined) return undefined;
    const buffer = this.lanes.launch();
    this.launched.push(buffer);
    return buffer;
  }

  /** Ends a launched command. It releases both credits twice: the second time has no effect. */
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

  /** Describes a wrong count; undefined if there is none. */
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

/** The mask of the given lanes. */
export function maskOf(...numbers: number[]): LaneMask {
  const set = new LaneSet();
  for (const lane of numbers) set.add(lane);
  return set.words;
}

/** A port whose congestion the test sets. */
export class SwitchedPort implements LanePort {
  congested = false;
}
