// SPDX-License-Identifier: Apache-2.0
/** Command blocks as whoever read them has them: decoded, with headers and payload, and the two sides of a message found in each other. */
import {
  decodeTraceBlock,
  newTraceBlock,
  TRACE_BLOCK_SIZE,
  type TraceBlock,
} from '../../../protocol/layout/gen/trace-block.gen.ts';

const ALIGNMENT = 8;

export interface TracedMessage {
  readonly block: Readonly<TraceBlock>;
  /** Of the first packet, LRH to the last extension header; empty when there was no packet. */
  readonly headers: Uint8Array;
  /** What was kept of the payload. */
  readonly payload: Uint8Array;
}

/** Decodes `count` blocks that lie one behind the other, each padded to 8 bytes. */
export function decodeMessages(bytes: Uint8Array, count: number): TracedMessage[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: TracedMessage[] = [];
  for (let at = 0; messages.length < count; ) {
    const block = decodeTraceBlock(view, at, newTraceBlock());
    const headers = at + TRACE_BLOCK_SIZE;
    const payload = headers + block.headerLength;
    const end = payload + block.snapLength;
    messages.push({ block, headers: bytes.slice(headers, payload), payload: bytes.slice(payload, end) });
    at = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
  }
  return messages;
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
