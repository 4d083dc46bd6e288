// SPDX-License-Identifier: Apache-2.0
/**
 * The format of a recording: all calls across the seam between an adapter and its hosts, in order
 * (docs/ARCHITECTURE.md, The seam). Used by recorder and replay.
 *
 *   file   = header, chunk*
 *   header = magic "VUHCAREC", u32 version, u64 layout hash, u32 functions, u32 options length,
 *            u32 CRC-32 of all before it and of the options, adapter options as JSON in UTF-8; in
 *            version 2 the plan of a fabric in place of the options
 *   chunk  = u32 CHUNK_MAGIC, u32 length, u32 CRC-32 of the payload, payload
 *   record = one byte kind, then its fields; a record may extend over several chunks
 *   field  = u32 or f64, little-endian; all others varint: 7 bits per byte, low bits first
 *
 * A call into the adapter is recorded when it is made, its result after all calls that it caused; a
 * call out of the adapter when it returns. A truncated recording (the process was killed) is valid
 * up to its last whole record; a wrong CRC of a chunk is an error.
 */
import { crc32 } from 'node:zlib';
import { LAYOUT_HASH_HIGH, LAYOUT_HASH_LOW } from '../../protocol/layout/gen/constants.gen.ts';
import type { AdapterOptions } from '../hca/adapter/options.ts';
import type { FabricPlan } from '../topology/fabric-plan.ts';

/** Versions of the format: for one adapter, and for a fabric. */
const RECORDING_VERSION = 1;
const FABRIC_RECORDING_VERSION = 2;
/** Magic, length and CRC-32. */
export const CHUNK_HEADER_BYTES = 12;
/** "CHNK" as a little-endian dword. */
export const CHUNK_MAGIC = 0x4b4e4843;

const MAGIC = 'VUHCAREC';
const HEADER_BYTES = 32;
const CRC_OFFSET = 28;
const FUNCTIONS_MAX = 1024;

/** Kinds of record. */
export const RecordKind = {
  // Calls into the adapter: function, then the fields named.
  READ_REGISTER: 1, // function, offset, size
  READ_RESULT: 2, // u32 low, u32 high
  WRITE_REGISTER: 3, // function, offset, size, u32 low, and for 8 bytes u32 high
  WRITE_COLLECT: 4,
  WRITE_PIO: 5,
  RESET: 6, // function, kind
  BUS_MASTER: 7, // function, on
  MEMORY_MAPPED: 8, // function, address, length
  MEMORY_UNMAPPED: 9,
  RUN: 10, // budget
  RUN_RESULT: 11, // more
  REQUEST_RESOURCES: 12, // function, length, bytes
  REQUEST_RESULT: 13, // status, index, offset, u32 limit
  REQUEST_TRACE: 14, // function, QP, length, bytes
  TRACE_RESULT: 15, // status
  // Calls out of the adapter.
  READ_MEMORY: 16, // function, address, length, ok, bytes when ok
  WRITE_MEMORY: 17, // function, address, length, ok, bytes
  PUBLISH: 18, // function, address, length, valid bytes, ok, bytes
  RAISE_VECTOR: 19, // function, vector, ok
  NOW: 20, // ns since the last NOW
  NOW_EXACT: 21, // f64 ns: the first one, and values that no varint can encode
  SET_ALARM: 22, // f64 ns
  COMPARE_SWAP: 23, // function, address, u32 expected, u32 desired, ok, u32 found when ok
  // Calls into the adapter that came later.
  PLANT_FAULT: 24, // function, length, bytes
  CHANGE_LINK: 25, // length, bytes
  REST: 26, // 0; its result is a RUN_RESULT
  // Links to other processes: the number of the link, then the fields named. Calls into a link:
  LINK_CONNECT: 27,
  LINK_RECEIVE: 28, // length, bytes
  LINK_DRAINED: 29,
  LINK_DISCONNECT: 30,
  // Calls out of a link.
  LINK_WRITE: 31, // length, more, bytes
  LINK_CLOSE: 32,
} as const;
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind];

const kindNames = new Map<number, string>(
  Object.entries(RecordKind).map(([name, kind]) => [kind, name.toLowerCase().replaceAll('_', ' ')]),
);

/** Name of a kind, e.g. `write collect`. */
export function recordKindName(kind: number): string {
  return kindNames.get(kind) ?? `unknown (${kind})`;
}

/** The recording cannot be replayed, or not further: one sentence. */
export class RecordingDamage extends Error {
  override name = 'RecordingDamage';
}

/** The header of a recording. */
export interface RecordingHeader {
  readonly version: number;
  readonly functionCount: number;
  readonly plan: RecordedPlan;
  /** Size of the header: offset of the first chunk. */
  readonly lengthBytes: number;
}

/** The subject of a replay: an adapter from its options, or a fabric. */
export type RecordedPlan = AdapterOptions | FabricPlan;

/**
 * Contents of a recording of a fabric; for an adapter alone its options suffice, unless it has a
 * personality.
 */
export function recordedPlan(plan: FabricPlan): RecordedPlan {
  const [first, ...others] = plan.adapters;
  const { switches, links, streams = [] } = plan;
  const isAlone = [others, switches, links, streams].every(({ length }) => length === 0);
  return isAlone && first.personality === undefined ? first.options : plan;
}

export function isFabricPlan(plan: RecordedPlan): plan is FabricPlan {
  return 'adapters' in plan;
}

/** The bytes of the header of a new recording. */
export function encodeHeader(plan: RecordedPlan, functionCount: number): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(plan));
  const bytes = new Uint8Array(HEADER_BYTES + json.length);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode(MAGIC));
  view.setUint32(8, isFabricPlan(plan) ? FABRIC_RECORDING_VERSION : RECORDING_VERSION, true);
  view.setUint32(12, LAYOUT_HASH_LOW, true);
  view.setUint32(16, LAYOUT_HASH_HIGH, true);
  view.setUint32(20, functionCount, true);
  view.setUint32(24, json.length, true);
  bytes.set(json, HEADER_BYTES);
  view.setUint32(CRC_OFFSET, headerCrc(bytes), true);
  return bytes;
}

/** Parses a header; throws if it is no recording, or one of another version or layout. */
export function decodeHeader(bytes: Uint8Array): RecordingHeader {
  const magic = new TextDecoder('latin1').decode(bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new RecordingDamage('This is not a recording: it does not start with VUHCAREC.');
  if (bytes.length < HEADER_BYTES)
    throw new RecordingDamage(`The recording ends in its header, at byte ${bytes.length}.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(8, true);
  if (version !== RECORDING_VERSION && version !== FABRIC_RECORDING_VERSION) {
    throw new RecordingDamage(
      `The recording has version ${version}; this program reads versions ${RECORDING_VERSION} and ${FABRIC_RECORDING_VERSION}.`,
    );
  }
  const jsonBytes = view.getUint32(24, true);
  const lengthBytes = HEADER_BYTES + jsonBytes;
  if (bytes.length < lengthBytes)
    throw new RecordingDamage(`The recording ends in its header, at byte ${bytes.length}.`);
  const header = bytes.subarray(0, lengthBytes);
  if (headerCrc(header) !== view.getUint32(CRC_OFFSET, true))
    throw new RecordingDamage('The header of the recording is damaged.');
  if (view.getUint32(12, true) !== LAYOUT_HASH_LOW || view.getUint32(16, true) !== LAYOUT_HASH_HIGH) {
    throw new RecordingDamage(
      'The recording was made with other layout tables; replay it with the version that made it.',
    );
  }
  const functionCount = view.getUint32(20, true);
  if (functionCount < 1 || functionCount > FUNCTIONS_MAX) {
    throw new RecordingDamage(`The recording names ${functionCount} functions; it must be 1 to ${FUNCTIONS_MAX}.`);
  }
  return { version, functionCount, plan: parsePlan(header.subarray(HEADER_BYTES)), lengthBytes };
}

/** The plan as the file has it; whether it can be built shows when it is. */
function parsePlan(json: Uint8Array): RecordedPlan {
  try {
    const plan = JSON.parse(new TextDecoder().decode(json)) as unknown;
    if (typeof plan === 'object' && plan !== null) return plan as RecordedPlan;
  } catch {
    // No JSON, as below.
  }
  throw new RecordingDamage('The header of the recording holds no plan.');
}

/** The records as one byte array; `truncated`: the end is missing. Throws if a chunk is damaged. */
export function joinChunks(bytes: Uint8Array, start: number): { records: Uint8Array; truncated: boolean } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records = new Uint8Array(bytes.length - start);
  let total = 0;
  for (let at = start; at < bytes.length; ) {
    if (bytes.length - at < CHUNK_HEADER_BYTES) return { records: records.subarray(0, total), truncated: true };
    if (view.getUint32(at, true) !== CHUNK_MAGIC)
      throw new RecordingDamage(`The recording is damaged: no chunk starts at byte ${at}.`);
    const lengthBytes = view.getUint32(at + 4, true);
    const payload = bytes.subarray(at + CHUNK_HEADER_BYTES, at + CHUNK_HEADER_BYTES + lengthBytes);
    records.set(payload, total);
    total += payload.length;
    if (payload.length < lengthBytes) return { records: records.subarray(0, total), truncated: true };
    if (crc32(payload) !== view.getUint32(at + 8, true)) {
      throw new RecordingDamage(`The recording is damaged: the chunk at byte ${at} has a wrong CRC.`);
    }
    at += CHUNK_HEADER_BYTES + lengthBytes;
  }
  return { records: records.subarray(0, total), truncated: false };
}

function headerCrc(bytes: Uint8Array): number {
  return crc32(bytes.subarray(HEADER_BYTES), crc32(bytes.subarray(0, CRC_OFFSET)));
}
