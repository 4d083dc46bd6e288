// SPDX-License-Identifier: Apache-2.0
/**
 * Refused commands: which of their bytes are kept (US 8,484,392 par. 99-101), and that they know
 * the kick exactly as a PCB does.
 */
import t from 'tap';
import { COMMAND_MAX_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { setSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { Random } from '../../random.ts';
import { planStores } from '../../rig/driver/collect-writer.ts';
import { PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import { RefusedCommand } from './refused-command.ts';

t.test('a refused command keeps its first 8 bytes and no others', async (t) => {
  const refused = new RefusedCommand();
  t.equal(refused.view.buffer.byteLength, 8);
  refused.open();
  refused.store(8, 8, 0x11111111, 0x22222222);
  refused.store(312, 8, -1, -1);
  t.same([refused.view.getInt32(0, true), refused.view.getInt32(4, true)], [0, 0]);
  refused.store(4, 4, 0x33333333, 0);
  t.notOk(refused.identified);
  refused.store(0, 4, 0x44444444, 0);
  t.ok(refused.identified);
  t.same([refused.view.getInt32(0, true), refused.view.getInt32(4, true)], [0x44444444, 0x33333333]);
  refused.open();
  t.notOk(refused.identified);
  t.same([refused.view.getInt32(0, true), refused.view.getInt32(4, true)], [0, 0], 'nothing of the last command stays');
});

t.test('after each store a refused command and a PCB agree about length, identity and kick', async (t) => {
  const random = new Random(61);
  const refused = new RefusedCommand();
  const buffer = new PhysicalCollectBuffer(0);
  for (let round = 0; round < 100; round++) {
    const bytes = random.bytes(COMMAND_MAX_BYTES);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const length = round % 4 === 0 ? random.below(512) : 64 + 8 * random.below(33);
    setSendCommandCollectLength(view, 0, length);
    refused.open();
    buffer.open();
    for (const { offset, sizeBytes } of planStores(COMMAND_MAX_BYTES, { storeBytes: 0, random, repeat: true })) {
      const read = (at: number, size: number) =>
        size >= 4 ? view.getInt32(at, true) : size === 2 ? view.getUint16(at, true) : view.getUint8(at);
      const high = sizeBytes === 8 ? read(offset + 4, 4) : 0;
      for (const command of [refused, buffer]) command.store(offset, sizeBytes, read(offset, sizeBytes), high);
      const states = [refused, buffer].map(({ lengthKnown, lengthValid, identified, whole, collectLength }) => [
        lengthKnown,
        identified,
        lengthKnown && [lengthValid, collectLength, whole],
      ]);
      t.same(states[0], states[1], `seed 61, round ${round}, byte ${offset}`);
    }
  }
});
