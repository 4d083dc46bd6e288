// SPDX-License-Identifier: Apache-2.0
/**
 * Clients that are silent, slow, truncated, do not read their replies, or send garbage. A correct
 * client on another socket of the same process must not be affected.
 */
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ReplyError, VfioUserClient } from './client/client.ts';
import { ClientError, SharedMemory, UnixSocket } from './client/unix-socket.ts';
import { COMMAND, encodeMessage, encodeMessageHeader, encodeVersion, FLAG, pack } from './client/wire.ts';
import { DeviceProgram, readCounter } from './test-support/device-program.ts';
import { PROBE } from './test-support/probe-layout.ts';

/** Checks that the correct client is served. */
function check(t: Test, honest: VfioUserClient, what: string): void {
  const wrong = Array.from({ length: 20 }, () => honest.read32(0, 0)).filter((value) => value !== PROBE.identityValue);
  t.same(wrong, [], `the other socket is served: ${what}`);
}

t.test('beside a correct client', async (t) => {
  // The correct client must also send its version within that time, however busy the machine is.
  await using device = await DeviceProgram.start({ sockets: 2, args: ['--attach-timeout', '5000'] });
  const honest = device.connect(1);
  t.teardown(() => honest.close());
  const path = device.sockets[0];
  check(t, honest, 'at first');
  const idle = device.descriptors();

  await t.test('a silent client is disconnected after the timeout', async (t) => {
    const silent = new VfioUserClient(path);
    check(t, honest, 'silent');
    t.ok(silent.waitClosed(), 'dropped');
    silent.close();
    const half = new VfioUserClient(path);
    half.socket.send(encodeMessage(1, COMMAND.version, encodeVersion()).subarray(0, 30));
    check(t, honest, 'half a version');
    t.ok(half.waitClosed(), 'dropped');
    half.close();
    await device.waitFor('the log says why', () => device.logged('it sent no version for 5000 ms'));
    const next = device.connect(0);
    t.equal(next.read32(0, 0), PROBE.identityValue, 'the next client is served');
    next.close();
  });

  await t.test('a version message may arrive byte by byte', async (t) => {
    const slow = new VfioUserClient(path);
    const message = encodeMessage(7, COMMAND.version, encodeVersion({ json: '' }));
    for (const byte of message) slow.socket.send(Uint8Array.of(byte));
    t.equal(slow.receiveReply().header.id, 7);
    slow.close();
  });

  await t.test('messages may arrive in pieces', async (t) => {
    const client = device.connect(0);
    const message = encodeMessage(9, COMMAND.regionRead, pack('qww', 0, 0, 4));
    for (const cut of [1, 8, 15, 16, 17, 24, 31]) {
      client.socket.send(message.subarray(0, cut));
      check(t, honest, `${cut} bytes of a message`);
      client.socket.send(message.subarray(cut));
      t.equal(new DataView(client.receiveReply().body.slice(16).buffer).getUint32(0, true), PROBE.identityValue);
    }
    client.socket.send(Buffer.concat([message, message, message.subarray(0, 20)]));
    client.socket.send(message.subarray(20));
    for (let i = 0; i < 3; i++) t.equal(client.receiveReply().body.length, 20, 'several in one send');
    client.close();
  });

  await t.test('a refused message is discarded as a whole', async (t) => {
    const client = device.connect(0);
    const inner = encodeMessage(1, COMMAND.reset, new Uint8Array(0));
    const bodies = Buffer.concat(Array.from({ length: 200 }, () => inner));
    const resets = readCounter(client, 'device');
    t.throws(() => client.request(99, bodies), ReplyError, 'its body is not parsed as messages');
    const large = new Uint8Array(3 * 2 ** 20);
    for (let at = 0; at + 16 <= large.length; at += 16) large.set(inner, at);
    t.throws(() => client.request(COMMAND.regionWrite, large), ReplyError, 'nor is one that is too large');
    client.socket.send(encodeMessageHeader({ id: 1, command: COMMAND.getInfo, sizeBytes: 8, flags: 0, errno: 0 }));
    t.throws(() => client.receiveReply(), ReplyError, 'a size below that of the header');
    client.socket.send(encodeMessage(3, COMMAND.getInfo, pack('wwww', 16, 0, 0, 0), FLAG.reply));
    t.throws(() => client.receiveReply(), ReplyError, 'an unexpected reply');
    t.equal(readCounter(client, 'device'), resets);
    client.close();
  });

  await t.test('a client that does not read its replies blocks only itself', async (t) => {
    const deaf = device.connect(0);
    const request = encodeMessage(1, COMMAND.regionRead, pack('qww', 0, 2, 4096));
    let sent = 0;
    for (let i = 0; i < 1600; i++) sent += deaf.socket.sendSome(request) === request.length ? 1 : 0;
    check(t, honest, 'replies unread');
    await delay(50);
    check(t, honest, 'replies unread for a while');
    for (let i = 0; i < sent; i++) {
      if (deaf.receiveReply().body.length !== 16 + 4096) t.fail(`reply ${i} of ${sent} is damaged`);
    }
    t.equal(deaf.read32(0, 0), PROBE.identityValue, 'once it reads, it gets all replies');
    for (let i = 0; i < 20; i++) deaf.socket.sendSome(request);
    deaf.close();
    check(t, honest, 'gone with replies unread');
  });

  await t.test('disconnected inside a message', async (t) => {
    const memory = new SharedMemory(4096);
    const message = encodeMessage(1, COMMAND.regionRead, pack('qww', 0, 0, 4));
    for (const cut of [1, 15, 16, 20, 32]) {
      const client = device.connect(0);
      client.socket.send(message.subarray(0, cut), new Array(20).fill(memory.fd));
      client.close();
      check(t, honest, `closed after ${cut} bytes`);
    }
    for (let i = 0; i < 5; i++) new UnixSocket(path).close();
    const next = device.connect(0);
    next.close();
    await device.waitForDescriptors(idle);
  });

  await t.test('floods', async (t) => {
    const client = device.connect(0);
    const nonsense = encodeMessage(1, 77, new Uint8Array(64), FLAG.noReply);
    const flood = Buffer.concat(Array.from({ length: 500 }, () => nonsense));
    const lines = device.logs.length;
    for (let i = 0; i < 20; i++) {
      client.socket.send(flood);
      check(t, honest, 'nonsense');
    }
    client.close();
    await delay(50);
    t.ok(device.logs.length - lines < 200, `10000 refused messages made ${device.logs.length - lines} log lines`);
    const writer = device.connect(0);
    const write = encodeMessage(1, COMMAND.regionWrite, pack('qwwq', PROBE.ram, 0, 8, 1), FLAG.noReply);
    const writes = Buffer.concat(Array.from({ length: 1000 }, () => write));
    for (let i = 0; i < 20; i++) {
      writer.socket.send(writes);
      check(t, honest, 'posted writes at full speed');
    }
    writer.close();
  });

  await t.test('several clients for one device', async (t) => {
    const first = device.connect(0);
    const waiting = Array.from({ length: 8 }, () => new UnixSocket(path));
    t.equal(first.read32(0, 0), PROBE.identityValue, 'waiting clients do not block in connect');
    for (const socket of waiting) socket.close();
    first.close();
    const next = device.connect(0);
    t.equal(next.read32(0, 0), PROBE.identityValue);
    next.close();
  });
  await t.test('no descriptors left for accept', async (t) => {
    await device.waitForDescriptors(idle);
    device.limitDescriptors(true);
    const cpuMs = device.cpuMs();
    const starved = new VfioUserClient(path, 500);
    t.throws(() => starved.negotiate(), ClientError, 'no answer without a descriptor');
    t.ok(device.cpuMs() - cpuMs < 250, 'the device does not spin');
    check(t, honest, 'no descriptors left');
    device.limitDescriptors(false);
    starved.timeoutMs = honest.timeoutMs;
    t.equal(starved.receiveReply().header.command, COMMAND.version, 'served as soon as descriptors are available');
    starved.close();
  });
  t.equal(readCounter(honest, 'detached'), 0, 'the correct client was attached all the time');
});
