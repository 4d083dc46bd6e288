// SPDX-License-Identifier: Apache-2.0
/** The example device behaves like QEMU's edu. */
import t from 'tap';
import { CONFIG_REGION } from '../client/client.ts';
import { SharedMemory } from '../client/unix-socket.ts';
import { DeviceProgram, EDU_PROGRAM } from '../test-support/device-program.ts';

const GUEST = 0x100000;
const BUFFER = 0x40000;

t.test('identification, liveness, factorial, interrupts, DMA', async (t) => {
  await using device = await DeviceProgram.start({ program: EDU_PROGRAM });
  const client = device.connect();
  t.teardown(() => client.close());
  t.equal(client.read32(CONFIG_REGION, 0), 0x11e81234);
  t.equal(client.read32(0, 0x00), 0x010000ed);
  client.write32(0, 0x04, 0x12345678);
  t.equal(client.read32(0, 0x04), 0xedcba987);
  client.enableMsix(0);
  client.write32(0, 0x20, 0x80);
  client.write32(0, 0x08, 10);
  t.equal(client.waitIrq(0), 1);
  t.equal(client.read32(0, 0x08), 3628800);
  t.equal(client.read32(0, 0x24), 1);
  client.write32(0, 0x64, 1);
  t.equal(client.read32(0, 0x24), 0);
  client.write32(0, 0x60, 0x42);
  t.equal(client.waitIrq(0), 1);
  t.equal(client.read32(0, 0x24), 0x42);

  const memory = new SharedMemory(65536);
  client.mapDma({ address: GUEST, sizeBytes: 65536, fd: memory.fd });
  client.write16(CONFIG_REGION, 4, 6);
  const text = Buffer.from('from the guest and back');
  memory.write(0, text);
  transfer(GUEST, BUFFER, 5);
  transfer(BUFFER, GUEST + 4096, 7);
  t.same(Buffer.from(memory.read(4096, text.length)), text);
  client.resetFunction();
  t.equal(client.read32(0, 0x04), 0);

  function transfer(source: number, target: number, command: number): void {
    for (const [register, value] of [
      [0x80, source],
      [0x88, target],
      [0x90, text.length],
      [0x98, command],
    ]) {
      client.write32(0, register, value);
    }
    t.equal(client.waitIrq(0), 1);
    t.equal(client.read32(0, 0x98) & 1, 0);
  }
});
