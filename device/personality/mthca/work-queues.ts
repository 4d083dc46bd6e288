// SPDX-License-Identifier: Apache-2.0
/**
 * Reads work requests of queue pairs from guest memory: the request itself through the key of its
 * queues, and the bytes of its data segments through their own keys. Software adds a send by a
 * doorbell that names its size, and a receive by the counter in a doorbell record.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { DATA_SEGMENT_SIZE, decodeDataSegment, newDataSegment } from '../../../protocol/mthca/gen/data-segment.gen.ts';
import { NEXT_SEGMENT_SIZE } from '../../../protocol/mthca/gen/next-segment.gen.ts';
import { decodeQpContext, newQpContext, type QpContext } from '../../../protocol/mthca/gen/qp-context.gen.ts';
import { KeyRight } from '../shared/key-rights.ts';
import { LIST_END_KEY } from '../shared/receive-elements.ts';
import { COUNTER_MASK } from '../shared/receive-queue.ts';
import { RequestBlock } from '../shared/request-block.ts';
import type { Hca } from './hca/hca.ts';
import { REQUEST_UNIT_BYTES } from './memory/queue-buffer.ts';
import type { MthcaQueuePair } from './queues/queue-pair.ts';
import { INLINE_HEAD_BYTES, inlineBytes } from './queues/send-requests.ts';

export class WorkQueues {
  /** The request that was read. */
  readonly request = new RequestBlock();
  /** The context of the QP that was loaded. */
  readonly context: QpContext = newQpContext();
  readonly #hca: Hca;
  readonly #segment = newDataSegment();

  constructor(hca: Hca) {
    this.#hca = hca;
  }

  /** Decodes the context of a QP into `context`. */
  load(qp: MthcaQueuePair): Readonly<QpContext> {
    return decodeQpContext(qp.view, 0, this.context);
  }

  /** Offset of send number `counter` of the QP that was loaded, from the start of its queues. */
  sendOffset(counter: number): number {
    const { logSendEntries, sendStride, sendQueueOffset } = this.context;
    return sendQueueOffset + (counter % 2 ** logSendEntries) * REQUEST_UNIT_BYTES * 2 ** sendStride;
  }

  receiveOffset(counter: number): number {
    const { logReceiveEntries, receiveStride, receiveQueueOffset } = this.context;
    return receiveQueueOffset + (counter % 2 ** logReceiveEntries) * REQUEST_UNIT_BYTES * 2 ** receiveStride;
  }

  /** True when software has posted receive number `counter`. */
  hasReceive(qp: MthcaQueuePair, counter: number): boolean {
    const { uar, receiveRecord, logReceiveEntries } = this.context;
    const posted = this.#hca.records.read(uar, receiveRecord, qp);
    const known = posted === undefined ? 0 : (posted - counter) & COUNTER_MASK;
    return known > 0 && known <= 2 ** logReceiveEntries;
  }

  /** Reads a request of the QP that was loaded into `request`. */
  read(qp: MthcaQueuePair, offset: number, lengthBytes: number): boolean {
    const { queueKey } = this.context;
    return this.#move(qp, queueKey, offset, lengthBytes, this.request.bytes, 0, false);
  }

  /** Bytes of a receive. */
  get receiveBytes(): number {
    return REQUEST_UNIT_BYTES * 2 ** this.context.receiveStride;
  }

  /**
   * Collects the data of a send request of `sizeBytes` into `target`. Returns their length, or
   * undefined when a key forbids it or there are too many.
   */
  gather(qp: MthcaQueuePair, sizeBytes: number, target: Uint8Array): number | undefined {
    let done = 0;
    for (let at = NEXT_SEGMENT_SIZE; at < sizeBytes; ) {
      const { isInline, byteCount, key, address } = decodeDataSegment(this.request.view, at, this.#segment);
      if (done + byteCount > target.length) return undefined;
      if (isInline === 1) {
        const from = at + INLINE_HEAD_BYTES;
        if (from + byteCount > sizeBytes) return undefined;
        target.set(this.request.bytes.subarray(from, from + byteCount), done);
        at += inlineBytes(byteCount);
      } else {
        if (!this.#move(qp, key, address, byteCount, target, done, false)) return undefined;
        at += DATA_SEGMENT_SIZE;
      }
      done += byteCount;
    }
    return done;
  }

  /** Distributes `source` over the list of a receive. Returns false when it does not fit. */
  scatter(qp: MthcaQueuePair, source: Uint8Array): boolean {
    let done = 0;
    for (let at = NEXT_SEGMENT_SIZE; at < this.receiveBytes && done < source.length; at += DATA_SEGMENT_SIZE) {
      const { byteCount, key, address } = decodeDataSegment(this.request.view, at, this.#segment);
      if (key === LIST_END_KEY) break;
      const piece = Math.min(byteCount, source.length - done);
      if (!this.#move(qp, key, address, piece, source, done, true)) return false;
      done += piece;
    }
    return done === source.length;
  }

  /** Copies between guest memory behind a key and `bytes`, page by page. */
  #move(
    qp: MthcaQueuePair,
    key: number,
    start: number,
    lengthBytes: number,
    bytes: Uint8Array,
    offset: number,
    toGuest: boolean,
  ): boolean {
    const { regions, underlying } = this.#hca;
    const { dma, faults } = underlying;
    const rights = toGuest ? KeyRight.LOCAL_WRITE : KeyRight.LOCAL_READ;
    for (let done = 0; done < lengthBytes; ) {
      const fault = regions.translate(key, this.context.pd, rights, start + done, lengthBytes - done, qp);
      if (fault !== FaultKind.NONE) {
        faults.report(fault, qp, start + done);
        return false;
      }
      const piece = regions.contiguousBytes;
      const at = dma.at(regions.address);
      const moved = toGuest ? at.write(qp, bytes, offset + done, piece) : at.read(qp, piece, bytes, offset + done);
      if (!moved) return false;
      done += piece;
    }
    return true;
  }
}
