// SPDX-License-Identifier: Apache-2.0
/**
 * The traces of an adapter: which QPs are traced, in how much memory of whose function, and how command blocks are read. Guests ask by management commands, the host by
 * `vuhca trace`. A trace ends with its QP.
 */
import type { AdapterClock } from '../host.ts';
import { BlockEncoder } from './block-encoder.ts';
import { QueuePairTrace } from './queue-pair-trace.ts';
import { TraceRing } from './trace-ring.ts';
import type { TraceSettings } from './trace-settings.ts';
import type { TracedQueuePair } from './traced.ts';

/** Memory that the traces of one function may take. */
export const TRACE_BYTES_PER_FUNCTION = 64 * 1024 * 1024;

/** Takes an encoded block; false when it can take no more. */
export type BlockSink = (bytes: Uint8Array, lengthBytes: number) => boolean;

/** A QP that may be traced. */
type TraceableQueuePair = TracedQueuePair & { trace: QueuePairTrace | undefined };

/** What was read: blocks, and where to go on. */
export interface TraceReading {
  readonly count: number;
  /** The first block that had not ended yet, or the one behind the last. */
  readonly next: number;
}

export class Traces {
  readonly #clock: AdapterClock;
  readonly #used: number[];
  readonly #encoder = new BlockEncoder();

  constructor(clock: AdapterClock, functionCount: number) {
    this.#clock = clock;
    this.#used = new Array<number>(functionCount).fill(0);
  }

  /** Memory that traces of a function take. */
  getUsed(functionNumber: number): number {
    return this.#used[functionNumber];
  }

  /** Begins a new trace of the QP, in place of the one it has. False, with nothing changed, when its function has no memory left for it. */
  enable(qp: TraceableQueuePair, settings: TraceSettings): boolean {
    const { number } = qp.owner;
    const sizeBytes = TraceRing.sizeBytes(settings.blocksLog2, settings.snapLength);
    if (this.#used[number] - sizeOf(qp.trace) + sizeBytes > TRACE_BYTES_PER_FUNCTION) return false;
    this.disable(qp);
    this.#used[number] += sizeBytes;
    qp.trace = new QueuePairTrace(qp, settings, this.#clock, () => {
      this.#used[number] -= sizeBytes;
    });
    return true;
  }

  /** Ends the trace of the QP, if it has one; its blocks are gone. */
  disable(qp: TraceableQueuePair): void {
    qp.trace?.release();
    qp.trace = undefined;
  }

  /** Gives blocks from `position` on to `sink`, oldest first, until it refuses one. Whoever has them calls `noteRead` with where to go on. */
  read(trace: QueuePairTrace, position: number, sink: BlockSink): TraceReading {
    const { ring, subject } = trace;
    let index = Math.min(Math.max(position, ring.tail), ring.head);
    let next = index;
    let count = 0;
    let allEnded = true;
    for (; index < ring.head; index++, count++) {
      const lengthBytes = this.#encoder.encode(ring, index, subject);
      if (!sink(this.#encoder.bytes, lengthBytes)) break;
      allEnded &&= ring.isComplete(index);
      if (allEnded) next = index + 1;
    }
    return { count, next };
  }
}

function sizeOf(trace: QueuePairTrace | undefined): number {
  return trace === undefined ? 0 : TraceRing.sizeBytes(trace.settings.blocksLog2, trace.settings.snapLength);
}
