// SPDX-License-Identifier: Apache-2.0
/**
 * An independent judge of the tables of management datagrams: tshark reads datagrams with random
 * attributes. It must find every field at the place of the tables, with the same value.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Random } from '../../device/random.ts';
import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  writeErfFileHeader,
  writeErfRecord,
} from '../../protocol/infiniband/erf.ts';
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import {
  setMadHeaderAttributeId,
  setMadHeaderBaseVersion,
  setMadHeaderClassVersion,
  setMadHeaderManagementClass,
  setMadHeaderMethod,
} from '../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  AdministrationAttribute,
  MadClass,
  MadMethod,
  PerformanceAttribute,
  SubnetAttribute,
} from '../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES, SA_DATA_OFFSET } from '../../protocol/infiniband/mad/mad-headers.ts';
import { structs, valueTables } from '../../protocol/infiniband/mad/tables.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { findTshark } from '../../qemu/setup/tshark.ts';
import { type ResolvedField, resolveStruct } from './resolve.ts';

/** Of the random attributes. */
const SEED = 1;

/** A datagram to dissect: the class, and the attribute with the offset of its table. */
interface Sample {
  readonly table: string;
  readonly attributeId: number;
  readonly managementClass: number;
  readonly classVersion: number;
  readonly offset: number;
}

const samples: readonly Sample[] = [
  ...samplesOf(SubnetAttribute, MadClass.SUBNET, 1, ATTRIBUTE_OFFSET),
  ...samplesOf(PerformanceAttribute, MadClass.PERFORMANCE, 1, ATTRIBUTE_OFFSET),
  ...samplesOf(AdministrationAttribute, MadClass.SUBNET_ADMINISTRATION, 2, SA_DATA_OFFSET),
];

function samplesOf(
  ids: Readonly<Record<string, number>>,
  managementClass: number,
  classVersion: number,
  offset: number,
): Sample[] {
  const named = Object.entries(ids).map(([name, attributeId]) => ({
    table: name.toLowerCase().replaceAll('_', '-'),
    attributeId,
  }));
  return named
    .filter(({ table }) => structs.some(({ name }) => name === table))
    .map((row) => ({ ...row, managementClass, classVersion, offset }));
}

function fieldsOf(table: string): readonly ResolvedField[] {
  const found = structs.find(({ name }) => name === table);
  if (found === undefined) throw new Error(`there is no table ${table}`);
  return resolveStruct(found, new Set(valueTables.map(({ name }) => name))).fields;
}

/** The packet of a datagram whose bytes are random from the attribute on. */
function packetOf(sample: Sample, random: Random): Uint8Array {
  const start = payloadStart(BthOpcode.UD_SEND_ONLY, 0);
  const packet = new Uint8Array(start + MAD_BYTES + 16);
  const view = new DataView(packet.buffer);
  setMadHeaderBaseVersion(view, start, 1);
  setMadHeaderManagementClass(view, start, sample.managementClass);
  setMadHeaderClassVersion(view, start, sample.classVersion);
  setMadHeaderMethod(view, start, MadMethod.GET_RESPONSE);
  setMadHeaderAttributeId(view, start, sample.attributeId);
  packet.set(random.bytes(MAD_BYTES - sample.offset), start + sample.offset);
  // Its GIDs follow the record, as many as the counts say.
  if (sample.table === 'multi-path-record') packet.set([1, 1], start + sample.offset + 15);
  const isSubnet = sample.managementClass === MadClass.SUBNET;
  const length = buildPacket(view, 0, {
    ...newPacketFields(),
    ...{ virtualLane: isSubnet ? 15 : 0, dlid: 2, slid: 1, opcode: BthOpcode.UD_SEND_ONLY, pKey: 0xffff },
    ...{ destQpn: isSubnet ? 0 : 1, srcQpn: isSubnet ? 0 : 1, qKey: isSubnet ? 0 : 0x80010000 },
    payloadLengthBytes: MAD_BYTES,
  });
  return packet.subarray(0, length);
}

const PORT_INFO_NOT_DISSECTED = [
  'multicastPkeyTrapSuppression',
  'capabilityMask2',
  'linkSpeedExtendedActive',
  'linkSpeedExtendedSupported',
  'linkSpeedExtendedEnabled',
];

/** Fields and whole attributes that tshark 4.0 does not dissect. */
const NOT_DISSECTED: Readonly<Record<string, readonly string[] | 'all'>> = {
  'switch-info': ['multicastTop'],
  'switch-info-record': ['multicastTop'],
  'port-info': PORT_INFO_NOT_DISSECTED,
  'port-info-record': PORT_INFO_NOT_DISSECTED,
  'port-samples-control': 'all',
  'port-samples-result': 'all',
  'port-counters': ['transmitWait'],
  'port-receive-error-details': 'all',
  'port-transmit-discard-details': 'all',
  'multicast-forwarding-table': Array.from({ length: 16 }, (_, index) => `ports${16 + index}`),
  'path-record': ['qosClass'],
  'multi-path-record': ['qosClass', 'independence'],
};

/** A field as tshark found it. */
interface Found {
  readonly name: string;
  readonly position: number;
  readonly size: number;
  readonly show: string;
  readonly value: string;
  /** The bytes of which the field is a part, if it is one. */
  readonly unmasked: string;
}

/** The fields of each packet, in PDML's terms; positions count from the start of the datagram. */
function dissect(tshark: string, packets: readonly Uint8Array[]): readonly (readonly Found[])[] {
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-mad-'));
  try {
    const path = join(folder, 'mad.erf');
    writeFileSync(path, capture(packets));
    const { stdout } = spawnSync(tshark, ['-r', path, '-T', 'pdml'], { encoding: 'utf8', maxBuffer: 1 << 28 });
    return stdout.split('<packet>').slice(1).map(readPdml);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readPdml(text: string): readonly Found[] {
  const found = [...text.matchAll(/<field ([^>]*)>/g)].map(([, words]) => {
    const read = (name: string): string => new RegExp(`(?:^| )${name}="([^"]*)"`).exec(words)?.[1] ?? '';
    const [position, size] = [Number(read('pos')), Number(read('size'))];
    return {
      name: read('name'),
      position,
      size,
      show: read('show'),
      value: read('value'),
      unmasked: read('unmaskedvalue'),
    };
  });
  const start = found.find(({ name }) => name === 'infiniband.mad.baseversion')?.position ?? 0;
  return found.map((field) => ({ ...field, position: field.position - start }));
}

function capture(packets: readonly Uint8Array[]): Uint8Array {
  const header = new Uint8Array(64);
  const used = writeErfFileHeader(new DataView(header.buffer), 0);
  const records = packets.map((packet, index) => {
    const record = new Uint8Array(erfRecordBytes(packet.length));
    const side = erfInterface(1, CaptureDirection.SENT);
    const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
    writeErfRecord(new DataView(record.buffer), 0, index * 1000, side, 0, view, 0, packet.length);
    return record;
  });
  return Buffer.concat([header.subarray(0, used), ...records]);
}

const tshark = findTshark();
t.test('tshark finds the fields of the tables', { skip: tshark === undefined && 'there is no tshark' }, async (t) => {
  const random = new Random(SEED);
  const packets = samples.map((sample) => packetOf(sample, random));
  const dissected = dissect(tshark ?? '', packets);
  t.equal(dissected.length, samples.length);
  for (const [index, sample] of samples.entries()) {
    const mad = packets[index].subarray(payloadStart(BthOpcode.UD_SEND_ONLY, 0));
    const unread = NOT_DISSECTED[sample.table] ?? [];
    const judged = fieldsOf(sample.table).filter(({ name }) => unread !== 'all' && !unread.includes(name));
    const missing = judged.filter((field) => !isFound(field, sample, mad, dissected[index]));
    const names = missing.map(({ name }) => name);
    t.strictSame(names, [], `class ${sample.managementClass}, ${sample.table}, seed ${SEED}`);
    t.notMatch(dissected[index].map(({ name }) => name).join(), /malformed/);
  }
});

/** True if tshark has a field at the bytes of `field` with its value. */
function isFound(field: ResolvedField, sample: Sample, mad: Uint8Array, found: readonly Found[]): boolean {
  const first = sample.offset + (field.bitOffset >> 3);
  const last = sample.offset + ((field.bitOffset + field.widthBits - 1) >> 3);
  const covering = found.filter(({ position, size }) => position <= first && position + size > last);
  if (field.kind === 'bytes') return covering.length > 0;
  const value = bitsOf(mad, sample.offset * 8 + field.bitOffset, field.widthBits);
  return covering.some(({ show, size, value: own, unmasked }) => {
    // tshark has the two parts of a partition key.
    const hex = unmasked !== '' && size * 8 === field.widthBits ? unmasked : own;
    return isNumber(show, value) || (/^[0-9a-f]+$/.test(hex) && BigInt(`0x${hex}`) === value);
  });
}

function isNumber(text: string, value: bigint): boolean {
  if (text === 'True' || text === 'False') return (text === 'True') === (value !== 0n);
  return /^(0x[0-9a-f]+|[0-9]+)$/i.test(text) && BigInt(text) === value;
}

function bitsOf(bytes: Uint8Array, from: number, width: number): bigint {
  let value = 0n;
  for (let bit = from; bit < from + width; bit++) value = value * 2n + BigInt((bytes[bit >> 3] >> (7 - (bit & 7))) & 1);
  return value;
}
