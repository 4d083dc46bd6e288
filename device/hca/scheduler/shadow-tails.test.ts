// SPDX-License-Identifier: Apache-2.0
/** Shadow tails through the whole adapter (docs/PROGRAMMING.md, Shadow tails). */
import t from 'tap';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  QUEUE_PAIR_RECORD_SEND_TAIL_BYTES,
  QUEUE_PAIR_RECORD_SIZE,
  setQueuePairRecordSendTail,
  setQueuePairRecordWatched,
} from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import { CSR, setCsrDoorbellPolicyExact } from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, FaultKind, QpMask, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';
import { WATCHED_MAX } from './shadow-tails.ts';

const WINDOW_NS = 200_000;
const { SUCCESS, FLUSHED } = CompletionStatus;

/** A function with shadow tails; a step of a watched queue is not the end of its work. */
function createFixture(options: ConstructorParameters<typeof AdapterFixture>[0] = {}): AdapterFixture {
  return new AdapterFixture({ ...options, bringUp: { tailWindowUs: 0, ...options.bringUp } });
}

function counts(fixture: AdapterFixture) {
  return {
    rings: fixture.read(CSR.DOORBELLS_EXPLICIT),
    watches: fixture.read(CSR.TAIL_WATCHES),
    finds: fixture.read(CSR.TAILS_FOUND),
  };
}

/** Posts by tail, lets the adapter work, and returns the statuses of what has completed. */
function post(fixture: AdapterFixture, qp: DriverQueuePair, count = 1): number[] {
  for (let left = count; left > 0; left--) qp.post(NOP, 'tail');
  fixture.settle();
  return qp.parts.sendCq.drain().map(({ status }) => status);
}

/** Time passes, and the adapter runs. */
function wait(fixture: AdapterFixture, lengthNs: number): void {
  fixture.machine.clock.advance(lengthNs);
  fixture.settle();
}

t.test('after a doorbell a stream of commands needs no further one', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  t.notOk(qp.watched);
  t.same(post(fixture, qp), [SUCCESS]);
  t.ok(qp.watched);
  for (let round = 0; round < 50; round++) {
    wait(fixture, WINDOW_NS - 1);
    t.same(post(fixture, qp, 3), [SUCCESS, SUCCESS, SUCCESS], `round ${round}`);
  }
  t.same(counts(fixture), { rings: 1, watches: 1, finds: 50 });
  t.equal(fixture.read(CSR.QUEUE_TURNS), 51, 'a find costs what a doorbell costs');
  fixture.finish();
});

t.test('a run goes on to look while each look finds an answer, within its budget', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair({ sendEntriesLog2: 6 });
  post(fixture, qp);
  const { host, machine } = fixture;
  let answers = 0;
  host.onBody = () => {
    if (answers++ < 20) qp.post(NOP, 'tail');
  };
  const completed = (budget: number): number => {
    machine.core.run(budget);
    return qp.parts.sendCq.drain().length;
  };
  qp.post(NOP, 'tail');
  t.equal(completed(256), 8, 'a look, and seven after an answer each');
  t.equal(completed(8), 1, 'a small budget ends it sooner');
  host.onBody = () => {};
  fixture.settle();
  fixture.finish();
});

t.test('a run ends with the first look that finds no command', async (t) => {
  const changes: Readonly<Record<string, (qp: DriverQueuePair, record: DataView) => void>> = {
    nothing: () => {},
    'a tail behind what was taken': (qp, record) => setQueuePairRecordSendTail(record, 0, qp.sendTail - 1),
    'a record that software has taken back': (qp, record) => {
      qp.post(NOP, 'slot');
      setQueuePairRecordWatched(record, 0, 0);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    const fixture = createFixture();
    const [qp, other] = [fixture.createQueuePair(), fixture.createQueuePair()];
    for (const one of [qp, other]) post(fixture, one);
    const { recordAddress } = qp.parts;
    // The first look of the run finds the command, so the change is there for the second.
    fixture.host.onBody = () => change(qp, fixture.access.view(recordAddress, QUEUE_PAIR_RECORD_SIZE));
    qp.post(NOP, 'slot');
    const mark = fixture.host.log.count;
    fixture.machine.core.run(256);
    const looks = fixture.host.log
      .since(mark)
      .filter(
        ({ address, lengthBytes }) =>
          address === other.parts.recordAddress && lengthBytes === QUEUE_PAIR_RECORD_SEND_TAIL_BYTES,
      );
    t.equal(looks.length, 2, what);
    t.equal(fixture.read(CSR.TAILS_FOUND), 1, what);
  }
});

t.test('the watch ends when its window is over, and the next command rings', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  wait(fixture, WINDOW_NS - 1);
  t.ok(qp.watched, 'within the window');
  wait(fixture, 1);
  t.notOk(qp.watched, 'the window is over');
  t.equal(fixture.machine.core.pollUntilNs, 0, 'nothing is watched');
  t.same(post(fixture, qp), [SUCCESS]);
  t.same(counts(fixture), { rings: 2, watches: 2, finds: 0 });
  fixture.finish();
});

t.test('windowUs sets the window', async (t) => {
  const fixture = createFixture({ bringUp: { tailWindowUs: 7 } });
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  wait(fixture, 6_999);
  t.ok(qp.watched);
  wait(fixture, 1);
  t.notOk(qp.watched);
});

t.test('a window without a find is halved, down to an eighth; a doorbell soon after the end restores it', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  for (const divisor of [1, 2, 4, 8, 8]) {
    wait(fixture, 10 * WINDOW_NS);
    post(fixture, qp);
    wait(fixture, WINDOW_NS / divisor - 1);
    t.ok(qp.watched, `1/${divisor}`);
    wait(fixture, 1);
    t.notOk(qp.watched, `1/${divisor} is over`);
  }
  wait(fixture, WINDOW_NS / 2);
  post(fixture, qp);
  wait(fixture, WINDOW_NS - 1);
  t.ok(qp.watched, 'the whole window');
  t.same(post(fixture, qp), [SUCCESS]);
  t.equal(counts(fixture).finds, 1);
});

t.test('the first look stands for all commands, also where a doorbell stands for those that it names', async (t) => {
  const fixture = createFixture();
  fixture.access.writeRegister(CSR.DOORBELL_POLICY, 4, setCsrDoorbellPolicyExact(0, 1), 0);
  const qp = fixture.createQueuePair();
  qp.post(NOP, 'slot');
  qp.ring();
  // The device sets the mark, and software that sees it does not ring.
  qp.post(NOP, 'slot');
  fixture.settle();
  t.equal(qp.parts.sendCq.drain().length, 2);
  t.ok(qp.watched);
  t.same(post(fixture, qp, 3), [SUCCESS, SUCCESS, SUCCESS]);
  fixture.finish();
});

t.test('off unless it is enabled; turning it off ends watches with a last look', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  t.same(post(fixture, qp), [SUCCESS]);
  t.notOk(qp.watched, 'off');
  fixture.driver.watchTails();
  post(fixture, qp);
  t.ok(qp.watched, 'on');
  qp.post(NOP, 'tail');
  fixture.access.writeRegister(CSR.SHADOW_TAILS, 4, 0, 0);
  fixture.settle();
  t.notOk(qp.watched, 'off again');
  t.equal(qp.parts.sendCq.drain().length, 1, 'what was posted before is executed');
  fixture.finish();
});

t.test('an adapter that rests watches nothing, and looks once more', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  const { adapter } = fixture.machine;
  post(fixture, qp);
  t.equal(adapter.rest?.(), false, 'nothing was posted');
  t.notOk(qp.watched);
  post(fixture, qp);
  qp.post(NOP, 'tail');
  t.equal(adapter.rest?.(), true, 'there is work');
  fixture.settle();
  t.equal(qp.parts.sendCq.drain().length, 1);
  t.same(counts(fixture), { rings: 2, watches: 2, finds: 1 });
  fixture.finish();
});

t.test('a queue whose watches are cut short in vain starts fewer of them, until one finds something', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  const { adapter } = fixture.machine;
  const cutShort = (): number => {
    let doorbells = 0;
    do {
      t.same(post(fixture, qp), [SUCCESS]);
      doorbells++;
    } while (!qp.watched);
    adapter.rest?.();
    return doorbells;
  };
  t.same(Array.from({ length: 7 }, cutShort), [1, 1, 2, 4, 8, 16, 16]);
  t.equal(counts(fixture).watches, 7);
  for (let left = 16; left > 0; left--) post(fixture, qp);
  t.same(post(fixture, qp), [SUCCESS], 'found');
  t.equal(counts(fixture).finds, 1);
  adapter.rest?.();
  t.same(Array.from({ length: 3 }, cutShort), [1, 1, 2]);
  fixture.finish();
});

t.test('sixteen queues are watched; a further one takes the place of one without finds', async (t) => {
  const fixture = createFixture();
  const queues = Array.from({ length: WATCHED_MAX }, () => fixture.createQueuePair());
  const late = fixture.createQueuePair();
  for (const qp of queues) post(fixture, qp);
  t.ok(queues.every(({ watched }) => watched));
  for (const qp of queues.slice(0, 3)) post(fixture, qp);
  for (let turn = 0; turn < 3; turn++) {
    t.same(post(fixture, late), [SUCCESS]);
    t.notOk(late.watched, `queue ${turn} found something`);
  }
  t.same(post(fixture, late), [SUCCESS]);
  t.ok(late.watched, 'it has the place of the fourth');
  t.same(
    queues.map(({ watched }) => watched),
    queues.map((_, index) => index !== 3),
  );
  t.same(post(fixture, queues[3]), [SUCCESS], 'which rings again');
  t.equal(fixture.machine.device.tails.count, WATCHED_MAX);
  fixture.finish();
});

t.test('STOP ends the watch, and no command is read', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  qp.post(NOP, 'tail');
  qp.stop();
  fixture.settle();
  t.notOk(qp.watched);
  t.notOk(qp.parts.sendCq.ready);
  qp.toReset();
  qp.start();
  t.same(post(fixture, qp), [SUCCESS], 'it works again');
  fixture.finish();
});

t.test('a doorbell is not yet taken when its queue is stopped, reset or destroyed', async (t) => {
  for (const end of ['stop', 'toReset', 'destroy'] as const) {
    const fixture = createFixture();
    const qp = fixture.createQueuePair();
    const other = fixture.createQueuePair();
    qp.ring();
    other.ring();
    qp[end]();
    fixture.settle();
    if (end !== 'destroy') t.notOk(qp.watched, end);
    t.equal(fixture.machine.device.tails.count, 1, `${end}: the other one`);
    t.ok(other.watched, end);
    fixture.finish();
  }
});

t.test('RESET: software clears the mark, then zeroes the record; nothing is watched afterwards', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  for (let round = 0; round < 3; round++) {
    post(fixture, qp, 5);
    t.ok(qp.watched);
    // The adapter runs while the record is zeroed already.
    qp.toReset();
    t.notOk(qp.watched);
    t.equal(fixture.machine.device.tails.count, 0);
    qp.start();
  }
  t.same(post(fixture, qp), [SUCCESS]);
  t.same(fixture.allFaults(), {});
  fixture.finish();
});

t.test('a cleared mark ends the watch: a tail that goes back to 0 then means nothing', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  fixture.machine.onStep = () => {};
  // 65,530 commands: the tail 0 then looks like six further ones.
  for (let done = 1; done < 65_530; done += 15) post(fixture, qp, Math.min(15, 65_530 - done));
  const record = fixture.access.view(qp.parts.recordAddress, 16);
  record.setUint32(4, 0, true);
  record.setUint16(0, 0, true);
  fixture.settle();
  t.equal(fixture.machine.device.tails.count, 0);
  t.notOk(qp.parts.sendCq.ready);
  t.same(fixture.allFaults(), {});
});

t.test('a queue in ERR is watched no more: its commands are flushed', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  qp.post(NOP, 'tail');
  qp.toError();
  t.same(post(fixture, qp), [FLUSHED, FLUSHED]);
  t.notOk(qp.watched);
  t.same(post(fixture, qp), [FLUSHED]);
  t.notOk(qp.watched);
  fixture.finish();
});

t.test('in SQD a command waits; it is executed when the queue goes on', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  qp.change({ attributeMask: QpMask.STATE, state: QpState.SQD });
  t.same(post(fixture, qp), []);
  t.notOk(qp.watched);
  qp.change({ attributeMask: QpMask.STATE, state: QpState.RTS });
  fixture.settle();
  t.equal(qp.parts.sendCq.drain().length, 1);
  t.same(post(fixture, qp), [SUCCESS]);
  fixture.finish();
});

t.test('a record that is unmapped while it is watched fails its queue', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  const { recordAddress } = qp.parts;
  const page = recordAddress - (recordAddress % PAGE_BYTES);
  fixture.host.memory.protect(page, PAGE_BYTES, PageAccess.UNMAPPED);
  fixture.settle();
  t.ok(fixture.faults(FaultKind.DMA_READ) >= 1);
  t.equal(fixture.machine.device.tails.count, 0);
  t.equal(fixture.machine.device.tables.queuePairs.get(qp.qpn)?.state, QpState.ERR);
});

t.test('with bus mastering off nothing is looked at, and no command is lost', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  fixture.access.port.setBusMaster(false);
  qp.post(NOP, 'tail');
  wait(fixture, 10 * WINDOW_NS);
  t.ok(qp.watched, 'the mark cannot be cleared');
  t.equal(fixture.machine.core.pollUntilNs, 0, 'nobody polls meanwhile');
  t.equal(fixture.machine.adapter.rest?.(), false);
  fixture.access.port.setBusMaster(true);
  fixture.settle();
  t.equal(qp.parts.sendCq.drain().length, 1);
  t.same(fixture.allFaults(), {});
  fixture.finish();
});

t.test('a reset of the function ends all watches and writes nothing', async (t) => {
  const fixture = createFixture();
  const qp = fixture.createQueuePair();
  post(fixture, qp);
  fixture.machine.reset(0, 'function');
  wait(fixture, WINDOW_NS);
  t.ok(qp.watched, 'the mark stays');
  t.equal(fixture.machine.device.tails.count, 0);
  fixture.machine.resume();
  fixture.bringUp();
  const next = fixture.createQueuePair();
  t.same(post(fixture, next), [SUCCESS]);
  t.notOk(next.watched, 'the register is 0 again');
});

t.test('copies in collect pages and watched tails: each command is executed once', async (t) => {
  const seed = 5;
  const fixture = createFixture({ seed });
  const { random, machine } = fixture;
  const queues = Array.from({ length: 20 }, () => fixture.createQueuePair({ sendEntriesLog2: 4 }));
  machine.onStep = () => {};
  const completed = queues.map(() => 0);
  for (let round = 0; round < 8000; round++) {
    const index = random.below(random.oneIn(2) ? 2 : queues.length);
    const qp = queues[index];
    if (qp.sendTail - completed[index] < 16)
      qp.post(NOP, random.pick(['tail', 'tail', 'tail', 'collect', 'doorbell'] as const));
    if (random.oneIn(2)) machine.step();
    if (random.oneIn(8)) machine.clock.advance(random.pick([100, 30_000, 120_000, 300_000]));
    if (random.oneIn(16)) {
      machine.runUntilIdle();
      machine.adapter.rest?.();
    }
    if (random.oneIn(64)) fixture.checkInvariants();
    for (const { queueSequence, status } of qp.parts.sendCq.drain())
      if (queueSequence !== (completed[index]++ & 0xffff) || status !== SUCCESS)
        t.fail(`seed ${seed}, round ${round}: completion ${queueSequence} with status ${status}`);
  }
  fixture.settle();
  for (const [index, qp] of queues.entries())
    t.equal(completed[index] + qp.parts.sendCq.drain().length, qp.sendTail, `seed ${seed}: queue ${index}`);
  t.ok(counts(fixture).finds > 500, 'finds');
  fixture.finish();
});
