// SPDX-License-Identifier: Apache-2.0
/**
 * Dedicated collect buffers: what their registers show, and what the dedicated page takes
 * (US 8,484,392 par. 49, 87-91; US 9,069,485 par. 75).
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  CANCEL_VALUE_HIGH,
  KICK_OFFSET,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  setManagementCommandManagement,
  setManagementCommandOpcode,
  setManagementCommandResponseAddress,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  getManagementResponseObjectNumber,
  MANAGEMENT_RESPONSE_SIZE,
} from '../../../protocol/layout/gen/management-response.gen.ts';
import {
  CSR,
  getCsrDedicatedStateCollecting,
  getCsrDedicatedStateExecuting,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { writeCollected } from '../../rig/driver/collect-writer.ts';
import { seal } from '../../rig/driver/management-channel.ts';
import { pdPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { countObjects } from '../../rig/fixtures/state-digest.ts';

function readState(fixture: AdapterFixture): string {
  const state = fixture.read(CSR.DEDICATED_STATE);
  const collecting = getCsrDedicatedStateCollecting(state) === 1;
  return getCsrDedicatedStateExecuting(state) === 1 ? 'executing' : collecting ? 'collecting' : 'free';
}

/** Writes the words of a command that are not zero. */
function writeSparsely(fixture: AdapterFixture, bytes: Uint8Array): number {
  const { pageOffset } = fixture.driver.management;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let left = 0;
  for (let at = 0; at < bytes.length; at += 8) {
    const [low, high] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
    if ((low | high) === 0) left++;
    else fixture.access.writeCollect(pageOffset + at, 8, low, high);
  }
  return left;
}

t.test('a register shows whether the dedicated buffer is in use, and for what', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
  t.equal(readState(fixture), 'free');
  management.write(bytes.subarray(8));
  t.equal(readState(fixture), 'collecting');
  fixture.access.writeCollect(management.pageOffset + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
  t.equal(readState(fixture), 'free');
  management.write(bytes);
  t.equal(readState(fixture), 'executing');
  fixture.access.writeCollect(management.pageOffset + KICK_OFFSET, 8, 0, 0);
  t.equal(fixture.faults(FaultKind.COLLECT_RESERVED), 1, 'no kick while a command executes');
  fixture.settle();
  t.equal(readState(fixture), 'free');
  fixture.finish();
});

t.test('an explicit kick completes a management command: words that were not written are zeros', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const commands = fixture.read(CSR.MANAGEMENT_COMMANDS);
  const kick = (): void => {
    fixture.access.writeCollect(management.pageOffset + KICK_OFFSET, 8, 0, 0);
    fixture.settle();
  };
  kick();
  fixture.access.writeCollect(management.pageOffset + 4, 4, 64 << 16, 0);
  t.equal(readState(fixture), 'collecting');
  kick();
  t.equal(readState(fixture), 'free');
  t.equal(
    fixture.read(CSR.MANAGEMENT_COMMANDS),
    commands,
    'a kick of nothing, or without the first 8 bytes, is nothing',
  );
  const left = writeSparsely(fixture, management.build({ opcode: ManagementOpcode.QUERY_ADAPTER }));
  t.ok(left > 0, `${left} words are zeros`);
  fixture.settle();
  t.equal(readState(fixture), 'collecting');
  kick();
  t.equal(fixture.read(CSR.MANAGEMENT_COMMANDS), commands + 1);
  t.equal(fixture.read(CSR.MANAGEMENT_REFUSED), 0);
  fixture.finish();
});

/** The bytes of a send command that is a right management command but for the bit `management`. */
function disguise(bytes: Uint8Array, opcode: number, responseAddress: number): Uint8Array {
  const command = bytes.slice();
  const view = new DataView(command.buffer);
  setManagementCommandOpcode(view, 0, opcode);
  setManagementCommandResponseAddress(view, 0, responseAddress);
  seal(command);
  return command;
}

t.test('no send command in the dedicated page is executed or answered, whatever its checksum says', async (t) => {
  const fixture = new AdapterFixture({ bringUp: { levelOnePages: 8 } });
  const victim = fixture.createBuffer(new Uint8Array(512).fill(0x77));
  const address = Math.ceil(victim.address / 8) * 8;
  const levels = [0, 1].map((qosLevel) => fixture.createPair({ sender: { qosLevel } }));
  // `signaled`, and a number of SGEs, are where a management command has its event queue.
  const commands = levels.flatMap(({ sender, to }) => [
    sender.fill(to({ inline: Uint8Array.of(1), signaled: true })).slice(),
    sender.fill(to({ sges: [fixture.sge(victim)], signaled: false })).slice(),
  ]);
  const refused = fixture.read(CSR.MANAGEMENT_REFUSED);
  const before = countObjects(fixture);
  let written = 0;
  for (const command of commands)
    for (let opcode = 0; opcode < 256; opcode++) {
      fixture.driver.management.write(disguise(command, opcode, address));
      fixture.settle();
      written++;
    }
  t.equal(fixture.read(CSR.MANAGEMENT_REFUSED), refused + written);
  t.equal(fixture.faults(FaultKind.MANAGEMENT_RESPONSE), written);
  t.ok(victim.bytes.every((byte) => byte === 0x77));
  t.same(countObjects(fixture), before);
  t.same([fixture.events.walk(), fixture.asynchronous.walk()], [[], []], 'nor does it post an event');
  fixture.finish();
});

t.test('the bit alone decides: the same bytes with it are a command', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  const response = fixture.createBuffer(MANAGEMENT_RESPONSE_SIZE + 8);
  const address = Math.ceil(response.address / 8) * 8;
  const bytes = disguise(sender.fill(to({ inline: new Uint8Array(0) })), ManagementOpcode.QUERY_ADAPTER, address);
  setManagementCommandManagement(new DataView(bytes.buffer), 0, 1);
  seal(bytes);
  fixture.driver.management.write(bytes);
  fixture.settle();
  t.ok(response.bytes.some((byte) => byte !== 0));
  fixture.finish();
});

t.test('a send command in the dedicated page is refused: it is not executed, and counted', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, 104);
  const refused = fixture.read(CSR.MANAGEMENT_REFUSED);
  const bytes = sender.fill(to({ inline: new Uint8Array(8) }));
  sender.advanceSendTail();
  fixture.driver.management.write(bytes);
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready);
  t.equal(fixture.read(CSR.MANAGEMENT_REFUSED), refused + 1);
  t.equal(fixture.faults(FaultKind.MANAGEMENT_RESPONSE), 1);
  t.equal(readState(fixture), 'free');
  sender.ring();
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'the send queue still has it');
  fixture.finish();
});

t.test("registers show the scheduler's dedicated buffers: share, pool, and use of the function", async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2, adapter: { schedulerBufferCount: 12 } });
  const read = () => [
    fixture.read(CSR.SCHEDULER_BUFFERS),
    fixture.read(CSR.SCHEDULER_BUFFERS_SHARED),
    fixture.read(CSR.SCHEDULER_BUFFERS_IN_USE),
    fixture.read(CSR.SCHEDULER_BUFFERS_AVAILABLE),
  ];
  const { schedulerBuffers } = fixture.machine.device;
  schedulerBuffers.setShare(0, 3, 0, 0);
  schedulerBuffers.setShare(1, 4, 0, 0);
  t.same(read(), [3, 5, 0, 8]);
  const bound = [1, 2, 3, 4].map(() => schedulerBuffers.bind(0, 0, -1));
  const other = schedulerBuffers.bind(1, 0, -1);
  t.same(read(), [3, 5, 4, 4], 'the fourth is out of the pool; those of the other function do not count');
  for (const buffer of [...bound, other]) buffer?.release();
  t.same(read(), [3, 5, 0, 8]);
  fixture.finish();
});

t.test('several dedicated buffers: a lock, a state and a page for each', async (t) => {
  const fixture = new AdapterFixture({ adapter: { managementBufferCount: 3, vcbCount: 2 } });
  const { access, driver } = fixture;
  const states = (): number[] => [0, 1, 2, 3].map((index) => fixture.read(CSR.DEDICATED_STATE, index));
  const lock = (): number => fixture.read(CSR.DEDICATED_LOCK);
  const unlock = (number: number): void => access.writeRegister(CSR.DEDICATED_LOCK, 4, number, 0);
  t.equal(fixture.read(CSR.DEDICATED_COUNT), 3);
  const base = access.readRegister(CSR.DEDICATED_OFFSET, 8);
  t.equal(base, 4 * PAGE_BYTES, 'the BAR has room for three');
  t.same([lock(), lock(), lock(), lock()], [1, 2, 3, 0]);
  t.same(states(), [1, 1, 1, 0]);
  unlock(2);
  unlock(2);
  t.same(states(), [1, 0, 1, 0]);
  t.equal(lock(), 2, 'the first free one');
  unlock(0);
  t.equal(lock(), 1, 'a write of 0 means the first');
  t.equal(fixture.faults(FaultKind.REGISTER_RESERVED), 0);
  unlock(4);
  t.equal(fixture.faults(FaultKind.REGISTER_RESERVED), 1);
  t.same(states(), [1, 1, 1, 0]);
  const bytes = driver.management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
  for (const page of [0, 1, 2]) access.writeCollect(base + page * PAGE_BYTES, 8, 0, 64 << 16);
  t.same(states(), [3, 3, 3, 0]);
  access.writeCollect(base + 3 * PAGE_BYTES, 8, 0, 64 << 16);
  t.equal(fixture.faults(FaultKind.COLLECT_OUT_OF_RANGE), 1, 'there is no fourth one');
  writeCollected(access, base + PAGE_BYTES, bytes);
  t.same(states(), [3, 5, 3, 0]);
  access.writeRegister(CSR.DEVICE_CONTROL, 4, 2, 0);
  fixture.settle();
  t.same(states(), [0, 0, 0, 0], 'a reset frees all');
});

t.test('the lock is an agreement of software: commands of writers who ignore it mix or execute', async (t) => {
  const fixture = new AdapterFixture({ seed: 33 });
  const { management } = fixture.driver;
  const counts = () => [fixture.read(CSR.MANAGEMENT_COMMANDS), fixture.read(CSR.MANAGEMENT_REFUSED)];
  const write = (bytes: Uint8Array): void => writeCollected(fixture.access, management.pageOffset, bytes);
  const before = countObjects(fixture).protectionDomains as number;
  const [commands, refused] = counts();
  const create = { opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) };
  write(management.build(create));
  fixture.settle();
  t.same(counts(), [commands + 1, refused], 'a whole command is executed without the lock');
  const [one, other] = [management.build(create), management.build(create)];
  write(one.subarray(0, 32));
  writeCollected(fixture.access, management.pageOffset + 32, other.subarray(32));
  fixture.settle();
  t.same(counts(), [commands + 2, refused + 1], 'halves of two commands fail their checksum');
  t.equal(countObjects(fixture).protectionDomains, before + 1);
  fixture.finish();
});

t.test('waiting management commands execute in the order in which they were complete', async (t) => {
  const fixture = new AdapterFixture({ adapter: { managementBufferCount: 4 } });
  const { access, driver } = fixture;
  const base = driver.management.pageOffset;
  const commands = [0, 1, 2, 3].map((index) => {
    const response = fixture.createBuffer(MANAGEMENT_RESPONSE_SIZE);
    const request = { opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}), responseAddress: response.address };
    const bytes = driver.management.build(request);
    const view = new DataView(response.bytes.buffer, response.bytes.byteOffset, response.bytes.length);
    return { at: base + index * PAGE_BYTES, bytes, pd: () => getManagementResponseObjectNumber(view, 0) };
  });
  const [a, b, c, d] = commands;
  writeCollected(access, c.at, c.bytes.subarray(0, 32));
  for (const { at, bytes } of [d, b]) writeCollected(access, at, bytes);
  writeCollected(access, c.at + 32, c.bytes.subarray(32));
  writeCollected(access, a.at, a.bytes);
  fixture.settle();
  const numbers = [d, b, c, a].map(({ pd }) => pd());
  t.same(
    numbers,
    [...numbers].sort((one, other) => one - other),
  );
  const page = commands[2];
  writeCollected(access, page.at, page.bytes);
  fixture.settle();
  t.equal(fixture.read(CSR.DEDICATED_STATE, 2), 0, 'a buffer is free again when its command is done');
  t.ok(page.pd() > numbers[3]);
});
