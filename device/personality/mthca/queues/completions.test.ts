// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queues at work: entries, arming by doorbell, completion events, overrun, and doorbells
 * of other user access regions. The entries are posted as the data path will post them.
 */
import t from 'tap';
import {
  CQ_DOORBELL_OFFSET,
  SEND_DOORBELL_OFFSET,
  UAR_PAGE_BYTES,
} from '../../../../protocol/mthca/gen/constants.gen.ts';
import { encodeCqContext, newCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  ContextStatus,
  CqDoorbellCommand,
  CqErrorSyndrome,
  EventKind,
} from '../../../../protocol/mthca/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import { MthcaDriver, type MthcaDriverEventQueue, makeMthcaMachine } from '../../../rig/mthca/driver/mthca-driver.ts';
import { PD, UARC_BASE } from '../../../rig/mthca/driver/profile.ts';
import type { MthcaCompletionQueue } from './completion-queue.ts';

const { NOTIFY, NOTIFY_SOLICITED } = CqDoorbellCommand;
const CQN = 130;
const UAR = 1;
const ENTRIES = 8;
const ENTRY_BYTES = 32;
const RECORD = 3;
const CQ_EQN = 3;

/** A running HCA with a CQ, an EQ of its own for it, and one for errors. */
class Fixture {
  readonly driver = new MthcaDriver(makeMthcaMachine());
  readonly errors: MthcaDriverEventQueue;
  readonly events: MthcaDriverEventQueue;
  readonly buffer: number;
  readonly queue: MthcaCompletionQueue;

  constructor() {
    const { driver } = this;
    this.errors = driver.start();
    driver.expect(CommandOpcode.MAP_EQ, { input: 2 ** EventKind.CQ_ERROR, modifier: this.errors.number });
    this.events = driver.createEventQueue(CQ_EQN, 0);
    this.buffer = driver.allocate(0x1000);
    this.queue = this.give(CQN, this.buffer);
  }

  give(cqn: number, buffer: number): MthcaCompletionQueue {
    const { driver } = this;
    const key = driver.createRegion(buffer, 0x1000);
    const bytes = new Uint8Array(0x40);
    const context = { logEntries: Math.log2(ENTRIES), completionEqn: CQ_EQN, pd: PD, key, uar: UAR };
    encodeCqContext(new DataView(bytes.buffer), 0, { ...newCqContext(), ...context, consumerRecord: RECORD });
    driver.expect(CommandOpcode.SW2HW_CQ, { input: bytes, modifier: cqn });
    return driver.device.hca.completionQueues.get(cqn) as MthcaCompletionQueue;
  }

  post(value: number, solicited = false): boolean {
    const entry = new Uint8Array(ENTRY_BYTES);
    new DataView(entry.buffer).setUint32(0, value);
    const posted = this.queue.post(entry, solicited);
    this.driver.machine.runUntilIdle();
    return posted;
  }

  /** The value in a slot. */
  slot(index: number): number {
    return this.driver.memory.view(this.buffer + (index % ENTRIES) * ENTRY_BYTES, ENTRY_BYTES).getUint32(0);
  }

  setConsumer(index: number): void {
    const at = this.driver.device.hca.icm.resolve(UARC_BASE + UAR * 0x1000 + RECORD * 8);
    this.driver.memory.view(at, 8).setUint32(0, index);
  }

  ring(command: number, sequence: number, consumerIndex: number, uar = UAR, cqn = CQN): void {
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, sequence * 2 ** 28 + command * 2 ** 24 + cqn);
    view.setUint32(4, consumerIndex);
    const offset = uar * UAR_PAGE_BYTES + CQ_DOORBELL_OFFSET;
    this.driver.machine.functionAt(0).writeCollect(offset, 8, view.getUint32(0, true), view.getUint32(4, true));
    this.driver.machine.runUntilIdle();
  }

  /** Numbers of the CQs whose events software takes now. */
  takeEvents(): number[] {
    return this.events.take().map((event) => event.getUint32(4));
  }
}

t.test('entries go around the ring as far as software has taken them', (t) => {
  const fixture = new Fixture();
  for (let index = 0; index < 3 * ENTRIES; index++) {
    t.ok(fixture.post(1000 + index));
    t.equal(fixture.slot(index), 1000 + index);
    fixture.setConsumer(index + 1);
  }
  t.end();
});

t.test('a full queue fails with an event, and nothing is overwritten', (t) => {
  const fixture = new Fixture();
  for (let index = 0; index < ENTRIES; index++) t.ok(fixture.post(index));
  fixture.setConsumer(ENTRIES + 5);
  t.notOk(fixture.post(99), 'a consumer index beyond the entries does not count');
  t.equal(fixture.slot(ENTRIES), 0);
  t.notOk(fixture.post(100));
  const events = fixture.errors.take();
  t.equal(events.length, 1, 'one event');
  t.same(
    [events[0].getUint8(1), events[0].getUint32(4), events[0].getUint8(15)],
    [EventKind.CQ_ERROR, CQN, CqErrorSyndrome.OVERRUN],
  );
  const { output } = fixture.driver.expect(CommandOpcode.QUERY_CQ, { modifier: CQN, out: 0x40 });
  t.equal(output.getUint8(0) >>> 4, ContextStatus.OVERFLOW);
  t.end();
});

t.test('an entry that cannot be written fails the queue', (t) => {
  const fixture = new Fixture();
  fixture.driver.memory.protect(fixture.buffer, 0x1000, PageAccess.READ_ONLY);
  t.notOk(fixture.post(1));
  const [event] = fixture.errors.take();
  t.equal(event.getUint8(15), CqErrorSyndrome.ACCESS_VIOLATION);
  t.end();
});

t.test('an armed queue raises one event', (t) => {
  const fixture = new Fixture();
  const host = fixture.driver.machine.hostAt(0);
  fixture.events.arm();
  fixture.post(1);
  t.same(fixture.takeEvents(), [], 'not armed');
  fixture.ring(NOTIFY, 1, 1);
  fixture.post(2);
  fixture.post(3);
  t.same(fixture.takeEvents(), [CQN]);
  t.equal(host.raised[0], 1);
  fixture.ring(NOTIFY, 1, 2);
  t.same(fixture.takeEvents(), [], 'the sequence of a request that was served is old');
  fixture.ring(NOTIFY, 2, 2);
  t.same(fixture.takeEvents(), [CQN], 'an entry that was not taken raises the event at once');
  fixture.ring(NOTIFY, 3, 3);
  t.same(fixture.takeEvents(), []);
  t.end();
});

t.test('a request for solicited entries', (t) => {
  const fixture = new Fixture();
  fixture.ring(NOTIFY_SOLICITED, 1, 0);
  fixture.post(1);
  t.same(fixture.takeEvents(), []);
  fixture.post(2, true);
  t.same(fixture.takeEvents(), [CQN]);
  fixture.ring(NOTIFY_SOLICITED, 2, 1);
  t.same(fixture.takeEvents(), [CQN], 'a solicited entry is beyond the index');
  fixture.ring(NOTIFY, 3, 2);
  fixture.ring(NOTIFY_SOLICITED, 3, 2);
  fixture.post(3);
  t.same(fixture.takeEvents(), [CQN], 'the stronger request stays');
  t.end();
});

t.test('a process that arms without end has one event in the EQ', (t) => {
  const fixture = new Fixture();
  fixture.post(1);
  const before = fixture.driver.device.hca.eventQueues.get(CQ_EQN)?.pendingEntries;
  t.equal(before, 0);
  for (let round = 0; round < 1000; round++) fixture.ring(NOTIFY, round % 4, 0);
  t.equal(fixture.driver.device.hca.eventQueues.get(CQ_EQN)?.pendingEntries, 1);
  t.same(fixture.takeEvents(), [CQN]);
  t.same(fixture.takeEvents(), [CQN], 'the next one comes when that one was taken');
  t.same(fixture.takeEvents(), []);
  fixture.ring(NOTIFY, 0, 0);
  fixture.ring(NOTIFY, 1, 0);
  fixture.driver.expect(CommandOpcode.HW2SW_CQ, { modifier: CQN, out: 0x40 });
  t.same(fixture.takeEvents(), [CQN]);
  t.same(fixture.takeEvents(), [], 'a queue that is gone wants no event');
  t.end();
});

t.test('doorbells of another region, of no queue and of other sizes do nothing', (t) => {
  const fixture = new Fixture();
  const { userAccess } = fixture.driver.device.functions[0];
  fixture.ring(NOTIFY, 1, 0, UAR + 1);
  fixture.ring(NOTIFY, 1, 0, UAR, CQN + 1);
  fixture.ring(NOTIFY, 1, 0, UAR, 0xffffff);
  fixture.ring(7, 1, 0);
  t.equal(userAccess.strayDoorbells, 4);
  fixture.post(1);
  t.same(fixture.takeEvents(), []);
  const random = new Random(7);
  for (let round = 0; round < 10_000; round++) {
    const offset = 2 * UAR_PAGE_BYTES + random.pick([SEND_DOORBELL_OFFSET, CQ_DOORBELL_OFFSET, random.below(4096)]);
    const size = random.pick([1, 2, 4, 8]);
    fixture.driver.machine.functionAt(0).writeCollect(offset, size, random.next() | 0, random.next() | 0);
  }
  fixture.driver.machine.runUntilIdle();
  t.same(fixture.takeEvents(), [], 'seed 7: a hostile region does not reach the queue of another');
  t.end();
});

t.test('resizing keeps the index, and refuses a ring that is too small', (t) => {
  const fixture = new Fixture();
  for (let index = 0; index < 3; index++) fixture.post(index);
  const other = fixture.driver.allocate(0x1000);
  const key = fixture.driver.createRegion(other, 0x1000);
  const resize = (logEntries: number): number => {
    const box = new DataView(new ArrayBuffer(0x40));
    box.setUint8(0xc, logEntries);
    box.setUint32(0x1c, key);
    const command = { input: new Uint8Array(box.buffer), modifier: CQN, opcodeModifier: 1 };
    return fixture.driver.command(CommandOpcode.RESIZE_CQ, command).status;
  };
  t.equal(resize(1), CommandStatus.BAD_SIZE);
  t.equal(resize(2), CommandStatus.OK);
  t.ok(fixture.post(7));
  t.equal(fixture.driver.memory.view(other + 3 * ENTRY_BYTES, 4).getUint32(0), 7, 'the entry has the next index');
  t.end();
});
