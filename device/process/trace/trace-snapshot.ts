// SPDX-License-Identifier: Apache-2.0
/**
 * A snapshot of all traces of a process, over the control socket (docs/DEBUGGING.md): all adapters,
 * QPs and timelines at one moment, kept for one client and sent in parts, because an answer has a
 * bounded length. `TraceControl` answers, `trace-reader.ts` reads.
 */
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { TimelineStep } from '../../hca/function/timeline.ts';
import type { AdapterTrace } from '../../hca/trace/adapter-trace.ts';
import type { TraceObserver } from './trace-observer.ts';

/** Bounds of one part. A command block may be larger. */
const PART_BYTES = 128 * 1024;
const PART_STEPS = 2000;

/** An adapter of the process. */
interface ObservedAdapter {
  readonly name: string;
  readonly observer: TraceObserver;
}

/** Blocks in base64, or steps, of the adapter with this place. */
export interface SnapshotPart {
  readonly adapter: number;
  readonly count: number;
  readonly blocks?: string;
  readonly steps?: readonly TimelineStep[];
}

export interface SnapshotHead {
  readonly parts: number;
  /** Adapter time of the snapshot. */
  readonly nowNs: number;
  readonly adapters: readonly Omit<AdapterTrace, 'messages' | 'steps'>[];
}

/** Parts of a snapshot that one process keeps until its client has read it. */
export class TraceSnapshot {
  readonly head: SnapshotHead;
  readonly #parts: (() => SnapshotPart)[] = [];

  constructor(adapters: readonly ObservedAdapter[], wallTimeNs: number, nowNs: number) {
    for (const [adapter, { observer }] of adapters.entries()) {
      this.#takeBlocks(adapter, observer);
      this.#takeSteps(adapter, observer);
    }
    this.head = {
      parts: this.#parts.length,
      nowNs,
      adapters: adapters.map(({ name, observer }) => observer.describe(name, wallTimeNs)),
    };
  }

  getPart(number: number): SnapshotPart {
    const part = this.#parts[number];
    if (part === undefined) throw new Refusal(`part must be a whole number below ${this.#parts.length}`);
    return part();
  }

  #takeBlocks(adapter: number, observer: TraceObserver): void {
    let blocks: Buffer[] = [];
    let bytes = 0;
    const close = (): void => {
      const taken = blocks;
      const count = taken.length;
      if (count > 0) this.#parts.push(() => ({ adapter, count, blocks: Buffer.concat(taken).toString('base64') }));
      blocks = [];
      bytes = 0;
    };
    for (const one of observer.traces)
      observer.readBlocks(one, 0, (block, lengthBytes) => {
        if (bytes + lengthBytes > PART_BYTES) close();
        blocks.push(Buffer.from(block.subarray(0, lengthBytes)));
        bytes += lengthBytes;
        return true;
      });
    close();
  }

  #takeSteps(adapter: number, observer: TraceObserver): void {
    const steps = observer.readSteps(0, Number.POSITIVE_INFINITY);
    for (let first = 0; first < steps.length; first += PART_STEPS) {
      const part = steps.slice(first, first + PART_STEPS);
      this.#parts.push(() => ({ adapter, count: part.length, steps: part }));
    }
  }
}
