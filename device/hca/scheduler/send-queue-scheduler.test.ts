// SPDX-License-Identifier: Apache-2.0
/**
 * Send queue scheduler and command fetcher with one doorbell unit and send queues in memory,
 * without an adapter (US 9,069,485 par. 70, 75-76; US 8,484,392 par. 102-107): which commands are
 * read, in which turns, and what is admitted of them.
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES, SEND_QUEUE_MAX_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandSequence } from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  getSendQueueDescriptorNextSequence,
  SEND_QUEUE_DESCRIPTOR_SIZE,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { FetcherFixture as Bench, QUEUE_ENTRIES, STRIDE_BYTES } from '../../rig/fixtures/fetcher-fixture.ts';

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

t.test('one doorbell has all posted commands read, in order; the descriptor shows the read pointer', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 20);
  bench.ring(qp);
  bench.serve();
  t.same(bench.sequences(qp), range(0, 20));
  t.equal(getSendQueueDescriptorNextSequence(bench.view, qp.descriptorAddress), 20);
  const { counters } = bench.owner;
  t.same([counters.commandsFetched, counters.doorbellsIdle, counters.queueTurns], [20, 0, 2], 'in two turns');
  t.same([bench.pool.freeCount, qp.fetching, qp.busReads], [64, 0, 0]);
  bench.ring(qp);
  bench.serve();
  t.equal(counters.doorbellsIdle, 1, 'nothing new is posted');
  t.equal(bench.pool.freeCount, 64);
  t.same(bench.faults, []);
});

t.test('a turn reads as many commands as the quantum; a shared adapter has shorter turns', async (t) => {
  for (const [options, quantum] of [
    [{}, 16],
    [{ shared: true }, 8],
    [{ quantum: 5 }, 5],
  ] as const) {
    for (const posted of [quantum, quantum + 1]) {
      const bench = new Bench(options);
      const [qp] = bench.qps;
      bench.post(qp, posted);
      bench.ring(qp);
      bench.serve();
      t.same(bench.sequences(qp), range(0, posted));
      t.equal(bench.owner.counters.queueTurns, posted > quantum ? 2 : 1, `${posted} commands`);
    }
  }
});

t.test('queues of a shared adapter take turns; alone a queue goes on at once', async (t) => {
  const bench = new Bench({ shared: true, quantum: 2 });
  const [a, b] = bench.qps;
  for (const qp of [a, b]) {
    bench.post(qp, 4);
    bench.ring(qp);
  }
  bench.serve();
  t.same(
    bench.admitted.map(([qp]) => qp),
    [0, 0, 1, 1, 0, 0, 1, 1],
  );
});

t.test('a command that came by collect buffer while it was read is not admitted again', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 4);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching === 0);
  qp.nextSequence = 2;
  bench.serve();
  t.same(bench.sequences(qp), [2, 3]);
  t.same([bench.pool.freeCount, qp.fetching], [64, 0]);
});

t.test('commands posted while others are read are read behind them, once', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching === 0);
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serve();
  t.same(bench.sequences(qp), range(0, 6));
  t.equal(bench.owner.counters.commandsFetched, 6);
  bench.post(qp, 0xfffd - 6);
  qp.nextSequence = 0xfffd;
  bench.post(qp, 5);
  bench.ring(qp);
  bench.serve();
  t.same(bench.sequences(qp).slice(6), [0xfffd, 0xfffe, 0xffff, 0, 1], 'their numbers wrap');
});

t.test('a reset while commands are read makes them void', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching < 3);
  Object.assign(qp, { epoch: 1 });
  bench.serve();
  t.same([bench.admitted, bench.pool.freeCount, bench.owner.counters.queueTurns], [[], 64, 1]);
});

t.test('without room in its kick list a queue waits in its list, and loses nothing', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching < 3);
  bench.hasRoom = false;
  bench.serve();
  t.same([bench.admitted, bench.pool.freeCount], [[], 64]);
  t.ok(qp.scheduled);
  bench.hasRoom = true;
  bench.serve();
  t.same(bench.sequences(qp), [0, 1, 2]);
  t.notOk(qp.scheduled);
});

t.test('a queue that may not be read keeps its commands', async (t) => {
  for (const [fields, admitted, flushed] of [
    [{ destroyed: true }, 0, 0],
    [{ stopped: true }, 0, 0],
    [{ sendsAreTaken: false, state: QpState.SQD }, 0, 0],
    [{ acceptsCommands: false }, 0, 0],
    [{ acceptsCommands: false, state: QpState.ERR }, 2, 1],
    [{}, 2, 0],
  ] as const) {
    const name = JSON.stringify(fields);
    for (const early of [false, true]) {
      const bench = new Bench();
      const [qp] = bench.qps;
      bench.post(qp, 2);
      bench.ring(qp);
      // The read of the record is issued, or not yet.
      if (!early) bench.serveWhile(() => bench.pool.freeCount === 64);
      Object.assign(qp, fields);
      bench.serve();
      t.equal(bench.admitted.length, admitted, name);
      t.equal(bench.flushed, flushed, name);
      t.equal(bench.pool.freeCount, 64, name);
    }
  }
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 2);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching < 2);
  Object.assign(qp, { stopped: true });
  bench.serve();
  t.same([bench.admitted, bench.pool.freeCount, qp.stopShown], [[], 64, true]);
});

t.test('a tail beyond the queue is reported; an old one behind is harmless', async (t) => {
  for (const [tail, admitted, faults] of [
    [QUEUE_ENTRIES, QUEUE_ENTRIES, []],
    [QUEUE_ENTRIES + 1, 0, [FaultKind.DOORBELL_BEYOND_TAIL]],
    [2 ** SEND_QUEUE_MAX_LOG2 - 1, 0, [FaultKind.DOORBELL_BEYOND_TAIL]],
    [2 ** SEND_QUEUE_MAX_LOG2, 0, []],
    [0xffff, 0, []],
  ] as const) {
    const bench = new Bench();
    const [qp] = bench.qps;
    bench.post(qp, QUEUE_ENTRIES);
    bench.setTail(qp, tail);
    bench.ring(qp);
    bench.serve();
    t.equal(bench.admitted.length, admitted, `tail ${tail}`);
    t.same(bench.faults, faults, `tail ${tail}`);
    t.equal(bench.owner.counters.doorbellsIdle, admitted === 0 ? 1 : 0);
  }
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 2);
  bench.ring(qp);
  bench.end = qp.sendSlots?.recordAddress ?? -1;
  bench.serve();
  t.same([bench.failed, bench.admitted, bench.pool.freeCount], [[FaultKind.DMA_READ], [], 64], 'an unreadable record');
});

t.test('a command that cannot be executed is admitted with its fault, which is reported once', async (t) => {
  const { COLLECT_BAD_LENGTH, COMMAND_BAD_QP, COMMAND_QOS, COMMAND_SEQUENCE, NONE } = FaultKind;
  for (const [fields, fault] of [
    [{}, NONE],
    [{ sequence: 5 }, COMMAND_SEQUENCE],
    [{ qpn: 9 }, COMMAND_BAD_QP],
    [{ qosLevel: 1 }, COMMAND_QOS],
    [{ collectLength: COMMAND_HEADER_BYTES - 8 }, COLLECT_BAD_LENGTH],
    [{ collectLength: 0 }, COLLECT_BAD_LENGTH],
    [{ collectLength: STRIDE_BYTES }, NONE],
    [{ collectLength: STRIDE_BYTES + 8 }, COLLECT_BAD_LENGTH],
  ] as const)
    for (const state of [QpState.RTS, QpState.ERR]) {
      const bench = new Bench();
      const [qp] = bench.qps;
      Object.assign(qp, { state });
      bench.post(qp, 1, fields);
      bench.ring(qp);
      bench.serve();
      t.same(bench.admitted, [[0, 0, fault]], JSON.stringify(fields));
      t.same(bench.faults, fault === NONE || state === QpState.ERR ? [] : [fault], 'not while commands are flushed');
      t.equal(getSendCommandSequence(bench.buffers[0].view, 0), 0);
    }
  for (const end of [0, COMMAND_HEADER_BYTES]) {
    const bench = new Bench();
    const [qp] = bench.qps;
    bench.post(qp, 1, { collectLength: STRIDE_BYTES });
    bench.ring(qp);
    bench.serveWhile(() => qp.fetching === 0);
    bench.end = end;
    bench.serve();
    t.same(bench.admitted, [[0, 0, FaultKind.DMA_READ]]);
    t.same(bench.faults, [FaultKind.DMA_READ], 'by the read itself');
  }
});

t.test('a long command is read behind its header', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 1, { collectLength: STRIDE_BYTES });
  for (let at = COMMAND_HEADER_BYTES; at < STRIDE_BYTES; at++) bench.memory[at] = at;
  bench.ring(qp);
  bench.serve();
  t.same(bench.buffers[0].bytes.slice(0, STRIDE_BYTES), bench.memory.slice(0, STRIDE_BYTES));
});

t.test('with few buffers or reads every queue has its turn, and all commands are read', async (t) => {
  for (const options of [{ buffers: 1 }, { buffers: 2 }, { busReads: 1 }, { buffers: 2, shared: true, quantum: 1 }]) {
    const bench = new Bench(options);
    for (const qp of bench.qps) {
      bench.post(qp, 5);
      bench.ring(qp);
    }
    bench.serve();
    for (const qp of bench.qps) t.same(bench.sequences(qp), range(0, 5), JSON.stringify(options));
    t.equal(bench.pool.freeCount, bench.pool.buffers.length);
  }
});

t.test('a call does no more than its limit', async (t) => {
  const bench = new Bench();
  for (const qp of bench.qps) {
    bench.post(qp, 20);
    bench.ring(qp);
  }
  for (const limit of [1, 2, 7]) t.ok(bench.scheduler.serve(limit) <= limit, `limit ${limit}`);
  t.ok(bench.serve() > 0);
  t.equal(bench.admitted.length, 60);
  t.equal(bench.scheduler.serve(100), 0);
});

t.test('a queue is in its list once, and leaves it by a stop', async (t) => {
  const bench = new Bench();
  const [first, second] = bench.qps;
  const { scheduler, unit } = bench;
  const linked = () => {
    const numbers: number[] = [];
    for (let qp = unit.lists[0].head; qp !== undefined; qp = qp.nextScheduled) numbers.push(qp.number);
    return numbers;
  };
  for (const qp of [...bench.qps, first]) scheduler.schedule(qp);
  t.same(linked(), [0, 1, 2]);
  t.equal(bench.owner.counters.queuesLinked, 3);
  t.notOk(scheduler.giveTurn(unit, first), 'it has a turn already');
  unit.stop(second);
  t.same(linked(), [0, 2]);
  scheduler.schedule(second);
  t.same(linked(), [0, 2], 'a stopped queue is not linked again');
  scheduler.unschedule(second);
  scheduler.unschedule(bench.qps[2]);
  t.notOk(scheduler.giveTurn(unit, bench.qps[2]), 'another one is first');
  t.same(linked(), [0, 2], 'so it waits behind that one');
  bench.post(first, 1);
  bench.serve();
  t.same([linked(), bench.admitted.length], [[], 1]);
  t.ok(scheduler.giveTurn(unit, first));
  t.equal(scheduler.unitOf(first), unit);
});

t.test('a restart shows the descriptor of a queue that was stopped; others need no write', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  const { memory, scheduler } = bench;
  const shown = memory.slice(qp.descriptorAddress, qp.descriptorAddress + SEND_QUEUE_DESCRIPTOR_SIZE);
  const foreign = new Uint8Array(SEND_QUEUE_DESCRIPTOR_SIZE).fill(0x55);
  const descriptor = () => memory.slice(qp.descriptorAddress, qp.descriptorAddress + SEND_QUEUE_DESCRIPTOR_SIZE);
  memory.set(foreign, qp.descriptorAddress);
  scheduler.restart(qp, false);
  t.same(descriptor(), foreign);
  scheduler.restart(qp, true);
  t.same(descriptor(), shown);
});

t.test('a queue whose commands came by collect buffers for long reads from its next command on', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  // More than half of all sequence numbers since its last read.
  bench.post(qp, 0x9000);
  qp.nextSequence = 0x9000;
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serve();
  t.same(bench.sequences(qp), range(0x9000, 0x9003));
});

t.test('the QoS levels share a lone dedicated buffer, however many queues one of them has', async (t) => {
  for (const [many, few] of [
    [0, 1],
    [1, 0],
  ]) {
    const bench = new Bench({ buffers: 1, quantum: 1 });
    for (const [index, qp] of bench.qps.entries()) Object.assign(qp, { qosLevel: index < 2 ? many : few });
    for (const qp of bench.qps) {
      bench.post(qp, 8);
      bench.scheduler.schedule(qp);
    }
    bench.serve();
    const levels = bench.admitted.slice(0, 16).map(([number]) => bench.qps[number].qosLevel);
    t.same(
      levels,
      Array.from({ length: 16 }, (_, turn) => (turn % 2 === 0 ? many : few)),
    );
    t.same(
      bench.qps.map((qp) => bench.sequences(qp).length),
      [8, 8, 8],
    );
  }
});
