// SPDX-License-Identifier: Apache-2.0
/**
 * Decoder of command blocks and their packets (IPCOM000010133D par. 4). Called by `vuhca trace` and
 * tests.
 */
import { TRACE_SNAP_LENGTH_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeTraceBlock,
  newTraceBlock,
  TRACE_BLOCK_SIZE,
  type TraceBlock,
} from '../../../protocol/layout/gen/trace-block.gen.ts';
import {
  getTracePacketHeaderLength,
  getTracePacketPayloadLength,
  getTracePacketTime,
  TRACE_PACKET_SIZE,
} from '../../../protocol/layout/gen/trace-packet.gen.ts';

const PACKET_ALIGNMENT = 8;

/** A packet as it was on the wire, without its CRCs. */
export interface TracedPacket {
  /** When it was sent or received, in adapter ns. */
  readonly timeNs: number;
  /** LRH to the last extension header. */
  readonly headers: Uint8Array;
  /** Kept part of the payload. */
  readonly payload: Uint8Array;
}

/** A decoded command block. */
export interface TracedMessage {
  readonly block: Readonly<TraceBlock>;
  /** The kept packets; for READs and atomics of request and answer. */
  readonly packets: readonly TracedPacket[];
  /** Kept part of the message. */
  readonly payload: Uint8Array;
}

/** Decodes `count` adjacent blocks. Throws RangeError when the bytes are none. */
export function decodeMessages(bytes: Uint8Array, count: number): TracedMessage[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: TracedMessage[] = [];
  for (let at = 0; messages.length < count; ) {
    const block = decodeTraceBlock(view, at, newTraceBlock());
    // Blocks of earlier versions have the saturating counts only.
    block.packetsTotal = Math.max(block.packetsTotal, block.packets);
    block.retriesTotal = Math.max(block.retriesTotal, block.retries);
    const packets = decodePackets(view, at + TRACE_BLOCK_SIZE, block);
    messages.push({ block, packets, payload: joinPayload(packets, block.snapLength) });
    at += TRACE_BLOCK_SIZE + block.keptBytes;
  }
  return messages;
}

function decodePackets(view: DataView, start: number, { packetsKept, beginTime }: TraceBlock): TracedPacket[] {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  let at = start;
  return Array.from({ length: packetsKept }, () => {
    const headers = at + TRACE_PACKET_SIZE;
    const payload = headers + getTracePacketHeaderLength(view, at);
    const end = payload + getTracePacketPayloadLength(view, at);
    const timeNs = beginTime + getTracePacketTime(view, at);
    at = Math.ceil((end - headers) / PACKET_ALIGNMENT) * PACKET_ALIGNMENT + headers;
    return { timeNs, headers: bytes.slice(headers, payload), payload: bytes.slice(payload, end) };
  });
}

function joinPayload(packets: readonly TracedPacket[], lengthBytes: number): Uint8Array {
  if (lengthBytes > TRACE_SNAP_LENGTH_MAX) throw new RangeError(`a trace keeps no ${lengthBytes} bytes of a message`);
  const whole = new Uint8Array(lengthBytes);
  let at = 0;
  for (const { payload } of packets) {
    whole.set(payload, at);
    at += payload.length;
  }
  return whole;
}
