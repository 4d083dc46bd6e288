// SPDX-License-Identifier: Apache-2.0
/**
 * Every kind of reset, clients that come and go, the socket file, the end of the process, and the
 * CPU time of an idle device.
 */
import { existsSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { CONFIG_REGION, VfioUserClient } from './client/client.ts';
import { SharedMemory } from './client/unix-socket.ts';
import { DeviceProgram, makeCounterReader, readCounter, runDma } from './test-support/device-program.ts';
import { DMA_OP, PROBE } from './test-support/probe-layout.ts';

const device = await DeviceProgram.start();
t.teardown(() => device[Symbol.asyncDispose]());
const idleDescriptors = device.descriptors();

t.test('resets keep the client, its memory and its vectors', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  const counted = makeCounterReader(client);
  const memory = new SharedMemory(0x10000);
  client.mapDma({ address: 0, sizeBytes: 0x10000, fd: memory.fd });
  client.enableMsix(0);
  client.write16(CONFIG_REGION, 4, 6);
  client.resetDevice();
  t.equal(client.read16(CONFIG_REGION, 4), 0, 'configuration space is as after power-on');
  client.resetFunction();
  client.resetDevice();
  t.same(counted('device', 'function-level'), [2, 1]);
  t.ok(runDma(client, DMA_OP.fill, 0, 4096, 1).ok);
  client.write32(0, PROBE.trigger, 0);
  t.equal(client.waitIrq(0), 1);
});

t.test('a lost connection resets the device for the next client', async (t) => {
  const memory = new SharedMemory(0x10000);
  const start = readCounts();
  for (let round = 1; round <= 5; round++) {
    const client = device.connect();
    client.mapDma({ address: 0, sizeBytes: 0x10000, fd: memory.fd });
    client.enableMsix(0, 8);
    const names = ['lost-connection', 'dmaUnregister', 'readBeforeUnmap', 'regions'] as const;
    const counts = names.map((name) => readCounter(client, name));
    const earlier = start.unregistered + round - 1;
    t.same(counts, [start.lost + round, earlier, earlier, 1]);
    client.close();
    await device.waitForDescriptors(idleDescriptors);
  }
});

/** Counters of the device, read by a short-lived client. */
function readCounts(): { lost: number; unregistered: number } {
  const client = device.connect();
  const counts = { lost: readCounter(client, 'lost-connection'), unregistered: readCounter(client, 'dmaUnregister') };
  client.close();
  return counts;
}

t.test('the device may disconnect its client', async (t) => {
  const client = device.connect();
  const lost = readCounter(client, 'lost-connection');
  client.write32(0, PROBE.dropClient, 1);
  t.ok(client.waitClosed());
  client.close();
  const next = device.connect();
  t.equal(readCounter(next, 'lost-connection'), lost + 1);
  next.close();
});

t.test('a device that needs time to quiesce', async (t) => {
  await using device = await DeviceProgram.start({ args: ['--quiesce'] });
  const client = device.connect();
  const memory = new SharedMemory(0x10000);
  client.mapDma({ address: 0, sizeBytes: 0x10000, fd: memory.fd });
  t.ok(runDma(client, DMA_OP.fill, 0, 16, 1).ok);
  client.unmapDma(0, 0x10000);
  client.mapDma({ address: 0, sizeBytes: 0x10000, fd: memory.fd });
  client.resetDevice();
  client.resetFunction();
  t.equal(readCounter(client, 'quiesce'), 5);
  t.same([readCounter(client, 'device'), readCounter(client, 'function-level')], [1, 1]);
  client.close();
  const next = device.connect();
  t.same([readCounter(next, 'lost-connection'), readCounter(next, 'regions')], [1, 0]);
  next.close();
});

t.test('the end of the process', async (t) => {
  for (const attached of [false, true]) {
    await using device = await DeviceProgram.start({ sockets: 3 });
    t.equal(statSync(device.sockets[0]).mode & 0o777, 0o600);
    const client = attached ? device.connect() : undefined;
    t.equal(await device.stop('SIGTERM'), 0, 'it ends by itself');
    t.same(device.sockets.filter(existsSync), [], 'no socket is left');
    client?.close();
  }
});

t.test('an idle device uses no CPU, attached or not', async (t) => {
  await using device = await DeviceProgram.start({ sockets: 2 });
  const client = device.connect();
  t.teardown(() => client.close());
  t.equal(client.read32(0, 0), PROBE.identityValue);
  await delay(300);
  const before = device.cpuMs();
  const startMs = performance.now();
  await delay(2000);
  const share = (device.cpuMs() - before) / (performance.now() - startMs);
  // A device that spins would use its fair share of a busy machine, which is more.
  t.ok(share < 0.05, `used ${(share * 100).toFixed(2)} % of a core`);
  t.equal(client.read32(0, 0), PROBE.identityValue, 'and answers at once');
});

t.test('a client may connect before it is served', async (t) => {
  const clients = [new VfioUserClient(device.sockets[0]), new VfioUserClient(device.sockets[0])];
  clients[0].negotiate();
  clients[0].close();
  clients[1].negotiate();
  t.equal(clients[1].read32(0, 0), PROBE.identityValue);
  clients[1].close();
});
