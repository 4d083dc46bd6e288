// SPDX-License-Identifier: Apache-2.0
/**
 * Building and parsing a packet allocate nothing: heap growth per packet is below the smallest
 * object.
 */
import t from 'tap';
import { BthOpcode } from './gen/values.gen.ts';
import { newParsedPacket, parsePacket } from './packet.ts';
import { buildPacket } from './packet-builder.ts';
import { newPacketFields, readPacketFields } from './packet-fields.ts';

const PACKETS = 100_000;
const SMALLEST_OBJECT_BYTES = 16;

const view = new DataView(new ArrayBuffer(8192));
const fields = newPacketFields();
const again = newPacketFields();
const parsed = newParsedPacket();

function exchange(packets: number): number {
  let errors = 0;
  for (let index = 0; index < packets; index++) {
    fields.psn = index & 0xffffff;
    const length = buildPacket(view, 64, fields);
    errors += parsePacket(view, 64, length, parsed);
    readPacketFields(view, parsed, again);
  }
  return errors;
}

for (const payloadLengthBytes of [0, 64, 256]) {
  t.test(`RDMA WRITE of ${payloadLengthBytes} bytes`, async (test) => {
    fields.opcode = BthOpcode.RC_RDMA_WRITE_ONLY;
    fields.rKey = 0xfedcba98;
    fields.virtualAddressLow = 0xfffff000;
    fields.payloadLengthBytes = payloadLengthBytes;
    test.equal(exchange(PACKETS), 0, 'and warm up');
    const before = process.memoryUsage().heapUsed;
    test.equal(exchange(PACKETS), 0);
    const grownBytes = process.memoryUsage().heapUsed - before;
    test.ok(grownBytes < PACKETS * SMALLEST_OBJECT_BYTES, `heap grew by ${grownBytes} bytes over ${PACKETS} packets`);
  });
}
