// SPDX-License-Identifier: Apache-2.0
/**
 * Exports traces (docs/DEBUGGING.md) as JSON lines, and as an ERF capture of the kept packets,
 * which tshark opens. Bytes beyond the snap length of a message, and acknowledgements, are only in
 * `vuhca capture`. perfetto-export.ts has the Chrome trace format.
 */

import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  writeErfFileHeader,
  writeErfRecord,
} from '../../../protocol/infiniband/erf.ts';
import { getLrhPacketLength } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { bthOpcodeName } from '../../../protocol/infiniband/gen/values.gen.ts';
import { computeIcrc, setIcrc } from '../../../protocol/infiniband/icrc.ts';
import { OpcodeFlag } from '../../../protocol/infiniband/opcodes.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { resealVcrc } from '../../../protocol/infiniband/packet-builder.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import type { TraceBlock } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { completionStatusName } from '../../../protocol/layout/gen/values.gen.ts';
import { requestName } from '../../hca/function/request-opcodes.ts';
import { nameStepNumbers, stepName } from '../../hca/function/timeline-names.ts';
import { type AdapterTrace, findOtherSide, type MessageEnd } from '../../hca/trace/adapter-trace.ts';
import type { TracedMessage, TracedPacket } from '../../hca/trace/traced-message.ts';

const NS_PER_MS = 1_000_000n;
const NS_PER_SECOND = 1_000_000_000n;
const WORD_BYTES = 4;
const FILE_HEADER_BYTES = 64;
/** Packets that go from the receiver of a message to its sender. */
const ANSWER = OpcodeFlag.READ_RESPONSE | OpcodeFlag.ATOMIC_ACKNOWLEDGE;

/** The fields of a message by name; payload as hex. */
export function describeMessage({ block, payload, packets }: TracedMessage): Record<string, unknown> {
  const { opcode, status, receive, ...rest } = block;
  return {
    kind: 'message',
    side: receive === 1 ? 'receive' : 'send',
    opcode: requestName(opcode),
    status: block.complete === 1 ? completionStatusName(status) : 'under way',
    ...rest,
    headers: packets.map(({ headers }) => hex(headers)),
    payload: hex(payload),
  };
}

/** One JSON object in each line, in order of time. `wallTime` is the time of the host. */
export function toJsonLines(adapters: readonly AdapterTrace[]): string {
  const lines = adapters
    .flatMap((adapter) => [
      ...adapter.messages.map((message) => ({
        timeNs: message.block.beginTime,
        wallTime: formatWallTime(adapter, message.block.beginTime),
        adapter: adapter.name,
        message: identify({ adapter, message }, findSender({ adapter, message }, adapters)),
        ...describeMessage(message),
        packetTimesNs: message.packets.map(({ timeNs }) => timeNs),
      })),
      ...adapter.steps.map((step) => ({
        timeNs: step.timeNs,
        wallTime: formatWallTime(adapter, step.timeNs),
        adapter: adapter.name,
        kind: 'step',
        step: stepName(step.step),
        functionNumber: step.functionNumber,
        ...nameStepNumbers(step),
      })),
    ])
    .sort((one, other) => (one.wallTime < other.wallTime ? -1 : one.wallTime > other.wallTime ? 1 : 0));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/**
 * Identifies a message equally at both ends: adapter, QPN and block of its sender, if known.
 * `other` is the other end; a message that was sent does not need it.
 */
export function identify(end: MessageEnd, other: MessageEnd | undefined): string {
  const sender = end.message.block.receive === 1 ? (other ?? end) : end;
  const { qpn, index, receive } = sender.message.block;
  return `${sender.adapter.name}.${qpn}.${index}${receive ? ' received' : ''}`;
}

/** The sender of a message that was received. */
function findSender(end: MessageEnd, all: readonly AdapterTrace[]): MessageEnd | undefined {
  return end.message.block.receive === 1 ? findOtherSide(end, all).end : undefined;
}

/** ISO 8601 with nanoseconds, UTC. A Number cannot hold ns since 1970 exactly. */
export function formatWallTime({ wallTimeNs }: AdapterTrace, timeNs: number): string {
  const ns = BigInt(Math.round(wallTimeNs)) + BigInt(Math.round(timeNs));
  const seconds = new Date(Number(ns / NS_PER_MS)).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  return `${seconds}.${String(ns % NS_PER_SECOND).padStart(9, '0')}Z`;
}

/** An ERF capture of the kept packets of all adapters, with the times of the host. */
export function toErf(adapters: readonly AdapterTrace[]): Uint8Array {
  const packets = adapters
    .flatMap(({ wallTimeNs, messages }) =>
      messages.flatMap(({ block, packets }) => packets.map((packet) => ({ block, packet, wallTimeNs }))),
    )
    .sort((a, b) => a.packet.timeNs - b.packet.timeNs + (a.wallTimeNs - b.wallTimeNs));
  const header = new Uint8Array(FILE_HEADER_BYTES);
  const used = writeErfFileHeader(new DataView(header.buffer), 0);
  const records = packets.map(({ block, packet, wallTimeNs }) => erfRecord(block, packet, wallTimeNs));
  return Buffer.concat([header.subarray(0, used), ...records]);
}

function erfRecord(block: Readonly<TraceBlock>, packet: TracedPacket, wallTimeNs: number): Uint8Array {
  const { bytes, wireLength, isAnswer } = restorePacket(packet);
  const record = new Uint8Array(erfRecordBytes(bytes.length));
  const received = (block.receive === 1) !== isAnswer;
  const side = erfInterface(block.port, received ? CaptureDirection.RECEIVED : CaptureDirection.SENT);
  const timeNs = wallTimeNs + packet.timeNs;
  writeErfRecord(
    new DataView(record.buffer),
    0,
    timeNs,
    side,
    0,
    new DataView(bytes.buffer, bytes.byteOffset),
    0,
    bytes.length,
    wireLength,
  );
  return record;
}

/** A packet as it was on the wire. */
interface RestoredPacket {
  readonly bytes: Uint8Array;
  /** Length in bytes, including bytes that the snap length cut off. */
  readonly wireLength: number;
  /** The packet goes from the receiver of the message to its sender. */
  readonly isAnswer: boolean;
  readonly opcode: number;
  readonly name: string;
  readonly psn: number;
  /** Payload on the wire, also when the snap length cut it. */
  readonly payloadBytes: number;
}

/** Restores a packet with its CRCs; when the snap length cut it, its end and CRCs are missing. */
export function restorePacket({ headers, payload }: TracedPacket): RestoredPacket {
  const wireLength = getLrhPacketLength(new DataView(headers.buffer, headers.byteOffset), 0) * WORD_BYTES + VCRC_SIZE;
  const bytes = new Uint8Array(wireLength);
  bytes.set(headers);
  bytes.set(payload, headers.length);
  const view = new DataView(bytes.buffer);
  const packet = newParsedPacket();
  const error = parsePacket(view, 0, wireLength, packet, PacketCheck.NONE);
  const { psn, payloadOffset, payloadLengthBytes, icrcOffset, vcrcOffset, grhOffset } = packet;
  const isAnswer = (packet.flags & ANSWER) !== 0;
  const { opcode } = packet;
  const about = { wireLength, isAnswer, opcode, name: bthOpcodeName(opcode), psn, payloadBytes: payloadLengthBytes };
  const kept = headers.length + payload.length;
  if (error !== PacketError.NONE || kept < payloadOffset + payloadLengthBytes)
    return { ...about, bytes: bytes.slice(0, kept) };
  setIcrc(view, icrcOffset, computeIcrc(view, 0, grhOffset >= 0, icrcOffset));
  resealVcrc(view, 0, vcrcOffset);
  return { ...about, bytes };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
