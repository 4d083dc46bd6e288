// SPDX-License-Identifier: Apache-2.0
/** ERF captures: written files can be read back, and Wireshark finds nothing malformed in them. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  CaptureDirection,
  erfInterface,
  erfRecordBytes,
  readErfRecord,
  writeErfFileHeader,
  writeErfRecord,
} from './erf.ts';
import { BthOpcode } from './gen/values.gen.ts';
import { buildPacket, payloadStart } from './packet-builder.ts';
import { newPacketFields } from './packet-fields.ts';
import { PcapLinkType, readPcap } from './pcap.ts';

const PACKETS = 6;
const START_NS = 1_700_000_000_500_000_000;

/** The bytes of a capture of UD sends; every second one is global. */
function udCapture(): DataView<ArrayBuffer> {
  const file = new DataView(new ArrayBuffer(16384));
  const packet = new DataView(new ArrayBuffer(1024));
  const fields = newPacketFields();
  Object.assign(fields, {
    dlid: 2,
    slid: 1,
    opcode: BthOpcode.UD_SEND_ONLY,
    destQpn: 0x45,
    srcQpn: 0x46,
    qKey: 0x11111111,
  });
  fields.sgid.set([0xfe, 0x80], 0);
  fields.dgid.set([0xfe, 0x80], 0);
  fields.payloadLengthBytes = 301;
  let at = writeErfFileHeader(file, 0);
  for (let index = 0; index < PACKETS; index++) {
    fields.hasGrh = index & 1;
    fields.psn = 100 + index;
    for (let byte = 0; byte < 301; byte++)
      packet.setUint8(payloadStart(fields.opcode, fields.hasGrh) + byte, 0xe0 + index);
    const length = buildPacket(packet, 0, fields);
    const tap = erfInterface(1 + ((index >> 1) % 2), index & 1 ? CaptureDirection.RECEIVED : CaptureDirection.SENT);
    at += writeErfRecord(file, at, START_NS + index * 250_000_000, tap, 0, packet, 0, length);
  }
  return new DataView(file.buffer, 0, at);
}

t.test('a written capture can be read', async (test) => {
  const view = udCapture();
  const file = readPcap(view);
  test.equal(file.linkType, PcapLinkType.ERF);
  test.equal(file.records.length, PACKETS);
  let bytes = 24;
  for (const [index, record] of file.records.entries()) {
    const erf = readErfRecord(view, record.offset, record.lengthBytes);
    test.equal(erf?.lengthBytes, 8 + (index & 1) * 40 + 12 + 8 + 304 + 6);
    test.equal(erf?.interfaceNumber, [0, 1, 2, 3, 0, 1][index]);
    test.equal(record.timeNs, START_NS + index * 250_000_000);
    test.equal(erf?.timeNs, START_NS + index * 250_000_000, 'quarters of a second are exact in both units');
    bytes += erfRecordBytes(erf?.lengthBytes ?? 0);
  }
  test.equal(bytes, view.byteLength);
});

t.test('files of another format, and truncated files', async (test) => {
  test.throws(() => readPcap(new DataView(new ArrayBuffer(8))), /8 bytes are too few/);
  test.throws(() => readPcap(new DataView(new ArrayBuffer(24))), /unknown magic 0x0/);
  const whole = udCapture();
  const cut = new DataView(whole.buffer, 0, whole.byteLength - 1);
  test.equal(readPcap(cut).records.length, PACKETS - 1);
  const record = readPcap(whole).records[0];
  test.equal(readErfRecord(whole, record.offset, record.lengthBytes - 1), undefined);
  test.equal(readErfRecord(whole, record.offset + 1, record.lengthBytes - 1), undefined);
});

const noTshark = spawnSync('tshark', ['--version']).error !== undefined ? 'tshark is not installed' : false;

t.test('tshark reads the capture', { skip: noTshark }, async (test) => {
  const path = join(test.testdir({}), 'ud.pcap');
  const view = udCapture();
  writeFileSync(path, new Uint8Array(view.buffer, 0, view.byteLength));
  const fields = ['infiniband.lrh.dlid', 'infiniband.bth.opcode', 'infiniband.bth.psn', 'infiniband.deth.srcqp'];
  const args = ['-r', path, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])];
  const table = spawnSync('tshark', args, { encoding: 'utf8' });
  test.equal(table.status, 0, table.stderr);
  const rows = table.stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t').map(Number));
  test.same(
    rows,
    Array.from({ length: PACKETS }, (_, index) => [2, 0x64, 100 + index, 0x46]),
  );
  const text = spawnSync('tshark', ['-r', path, '-V'], { encoding: 'utf8' });
  test.notMatch(text.stdout, /Malformed/);
});
