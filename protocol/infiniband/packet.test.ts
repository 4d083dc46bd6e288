// SPDX-License-Identifier: Apache-2.0
/** Parser and builder: every opcode built and parsed, every parser error, every kind of damage. */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { testSeed } from '../testing/test-seed.ts';
import { setBthOpcode, setBthPadCount, setBthTransportVersion } from './gen/bth.gen.ts';
import { setGrhIpVersion, setGrhNextHeader, setGrhPayloadLength } from './gen/grh.gen.ts';
import { setLrhLinkNextHeader, setLrhLinkVersion, setLrhPacketLength, setLrhVirtualLane } from './gen/lrh.gen.ts';
import { getIcrc } from './icrc.ts';
import { OpcodeFlag, opcodeFlags, opcodeHeaderBytes } from './opcodes.ts';
import { OPCODES } from './operations.ts';
import { newParsedPacket, PacketCheck, type ParsedPacket, packetErrorName, parsePacket } from './packet.ts';
import { buildPacket, packetLengthBytes, payloadStart, resealVcrc, sealPacket } from './packet-builder.ts';
import { newPacketFields, type PacketFields, readPacketFields } from './packet-fields.ts';

const seed = testSeed();
const RC_SEND_ONLY = 0x04;
const RC_ACKNOWLEDGE = 0x11;
const OFFSET = 24;

/** Random values in every field; the builder truncates them to the field widths. */
function randomFields(random: Random, opcode: number, hasGrh: number): PacketFields {
  const fields = newPacketFields();
  for (const name of Object.keys(fields) as (keyof PacketFields)[]) {
    const value = fields[name];
    if (typeof value === 'number') (fields as unknown as Record<string, number>)[name] = random.next();
    else value.set(random.bytes(16));
  }
  fields.opcode = opcode;
  fields.hasGrh = hasGrh;
  fields.payloadLengthBytes = (opcodeFlags[opcode] & OpcodeFlag.PAYLOAD) === 0 ? 0 : random.below(600);
  return fields;
}

interface Built {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly lengthBytes: number;
}

function build(random: Random, fields: PacketFields): Built {
  const lengthBytes = packetLengthBytes(fields.opcode, fields.hasGrh, fields.payloadLengthBytes);
  const bytes = random.bytes(OFFSET + lengthBytes + 8);
  const view = new DataView(bytes.buffer);
  return { bytes, view, lengthBytes: buildPacket(view, OFFSET, fields) };
}

function errorOf(built: Built, into: ParsedPacket = newParsedPacket(), checks: number = PacketCheck.ALL): string {
  return packetErrorName(parsePacket(built.view, OFFSET, built.lengthBytes, into, checks));
}

t.test('every opcode, local and global: built, parsed, read and rebuilt', async (test) => {
  const random = new Random(seed);
  const parsed = newParsedPacket();
  for (const { name, value } of OPCODES) {
    for (const hasGrh of [0, 1]) {
      const what = `${name}, GRH ${hasGrh}, seed ${seed}`;
      const fields = randomFields(random, value, hasGrh);
      const built = build(random, fields);
      const before = built.bytes.slice(0, OFFSET);
      if (!test.equal(errorOf(built, parsed), 'NONE', what)) return;
      test.equal(parsed.payloadLengthBytes, fields.payloadLengthBytes, what);
      test.equal(parsed.payloadOffset, OFFSET + payloadStart(value, hasGrh), what);
      const again = readPacketFields(built.view, parsed, newPacketFields());
      const copy = built.bytes.slice();
      copy.fill(0, OFFSET, parsed.payloadOffset).fill(0, parsed.payloadOffset + parsed.payloadLengthBytes);
      buildPacket(new DataView(copy.buffer), OFFSET, again);
      const end = OFFSET + built.lengthBytes;
      test.same(copy.subarray(OFFSET, end), built.bytes.subarray(OFFSET, end), what);
      test.same(built.bytes.subarray(0, OFFSET), before, `${what}: bytes before the packet are unchanged`);
    }
  }
});

t.test('the opcode decides the headers', async (test) => {
  test.equal(OPCODES.length, 25 + 12 + 24 + 2 + 23);
  const byName = (name: string) => OPCODES.find((row) => row.name === name);
  const headers = (name: string) =>
    byName(name)
      ?.headers.map((header) => header.name)
      .join(' ');
  test.equal(headers('rc-rdma-write-only-with-immediate'), 'reth imm-dt');
  test.equal(headers('rd-rdma-write-only-with-immediate'), 'rdeth deth reth imm-dt');
  test.equal(headers('rd-atomic-acknowledge'), 'rdeth aeth atomic-ack-eth');
  test.equal(headers('ud-send-only-with-immediate'), 'deth imm-dt');
  test.equal(headers('xrc-send-last-with-invalidate'), 'xrceth ieth');
  test.equal(headers('xrc-rdma-read-response-last'), 'aeth');
  test.equal(headers('rc-flush'), 'feth reth');
  test.equal(headers('rd-atomic-write'), 'rdeth deth reth');
  test.equal(byName('rc-flush')?.value, 0x1c);
  test.equal(byName('rc-atomic-write')?.value, 0x1d);
  test.equal(byName('xrc-flush'), undefined);
  test.equal(byName('xrc-fetch-add')?.value, 0xb4);
  test.equal(opcodeHeaderBytes[0x13], 12 + 28, 'RC compare and swap');
  test.equal(opcodeHeaderBytes[0x1f], 0, 'reserved');
});

t.test('each malformed packet has its error', async (test) => {
  const cases: [string, number, number, (built: Built, bth: number) => void][] = [
    ['BAD_LINK_VERSION', RC_SEND_ONLY, 0, ({ view }) => setLrhLinkVersion(view, OFFSET, 1)],
    ['BAD_LINK_NEXT_HEADER', RC_SEND_ONLY, 0, ({ view }) => setLrhLinkNextHeader(view, OFFSET, 1)],
    ['BAD_PACKET_LENGTH', RC_SEND_ONLY, 0, ({ view }) => setLrhPacketLength(view, OFFSET, 7)],
    ['TRUNCATED', RC_ACKNOWLEDGE, 0, ({ view }) => setLrhLinkNextHeader(view, OFFSET, 3)],
    ['BAD_IP_VERSION', RC_SEND_ONLY, 1, ({ view }) => setGrhIpVersion(view, OFFSET + 8, 4)],
    ['BAD_NEXT_HEADER', RC_SEND_ONLY, 1, ({ view }) => setGrhNextHeader(view, OFFSET + 8, 17)],
    ['BAD_PAYLOAD_LENGTH', RC_SEND_ONLY, 1, ({ view }) => setGrhPayloadLength(view, OFFSET + 8, 1)],
    ['BAD_TRANSPORT_VERSION', RC_SEND_ONLY, 0, ({ view }, bth) => setBthTransportVersion(view, bth, 2)],
    ['UNKNOWN_OPCODE', RC_SEND_ONLY, 0, ({ view }, bth) => setBthOpcode(view, bth, 0xff)],
    ['MISSING_HEADER', RC_ACKNOWLEDGE, 0, ({ view }, bth) => setBthOpcode(view, bth, 0x13)],
    ['BAD_PAD', RC_ACKNOWLEDGE, 0, ({ view }, bth) => setBthPadCount(view, bth, 1)],
    ['UNEXPECTED_PAYLOAD', RC_SEND_ONLY, 0, ({ view }, bth) => setBthOpcode(view, bth, RC_ACKNOWLEDGE)],
  ];
  const random = new Random(seed);
  for (const [cause, opcode, hasGrh, damage] of cases) {
    const fields = randomFields(random, opcode, hasGrh);
    if (opcode === RC_SEND_ONLY) fields.payloadLengthBytes = 64;
    const built = build(random, fields);
    damage(built, OFFSET + (hasGrh === 0 ? 8 : 48));
    sealPacket(built.view, OFFSET, hasGrh, OFFSET + built.lengthBytes - 6);
    test.equal(errorOf(built), cause);
  }
  const built = build(random, randomFields(random, RC_SEND_ONLY, 0));
  const parsed = newParsedPacket();
  for (let length = 0; length < 26; length++) {
    test.equal(packetErrorName(parsePacket(built.view, OFFSET, length, parsed)), 'TRUNCATED', `${length} bytes`);
  }
  test.equal(
    packetErrorName(parsePacket(built.view, OFFSET, built.bytes.length, parsed)),
    'TRUNCATED',
    'beyond the view',
  );
});

t.test('damage that each CRC detects', async (test) => {
  const random = new Random(seed);
  const built = build(random, { ...randomFields(random, RC_SEND_ONLY, 0), payloadLengthBytes: 400 });
  const icrcOffset = OFFSET + built.lengthBytes - 6;
  const icrc = getIcrc(built.view, icrcOffset);
  setLrhVirtualLane(built.view, OFFSET, 5);
  test.equal(errorOf(built), 'BAD_VCRC', 'a switch changed the VL but not the VCRC');
  test.equal(errorOf(built, newParsedPacket(), PacketCheck.ICRC), 'NONE', 'the ICRC does not cover the VL');
  resealVcrc(built.view, OFFSET, icrcOffset + 4);
  test.equal(errorOf(built), 'NONE');
  built.bytes[OFFSET + 200] ^= 4;
  resealVcrc(built.view, OFFSET, icrcOffset + 4);
  test.equal(errorOf(built), 'BAD_ICRC', 'damaged inside a switch');
  test.equal(errorOf(built, newParsedPacket(), PacketCheck.NONE), 'NONE');
  built.bytes[OFFSET + 200] ^= 4;
  sealPacket(built.view, OFFSET, 0, icrcOffset);
  test.equal(getIcrc(built.view, icrcOffset), icrc);
  test.equal(sealPacket(built.view, OFFSET, 0, icrcOffset, PacketCheck.ICRC), built.lengthBytes);
  test.equal(errorOf(built), 'BAD_VCRC', 'the VCRC is left to the port');
  test.equal(errorOf(built, newParsedPacket(), PacketCheck.ICRC), 'NONE');
});

t.test('random damage never throws and is never accepted with a wrong ICRC', async (test) => {
  const random = new Random(seed);
  const parsed = newParsedPacket();
  let accepted = 0;
  for (let round = 0; round < 20_000; round++) {
    const { value } = OPCODES[random.below(OPCODES.length)];
    const built = build(random, randomFields(random, value, random.below(2)));
    const icrc = built.bytes.slice(OFFSET, OFFSET + built.lengthBytes);
    for (let flips = 1 + random.below(3); flips > 0; flips--) {
      built.bytes[OFFSET + random.below(built.lengthBytes)] ^= 1 << random.below(8);
    }
    const changed = !built.bytes
      .subarray(OFFSET, OFFSET + built.lengthBytes)
      .every((byte, index) => byte === icrc[index]);
    const length = random.below(16) === 0 ? random.below(built.lengthBytes + 9) : built.lengthBytes;
    const checks = random.below(4);
    try {
      const error = parsePacket(built.view, OFFSET, length, parsed, checks);
      const whole = length === built.lengthBytes;
      if (error !== 0 || !whole || !changed) continue;
      accepted++;
      if (checks === PacketCheck.ALL || checks === PacketCheck.VCRC)
        return test.fail(`accepted damage, seed ${seed}, round ${round}`);
      // With a right ICRC, only fields that switches and routers may change can differ.
      if (checks === PacketCheck.ICRC && !onlyVariantBytes(icrc, built.bytes.subarray(OFFSET), parsed)) {
        return test.fail(`accepted a wrong ICRC, seed ${seed}, round ${round}`);
      }
    } catch (error) {
      return test.fail(`threw ${(error as Error).message}, seed ${seed}, round ${round}`);
    }
  }
  test.ok(accepted > 0, 'some damage to variant fields passes if only the ICRC is checked');
});

function onlyVariantBytes(before: Uint8Array, after: Uint8Array, parsed: ParsedPacket): boolean {
  const bth = parsed.bthOffset - OFFSET;
  const variant = new Set([0, bth + 4, before.length - 1, before.length - 2]);
  if (parsed.grhOffset >= 0) for (const byte of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15]) variant.add(byte);
  return before.every((byte, index) => byte === after[index] || variant.has(index));
}

t.test('random bytes never throw', async (test) => {
  const random = new Random(seed);
  const parsed = newParsedPacket();
  for (let round = 0; round < 20_000; round++) {
    const bytes = random.bytes(random.below(200));
    bytes[0] = bytes[0] & 0xf0;
    const view = new DataView(bytes.buffer);
    if (bytes.length > 8) setLrhPacketLength(view, 0, (bytes.length - 2) >> 2);
    try {
      parsePacket(view, 0, bytes.length, parsed, random.below(4));
    } catch (error) {
      return test.fail(`threw ${(error as Error).message}, seed ${seed}, round ${round}`);
    }
  }
  test.pass();
});
