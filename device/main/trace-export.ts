// SPDX-License-Identifier: Apache-2.0
/**
 * Exports traces (docs/DEBUGGING.md) as JSON lines; in the Chrome trace format, which Perfetto
 * opens; and as an ERF capture of the kept packets, which tshark opens. Bytes beyond the snap
 * length of a message, and acknowledgements, are only in `vuhca capture`.
 */
import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  writeErfFileHeader,
  writeErfRecord,
} from '../../protocol/infiniband/erf.ts';
import { getLrhPacketLength } from '../../protocol/infiniband/gen/lrh.gen.ts';
import { bthOpcodeName } from '../../protocol/infiniband/gen/values.gen.ts';
import { computeIcrc, setIcrc } from '../../protocol/infiniband/icrc.ts';
import { OpcodeFlag } from '../../protocol/infiniband/opcodes.ts';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../protocol/infiniband/packet.ts';
import { resealVcrc } from '../../protocol/infiniband/packet-builder.ts';
import { VCRC_SIZE } from '../../protocol/infiniband/vcrc.ts';
import type { TraceBlock } from '../../protocol/layout/gen/trace-block.gen.ts';
import { completionStatusName, sendOpcodeName } from '../../protocol/layout/gen/values.gen.ts';
import { nameStepNumbers, stepName, type TimelineStep } from '../function/timeline.ts';
import { findOtherSide, type TracedMessage, type TracedPacket } from '../trace/traced-message.ts';

const NS_PER_US = 1000;
const WORD_BYTES = 4;
const FILE_HEADER_BYTES = 64;
/** Packets that go from the receiver of a message to its sender. */
const ANSWER = OpcodeFlag.READ_RESPONSE | OpcodeFlag.ATOMIC_ACKNOWLEDGE;
/** Process number of the timeline; the other numbers are QPNs. */
const TIMELINE_PID = 0;

/** An event of the Chrome trace format. */
export interface ChromeEvent {
  readonly name: string;
  /** `b` and `e`: begin and end of a message; `i`: a step, or a packet; `M`: a name. */
  readonly ph: 'b' | 'e' | 'i' | 'M';
  /** Microseconds. */
  readonly ts: number;
  readonly pid: number;
  readonly tid: number;
  readonly cat?: string;
  readonly id?: string;
  readonly s?: 't';
  readonly args?: Readonly<Record<string, unknown>>;
}

/** The fields of a message by name; payload as hex. */
export function describeMessage({ block, payload, packets }: TracedMessage): Record<string, unknown> {
  const { opcode, status, receive, ...rest } = block;
  return {
    kind: 'message',
    side: receive === 1 ? 'receive' : 'send',
    opcode: sendOpcodeName(opcode),
    status: block.complete === 1 ? completionStatusName(status) : 'under way',
    ...rest,
    headers: packets.map(({ headers }) => hex(headers)),
    payload: hex(payload),
  };
}

/** One JSON object in each line, in order of time. */
export function toJsonLines(messages: readonly TracedMessage[], steps: readonly TimelineStep[]): string {
  const lines = [
    ...messages.map((message) => ({ timeNs: message.block.beginTime, ...describeMessage(message) })),
    ...steps.map((step) => ({
      timeNs: step.timeNs,
      kind: 'step',
      step: stepName(step.step),
      functionNumber: step.functionNumber,
      ...nameStepNumbers(step),
    })),
  ].sort((one, other) => one.timeNs - other.timeNs);
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/**
 * A document of the Chrome trace format: a track for the steps of each function, and tracks for the
 * sends and receives of each QP. A message has the same id on both sides; one that has not ended is
 * left out.
 */
export function toChromeTrace(
  messages: readonly TracedMessage[],
  steps: readonly TimelineStep[],
): { traceEvents: ChromeEvent[] } {
  const ended = messages.filter(({ block }) => block.complete === 1);
  const events = [...ended.flatMap((message) => messageEvents(message, messages)), ...steps.map(stepEvent)];
  events.sort((one, other) => one.ts - other.ts);
  return { traceEvents: [...nameTracks(ended, steps), ...events] };
}

function nameTracks(messages: readonly TracedMessage[], steps: readonly TimelineStep[]): ChromeEvent[] {
  const name = (kind: 'process_name' | 'thread_name', pid: number, tid: number, text: string): ChromeEvent => ({
    name: kind,
    ph: 'M',
    ts: 0,
    pid,
    tid,
    args: { name: text },
  });
  const functions = [...new Set(steps.map(({ functionNumber }) => functionNumber))];
  const qpns = [...new Set(messages.map(({ block }) => block.qpn))];
  return [
    name('process_name', TIMELINE_PID, 0, 'adapter'),
    ...functions.map((number) => name('thread_name', TIMELINE_PID, number, `function ${number}`)),
    ...qpns.flatMap((qpn) => [
      name('process_name', qpn, 0, `QP ${qpn}`),
      name('thread_name', qpn, 0, 'sends'),
      name('thread_name', qpn, 1, 'receives'),
    ]),
  ];
}

function stepEvent(step: TimelineStep): ChromeEvent {
  return {
    name: stepName(step.step),
    ph: 'i',
    ts: step.timeNs / NS_PER_US,
    pid: TIMELINE_PID,
    tid: step.functionNumber,
    s: 't',
    args: nameStepNumbers(step),
  };
}

/** Events of a message: its begin, the kept packets, its end. */
function messageEvents(message: TracedMessage, all: readonly TracedMessage[]): ChromeEvent[] {
  const { block, packets } = message;
  const { payload, headers, ...args } = describeMessage(message);
  const other = findOtherSide(message, all);
  const track = { pid: block.qpn, tid: block.receive };
  const common = {
    name: `${block.receive ? 'receive' : 'send'} ${args.opcode}`,
    cat: 'message',
    id: `${block.qpn}.${block.index}`,
    ...track,
  };
  const otherSide = other && `${other.block.qpn}.${other.block.index}`;
  return [
    { ...common, ph: 'b', ts: block.beginTime / NS_PER_US, args: { ...args, ...(otherSide && { otherSide }) } },
    ...packets.map(
      (packet): ChromeEvent => ({
        ...track,
        name: restorePacket(packet).name,
        ph: 'i',
        ts: packet.timeNs / NS_PER_US,
        s: 't',
        args: { psn: restorePacket(packet).psn, payloadBytes: packet.payload.length },
      }),
    ),
    { ...common, ph: 'e', ts: block.endTime / NS_PER_US },
  ];
}

/** An ERF capture. `wallTimeNs`: time since 1970 when the adapter's clock stood at 0. */
export function toErf(messages: readonly TracedMessage[], wallTimeNs: number): Uint8Array {
  const packets = messages
    .flatMap(({ block, packets }) => packets.map((packet) => ({ block, packet })))
    .sort((a, b) => a.packet.timeNs - b.packet.timeNs);
  const header = new Uint8Array(FILE_HEADER_BYTES);
  const used = writeErfFileHeader(new DataView(header.buffer), 0);
  const records = packets.map(({ block, packet }) => erfRecord(block, packet, wallTimeNs));
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
export interface RestoredPacket {
  readonly bytes: Uint8Array;
  /** Length in bytes, including bytes that the snap length cut off. */
  readonly wireLength: number;
  /** The packet goes from the receiver of the message to its sender. */
  readonly isAnswer: boolean;
  readonly name: string;
  readonly psn: number;
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
  const about = { wireLength, isAnswer, name: bthOpcodeName(packet.opcode), psn };
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
