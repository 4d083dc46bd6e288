// SPDX-License-Identifier: Apache-2.0
/**
 * Encoder of command blocks as software reads them: a `trace-block` record, then its packets
 * (IPCOM000010133D par. 4). `Traces.read` calls it.
 */
import { encodeTraceBlock, newTraceBlock, TRACE_BLOCK_SIZE } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { Field, type TraceRing } from './trace-ring.ts';
import type { TracedQueuePair } from './traced.ts';

const BYTE_MAX = 255;

/** What all blocks of a QP share. */
export type TraceSubject = Pick<TracedQueuePair, 'number' | 'serviceType' | 'attributes'>;

export class BlockEncoder {
  /** The block encoded last, at offset 0. The array grows to the largest block. */
  bytes = new Uint8Array(TRACE_BLOCK_SIZE);
  #view = new DataView(this.bytes.buffer);
  readonly #block = newTraceBlock();

  /** Encodes block `index` of the ring, of QP `of`. Returns its length in bytes. */
  encode(ring: TraceRing, index: number, of: TraceSubject): number {
    const packets = ring.packetsOf(index);
    const lengthBytes = TRACE_BLOCK_SIZE + packets.length;
    if (this.bytes.length < lengthBytes) {
      this.bytes = new Uint8Array(lengthBytes);
      this.#view = new DataView(this.bytes.buffer);
    }
    this.bytes.fill(0, 0, TRACE_BLOCK_SIZE);
    this.#take(ring, index, of);
    encodeTraceBlock(this.#view, 0, this.#block);
    this.bytes.set(packets, TRACE_BLOCK_SIZE);
    return lengthBytes;
  }

  #take(ring: TraceRing, index: number, { number, serviceType, attributes }: TraceSubject): void {
    const block = this.#block;
    const at = ring.slotOf(index);
    const get = (field: number): number => ring.words[at + field];
    block.qpn = number;
    block.serviceType = serviceType;
    block.port = attributes.port;
    block.index = index;
    block.receive = get(Field.RECEIVE);
    block.complete = get(Field.COMPLETE);
    block.beginTime = ring.beginNs(index);
    block.endTime = block.complete === 1 ? ring.endNs(index) : 0;
    block.opcode = get(Field.OPCODE);
    block.status = get(Field.STATUS);
    block.faultKind = get(Field.FAULT);
    block.sequence = get(Field.SEQUENCE);
    block.packetsKept = get(Field.PACKETS_KEPT);
    block.keptBytes = get(Field.PACKET_BYTES);
    block.firstPsn = get(Field.FIRST_PSN);
    block.lastPsn = get(Field.LAST_PSN);
    block.retries = Math.min(get(Field.RETRIES), BYTE_MAX);
    block.packets = Math.min(get(Field.PACKETS), BYTE_MAX);
    block.retriesTotal = get(Field.RETRIES);
    block.packetsTotal = get(Field.PACKETS);
    block.answers = get(Field.ANSWERS);
    block.remoteQpn = get(Field.REMOTE_QPN);
    block.remoteLid = get(Field.REMOTE_LID);
    block.messageLength = get(Field.LENGTH) >>> 0;
    block.snapLength = get(Field.KEPT);
    block.truncated = block.messageLength > ring.snapLength ? 1 : 0;
    block.messageSequence = get(Field.MSN);
  }
}
