// SPDX-License-Identifier: Apache-2.0
/** Command blocks as whoever read them has them: decoded, with their packets, and the two sides of a message found in each other. */
import {
  decodeTraceBlock,
  newTraceBlock,
  TRACE_BLOCK_SIZE,
  type TraceBlock,
} from '../../protocol/layout/gen/trace-block.gen.ts';
import {
  getTracePacketHeaderLength,
  getTracePacketPayloadLength,
  getTracePacketTime,
  TRACE_PACKET_SIZE,
} from '../../protocol/layout/gen/trace-packet.gen.ts';

const PACKET_ALIGNMENT = 8;

/** A packet as it was on the wire, without its CRCs. */
export interface TracedPacket {
  /** When it was sent or received, on the adapter's clock. */
  readonly timeNs: number;
  /** LRH to the last extension header. */
  readonly headers: Uint8Array;
  /** What was kept of the payload. */
  readonly payload: Uint8Array;
}

export interface TracedMessage {
  readonly block: Readonly<TraceBlock>;
  /** Those that were kept; of READs and atomics the request and the answer. */
  readonly packets: readonly TracedPacket[];
  /** What was kept of the message. */
  readonly payload: Uint8Array;
}

/** Decodes `count` blocks that lie one behind the other. */
export function decodeMessages(bytes: Uint8Array, count: number): TracedMessage[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: TracedMessage[] = [];
  for (let at = 0; messages.length < count; ) {
    const block = decodeTraceBlock(view, at, newTraceBlock());
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
  const whole = new Uint8Array(lengthBytes);
  let at = 0;
  for (const { payload } of packets) {
    whole.set(payload, at);
    at += payload.length;
  }
  return whole;
}

/** The other side of a message, if it is among `messages`: same two QPs, same first PSN, nearest in time. */
export function findOtherSide({ block }: TracedMessage, messages: readonly TracedMessage[]): TracedMessage | undefined {
  const others = messages.filter(
    ({ block: other }) =>
      other.receive !== block.receive &&
      other.packets > 0 &&
      block.packets > 0 &&
      other.qpn === block.remoteQpn &&
      other.remoteQpn === block.qpn &&
      other.firstPsn === block.firstPsn,
  );
  const distance = ({ block: other }: TracedMessage): number => Math.abs(other.beginTime - block.beginTime);
  return others.reduce<TracedMessage | undefined>(
    (best, one) => (best === undefined || distance(one) < distance(best) ? one : best),
    undefined,
  );
}
