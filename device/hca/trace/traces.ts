// SPDX-License-Identifier: Apache-2.0
/**
 * The traces of an adapter: enables and disables them, limits their memory by function, and reads
 * command blocks (IPCOM000010133D par. 1, 4; docs/DOCUMENTS.md decision 10). Called by trace
 * commands of guests and by the host (`vuhca trace`). A trace ends with its QP.
 */
import type { AdapterClock } from '../../host.ts';
import { BlockEncoder } from './block-encoder.ts';
import { QueuePairTrace, type TraceSettings } from './queue-pair-trace.ts';
import { type TraceClock, TraceRing } from './trace-ring.ts';
import type { TracedQueuePair } from './traced.ts';

/** Maximum of memory for the traces of one function. */
export const TRACE_BYTES_PER_FUNCTION = 64 * 1024 * 1024;

/** Takes an encoded block. Returns false when it can take no more. */
export type BlockSink = (bytes: Uint8Array, lengthBytes: number) => boolean;

/** A QP that can be traced. */
type TraceableQueuePair = TracedQueuePair & { trace: QueuePairTrace | undefined };

/** Blocks passed to the sink, and the position to continue at. */
export interface TraceReading {
  readonly count: number;
  /** The first block that has not ended yet, or the position behind the last one. */
  readonly next: number;
}

export class Traces {
  readonly #clock: AdapterClock;
  readonly #used: number[];
  readonly #encoder = new BlockEncoder();
  /** Called when software has moved a QP to RTR, so that the host can observe it from its start. */
  onReady: ((qp: TraceableQueuePair) => void) | undefined = undefined;

  constructor(clock: AdapterClock, functionCount: number) {
    this.#clock = clock;
    this.#used = new Array<number>(functionCount).fill(0);
  }

  /** Bytes that the traces of a function use. */
  getUsed(functionNumber: number): number {
    return this.#used[functionNumber];
  }

  /**
   * Begins a new trace of the QP, in place of an old one. Returns false, with nothing changed, when
   * the function's memory for traces is exhausted.
   */
  enable(qp: TraceableQueuePair, settings: TraceSettings): boolean {
    const { number } = qp.owner;
    const sizeBytes = TraceRing.sizeBytes(settings.blocksLog2, settings.snapLength);
    const freedBytes = qp.trace === undefined || qp.trace.settings.hidden ? 0 : qp.trace.ring.sizeBytes;
    if (this.#used[number] - freedBytes + sizeBytes > TRACE_BYTES_PER_FUNCTION) return false;
    this.disable(qp);
    this.#used[number] += sizeBytes;
    qp.trace = new QueuePairTrace(qp, settings, this.#clock, () => {
      this.#used[number] -= sizeBytes;
    });
    return true;
  }

  /**
   * Begins a trace that the guest cannot see, with the times of `clock`, which no recording has.
   * `onEnd` is called when it ends, also with its QP or when the guest begins a trace; its blocks
   * stay readable. Returns undefined when the guest traces the QP itself.
   */
  observe(
    qp: TraceableQueuePair,
    settings: TraceSettings,
    clock: TraceClock,
    onEnd: () => void,
  ): QueuePairTrace | undefined {
    if (qp.trace !== undefined && !qp.trace.settings.hidden) return undefined;
    this.disable(qp);
    qp.trace = new QueuePairTrace(qp, { ...settings, byGuest: false, hidden: true }, clock, onEnd);
    return qp.trace;
  }

  /** Ends the trace of the QP, if it has one, and drops its blocks. */
  disable(qp: TraceableQueuePair): void {
    qp.trace?.release();
    qp.trace = undefined;
  }

  /**
   * Passes blocks from `position` on to `sink`, oldest first, until it refuses one. The caller
   * passes `next` to `noteRead` once it has the blocks.
   */
  read(trace: QueuePairTrace, position: number, sink: BlockSink): TraceReading {
    const { ring, qp } = trace;
    let index = Math.min(Math.max(position, ring.tail), ring.head);
    let next = index;
    let count = 0;
    let allEnded = true;
    for (; index < ring.head; index++, count++) {
      const lengthBytes = this.#encoder.encode(ring, index, qp);
      if (!sink(this.#encoder.bytes, lengthBytes)) break;
      allEnded &&= ring.isComplete(index);
      if (allEnded) next = index + 1;
    }
    return { count, next };
  }
}
