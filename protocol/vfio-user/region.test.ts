// SPDX-License-Identifier: Apache-2.0
/** Accesses to BARs: all sizes and alignments, posted writes, handlers that throw. */
import t from 'tap';
import { allocateNative } from './native.ts';
import { makeRegionAccess, naturalPiece } from './region.ts';
import { DeviceProgram, readCounter } from './test-support/device-program.ts';
import { PROBE } from './test-support/probe-layout.ts';

t.test('an access is split into aligned pieces: each byte once and in order', async (t) => {
  for (let offset = 0; offset < 16; offset++) {
    for (let length = 1; length <= 24; length++) {
      let at = offset;
      while (at < offset + length) {
        const size = naturalPiece(at, offset + length - at);
        t.ok(
          [1, 2, 4, 8].includes(size) && at % size === 0 && size <= offset + length - at,
          `offset ${offset} length ${length} at ${at}`,
        );
        at += size;
      }
      if (at !== offset + length) t.fail(`offset ${offset} length ${length} ended at ${at}`);
    }
  }
});

t.test('accesses that a handler receives', async (t) => {
  const block = allocateNative(64);
  const seen: string[] = [];
  const errors: unknown[] = [];
  const device = { gone: false, asleep: false };
  const access = makeRegionAccess(
    {
      read: (offset, size, data) => {
        seen.push(`r${offset}/${size}:${data.getUint32(0, true)},${data.getUint32(4, true)}`);
        if (offset === 32) throw new Error('on purpose');
        data.setUint32(0, 0x01020304, true);
        data.setUint32(4, 0x05060708, true);
      },
      write: (offset, size, data) => seen.push(`w${offset}/${size}:${data.getUint8(0)}`),
    },
    device,
    (error) => errors.push(error),
  );
  t.equal(access(0, block.address, 8, 16, false), 8);
  t.equal(block.view.getUint32(4, true), 0x05060708);
  t.equal(access(0, block.address, 2, 4, false), 2);
  block.bytes.fill(7);
  t.equal(access(0, block.address, 3, 5, true), 3);
  t.equal(access(0, block.address, 4, 32, false), 4, 'answered even if the handler throws');
  t.equal(block.view.getUint32(0, true), 0xffffffff);
  t.same(seen, ['r16/8:0,0', 'r4/2:0,0', 'w5/1:7', 'w6/2:7', 'r32/4:0,0']);
  t.equal(errors.length, 1);
  for (const silent of ['asleep', 'gone'] as const) {
    device[silent] = true;
    block.bytes.fill(7);
    t.equal(access(0, block.address, 11, 3, false), 11);
    t.same([...block.bytes.subarray(0, 12)], [...Array(11).fill(0xff), 7], `ones when the device is ${silent}`);
    access(0, block.address, 4, 0, true);
    device[silent] = false;
  }
  t.equal(seen.length, 5, 'the handler is not called');
});

t.test('over the socket', async (t) => {
  await using device = await DeviceProgram.start();
  const client = device.connect();
  t.teardown(() => client.close());
  const pattern = Uint8Array.from({ length: 64 }, (_, i) => i * 3 + 1);
  for (const size of [1, 2, 3, 4, 7, 8, 16, 64]) {
    for (const offset of [0, 1, 2, 4, 6, 8]) {
      client.writeRegion(0, PROBE.ram + offset, pattern.subarray(0, size));
      t.same(client.readRegion(0, PROBE.ram + offset, size), pattern.subarray(0, size), `${size} bytes at ${offset}`);
    }
  }
  const large = new Uint8Array(4096).map((_, i) => i * 7 + (i >> 8));
  client.writeRegion(2, 0, large);
  t.ok(Buffer.from(client.readRegion(2, 0, 4096)).equals(large), '4 KiB in one message, both ways');
  for (let i = 0; i < 5000; i++) client.postWrite(0, PROBE.ram, Uint8Array.of(i, i >> 8, 0, 0));
  t.equal(client.read32(0, PROBE.ram), 4999, 'posted writes arrive in order, none is lost');
  t.equal(client.read32(0, PROBE.pendingBits), 0xa5a5a5a5, 'the device answers reads of the pending bit array');

  t.equal(client.read32(0, PROBE.throws), 0xffffffff);
  client.write32(0, PROBE.throws, 1);
  t.equal(readCounter(client, 'exceptions'), 2);
  await device.waitFor('the exception is logged', () => device.logged('read of the throwing register'));
});
