// SPDX-License-Identifier: Apache-2.0
/**
 * DMA regions over the socket: mapping, access rights, many remaps, and maps that could crash or
 * leak.
 */
import { openSync } from 'node:fs';
import t, { type Test } from 'tap';
import { ReplyError, type VfioUserClient } from './client/client.ts';
import { makePipe, SharedMemory } from './client/unix-socket.ts';
import { COMMAND, pack } from './client/wire.ts';
import { DeviceProgram, makeCounterReader, runDma } from './test-support/device-program.ts';
import { DMA_OP, PROBE } from './test-support/probe-layout.ts';

const KIB = 1024;
const GIB = 2 ** 30;
const EEXIST = 17;
const EINVAL = 22;
const ENOSPC = 28;
const TIB = 2 ** 40;

const device = await DeviceProgram.start();
t.teardown(() => device[Symbol.asyncDispose]());

/** A client for one test, and its counters since it connected. */
function attach(t: Test): { client: VfioUserClient; counted: ReturnType<typeof makeCounterReader> } {
  const client = device.connect();
  t.teardown(() => client.close());
  return { client, counted: makeCounterReader(client) };
}

t.test('both directions, across adjacent regions, with the access rights of each', async (t) => {
  const { client, counted } = attach(t);
  const memory = new SharedMemory(64 * KIB);
  memory.write(0, new Uint8Array(64 * KIB).fill(1));
  client.mapDma({ address: 0x10000, sizeBytes: 0x4000, fd: memory.fd });
  client.mapDma({ address: 0x14000, sizeBytes: 0x4000, fd: memory.fd, offset: 0x8000 });
  client.mapDma({ address: 0x18000, sizeBytes: 0x1000, fd: memory.fd, offset: 0xc000, write: false });
  client.mapDma({ address: 0x20000, sizeBytes: 0x1000, fd: memory.fd, offset: 0xd000, read: false });
  client.mapDma({ address: 0x30000, sizeBytes: 0x1000, fd: memory.fd, offset: 0xe000, read: false, write: false });
  client.mapDma({ address: 0x40000, sizeBytes: 0x1000 });

  t.same(runDma(client, DMA_OP.sum, 0x10000, 0x9000), { ok: true, result: 0x9000 }, 'one transfer over three regions');
  t.ok(runDma(client, DMA_OP.fill, 0x13ff0, 32, 9).ok);
  t.same(memory.read(0x3ff0, 16), new Uint8Array(16).fill(9));
  t.same(memory.read(0x8000, 17), Uint8Array.of(...new Array(16).fill(9), 1));
  t.notOk(runDma(client, DMA_OP.fill, 0x17ff0, 32, 5).ok, 'the second half is read-only');
  t.same(memory.read(0xbff0, 16), new Uint8Array(16).fill(1), 'and the first was not written');
  t.ok(runDma(client, DMA_OP.write32, 0x10100, 4, 0xcafe).ok);
  t.same(runDma(client, DMA_OP.read32, 0x10100, 4), { ok: true, result: 0xcafe });
  t.ok(runDma(client, DMA_OP.write64, 0x10108, 8, 0xf0f0f0f0).ok);
  t.same(memory.read(0x108, 8), pack('ww', 0xf0f0f0f0, 0x0f0f0f0f));
  const failing: [string, number, number, number][] = [
    ['unaligned word', DMA_OP.read32, 0x10102, 4],
    ['unaligned quad', DMA_OP.write64, 0x10104, 8],
    ['write to read-only', DMA_OP.write32, 0x18000, 4],
    ['read of write-only', DMA_OP.sum, 0x20000, 4],
    ['no right at all', DMA_OP.sum, 0x30000, 4],
    ['memory without a descriptor', DMA_OP.sum, 0x40000, 4],
    ['below the first region', DMA_OP.sum, 0xffff, 2],
    ['a gap', DMA_OP.sum, 0x18ff0, 32],
    ['nothing there', DMA_OP.read32, 0x7fff0000, 4],
    ['a wrapping length', DMA_OP.sum, 0x10000, 0xffffffff],
    ['the end of the address space', DMA_OP.sum, 2 ** 53 - 2, 4],
    ['above 2^53', DMA_OP.sum, 2 ** 63, 4],
  ];
  for (const [what, op, address, length] of failing) t.notOk(runDma(client, op, address, length).ok, what);
  t.ok(runDma(client, DMA_OP.fill, 0x20000, 4, 1).ok, 'write-only memory is written');
  t.same(counted('exceptions'), [0]);
});

t.test('unmapped memory is inaccessible at once', async (t) => {
  const { client, counted } = attach(t);
  const memory = new SharedMemory(64 * KIB);
  const before = device.descriptors();
  for (let i = 0; i < 8; i++)
    client.mapDma({ address: i * 0x2000, sizeBytes: 0x1000, fd: memory.fd, offset: i * 0x1000 });
  t.ok(runDma(client, DMA_OP.fill, 0x4000, 0x1000, 3).ok);
  client.unmapDma(0x4000, 0x1000);
  t.notOk(runDma(client, DMA_OP.fill, 0x4000, 0x1000, 3).ok);
  t.notOk(runDma(client, DMA_OP.read32, 0x4000, 4).ok);
  t.throws(() => client.unmapDma(0x4000, 0x1000), ReplyError, 'not there any more');
  t.throws(() => client.unmapDma(0x6000, 0x800), ReplyError, 'only whole regions');
  client.unmapAllDma();
  t.same(counted('dmaUnregister', 'regions'), [8, 0]);
  t.same(counted('readBeforeUnmap'), [8], 'the device could read each region once more');
  await device.waitForDescriptors(before);
});

t.test('many remaps, as by firmware, leave nothing behind', async (t) => {
  const { client, counted } = attach(t);
  const memory = new SharedMemory(GIB);
  const before = device.descriptors();
  for (let round = 0; round < 300; round++) {
    client.mapDma({ address: 0, sizeBytes: GIB / 2, fd: memory.fd });
    client.mapDma({ address: GIB, sizeBytes: GIB / 2, fd: memory.fd, offset: GIB / 2 });
    if (round % 50 === 0) t.ok(runDma(client, DMA_OP.fill, round * 4096, 64, round).ok);
    client.unmapDma(0, GIB / 2);
    client.unmapDma(GIB, GIB / 2);
  }
  t.same(counted('dmaRegister', 'dmaUnregister'), [600, 600]);
  await device.waitForDescriptors(before);
});

t.test('a guest of more than 4 GiB', async (t) => {
  const { client } = attach(t);
  const memory = new SharedMemory(9 * GIB);
  client.mapDma({ address: 0, sizeBytes: 3 * GIB, fd: memory.fd });
  client.mapDma({ address: 4 * GIB, sizeBytes: 6 * GIB, fd: memory.fd, offset: 3 * GIB });
  for (const address of [0, GIB - 8, 3 * GIB - 16, 4 * GIB, 9 * GIB + 4096, 10 * GIB - 16]) {
    t.ok(runDma(client, DMA_OP.fill, address, 16, 0xab).ok, `at ${address}`);
    const offset = address < 4 * GIB ? address : address - GIB;
    t.same(memory.read(offset, 16), new Uint8Array(16).fill(0xab));
  }
  t.notOk(runDma(client, DMA_OP.fill, 3 * GIB - 8, 16, 1).ok);
  t.notOk(runDma(client, DMA_OP.fill, 10 * GIB - 8, 16, 1).ok);
});

t.test('many regions', async (t) => {
  const { client } = attach(t);
  const memory = new SharedMemory(4 * 2 ** 20);
  for (let i = 0; i < 1000; i++) {
    client.mapDma({ address: (999 - i) * 0x10000, sizeBytes: 0x1000, fd: memory.fd, offset: i * 0x1000 });
  }
  t.ok(runDma(client, DMA_OP.fill, 500 * 0x10000, 0x1000, 77).ok);
  t.same(memory.read(499 * 0x1000, 2), Uint8Array.of(77, 77));
});

t.test('a client maps at most 2 TiB, which a guest of 1 TiB does not reach', async (t) => {
  const { client, counted } = attach(t);
  const memory = new SharedMemory(2 * TIB);
  client.mapDma({ address: 0, sizeBytes: TIB, fd: memory.fd });
  t.ok(runDma(client, DMA_OP.fill, TIB - 16, 16, 7).ok, 'the end of a guest of 1 TiB');
  client.mapDma({ address: 4 * TIB, sizeBytes: TIB - 4096, fd: memory.fd });
  const beyond = { address: 8 * TIB, sizeBytes: 8192, fd: memory.fd };
  t.throws(() => client.mapDma(beyond), new ReplyError(COMMAND.dmaMap, ENOSPC) as unknown as typeof ReplyError);
  client.mapDma({ ...beyond, sizeBytes: 4096 });
  client.mapDma({ address: 16 * TIB, sizeBytes: TIB });
  t.same(counted('regions'), [4], 'regions without a descriptor take no address space');
  await device.waitFor('the log says why', () => device.logged('DMA region of 8192 bytes refused'));
  client.unmapDma(4 * TIB, TIB - 4096);
  client.mapDma({ ...beyond, address: 12 * TIB });
});

t.test('all clients of a process together leave it most of its address space', async (t) => {
  await using crowd = await DeviceProgram.start({ sockets: 18 });
  const memory = new SharedMemory(2 * TIB);
  const clients = crowd.sockets.map((_, index) => crowd.connect(index));
  t.teardown(() => {
    for (const client of clients) client.close();
  });
  const refused = clients.filter((client) => {
    try {
      client.mapDma({ address: 0, sizeBytes: 2 * TIB, fd: memory.fd });
      return false;
    } catch (error) {
      t.match(error, { errno: ENOSPC });
      return true;
    }
  });
  t.equal(refused.length, 2, '16 of 2 TiB');
  for (const client of clients) t.equal(client.read32(0, 0), PROBE.identityValue, 'all are served');
  const [first] = clients as [VfioUserClient];
  first.unmapDma(0, 2 * TIB);
  (refused[0] as VfioUserClient).mapDma({ address: 0, sizeBytes: 2 * TIB, fd: memory.fd });
});

t.test('refused maps leave no descriptor and no region', async (t) => {
  const { client, counted } = attach(t);
  const memory = new SharedMemory(64 * KIB);
  const [readEnd] = makePipe();
  const readOnly = openSync('/proc/self/exe', 'r');
  client.mapDma({ address: 0x100000, sizeBytes: 0x4000, fd: memory.fd });
  const before = device.descriptors();
  const refused: [string, Parameters<VfioUserClient['mapDma']>[0], number?][] = [
    ['overlap', { address: 0x101000, sizeBytes: 0x4000, fd: memory.fd }, EEXIST],
    ['overlap around', { address: 0xf0000, sizeBytes: 0x40000, fd: memory.fd, offset: 0 }],
    ['larger than the file', { address: 0x200000, sizeBytes: 0x20000, fd: memory.fd }, EINVAL],
    ['offset behind the file', { address: 0x200000, sizeBytes: 0x1000, fd: memory.fd, offset: 0x20000 }, EINVAL],
    ['offset above 2^63', { address: 0x200000, sizeBytes: 0x1000, fd: memory.fd, offset: 2n ** 63n }],
    ['offset inside a page', { address: 0x200000, sizeBytes: 0x1000, fd: memory.fd, offset: 0x800 }],
    ['empty', { address: 0x200000, sizeBytes: 0, fd: memory.fd }],
    ['empty without file', { address: 0x200000, sizeBytes: 0 }],
    ['not whole pages', { address: 0x200000, sizeBytes: 0x1800, fd: memory.fd }],
    ['address inside a page', { address: 0x200100, sizeBytes: 0x1000, fd: memory.fd }],
    ['wrapping', { address: 2n ** 64n - 0x1000n, sizeBytes: 0x2000, fd: memory.fd }],
    ['up to 2^64', { address: 2n ** 64n - 0x1000n, sizeBytes: 0x1000 }],
    ['above 8 TiB', { address: 0x200000, sizeBytes: 2 ** 44 }],
    ['a pipe', { address: 0x200000, sizeBytes: 0x1000, fd: readEnd }],
    ['a read-only file to be written', { address: 0x200000, sizeBytes: 0x1000, fd: readOnly }],
  ];
  for (const [what, map, errno] of refused) {
    const expected = errno === undefined ? ReplyError : new ReplyError(COMMAND.dmaMap, errno);
    t.throws(() => client.mapDma(map), expected as typeof ReplyError, what);
  }
  t.throws(() => client.request(COMMAND.dmaMap, pack('wwqqq', 32, 8, 0, 0x200000, 0x1000)), ReplyError, 'bad flags');
  t.throws(() => client.request(COMMAND.dmaMap, pack('ww', 8, 3), [memory.fd]), ReplyError, 'short');
  await device.waitForDescriptors(before);
  t.same(counted('regions'), [1]);
  t.ok(runDma(client, DMA_OP.fill, 0x100000, 0x4000, 1).ok, 'earlier maps remain');
});

t.test('mapping the same region again changes nothing', async (t) => {
  const { client, counted } = attach(t);
  const memory = new SharedMemory(64 * KIB);
  client.mapDma({ address: 0x100000, sizeBytes: 0x4000, fd: memory.fd });
  const before = device.descriptors();
  for (let i = 0; i < 200; i++) client.mapDma({ address: 0x100000, sizeBytes: 0x4000, fd: memory.fd });
  await device.waitForDescriptors(before);
  t.same(counted('dmaRegister', 'regions'), [1, 1]);
});

t.test('unexpected descriptors are closed', async (t) => {
  const { client } = attach(t);
  const memory = new SharedMemory(4 * KIB);
  const before = device.descriptors();
  client.request(COMMAND.getInfo, pack('wwww', 16, 0, 0, 0), new Array(253).fill(memory.fd));
  t.throws(() => client.request(99, pack('q', 0), [memory.fd, memory.fd]), ReplyError);
  client.post(COMMAND.regionWrite, pack('qwww', 0x400, 0, 4, 1), [memory.fd]);
  client.read32(0, 0);
  await device.waitForDescriptors(before);
});

t.test('a file truncated after it was mapped affects only its client', async (t) => {
  const { client } = attach(t);
  const memory = new SharedMemory(64 * KIB);
  const other = new SharedMemory(64 * KIB);
  client.mapDma({ address: 0, sizeBytes: 64 * KIB, fd: memory.fd });
  client.mapDma({ address: 0x100000, sizeBytes: 64 * KIB, fd: other.fd });
  t.ok(runDma(client, DMA_OP.fill, 0x8000, 0x1000, 1).ok);
  memory.truncate(0x4000);
  runDma(client, DMA_OP.sum, 0x8000, 0x1000);
  runDma(client, DMA_OP.fill, 0xf000, 0x1000, 1);
  t.ok(runDma(client, DMA_OP.fill, 0x100000, 0x1000, 5).ok, 'the device still runs');
  t.same(other.read(0, 2), Uint8Array.of(5, 5));
  client.unmapAllDma();
  t.notOk(runDma(client, DMA_OP.sum, 0x8000, 0x1000).ok);
});
