// SPDX-License-Identifier: Apache-2.0
/**
 * Collect buffers: the forms in which software may write a command, the point at which it is
 * complete, and the result of a command that never is (docs/PROGRAMMING.md, posting sends;
 * US 8,484,392 par. 95-101, 108-114).
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  DATA_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  NOTIFY_OFFSET,
  PAGE_BYTES,
  STOP_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { setSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { type CollectStyle, planStores, storeCollected } from '../../rig/driver/collect-writer.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { countCollecting } from '../../rig/fixtures/invariants.ts';

const GRH = 40;

/** Posts one inline datagram in a style and checks that exactly this one arrives. */
function sendOne(fixture: AdapterFixture, pair: Pair, payload: Uint8Array, style: CollectStyle): string | undefined {
  const { sender, receiver, to } = pair;
  const buffer = fixture.postReceive(receiver, GRH + 256);
  sender.post(to({ inline: payload }), 'collect', style);
  fixture.settle();
  const sent = sender.parts.sendCq.drain();
  const received = receiver.parts.receiveCq.drain();
  if (sent.length !== 1 || received.length !== 1)
    return `${sent.length} sends and ${received.length} receives completed`;
  if (sent[0]?.status !== CompletionStatus.SUCCESS) return `send status ${sent[0]?.status}`;
  if (received[0]?.byteLength !== GRH + payload.length) return `byte length ${received[0]?.byteLength}`;
  return payload.every((byte, index) => buffer.bytes[GRH + index] === byte) ? undefined : 'the payload differs';
}

/** Writes a command except one store, and returns that store. */
function writeButOne(fixture: AdapterFixture, qp: DriverQueuePair, bytes: Uint8Array, held: number) {
  const stores = planStores(bytes.length, {});
  const view = new DataView(bytes.buffer);
  stores.forEach((store, index) => {
    if (index !== held) storeCollected(fixture.access, qp.parts.page, view, store);
  });
  return () => storeCollected(fixture.access, qp.parts.page, view, stores[held] as (typeof stores)[0]);
}

t.test('any size, order and repetition of stores makes the same command, once', async (t) => {
  const fixture = new AdapterFixture({ seed: 11, memoryBytes: 16 * 1024 * 1024 });
  const pair = fixture.createPair();
  const { random } = fixture;
  for (const storeBytes of [0, 1, 2, 4, 8] as const) {
    for (let round = 0; round < 40; round++) {
      const repeat = random.oneIn(2);
      const lengthLast = random.oneIn(2);
      const ordered = round === 0 && storeBytes !== 0;
      const style = ordered ? { storeBytes } : { storeBytes, random, repeat, lengthLast };
      const payload = random.bytes(random.below(257));
      const wrong = sendOne(fixture, pair, payload, style);
      if (wrong) t.fail(`seed 11, stores of ${storeBytes}, round ${round}, ${payload.length} bytes: ${wrong}`);
    }
  }
  t.equal(fixture.read(CSR.COLLECT_KICKS), 200);
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 200);
  t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT), 0);
  t.same(fixture.allFaults(), {});
  fixture.finish();
});

t.test('nothing happens before the last missing piece arrives, in whatever order', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const words = (64 + 24) / 8;
  for (let held = 0; held < words; held++) {
    fixture.postReceive(receiver, GRH + 64);
    const bytes = sender.fill(to({ inline: fixture.random.bytes(24) }));
    sender.advanceSendTail();
    const release = writeButOne(fixture, sender, bytes, held);
    fixture.settle();
    t.notOk(sender.parts.sendCq.ready, `without word ${held}`);
    t.equal(fixture.read(CSR.PCB_IN_USE), 1);
    t.equal(fixture.read(CSR.VCB_IN_USE), 1 << (sender.parts.page / PAGE_BYTES));
    release();
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    receiver.parts.receiveCq.take();
  }
  fixture.finish();
});

t.test('cancel frees a half-written command and leaves the slot to a doorbell', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  for (const held of [0, 3, 7]) {
    fixture.postReceive(receiver, GRH + 64);
    const bytes = sender.fill(to());
    sender.advanceSendTail();
    const release = writeButOne(fixture, sender, bytes, held);
    sender.cancel();
    fixture.settle();
    t.equal(fixture.read(CSR.PCB_IN_USE), 0);
    t.equal(countCollecting(fixture.access), 0);
    t.notOk(sender.parts.sendCq.ready);
    sender.ring();
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    release();
    fixture.settle();
    t.notOk(sender.parts.sendCq.ready, 'the late store starts another command and no more');
    sender.cancel();
  }
  t.equal(fixture.read(CSR.COLLECT_CANCELS), 6);
  sender.cancel();
  t.equal(fixture.read(CSR.COLLECT_CANCELS), 6, 'cancelling nothing is nothing');
  fixture.finish();
});

t.test('a cancel without its all-ones byte is none', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  writeButOne(fixture, sender, sender.fill(to()), 2);
  const page = sender.parts.page;
  for (const [sizeBytes, low, high] of [
    [8, 0xffffffff, 0x00ffffff],
    [8, 0, 0x7f000000],
    [4, 0xffffffff, 0],
  ] as const) {
    fixture.access.writeCollect(page + CANCEL_OFFSET, sizeBytes, low, high);
  }
  t.equal(countCollecting(fixture.access), 1);
  t.equal(fixture.faults(FaultKind.COLLECT_RESERVED), 3);
  sender.cancel();
  t.equal(countCollecting(fixture.access), 0);
  fixture.finish();
});

t.test('a damaged or mixed copy is never executed: the send queue is', async (t) => {
  const fixture = new AdapterFixture({ seed: 12 });
  const { sender, receiver, to } = fixture.createPair();
  const count = 30;
  for (let round = 0; round < count; round++) {
    const payload = fixture.random.bytes(32);
    const buffer = fixture.postReceive(receiver, GRH + 64);
    const bytes = sender.fill(to({ inline: payload })).slice();
    sender.advanceSendTail();
    const at = fixture.random.between(8, bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << fixture.random.below(8));
    sender.collect(bytes);
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS, `seed 12, round ${round}, byte ${at}`);
    receiver.parts.receiveCq.take();
    t.same(buffer.bytes.subarray(GRH, GRH + 32), payload, `seed 12, round ${round}, byte ${at}`);
  }
  t.equal(fixture.faults(FaultKind.COMMAND_CHECKSUM), count);
  t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT), count);
  fixture.finish();
});

t.test('two commands written into one buffer at once are not merged', async (t) => {
  const fixture = new AdapterFixture({ seed: 13 });
  const { sender, receiver, to } = fixture.createPair();
  for (let round = 0; round < 20; round++) {
    const commands = [0, 1].map((which) => {
      fixture.postReceive(receiver, GRH + 64);
      const bytes = sender.fill(to({ inline: new Uint8Array(64).fill(round * 2 + which) }));
      sender.advanceSendTail();
      return new DataView(bytes.buffer);
    });
    const stores = commands.flatMap((view) => planStores(view.byteLength, {}).map((store) => ({ view, store })));
    fixture.random.shuffle(stores);
    for (const { view, store } of stores) storeCollected(fixture.access, sender.parts.page, view, store);
    fixture.settle();
    if (countCollecting(fixture.access) > 0) sender.kick();
    sender.ring();
    fixture.settle();
    const statuses = sender.parts.sendCq.drain().map(({ status }) => status);
    t.same(statuses, [CompletionStatus.SUCCESS, CompletionStatus.SUCCESS], `seed 13, round ${round}`);
    t.equal(receiver.parts.receiveCq.drain().length, 2, `seed 13, round ${round}`);
  }
  fixture.finish();
});

t.test('a length that is impossible for a command frees the buffer and is counted', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  let expected = 0;
  for (const length of [0, 8, 56, 63, 65, 68, 321, 328, 511]) {
    const bytes = sender.fill(to({ header: { collectLength: length } }));
    sender.collect(bytes.subarray(0, 8));
    t.equal(fixture.faults(FaultKind.COLLECT_BAD_LENGTH), ++expected, `length ${length}`);
    t.equal(countCollecting(fixture.access), 0, `length ${length}`);
  }
  fixture.settle();
  t.equal(fixture.read(CSR.PCB_IN_USE), 0);
  fixture.finish();
});

t.test('the last value of the length counts', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH + 256);
  const bytes = sender.fill(to({ inline: fixture.random.bytes(128) }));
  sender.advanceSendTail();
  const wrong = bytes.slice(0, 8);
  setSendCommandCollectLength(new DataView(wrong.buffer), 0, 256);
  sender.collect(wrong);
  sender.collect(bytes);
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 1);
  fixture.finish();
});

t.test('writes beyond the buffers and to reserved offsets are dropped and counted', async (t) => {
  const fixture = new AdapterFixture({ adapter: { vcbCount: 10 } });
  const { access } = fixture;
  const vcbs = fixture.read(CSR.VCB_COUNT);
  t.equal(vcbs, 10);
  const dedicated = access.readRegister(CSR.DEDICATED_OFFSET, 8);
  let outOfRange = 0;
  for (const offset of [
    vcbs * PAGE_BYTES,
    dedicated - PAGE_BYTES,
    dedicated + fixture.read(CSR.DEDICATED_COUNT) * PAGE_BYTES,
    2 * dedicated - 8,
  ]) {
    access.writeCollect(offset, 8, 0xffffffff, 0xffffffff);
    t.equal(fixture.faults(FaultKind.COLLECT_OUT_OF_RANGE), ++outOfRange, `0x${offset.toString(16)}`);
  }
  t.equal(fixture.read(CSR.FIRST_FAULT_OBJECT), vcbs, 'the page is named');
  const control = new Set([NOTIFY_OFFSET, KICK_OFFSET, STOP_OFFSET, DOORBELL_OFFSET, CANCEL_OFFSET]);
  let reserved = 0;
  for (let offset = DATA_BYTES; offset < PAGE_BYTES; offset += 8) {
    if (control.has(offset)) continue;
    access.writeCollect(3 * PAGE_BYTES + offset, 8, 0xffffffff, 0xffffffff);
    reserved++;
  }
  t.equal(fixture.faults(FaultKind.COLLECT_RESERVED), reserved);
  for (const offset of control) {
    for (const sizeBytes of [1, 2, 4]) access.writeCollect(3 * PAGE_BYTES + offset, sizeBytes, 0xffffffff, 0);
    reserved += 3;
  }
  for (const [offset, sizeBytes] of [
    [1, 2],
    [2, 4],
    [4, 8],
    [0x13f, 2],
  ] as const) {
    access.writeCollect(3 * PAGE_BYTES + offset, sizeBytes, 0, 0);
    reserved++;
  }
  t.equal(fixture.faults(FaultKind.COLLECT_RESERVED), reserved, 'control words take 8 bytes, data aligned ones');
  t.equal(countCollecting(access), 0);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('without a PCB a command is refused and a doorbell takes its place', async (t) => {
  const fixture = new AdapterFixture({ adapter: { pcbCount: 2, pcbGuaranteed: [1, 0] } });
  const pair = fixture.createPair();
  const [first, second, third] = [pair.sender, fixture.createQueuePair(), fixture.createQueuePair()];
  const releases = [first, second, third].map((qp) => {
    fixture.postReceive(pair.receiver, GRH + 64);
    const bytes = qp.fill(pair.to({ inline: fixture.random.bytes(16) }));
    qp.advanceSendTail();
    return writeButOne(fixture, qp, bytes, 5);
  });
  t.same([fixture.read(CSR.PCB_IN_USE), fixture.read(CSR.PCB_AVAILABLE)], [2, 0]);
  t.equal(fixture.read(CSR.COLLECT_REFUSALS), 1);
  t.equal(countCollecting(fixture.access), 3, 'the refused command still occupies its VCB');
  releases[0]?.();
  t.equal(first.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.settle();
  t.notOk(third.parts.sendCq.ready, 'no doorbell before the kick');
  releases[2]?.();
  t.equal(third.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT), 1, 'refused once stays refused, though a PCB came free');
  t.equal(fixture.read(CSR.COMMANDS_FETCHED), 1);
  releases[1]?.();
  t.equal(second.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 2);
  fixture.finish();
});

t.test(
  'send-queue mode keeps the first 8 bytes: whatever the stores, one doorbell at the kick, and the VCB is free',
  async (t) => {
    const fixture = new AdapterFixture({ seed: 14, adapter: { pcbCount: 1, pcbGuaranteed: [1, 0] } });
    const { sender, receiver, to } = fixture.createPair();
    const holder = fixture.createQueuePair();
    fixture.access.writeCollect(holder.parts.page + 8, 8, 0, 0);
    const rounds = 60;
    for (let round = 0; round < rounds; round++) {
      const payload = fixture.random.bytes(fixture.random.below(257));
      const buffer = fixture.postReceive(receiver, GRH + 256);
      const bytes = sender.fill(to({ inline: payload })).slice();
      sender.advanceSendTail();
      // All bytes behind them are dropped, so they may have any value.
      bytes.set(fixture.random.bytes(bytes.length - 8), 8);
      const storeBytes = fixture.random.pick([0, 1, 2, 4, 8] as const);
      const style = { storeBytes, random: fixture.random, repeat: round % 2 === 0, lengthLast: round % 3 === 0 };
      sender.collect(bytes, style);
      t.equal(countCollecting(fixture.access), 1, `seed 14, round ${round}: only the holder's VCB is in use`);
      t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT), round + 1, `seed 14, round ${round}`);
      t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
      receiver.parts.receiveCq.take();
      t.ok(
        payload.every((byte, index) => buffer.bytes[GRH + index] === byte),
        `seed 14, round ${round}`,
      );
    }
    const counters = [CSR.COLLECT_REFUSALS, CSR.COLLECT_KICKS, CSR.COMMANDS_FETCHED, CSR.COMMANDS_COLLECTED];
    t.same(
      counters.map((at) => fixture.read(at)),
      [rounds, rounds, rounds, 0],
    );
    t.same(fixture.allFaults(), {}, 'the dropped bytes were not examined');
    holder.cancel();
    fixture.finish();
  },
);

t.test(
  'send-queue mode ends by cancel without a doorbell, and by an explicit kick with one if the first 8 bytes are there',
  async (t) => {
    const fixture = new AdapterFixture({ adapter: { pcbCount: 1, pcbGuaranteed: [1, 0] } });
    const { sender, receiver, to } = fixture.createPair();
    const holder = fixture.createQueuePair();
    fixture.access.writeCollect(holder.parts.page + 8, 8, 0, 0);
    fixture.postReceive(receiver, GRH + 64);
    const bytes = sender.fill(to());
    sender.advanceSendTail();
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const attempts: [string, number, () => void, number][] = [
      ['cancel', 40, () => sender.cancel(), 0],
      ['a kick without them', 4, () => sender.kick(), 0],
      ['a kick with them', 8, () => sender.kick(), 1],
    ];
    for (const [what, length, end, doorbells] of attempts) {
      const before = fixture.read(CSR.DOORBELLS_IMPLICIT);
      for (let offset = 0; offset < length; offset += 4)
        fixture.access.writeCollect(sender.parts.page + offset, 4, view.getUint32(offset, true), 0);
      t.equal(countCollecting(fixture.access), 2, what);
      end();
      t.equal(countCollecting(fixture.access), 1, what);
      fixture.settle();
      t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT) - before, doorbells, what);
      t.equal(sender.parts.sendCq.ready, doorbells === 1, what);
    }
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    holder.cancel();
    fixture.finish();
  },
);

t.test('one QoS level cannot take the PCBs guaranteed to the other', async (t) => {
  const fixture = new AdapterFixture({
    adapter: { vcbCount: 8, pcbCount: 4, pcbGuaranteed: [1, 1] },
    bringUp: { levelOnePages: 4 },
  });
  const { access } = fixture;
  const half = (vcb: number) => access.writeCollect(vcb * PAGE_BYTES + 8, 8, 0, 0);
  t.same([fixture.read(CSR.PCB_AVAILABLE, 0), fixture.read(CSR.PCB_AVAILABLE, 1)], [3, 3]);
  for (const vcb of [0, 1, 2, 3]) half(vcb);
  t.same([fixture.read(CSR.PCB_IN_USE, 0), fixture.read(CSR.PCB_IN_USE, 1)], [3, 0]);
  t.same([fixture.read(CSR.PCB_AVAILABLE, 0), fixture.read(CSR.PCB_AVAILABLE, 1)], [0, 1]);
  t.equal(fixture.read(CSR.COLLECT_REFUSALS), 1);
  half(4);
  half(5);
  t.same([fixture.read(CSR.PCB_IN_USE, 0), fixture.read(CSR.PCB_IN_USE, 1)], [3, 1]);
  t.equal(fixture.read(CSR.COLLECT_REFUSALS), 2);
  for (const vcb of [0, 1, 2, 3, 4, 5]) access.writeCollect(vcb * PAGE_BYTES + CANCEL_OFFSET, 8, 0, 0xff000000);
  t.same([fixture.read(CSR.PCB_AVAILABLE, 0), fixture.read(CSR.PCB_AVAILABLE, 1)], [3, 3]);
  fixture.finish();
});

t.test('choke drops new commands, lets those under way end, and keeps doorbells', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  for (let count = 0; count < 3; count++) fixture.postReceive(receiver, GRH + 64);
  const bytes = sender.fill(to());
  sender.advanceSendTail();
  const release = writeButOne(fixture, sender, bytes, 4);
  fixture.access.writeRegister(CSR.COLLECT_CONTROL, 4, 1, 0);
  release();
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'the command under way ends');
  sender.post(to());
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready);
  t.equal(fixture.read(CSR.COLLECT_CHOKED), 1, 'one for all its stores');
  t.equal(countCollecting(fixture.access), 0);
  sender.ring();
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.access.writeRegister(CSR.COLLECT_CONTROL, 4, 0, 0);
  sender.post(to());
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('commands for queue pairs that do not exist, or of another level, are counted and have no effect', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const strangers = [0, 1, 0xfff0, 0xffffff, sender.qpn ^ 0x800000].map((qpn) => ({ qpn }));
  for (const header of [...strangers, { qosLevel: 1 }]) {
    sender.collect(sender.fill(to({ header })));
    fixture.settle();
  }
  t.same([fixture.faults(FaultKind.COMMAND_BAD_QP), fixture.faults(FaultKind.COMMAND_QOS)], [5, 1]);
  t.notOk(sender.parts.sendCq.ready);
  fixture.postReceive(receiver, GRH);
  sender.post(to());
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('nothing is executed while the function is not enabled', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH);
  fixture.access.writeRegister(CSR.DEVICE_CONTROL, 4, 0, 0);
  sender.post(to());
  sender.ring();
  sender.ring(0, 'register');
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready);
  t.equal(fixture.faults(FaultKind.COMMAND_BAD_QP), 3, 'dropped and counted');
  fixture.access.writeRegister(CSR.DEVICE_CONTROL, 4, 1, 0);
  sender.ring();
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});
