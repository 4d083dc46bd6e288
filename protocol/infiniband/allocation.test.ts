// SPDX-License-Identifier: Apache-2.0
/** Building and parsing a packet allocate nothing. */
import t from 'tap';
import { countAllocation } from '../../scripts/bench/allocation-count.ts';
import { BthOpcode } from './gen/values.gen.ts';
import { newParsedPacket, parsePacket } from './packet.ts';
import { buildPacket } from './packet-builder.ts';
import { newPacketFields, readPacketFields } from './packet-fields.ts';

const PACKETS = 4096;

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
    let errors = 0;
    const { settled, bytesPerMessage, rounds } = countAllocation(() => {
      errors += exchange(PACKETS);
    }, PACKETS);
    test.equal(errors, 0);
    test.ok(settled, `${bytesPerMessage} bytes per packet after ${rounds} rounds`);
  });
}
