// SPDX-License-Identifier: Apache-2.0
/**
 * Shared receive queues in their three forms under traffic (IBTA 10.2.9, annex A14): the order of
 * the list, limits and their events, XRC between initiators and targets, and queues that fail.
 */
import t, { type Test } from 'tap';
import {
  CommandOpcode,
  CommandStatus,
  CompletionOpcode,
  CompletionSyndrome,
  EventType,
  QpService,
  QpState,
  ReceiveQueueType,
  RmpState,
  SendOpcode,
  SrqState,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import type { Piece } from '../../../rig/machine/personality-driver.ts';
import type { Mlx5DriverCompletionQueue } from '../../../rig/mlx5/driver/completion-queue.ts';
import { DataFixture } from '../../../rig/mlx5/driver/data-fixture.ts';
import type { Mlx5DriverQueuePair } from '../../../rig/mlx5/driver/queue-pair.ts';
import { Mlx5DriverSharedQueue } from '../../../rig/mlx5/driver/shared-queue.ts';
import { SharedForm } from './shared-receive-queue.ts';

const { SRQ_LIMIT, SRQ_CATASTROPHIC, LAST_WQE } = EventType;
const { REMOTE_OPERATION, REMOTE_INVALID_REQUEST, FLUSHED, LOCAL_LENGTH, LOCAL_PROTECTION } = CompletionSyndrome;
const { RESPONSE_ERROR, SEND } = CompletionOpcode;
const forms = [SharedForm.PLAIN, SharedForm.XRC, SharedForm.POOL] as const;
const PAGE_BYTES = 4096;
const SYNDROME_AT = 55;
const ENTRIES = 8;
/** Completions name the queue by its number. */
const NO_INDEX = 0xffffff;

/** Senders, and receivers that take entries of one queue. */
class SharedFixture extends DataFixture {
  readonly form: SharedForm;
  readonly xrcd = this.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  /** The CQ of all receives. */
  readonly cq: Mlx5DriverCompletionQueue = this.completionQueue();
  readonly queue: Mlx5DriverSharedQueue;
  readonly source: Piece = this.memory(256);
  readonly target: Piece = this.memory(PAGE_BYTES);
  readonly senders: Mlx5DriverQueuePair[] = [];
  readonly receivers: Mlx5DriverQueuePair[] = [];

  constructor(form: SharedForm, count = 1) {
    super();
    this.form = form;
    this.queue = this.shared();
    for (let index = 0; index < count; index++) this.add();
    this.takeEvents();
  }

  shared(xrcd = this.xrcd): Mlx5DriverSharedQueue {
    const { form, pd, cq } = this;
    return new Mlx5DriverSharedQueue(this.driver, { form, pd, xrcd, cqn: cq.number });
  }

  /** A sender and its receiver; of XRC, an initiator and a target. */
  add(xrcd = this.xrcd): void {
    const isXrc = this.form === SharedForm.XRC;
    const service = isXrc ? QpService.XRC : QpService.RC;
    const none = { rqType: ReceiveQueueType.NONE };
    const sender = this.queuePair({ service, context: none });
    const shared = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: this.queue.number, userIndex: NO_INDEX };
    const receiver = isXrc
      ? this.queuePair({ service, cq: this.cq, context: { ...none, noSq: 1, xrcd } })
      : this.queuePair({ service, cq: this.cq, context: shared });
    sender.start(receiver.number, this.lid);
    receiver.start(sender.number, this.lid);
    this.senders.push(sender);
    this.receivers.push(receiver);
  }

  /** Sends a message of `byteCount` bytes that begin with `mark`. */
  send(index = 0, byteCount = 16, mark = 1, srqn = this.queue.number): void {
    const piece = { ...this.source, byteCount };
    this.bytes(piece).fill(mark);
    const to = this.form === SharedForm.XRC ? { srqn } : {};
    this.senders[index].post({ opcode: SendOpcode.SEND, pieces: [piece], ...to });
    this.run();
  }

  /** Memory of entry `index`. */
  piece(index: number, byteCount = 256): Piece {
    return { ...this.target, address: this.target.address + index * 256, byteCount };
  }

  /** Posts entries with memory of their own. */
  fill(count: number): void {
    for (let index = 0; index < count; index++) this.queue.post(this.piece(this.queue.next));
  }

  /** Syndrome of the completion that was taken last from a CQ. */
  syndrome(cq: Mlx5DriverCompletionQueue): number {
    return cq.slot(cq.consumed - 1).getUint8(SYNDROME_AT);
  }
}

for (const form of forms) {
  t.test(`${form}: entries are taken in the order of the list, many times around`, (t) => {
    const fixture = new SharedFixture(form, 2);
    const { queue, cq } = fixture;
    let left: number[] = [];
    for (let round = 0; round < 12; round++) {
      const posted = Array.from({ length: queue.room }, () => queue.post(fixture.piece(queue.next)));
      left = [...left, ...posted];
      for (let count = 0; count < 5; count++) fixture.send(count % 2, 16, round * 5 + count);
      const taken = cq.take();
      t.same(
        taken.map(({ wqeCounter }) => wqeCounter),
        left.splice(0, 5),
        `round ${round}`,
      );
      for (const [count, { wqeCounter, opcode, qpn, srqnOrUserIndex }] of taken.entries()) {
        const receiver = fixture.receivers[count % 2].number;
        t.same([opcode, qpn, srqnOrUserIndex], [SEND, receiver, queue.number]);
        t.equal(fixture.bytes(fixture.piece(wqeCounter))[15], round * 5 + count, 'the message');
      }
      // They become free in another order than they were taken.
      for (const { wqeCounter } of taken.reverse()) queue.free(wqeCounter);
    }
    t.same(fixture.takeEvents(), [], 'a queue without a limit tells nothing');
    t.end();
  });

  t.test(`${form}: the limit`, (t) => {
    const fixture = new SharedFixture(form);
    const { queue } = fixture;
    const event = { type: SRQ_LIMIT, number: queue.number };
    t.equal(queue.arm(ENTRIES + 1).status, CommandStatus.BAD_PARAMETER);
    fixture.fill(4);
    t.equal(queue.arm(3).status, CommandStatus.OK);
    t.equal(queue.query().limit, 3);
    fixture.send();
    t.same(fixture.takeEvents(), [], 'three are left');
    fixture.send();
    t.same(fixture.takeEvents(), [event], 'two are left');
    t.equal(queue.query().limit, 0, 'the queue is no longer armed');
    fixture.send();
    t.same(fixture.takeEvents(), [], 'one event');
    queue.arm(2);
    fixture.run();
    t.same(fixture.takeEvents(), [event], 'due already');
    queue.arm(2);
    fixture.takeEvents();
    queue.arm(1);
    queue.arm(0);
    fixture.send();
    t.same(fixture.takeEvents(), [], 'disarmed');
    t.end();
  });

  t.test(`${form}: entries that were posted meanwhile count`, (t) => {
    const fixture = new SharedFixture(form);
    const { queue } = fixture;
    fixture.fill(2);
    fixture.send();
    fixture.fill(3);
    queue.arm(4);
    t.same(fixture.takeEvents(), []);
    const isPool = form === SharedForm.POOL;
    t.equal(queue.query().count, isPool ? 1 : 4, 'taken, or left');
    fixture.fill(1);
    fixture.send();
    t.same(fixture.takeEvents(), [], 'four are left');
    fixture.send();
    t.equal(fixture.takeEvents().length, 1);
    t.end();
  });

  t.test(`${form}: without entries the sender waits, and its message comes later`, (t) => {
    const fixture = new SharedFixture(form);
    fixture.send();
    t.same(fixture.cq.take(), []);
    fixture.fill(1);
    fixture.driver.machine.runUntil(() => fixture.cq.peek() !== undefined, 'the message');
    t.match(fixture.cq.take(), [{ opcode: SEND }]);
    t.end();
  });

  t.test(`${form}: a record that cannot be is ignored`, (t) => {
    const fixture = new SharedFixture(form);
    fixture.queue.tell(ENTRIES + 1);
    fixture.send();
    t.same(fixture.cq.take(), []);
    t.equal(fixture.queue.query().count, 0);
    t.end();
  });

  t.test(`${form}: an entry that cannot take its message`, (t) => {
    for (const [what, local, remote, change] of [
      ['too short', LOCAL_LENGTH, REMOTE_INVALID_REQUEST, { byteCount: 15 }],
      ['no such key', LOCAL_PROTECTION, REMOTE_OPERATION, { key: 0x7f00 }],
    ] as const) {
      const fixture = new SharedFixture(form, 2);
      const { queue, cq, senders, receivers } = fixture;
      queue.post({ ...fixture.piece(0), ...change });
      fixture.fill(1);
      fixture.send();
      t.match(cq.take(), [{ opcode: RESPONSE_ERROR, wqeCounter: 0 }], what);
      t.equal(fixture.syndrome(cq), local, what);
      t.match(senders[0].setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }], what);
      t.equal(fixture.syndrome(senders[0].setup.cq), remote, what);
      t.equal(receivers[0].query().state, QpState.ERROR, what);
      fixture.send(1);
      t.match(cq.take(), [{ opcode: SEND, wqeCounter: 1 }], `${what}: the queue goes on for others`);
    }
    t.end();
  });

  t.test(`${form}: entries that cannot be read`, (t) => {
    const fixture = new SharedFixture(form, 2);
    const { queue, cq } = fixture;
    fixture.fill(2);
    fixture.driver.memory.protect(queue.place.queue, PAGE_BYTES, PageAccess.UNMAPPED);
    fixture.send();
    t.match(cq.take(), [{ opcode: RESPONSE_ERROR, wqeCounter: 0 }]);
    const told = fixture.takeEvents().filter(({ type }) => type === SRQ_CATASTROPHIC);
    t.same(told, [{ type: SRQ_CATASTROPHIC, number: queue.number }]);
    t.equal(queue.query().state, form === SharedForm.POOL ? RmpState.ERROR : SrqState.ERROR);
    fixture.send(1);
    t.same(cq.take(), [], 'no further entry is found');
    for (const qp of fixture.receivers) t.equal(qp.command(CommandOpcode.DESTROY_QP).status, CommandStatus.OK);
    t.equal(queue.destroy(), CommandStatus.OK);
    t.end();
  });

  t.test(`${form}: a queue that is made again begins anew`, (t) => {
    const fixture = new SharedFixture(form);
    fixture.fill(3);
    fixture.queue.arm(1);
    for (const qp of fixture.receivers) qp.command(CommandOpcode.DESTROY_QP);
    t.equal(fixture.queue.destroy(), CommandStatus.OK, 'with entries that are posted');
    const again = fixture.shared();
    t.match(again.query(), { limit: 0, count: 0, state: form === SharedForm.POOL ? RmpState.READY : SrqState.GOOD });
    t.end();
  });
}

t.test('the next entry is found within the queue, whatever its number says', (t) => {
  const fixture = new SharedFixture(SharedForm.PLAIN);
  const { queue, cq } = fixture;
  fixture.fill(3);
  queue.link(0, ENTRIES + 2);
  for (let count = 0; count < 2; count++) fixture.send();
  t.match(cq.take(), [{ wqeCounter: 0 }, { wqeCounter: 2 }]);
  t.end();
});

t.test('a QP of a shared queue that fails tells of its last entry; XRC targets do not', (t) => {
  for (const form of forms) {
    const fixture = new SharedFixture(form);
    fixture.fill(2);
    const [receiver] = fixture.receivers;
    receiver.command(CommandOpcode.QP_2ERR);
    fixture.run();
    const told = fixture.takeEvents().filter(({ type }) => type === LAST_WQE);
    t.same(told, form === SharedForm.XRC ? [] : [{ type: LAST_WQE, number: receiver.number }], form);
    t.same(fixture.cq.take(), [], 'entries belong to the queue');
    t.equal(fixture.queue.query().count, form === SharedForm.POOL ? 0 : 2);
  }
  t.end();
});

/** One request to a queue that its target may not use. */
function checkRefused(t: Test, fixture: SharedFixture, srqn: number, what: string): void {
  const [sender] = fixture.senders;
  fixture.fill(1);
  fixture.send(0, 16, 1, srqn);
  t.match(sender.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }], what);
  t.not(fixture.syndrome(sender.setup.cq), FLUSHED, what);
  t.same(fixture.cq.take(), [], what);
  t.equal(fixture.receivers[0].query().state, QpState.ERROR, what);
}

t.test('XRC: queues that a target may not use', (t) => {
  checkRefused(t, new SharedFixture(SharedForm.XRC), 0x777, 'a queue that there is not');
  const other = new SharedFixture(SharedForm.XRC);
  const xrcd = other.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  checkRefused(t, other, other.shared(xrcd).number, 'a queue of another domain');
  const mixed = new SharedFixture(SharedForm.XRC);
  const plain = new Mlx5DriverSharedQueue(mixed.driver, { form: SharedForm.PLAIN, pd: mixed.pd });
  checkRefused(t, mixed, plain.number, 'a queue of no domain');
  const gone = new SharedFixture(SharedForm.XRC);
  const spare = gone.shared();
  spare.destroy();
  checkRefused(t, gone, spare.number, 'a queue that is gone');
  t.end();
});

t.test('XRC: several queues of one domain, and a queue that goes while messages wait for it', (t) => {
  const fixture = new SharedFixture(SharedForm.XRC);
  const second = fixture.shared();
  fixture.fill(1);
  second.post(fixture.piece(5));
  fixture.send(0, 16, 1, second.number);
  fixture.send(0, 16, 2);
  t.match(fixture.cq.take(), [{ srqnOrUserIndex: second.number }, { srqnOrUserIndex: fixture.queue.number }]);
  fixture.senders[0].setup.cq.take();
  fixture.send(0, 16, 3, second.number);
  t.equal(second.destroy(), CommandStatus.OK, 'a message waits for an entry');
  const { cq } = fixture.senders[0].setup;
  fixture.driver.machine.runUntil(() => cq.peek() !== undefined, 'the end of the message');
  t.match(cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }]);
  t.end();
});

t.test('XRC: memory of the other end is that of the queue in the request', (t) => {
  const fixture = new SharedFixture(SharedForm.XRC);
  const [sender] = fixture.senders;
  const far = fixture.memory(64);
  const srqn = fixture.queue.number;
  const pieces = [{ ...fixture.source, byteCount: 64 }];
  fixture.bytes(pieces[0]).fill(9);
  sender.post({ opcode: SendOpcode.WRITE, pieces, remote: far, srqn });
  fixture.run();
  t.match(sender.setup.cq.take(), [{ sendOpcode: SendOpcode.WRITE, opcode: CompletionOpcode.REQUEST }]);
  t.ok(fixture.bytes(far).every((byte) => byte === 9));
  fixture.fill(1);
  sender.post({ opcode: SendOpcode.WRITE_IMMEDIATE, pieces, remote: far, srqn, immediate: 5 });
  fixture.run();
  t.match(fixture.cq.take(), [{ opcode: CompletionOpcode.WRITE_IMMEDIATE, immediate: 5, srqnOrUserIndex: srqn }]);
  t.end();
});
