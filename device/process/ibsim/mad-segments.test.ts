// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of the datagrams that are segments of a transfer, and of the bytes that a client may read.
 */
import t from 'tap';
import { encodeRmppHeader, newRmppHeader } from '../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { MadClass, RmppType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES, RMPP_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { readableBytes, readSegment, SegmentKind } from './mad-segments.ts';

function makeMad(managementClass: number, fields: Partial<ReturnType<typeof newRmppHeader>>): DataView {
  const view = new DataView(new ArrayBuffer(MAD_BYTES));
  view.setUint8(1, managementClass);
  encodeRmppHeader(view, RMPP_OFFSET, { ...newRmppHeader(), isActive: 1, type: RmppType.DATA, ...fields });
  return view;
}

t.test('only classes with the header have segments', async (t) => {
  const { NONE, DATA, CONTROL } = SegmentKind;
  t.equal(readSegment(makeMad(MadClass.SUBNET_ADMINISTRATION, {})), DATA);
  t.equal(readSegment(makeMad(MadClass.SUBNET_ADMINISTRATION, { type: RmppType.ACK })), CONTROL);
  t.equal(readSegment(makeMad(MadClass.SUBNET_ADMINISTRATION, { type: RmppType.ABORT })), CONTROL);
  t.equal(readSegment(makeMad(MadClass.SUBNET_ADMINISTRATION, { isActive: 0 })), NONE);
  t.equal(readSegment(makeMad(MadClass.SUBNET_ADMINISTRATION, { type: RmppType.NONE })), NONE);
  t.equal(readSegment(makeMad(0x30, {})), DATA);
  t.equal(readSegment(makeMad(0x4f, {})), DATA);
  for (const other of [MadClass.SUBNET, MadClass.PERFORMANCE, 0x2f, 0x50])
    t.equal(readSegment(makeMad(other, {})), NONE, `class ${other}`);
});

t.test('a client reads what the transfer has, as far as its library keeps it', async (t) => {
  const administration = MadClass.SUBNET_ADMINISTRATION;
  t.equal(readableBytes(makeMad(administration, { isLast: 1, payloadLength: 132 })), 168);
  t.equal(readableBytes(makeMad(administration, { isLast: 1, payloadLength: 220 })), 224);
  t.equal(readableBytes(makeMad(administration, { isFirst: 1, payloadLength: 900 })), 224, 'more would follow');
  t.equal(readableBytes(makeMad(administration, { isActive: 0 })), MAD_BYTES);
  t.equal(readableBytes(makeMad(MadClass.SUBNET, {})), MAD_BYTES);
});
