// SPDX-License-Identifier: Apache-2.0
/**
 * Parser, builder and CRCs against packets of other implementations: real adapters and soft-RoCE.
 */
import t from 'tap';
import { readErfRecord } from './erf.ts';
import { computeRoceIcrc, getIcrc } from './icrc.ts';
import { newParsedPacket, packetErrorName, parsePacket } from './packet.ts';
import { buildPacket, payloadStart } from './packet-builder.ts';
import { newPacketFields, readPacketFields } from './packet-fields.ts';
import { PcapLinkType } from './pcap.ts';
import { REAL_HCA_CAPTURE, RXE_CAPTURE, readCapture, realCaptureMissing } from './test-support/reference-captures.ts';

const ROCE_PORT = 4791;

t.test('packets of real channel adapters', { skip: realCaptureMissing() }, async (test) => {
  const { view, file } = readCapture(REAL_HCA_CAPTURE);
  test.equal(file.linkType, PcapLinkType.ERF);
  const parsed = newParsedPacket();
  const fields = newPacketFields();
  let count = 0;
  for (const [index, record] of file.records.entries()) {
    const erf = readErfRecord(view, record.offset, record.lengthBytes);
    if (erf === undefined) return test.fail(`record ${index} is no InfiniBand packet`);
    const error = parsePacket(view, erf.offset, erf.lengthBytes, parsed);
    test.equal(packetErrorName(error), 'NONE', `packet ${index}: parses, both CRCs are right`);
    readPacketFields(view, parsed, fields);
    const rebuilt = new Uint8Array(erf.lengthBytes);
    const original = new Uint8Array(view.buffer, view.byteOffset + erf.offset, erf.lengthBytes);
    const payloadFrom = parsed.payloadOffset - erf.offset;
    rebuilt.set(
      original.subarray(payloadFrom, payloadFrom + parsed.payloadLengthBytes),
      payloadStart(fields.opcode, fields.hasGrh),
    );
    const length = buildPacket(new DataView(rebuilt.buffer), 0, fields);
    test.equal(length, erf.lengthBytes, `packet ${index}: length`);
    test.same(rebuilt, original, `packet ${index}: rebuilt byte for byte`);
    count++;
  }
  test.equal(count, 43);
});

t.test('RoCEv2 packets of soft-RoCE', async (test) => {
  const { view, file } = readCapture(RXE_CAPTURE);
  test.equal(file.linkType, PcapLinkType.ETHERNET);
  let count = 0;
  for (const [index, record] of file.records.entries()) {
    const ip = record.offset + 14;
    const etherType = view.getUint16(record.offset + 12);
    if (etherType !== 0x0800 && etherType !== 0x86dd) continue;
    const isIpv4 = etherType === 0x0800;
    const protocol = view.getUint8(ip + (isIpv4 ? 9 : 6));
    const udp = ip + (isIpv4 ? 20 : 40);
    if (protocol !== 17 || view.getUint16(udp + 2) !== ROCE_PORT) continue;
    const icrcOffset = udp + view.getUint16(udp + 4) - 4;
    test.equal(computeRoceIcrc(view, ip, icrcOffset), getIcrc(view, icrcOffset), `record ${index}: ICRC`);
    count++;
  }
  test.equal(count, 158);
});
