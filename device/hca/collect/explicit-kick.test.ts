// SPDX-License-Identifier: Apache-2.0
/**
 * The explicit kick (US 8,484,392 par. 90): it executes what the page holds, and words that were
 * not written are zeros (docs/PROGRAMMING.md, posting sends).
 */
import t from 'tap';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { planStores, storeCollected } from '../../rig/driver/collect-writer.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { countCollecting } from '../../rig/fixtures/invariants.ts';

const GRH = 40;

t.test('an explicit kick of an unfinished command turns it into a doorbell', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH + 64);
  const bytes = sender.fill(to({ inline: Uint8Array.of(1, 2, 3, 4) }));
  sender.advanceSendTail();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const store of planStores(64)) storeCollected(fixture.access, sender.parts.page, view, store);
  sender.kick();
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'executed from the send queue');
  t.equal(receiver.parts.receiveCq.take().byteLength, GRH + 4);
  t.equal(fixture.read(CSR.COMMANDS_FETCHED), 1);
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 0);
  t.equal(fixture.faults(FaultKind.COMMAND_CHECKSUM), 1, 'the payload counts as zeros');
  sender.kick();
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready, 'a kick of nothing is nothing');
  t.equal(fixture.read(CSR.COLLECT_KICKS), 1);
  fixture.finish();
});

t.test('an explicit kick executes what is there: words that were not written are zeros', async (t) => {
  const fixture = new AdapterFixture({ adapter: { pcbCount: 1, pcbGuaranteed: [1, 0] } });
  const { sender, receiver, to } = fixture.createPair();
  for (const payloadBytes of [0, 4, 200]) {
    const payload = new Uint8Array(payloadBytes);
    const buffer = fixture.postReceive(receiver, GRH + 256);
    buffer.bytes.fill(0xee, GRH);
    // The PCB still holds all bytes of another command.
    sender.collect(new Uint8Array(312).fill(0xff));
    sender.cancel();
    const bytes = sender.fill(to({ inline: payload }));
    sender.advanceSendTail();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const written = planStores(bytes.length).filter(({ offset }) => view.getBigUint64(offset, true) !== 0n);
    t.ok(written.length < bytes.length / 8, 'some words are zeros');
    for (const store of written) storeCollected(fixture.access, sender.parts.page, view, store);
    t.equal(countCollecting(fixture.access), 1, 'no kick by itself');
    sender.kick();
    t.equal(countCollecting(fixture.access), 0);
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    t.equal(receiver.parts.receiveCq.take().byteLength, GRH + payloadBytes);
    t.ok(
      buffer.bytes.subarray(GRH, GRH + payloadBytes).every((byte) => byte === 0),
      'nothing of the other command is sent',
    );
  }
  t.equal(fixture.read(CSR.COMMANDS_COLLECTED), 3, 'from the PCB');
  t.equal(fixture.read(CSR.DOORBELLS_IMPLICIT), 0);
  t.equal(fixture.faults(FaultKind.COMMAND_CHECKSUM), 0);
  fixture.finish();
});

t.test('an explicit kick of a command without its first 8 bytes drops it', async (t) => {
  // With a PCB, and refused in send-queue mode, because another page has the only one.
  for (const isRefused of [false, true]) {
    const fixture = new AdapterFixture({ adapter: { pcbCount: 1, pcbGuaranteed: [1, 0] } });
    const { sender, receiver, to } = fixture.createPair();
    const other = fixture.createPair();
    fixture.postReceive(receiver, GRH + 64);
    const bytes = sender.fill(to({ inline: Uint8Array.of(1, 2, 3, 4) }));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const [first, ...later] = planStores(64);
    if (isRefused) storeCollected(fixture.access, other.sender.parts.page, view, first);
    // A command before it leaves its identity in the buffer.
    sender.advanceSendTail();
    sender.collect(bytes);
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    const kicks = fixture.read(CSR.COLLECT_KICKS);
    const collecting = countCollecting(fixture.access);
    for (const store of later) storeCollected(fixture.access, sender.parts.page, view, store);
    sender.kick();
    fixture.settle();
    t.equal(fixture.read(CSR.COLLECT_KICKS), kicks + 1);
    t.equal(countCollecting(fixture.access), collecting, 'the page is free again');
    for (const kind of [FaultKind.COMMAND_BAD_QP, FaultKind.COMMAND_CHECKSUM, FaultKind.COMMAND_STALE])
      t.equal(fixture.faults(kind), 0, 'it names no queue pair');
    t.equal(fixture.read(CSR.COMMANDS_STALE), 0);
    t.equal(fixture.read(CSR.DOORBELLS_IDLE), 0);
    t.notOk(sender.parts.sendCq.ready);
    if (isRefused) other.sender.cancel();
    fixture.finish();
  }
});
