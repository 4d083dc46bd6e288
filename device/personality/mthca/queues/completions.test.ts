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
import { type DriverEventQueue, MthcaDriver, makeMthcaMachine } from '../../../rig/mthca/driver/mthca-driver.ts';
import { PD, UARC_BASE } from '../../../rig/mthca/driver/profile.ts';
import type { CompletionQueue } from './completion-queue.ts';

const { NOTIFY, NOTIFY_SOLICITED } = CqDoorbellCommand;
const CQN = 130;
const UAR = 1;
const ENTRIES = 8;
const ENTRY_BYTES = 32;
const RECORD = 3;
const CQ_EQN = 3;

/** A running HCA with a CQ, an EQ of its own for it, and one for errors. */
class Bench {
  readonly driver = new MthcaDriver(makeMthcaMachine());
  readonly errors: DriverEventQueue;
  readonly events: DriverEventQueue;
  readonly buffer: number;
  readonly queue: CompletionQueue;

  constructor() {
    const { driver } = this;
    this.errors = driver.start();
    driver.expect(CommandOpcode.MAP_EQ, { input: 2 ** EventKind.CQ_ERROR, modifier: this.errors.number });
    this.events = driver.createEventQueue(CQ_EQN, 0);
    this.buffer = driver.allocate(0x1000);
    this.queue = this.give(CQN, this.buffer);
  }

  give(cqn: number, buffer: number): CompletionQueue {
    const { driver } = this;
    const key = driver.createRegion(buffer, 0x1000);
    const bytes = new Uint8Array(0x40);
    const context = { logEntries: Math.log2(ENTRIES), completionEqn: CQ_EQN, pd: PD, key, uar: UAR };
    encodeCqContext(new DataView(bytes.buffer), 0, { ...newCqContext(), ...context, consumerRecord: RECORD });
    driver.expect(CommandOpcode.SW2HW_CQ, { input: bytes, modifier: cqn });
    return driver.device.hca.completionQueues.get(cqn) as CompletionQueue;
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
  const bench = new Bench();
  for (let index = 0; index < 3 * ENTRIES; index++) {
    t.ok(bench.post(1000 + index));
    t.equal(bench.slot(index), 1000 + index);
    bench.setConsumer(index + 1);
  }
  t.end();
});

t.test('a full queue fails with an event, and nothing is overwritten', (t) => {
  const bench = new Bench();
  for (let index = 0; index < ENTRIES; index++) t.ok(bench.post(index));
  bench.setConsumer(ENTRIES + 5);
  t.notOk(bench.post(99), 'a consumer index beyond the entries does not count');
  t.equal(bench.slot(ENTRIES), 0);
  t.notOk(bench.post(100));
  const events = bench.errors.take();
  t.equal(events.length, 1, 'one event');
  t.same(
    [events[0].getUint8(1), events[0].getUint32(4), events[0].getUint8(15)],
    [EventKind.CQ_ERROR, CQN, CqErrorSyndrome.OVERRUN],
  );
  const { output } = bench.driver.expect(CommandOpcode.QUERY_CQ, { modifier: CQN, out: 0x40 });
  t.equal(output.getUint8(0) >>> 4, ContextStatus.OVERFLOW);
  t.end();
});

t.test('an entry that cannot be written fails the queue', (t) => {
  const bench = new Bench();
  bench.driver.memory.protect(bench.buffer, 0x1000, PageAccess.READ_ONLY);
  t.notOk(bench.post(1));
  const [event] = bench.errors.take();
  t.equal(event.getUint8(15), CqErrorSyndrome.ACCESS_VIOLATION);
  t.end();
});

t.test('an armed queue raises one event', (t) => {
  const bench = new Bench();
  const host = bench.driver.machine.hostAt(0);
  bench.events.arm();
  bench.post(1);
  t.same(bench.takeEvents(), [], 'not armed');
  bench.ring(NOTIFY, 1, 1);
  bench.post(2);
  bench.post(3);
  t.same(bench.takeEvents(), [CQN]);
  t.equal(host.raised[0], 1);
  bench.ring(NOTIFY, 1, 2);
  t.same(bench.takeEvents(), [], 'the sequence of a request that was served is old');
  bench.ring(NOTIFY, 2, 2);
  t.same(bench.takeEvents(), [CQN], 'an entry that was not taken raises the event at once');
  bench.ring(NOTIFY, 3, 3);
  t.same(bench.takeEvents(), []);
  t.end();
});

t.test('a request for solicited entries', (t) => {
  const bench = new Bench();
  bench.ring(NOTIFY_SOLICITED, 1, 0);
  bench.post(1);
  t.same(bench.takeEvents(), []);
  bench.post(2, true);
  t.same(bench.takeEvents(), [CQN]);
  bench.ring(NOTIFY_SOLICITED, 2, 1);
  t.same(bench.takeEvents(), [CQN], 'a solicited entry is beyond the index');
  bench.ring(NOTIFY, 3, 2);
  bench.ring(NOTIFY_SOLICITED, 3, 2);
  bench.post(3);
  t.same(bench.takeEvents(), [CQN], 'the stronger request stays');
  t.end();
});

t.test('a process that arms without end has one event in the EQ', (t) => {
  const bench = new Bench();
  bench.post(1);
  const before = bench.driver.device.hca.eventQueues.get(CQ_EQN)?.pendingEntries;
  t.equal(before, 0);
  for (let round = 0; round < 1000; round++) bench.ring(NOTIFY, round % 4, 0);
  t.equal(bench.driver.device.hca.eventQueues.get(CQ_EQN)?.pendingEntries, 1);
  t.same(bench.takeEvents(), [CQN]);
  t.same(bench.takeEvents(), [CQN], 'the next one comes when that one was taken');
  t.same(bench.takeEvents(), []);
  bench.ring(NOTIFY, 0, 0);
  bench.ring(NOTIFY, 1, 0);
  bench.driver.expect(CommandOpcode.HW2SW_CQ, { modifier: CQN, out: 0x40 });
  t.same(bench.takeEvents(), [CQN]);
  t.same(bench.takeEvents(), [], 'a queue that is gone wants no event');
  t.end();
});

t.test('doorbells of another region, of no queue and of other sizes do nothing', (t) => {
  const bench = new Bench();
  const { userAccess } = bench.driver.device.functions[0];
  bench.ring(NOTIFY, 1, 0, UAR + 1);
  bench.ring(NOTIFY, 1, 0, UAR, CQN + 1);
  bench.ring(NOTIFY, 1, 0, UAR, 0xffffff);
  bench.ring(7, 1, 0);
  t.equal(userAccess.strayDoorbells, 4);
  bench.post(1);
  t.same(bench.takeEvents(), []);
  const random = new Random(7);
  for (let round = 0; round < 10_000; round++) {
    const offset = 2 * UAR_PAGE_BYTES + random.pick([SEND_DOORBELL_OFFSET, CQ_DOORBELL_OFFSET, random.below(4096)]);
    const size = random.pick([1, 2, 4, 8]);
    bench.driver.machine.functionAt(0).writeCollect(offset, size, random.next() | 0, random.next() | 0);
  }
  bench.driver.machine.runUntilIdle();
  t.same(bench.takeEvents(), [], 'seed 7: a hostile region does not reach the queue of another');
  t.end();
});

t.test('resizing keeps the index, and refuses a ring that is too small', (t) => {
  const bench = new Bench();
  for (let index = 0; index < 3; index++) bench.post(index);
  const other = bench.driver.allocate(0x1000);
  const key = bench.driver.createRegion(other, 0x1000);
  const resize = (logEntries: number): number => {
    const box = new DataView(new ArrayBuffer(0x40));
    box.setUint8(0xc, logEntries);
    box.setUint32(0x1c, key);
    const command = { input: new Uint8Array(box.buffer), modifier: CQN, opcodeModifier: 1 };
    return bench.driver.command(CommandOpcode.RESIZE_CQ, command).status;
  };
  t.equal(resize(1), CommandStatus.BAD_SIZE);
  t.equal(resize(2), CommandStatus.OK);
  t.ok(bench.post(7));
  t.equal(bench.driver.memory.view(other + 3 * ENTRY_BYTES, 4).getUint32(0), 7, 'the entry has the next index');
  t.end();
});
