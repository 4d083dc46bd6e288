// SPDX-License-Identifier: Apache-2.0
/**
 * Collect contexts: the pages of a user process act on its own queue pairs and completion queues,
 * and change nothing of any other's (docs/FEATURES.md, Collect contexts; docs/HAZARDS.md).
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  CANCEL_VALUE_HIGH,
  COMMAND_HEADER_BYTES,
  DOORBELL_OFFSET,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  NotifyState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { DriverCollectContext, takeBackPage } from '../../rig/driver/collect-context.ts';
import { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { countCollecting } from '../../rig/fixtures/invariants.ts';

const GRH = 40;
const MESSAGE_BYTES = 64;

/** A process: a context with a page, and a datagram QP whose CQ is its own, too. */
class Process {
  readonly fixture: AdapterFixture;
  readonly context: DriverCollectContext;
  readonly page: number;
  readonly pair: Pair;

  constructor(fixture: AdapterFixture, pageNumber: number) {
    this.fixture = fixture;
    this.context = new DriverCollectContext(fixture.driver.management);
    this.page = this.context.give(pageNumber * PAGE_BYTES);
    const collectContext = this.context.number;
    const sendCq = fixture.createCompletionQueue({ collectContext });
    this.pair = fixture.createPair({ sender: { sendCq, user: { collectContext, page: this.page } } });
  }

  get qp(): DriverQueuePair {
    return this.pair.sender;
  }

  /** The queue pair as software with another page would use it. */
  usedFrom(page: number): DriverQueuePair {
    const { access, driver } = this.fixture;
    const qp = new DriverQueuePair(access, driver.management, { ...this.qp.parts, page });
    qp.sendTail = this.qp.sendTail;
    qp.qkey = this.qp.qkey;
    return qp;
  }

  /** Sends one message; returns its status. */
  send(by: 'collect' | 'doorbell'): number {
    this.fixture.postReceive(this.pair.receiver, GRH + MESSAGE_BYTES);
    this.qp.post(this.pair.to({ inline: this.fixture.random.bytes(16) }), by);
    const { status } = this.qp.parts.sendCq.take();
    this.pair.receiver.parts.receiveCq.take();
    return status;
  }
}

t.test('a page of a context posts to its own queue pairs, and the kernel to all', async (t) => {
  const fixture = new AdapterFixture();
  const process = new Process(fixture, 4);
  t.equal(process.send('collect'), CompletionStatus.SUCCESS);
  t.equal(process.send('doorbell'), CompletionStatus.SUCCESS);
  t.same(process.context.query(), { pages: 1, queues: 2, refused: 0 });
  const kernel = process.usedFrom(5 * PAGE_BYTES);
  fixture.postReceive(process.pair.receiver, GRH + MESSAGE_BYTES);
  kernel.post(process.pair.to(), 'register');
  t.equal(process.qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'by the register');
  fixture.postReceive(process.pair.receiver, GRH + MESSAGE_BYTES);
  kernel.post(process.pair.to());
  t.equal(process.qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'by a page without context');
  t.same(fixture.allFaults(), {});
  fixture.finish();
});

t.test('hazard 43: a page of a context neither posts to, rings nor stops queue pairs of others', async (t) => {
  const fixture = new AdapterFixture();
  const hostile = new Process(fixture, 4);
  const victims: [string, Process | Pair][] = [
    ['of another context', new Process(fixture, 5)],
    ['of the kernel', fixture.createPair()],
  ];
  let refused = 0;
  for (const [whose, victim] of victims) {
    const pair = victim instanceof Process ? victim.pair : victim;
    const { sender, receiver, to } = pair;
    fixture.postReceive(receiver, GRH + MESSAGE_BYTES);
    // The command is posted, so that a doorbell of anybody would execute it.
    const bytes = sender.post(to({ inline: new Uint8Array(8) }), 'slot');
    const forged = new DriverQueuePair(fixture.access, fixture.driver.management, {
      ...sender.parts,
      page: hostile.page,
    });
    const acts: [string, () => void][] = [
      ['a command', () => forged.collect(bytes)],
      ['a command with explicit kick', () => halfOf(forged, bytes)],
      ['a doorbell', () => forged.ring(0)],
      ['a stop', () => forged.stop()],
    ];
    for (const [what, act] of acts) {
      act();
      fixture.settle();
      t.notOk(sender.parts.sendCq.ready, `${what} for a queue pair ${whose}`);
      t.equal(fixture.faults(FaultKind.COLLECT_CONTEXT), ++refused, 'is counted');
    }
    t.equal(hostile.context.query().refused, refused, 'also at the context');
    t.equal(countCollecting(fixture.access), 0);
    t.equal(fixture.read(CSR.PCB_IN_USE), 0);
    sender.ring();
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'its owner goes on');
  }
  t.equal(hostile.send('collect'), CompletionStatus.SUCCESS);
  fixture.finish();
});

/** Writes the first 8 bytes of a command and kicks. */
function halfOf(qp: DriverQueuePair, bytes: Uint8Array): void {
  qp.collect(bytes.subarray(0, 8));
  qp.kick();
}

t.test('hazard 43: a refused command of a context rings for its own queue pairs only', async (t) => {
  const fixture = new AdapterFixture({ adapter: { pcbCount: 2, pcbGuaranteed: [1, 0] } });
  const [hostile, victim] = [new Process(fixture, 4), new Process(fixture, 5)];
  const busy = [0, PAGE_BYTES];
  for (const page of busy) fixture.access.writeCollect(page, 1, 0, 0);
  t.equal(fixture.read(CSR.PCB_AVAILABLE), 0);
  fixture.postReceive(victim.pair.receiver, GRH + MESSAGE_BYTES);
  const bytes = victim.qp.post(victim.pair.to(), 'slot');
  victim.qp.collect(bytes, {}, hostile.page);
  fixture.settle();
  t.notOk(victim.qp.parts.sendCq.ready);
  t.equal(fixture.faults(FaultKind.COLLECT_CONTEXT), 1);
  victim.qp.collect(bytes);
  for (const page of busy) fixture.access.writeCollect(page + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
  t.equal(victim.qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'that of its own page does');
  fixture.finish();
});

t.test('hazard 43: a page of a context requests events of its own completion queues only', async (t) => {
  const fixture = new AdapterFixture();
  const [hostile, victim] = [new Process(fixture, 4), new Process(fixture, 5)];
  const kernelCq = fixture.createCompletionQueue();
  let refused = 0;
  for (const queue of [victim.qp.parts.sendCq, kernelCq]) {
    for (const request of [{}, { solicitedOnly: true }, { clearPending: false }, { clearOnly: true }]) {
      queue.notify({ ...request, page: hostile.page });
      t.equal(fixture.faults(FaultKind.COLLECT_CONTEXT), ++refused);
    }
    const found = fixture.machine.device.tables.completionQueues.get(queue.cqn);
    t.equal(found?.notifyState, NotifyState.UNARMED);
  }
  hostile.qp.parts.sendCq.notify({ clearOnly: true, page: hostile.page });
  t.equal(fixture.faults(FaultKind.COLLECT_CONTEXT), ++refused, "clearing is the kernel's, also of its own queues");
  t.equal(hostile.context.query().refused, refused);
  hostile.qp.parts.sendCq.notify({ page: hostile.page });
  hostile.send('collect');
  t.equal(fixture.events.walk().length, 1, 'its own request counts');
  fixture.finish();
});

t.test(
  'hazard 45: however often a process requests events, its queue has one of them until the kernel clears',
  async (t) => {
    const fixture = new AdapterFixture();
    const process = new Process(fixture, 4);
    const { sendCq } = process.qp.parts;
    sendCq.notify({ page: process.page });
    process.send('collect');
    for (let round = 0; round < 200; round++) sendCq.notify({ page: process.page, consumed: 0 });
    t.equal(fixture.events.walk().length, 1);
    sendCq.notify({ clearOnly: true });
    t.equal(fixture.events.walk().length, 1, 'the event that waited comes when the kernel clears');
    sendCq.notify({ clearOnly: true });
    t.equal(fixture.events.walk().length, 0, 'none waited: the queue is not armed');
    sendCq.notify({ page: process.page });
    sendCq.notify({ clearOnly: true });
    t.equal(fixture.events.walk().length, 0, 'armed, but all completions are taken');
    process.send('collect');
    t.equal(fixture.events.walk().length, 1);
    fixture.finish();
  },
);

t.test('hazard 46: control words work in every page of the BAR, data areas in those of the share', async (t) => {
  const fixture = new AdapterFixture({ adapter: { vcbCount: 8, vcbLimit: 32 } });
  const process = new Process(fixture, 31);
  t.equal(process.send('doorbell'), CompletionStatus.SUCCESS);
  t.same(fixture.allFaults(), {});
  fixture.postReceive(process.pair.receiver, GRH + MESSAGE_BYTES);
  const bytes = process.qp.post(process.pair.to());
  fixture.settle();
  t.equal(fixture.faults(FaultKind.COLLECT_OUT_OF_RANGE), bytes.length / 8, 'the command is dropped');
  t.notOk(process.qp.parts.sendCq.ready);
  process.qp.ring();
  t.equal(process.qp.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'its doorbell is not');
  process.qp.parts.sendCq.notify({ page: process.page });
  process.send('doorbell');
  t.equal(fixture.events.walk().length, 1);
  fixture.finish();
});

t.test('a page changes hands by way of the kernel, without its half-written command', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const [first, second] = [new Process(fixture, 4), new Process(fixture, 5)];
  const bytes = first.qp.post(first.pair.to(), 'slot');
  first.qp.collect(bytes.subarray(0, COMMAND_HEADER_BYTES / 2));
  t.equal(countCollecting(fixture.access), 1);
  t.throws(() => second.context.give(first.page), /IN_USE/);
  takeBackPage(management, first.page);
  t.equal(countCollecting(fixture.access), 0);
  t.equal(fixture.read(CSR.PCB_IN_USE), 0);
  second.context.give(first.page);
  second.context.give(first.page);
  t.same([first.context.query().pages, second.context.query().pages], [0, 2]);
  first.qp.ring();
  t.equal(fixture.faults(FaultKind.COLLECT_CONTEXT), 1, 'the former owner has no part in it');
  t.equal(second.usedFrom(first.page).parts.page, first.page);
  second.usedFrom(first.page).stop();
  t.equal(fixture.machine.device.tables.queuePairs.get(second.qp.qpn)?.stopped, true);
  fixture.finish();
});

t.test('a context with pages or queues is not destroyed; a reset destroys all', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const process = new Process(fixture, 4);
  t.equal(process.context.destroy().status, ManagementStatus.IN_USE, 'a page, a QP and a CQ');
  takeBackPage(management, process.page);
  t.equal(process.context.destroy().status, ManagementStatus.IN_USE, 'a QP and a CQ');
  process.qp.destroy();
  t.equal(process.context.destroy().status, ManagementStatus.IN_USE, 'a CQ');
  const { cqn } = process.qp.parts.sendCq;
  const other = process.qp.parts.receiveCq;
  if (other.cqn !== cqn) management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: other.cqn });
  management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: cqn });
  t.equal(process.context.destroy().status, ManagementStatus.OK);
  t.equal(process.context.destroy().status, ManagementStatus.BAD_OBJECT);
  const last = new Process(fixture, 6);
  fixture.driver.reset();
  fixture.bringUp();
  t.equal(fixture.machine.device.tables.collectContexts.size, 0);
  const { qpn } = fixture.createQueuePair();
  fixture.access.writeCollect(last.page + DOORBELL_OFFSET, 8, qpn << 8, 0);
  t.equal(fixture.faults(FaultKind.COLLECT_CONTEXT), 0, "the page is the kernel's again");
  fixture.finish();
});

t.test('a context of one function is no object of another', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2, adapter: { functionCount: 2 } });
  const { tables } = fixture.machine.device;
  const context = new DriverCollectContext(fixture.driver.management);
  const found = tables.collectContexts.get(context.number);
  t.equal(found?.owner.number, 0);
  t.equal(tables.collectContexts.quota, 8192);
});
