// SPDX-License-Identifier: Apache-2.0
/**
 * Negotiation and the queries that QEMU sends at realize; refusal of clients that violate the
 * protocol.
 */
import t from 'tap';
import { ReplyError, VfioUserClient } from './client/client.ts';
import { COMMAND, type encodeVersion, pack, REGION_FLAG } from './client/wire.ts';
import { DeviceProgram } from './test-support/device-program.ts';
import { PROBE } from './test-support/probe-layout.ts';

const EINVAL = 22;
const device = await DeviceProgram.start();
t.teardown(() => device[Symbol.asyncDispose]());

t.test('version, device, regions and interrupts', async (t) => {
  const client = new VfioUserClient(device.sockets[0]);
  t.teardown(() => client.close());
  const version = client.negotiate();
  t.match(version, { major: 0, minor: 1 });
  t.match(
    JSON.parse(version.json),
    { capabilities: { max_data_xfer_size: 4096 } },
    'QEMU reads a configuration space at once',
  );
  t.notMatch(version.json, 'write_multiple', 'not implemented, so not announced');

  const info = client.getInfo();
  t.equal(info.flags & 3, 3, 'a PCI device that can be reset');
  t.ok(info.regions >= 9 && info.irqs >= 3, 'QEMU refuses fewer');
  const sizes = Array.from({ length: 9 }, (_, index) => client.getRegionInfo(index).sizeBytes);
  t.same(sizes, [65536, 0, 2 ** 20, 0, 32 * 2 ** 20, 0, 0, 4096, 0]);
  t.equal(client.getRegionInfo(0).flags & (REGION_FLAG.mmap | REGION_FLAG.capabilities), 0, 'no mappable area');
  const counts = [0, 1, 2, 3, 4].map((index) => client.getIrqCount(index));
  t.same(counts, [0, 0, PROBE.vectors, 0, 0], 'MSI-X only');
  t.equal(client.read32(0, 0), PROBE.identityValue);
});

t.test('a region can offer several areas of one file', async (t) => {
  await using device = await DeviceProgram.start({ args: ['--mappable'] });
  const client = device.connect();
  t.teardown(() => client.close());
  const short = client.getRegionInfo(4);
  t.ok(short.argsz > 32, 'asks for room for the areas');
  t.equal(short.fds.length, 0);
  const info = client.getRegionInfo(4, short.argsz);
  t.same(info.areas, [
    { offset: 0x1000, sizeBytes: 0x1000 },
    { offset: 0x10000, sizeBytes: 0x2000 },
  ]);
  t.equal(info.fds.length, 1, 'QEMU takes one descriptor per region');
  t.same(client.request(COMMAND.getRegionIoFds, pack('wwww', 16, 0, 4, 0)).fds, [], 'and there are no ioeventfds');
});

t.test('clients that violate the protocol are refused, the next one is served', async (t) => {
  const cases: [string, Parameters<typeof encodeVersion>[0]][] = [
    ['another protocol', { major: 7 }],
    ['no JSON', { json: '{' }],
    ['a limit of 0 bytes', { json: '{"capabilities":{"max_data_xfer_size":0}}' }],
    ['a negative limit', { json: '{"capabilities":{"max_data_xfer_size":-1}}' }],
    ['a limit beyond 32 bits that looks like 1 when cut', { json: '{"capabilities":{"max_msg_fds":4294967297}}' }],
    ['a word for a number', { json: '{"capabilities":{"max_data_xfer_size":"much"}}' }],
  ];
  for (const [what, options] of cases) {
    const client = new VfioUserClient(device.sockets[0]);
    t.throws(() => client.negotiate(options), ReplyError, what);
    t.ok(client.waitClosed(), 'and it is disconnected');
    client.close();
  }
  await device.waitFor('the log says why', () => device.logged('unsupported client major 7'));
  const first = new VfioUserClient(device.sockets[0]);
  first.post(COMMAND.getInfo, pack('wwww', 16, 0, 0, 0), [], 0);
  t.ok(first.waitClosed(), 'a client whose first message is not its version');
  first.close();
  for (const json of ['', '[1]', '{"capabilities":{}}', '{"unknown":true}']) {
    const client = new VfioUserClient(device.sockets[0]);
    client.negotiate({ json });
    t.equal(client.read32(0, 0), PROBE.identityValue, `served with ${json || 'no JSON'}`);
    client.close();
  }
});

t.test('invalid requests get an error and change nothing', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  const wrong: [string, () => unknown][] = [
    ['unknown command', () => client.request(99, pack('q', 0))],
    ['no payload', () => client.request(COMMAND.getInfo, new Uint8Array(0))],
    ['short payload', () => client.request(COMMAND.getRegionInfo, pack('w', 32))],
    ['small argsz', () => client.request(COMMAND.getInfo, pack('wwww', 8, 0, 0, 0))],
    ['region 10', () => client.getRegionInfo(10)],
    ['interrupt index 5', () => client.getIrqCount(5)],
    ['read beyond the region', () => client.readRegion(0, 65533, 4)],
    ['read at 2^64 - 1', () => client.readRegion(0, 2n ** 64n - 1n, 2)],
    ['read of more than 4 KiB', () => client.readRegion(4, 0, 4097)],
    ['write of more than 4 KiB', () => client.writeRegion(4, 0, new Uint8Array(4097))],
    ['I/O descriptors of more than 4 KiB', () => client.request(COMMAND.getRegionIoFds, pack('wwww', 4097, 0, 0, 0))],
    ['write whose count is not its length', () => client.request(COMMAND.regionWrite, pack('qwww', 0, 0, 8, 1))],
    ['access to an absent BAR', () => client.readRegion(5, 0, 4)],
    ['short DMA unmap', () => client.request(COMMAND.dmaUnmap, pack('h', 24))],
    ['dirty pages without migration', () => client.request(COMMAND.dirtyPages, pack('ww', 8, 1))],
    ['unmap with dirty bitmap', () => client.request(COMMAND.dmaUnmap, pack('wwqqqq', 48, 1, 0, 4096, 0, 8))],
    [
      'I/O descriptors of a huge argsz',
      () => client.request(COMMAND.getRegionIoFds, pack('wwww', 0xffffffff, 0, 0, 0)),
    ],
  ];
  for (const [what, request] of wrong) t.throws(request, ReplyError, what);
  t.throws(() => client.getRegionInfo(10), new ReplyError(5, EINVAL));
  t.equal(client.read32(0, 0), PROBE.identityValue);
});
