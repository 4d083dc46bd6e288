// SPDX-License-Identifier: Apache-2.0
/**
 * MSI-X eventfds as a guest supplies them: one by one, out of order, removed again; and descriptors
 * that are no eventfds.
 */
import t from 'tap';
import { ReplyError, type VfioUserClient } from './client/client.ts';
import { EventFd, makePipe } from './client/unix-socket.ts';
import { COMMAND, encodeSetIrqs, IRQ_FLAG } from './client/wire.ts';
import { DeviceProgram, makeCounterReader } from './test-support/device-program.ts';
import { PROBE } from './test-support/probe-layout.ts';

const MSIX = 2;
const ERROR = 3;
const REQUEST = 4;
const SET_EVENTFD = IRQ_FLAG.eventfd | IRQ_FLAG.trigger;

const device = await DeviceProgram.start();
t.teardown(() => device[Symbol.asyncDispose]());

/** Lets the device raise a vector; true on success. */
function raise(client: VfioUserClient, vector: number): boolean {
  client.write32(0, PROBE.trigger, vector);
  return client.read32(0, PROBE.trigger) === 1;
}

t.test('eventfds of vectors come and go one by one', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  const counted = makeCounterReader(client);
  const before = device.descriptors();
  client.setIrqs({ index: MSIX, start: 0, count: 0, flags: IRQ_FLAG.none | IRQ_FLAG.trigger });
  t.notOk(raise(client, 5), 'no eventfd yet: not raised, no error');
  for (const vector of [5, 0, 15, 3]) {
    client.enableMsix(vector);
    t.ok(raise(client, vector));
    t.equal(client.waitIrq(vector), 1, `vector ${vector}`);
  }
  t.same(counted('vectorsOn'), [4], 'a callback tells the device that it can raise pending vectors');
  client.disableMsix(3);
  t.notOk(raise(client, 3), 'one eventfd is removed');
  t.ok(raise(client, 5), 'and no other');
  t.equal(client.waitIrq(5), 1);
  client.enableMsix(3);
  t.ok(raise(client, 3));
  t.ok(raise(client, 3));
  t.equal(client.waitIrq(3), 2);
  t.notOk(raise(client, PROBE.vectors), 'beyond the last vector');
  t.notOk(raise(client, 0xffffffff));
  client.enableMsix(6, 8);
  t.ok(raise(client, 13));
  t.equal(client.waitIrq(13), 1, 'several at once');
  client.setIrqs({ index: MSIX, start: 0, count: 0, flags: IRQ_FLAG.none | IRQ_FLAG.trigger });
  t.notOk(raise(client, 5), 'all eventfds are removed');
  await device.waitForDescriptors(before);
});

t.test('ranges that overflow are refused', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  client.enableMsix(0);
  for (const [start, count] of [
    [1, 0xffffffff],
    [15, 0xfffffff1],
    [15, 2],
    [16, 1],
    [0xffffffff, 1],
    [1, 0],
  ]) {
    const what = `start ${start} count ${count}`;
    t.throws(() => client.setIrqs({ index: MSIX, start, count, flags: SET_EVENTFD }), ReplyError, what);
  }
  const none = IRQ_FLAG.none | IRQ_FLAG.trigger;
  t.throws(() => client.setIrqs({ index: MSIX, start: 1, count: 0xffffffff, flags: none }), ReplyError);
  t.ok(raise(client, 0), 'and nothing was touched');
  t.equal(client.waitIrq(0), 1);
});

t.test('error and request interrupts do not replace vector 0', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  client.enableMsix(0);
  for (const index of [ERROR, REQUEST]) {
    const event = new EventFd();
    const set = { index, start: 0, count: 1, flags: SET_EVENTFD };
    t.throws(() => client.setIrqs(set, [event.fd]), ReplyError, 'this device has none');
    t.ok(raise(client, 0));
    t.equal(client.waitIrq(0), 1);
    event.close();
  }
});

t.test('the client may trigger vectors', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  client.enableMsix(0, 4);
  client.setIrqs({ index: MSIX, start: 1, count: 2, flags: IRQ_FLAG.none | IRQ_FLAG.trigger });
  const data = Uint8Array.of(1, 0, 1);
  client.setIrqs({ index: MSIX, start: 1, count: 3, flags: IRQ_FLAG.bool | IRQ_FLAG.trigger, data });
  t.same(
    [0, 1, 2, 3].map((vector) => client.waitIrq(vector, 0)),
    [0, 2, 1, 1],
  );
  const counted = makeCounterReader(client);
  client.setIrqs({ index: MSIX, start: 2, count: 1, flags: IRQ_FLAG.none | IRQ_FLAG.mask });
  client.setIrqs({ index: MSIX, start: 2, count: 1, flags: IRQ_FLAG.none | IRQ_FLAG.unmask });
  t.same(counted('vectorsOff'), [1], 'a callback reports masking by message too');
});

t.test('a descriptor that could block the device is refused', async (t) => {
  const client = device.connect();
  t.teardown(() => client.close());
  const [readEnd, writeEnd] = makePipe();
  const set = { index: MSIX, start: 0, count: 1, flags: SET_EVENTFD };
  t.throws(() => client.request(COMMAND.setIrqs, encodeSetIrqs(set), [writeEnd]), ReplyError, 'a pipe');
  t.throws(() => client.request(COMMAND.setIrqs, encodeSetIrqs(set), [readEnd, writeEnd]), ReplyError, 'two for one');
  const full = new EventFd({ blocking: true });
  client.setIrqs(set, [full.fd]);
  full.add(2n ** 64n - 2n);
  t.ok(raise(client, 0), 'an eventfd that is full counts as raised');
  t.equal(client.read32(0, 0), PROBE.identityValue, 'and the device does not block');
  full.close();
});
