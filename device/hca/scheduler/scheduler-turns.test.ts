// SPDX-License-Identifier: Apache-2.0
/**
 * Limits and turns of the scheduler with units and lists that do nothing, and which reads a command
 * fetcher issues (US 9,069,485 par. 70, 75-76; US 8,484,392 par. 102-107).
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES, FUNCTION_MAX, QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { FetcherFixture as Bench } from '../../rig/fixtures/fetcher-fixture.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { DoorbellUnit } from './doorbell-unit.ts';
import { Inbound } from './inbound-queue.ts';
import { SendQueueScheduler } from './send-queue-scheduler.ts';

/** A scheduler with units of `functions` functions, whose queues take no commands. */
function makeScheduler(functions: number) {
  const scheduler = new SendQueueScheduler({} as PcbAllocator, {} as TransmitVirtualLanes, true);
  /** Function and steps of each call of a unit; function and level of queues that had turns. */
  const advanced: number[][] = [];
  const turns: number[][] = [];
  const work = new Array<number>(functions).fill(0);
  const units = Array.from({ length: functions }, (_, number) => {
    const owner = { number, counters: { queuesLinked: 0, queueTurns: 0 } };
    const lists = Array.from({ length: QOS_LEVELS }, (_, level) => ({
      active: false,
      owner,
      waiting: [] as QueuePair[],
      get head() {
        return this.waiting[0];
      },
      push(qp: QueuePair) {
        this.waiting.push(qp);
      },
      remove(qp: QueuePair) {
        this.waiting = this.waiting.filter((one) => one !== qp);
        turns.push([number, level]);
      },
    }));
    const advance = (steps: number): number => {
      advanced.push([number, steps]);
      const taken = Math.min(steps, work[number]);
      work[number] -= taken;
      return taken;
    };
    return { active: false, owner, lists, advance } as unknown as DoorbellUnit;
  });
  for (const unit of units) scheduler.addUnit(unit);
  const makeQueuePair = (functionNumber: number, qosLevel: number): QueuePair =>
    ({ owner: units[functionNumber].owner, qosLevel, destroyed: true }) as unknown as QueuePair;
  return { scheduler, units, work, advanced, turns, makeQueuePair };
}

t.test('units have 64 steps each, and no more than the limit together', async (t) => {
  const { scheduler, units, work, advanced } = makeScheduler(3);
  work.fill(100);
  for (const unit of units) scheduler.wake(unit);
  t.equal(scheduler.serve(70), 70);
  t.same(advanced.splice(0), [
    [0, 64],
    [1, 6],
  ]);
  t.equal(scheduler.serve(1000), 230);
  t.same(advanced.splice(0, 5), [
    [2, 64],
    [0, 64],
    [1, 64],
    [2, 64],
    [1, 64],
  ]);
  t.equal(scheduler.serve(1000), 0);
  t.same(advanced.splice(0), [], 'a unit that had less to do waits to be woken');
});

t.test('turns of queues count to the limit, behind the steps of units', async (t) => {
  const { scheduler, units, work, turns, makeQueuePair } = makeScheduler(4);
  for (let number = 0; number < 4; number++) scheduler.schedule(makeQueuePair(number, 0));
  work[0] = 3;
  scheduler.wake(units[0]);
  t.equal(scheduler.serve(5), 5);
  t.same(turns, [
    [0, 0],
    [1, 0],
  ]);
  t.equal(scheduler.serve(1), 1);
  t.equal(scheduler.serve(9), 1);
  t.same(turns.length, 4);
});

t.test('the lists of all functions and levels may have work at once', async (t) => {
  const { scheduler, turns, makeQueuePair } = makeScheduler(FUNCTION_MAX);
  const all = Array.from({ length: FUNCTION_MAX * QOS_LEVELS }, (_, at) => [at >> 1, at & 1]);
  for (const [number, level] of all) scheduler.schedule(makeQueuePair(number, level));
  t.equal(scheduler.serve(1000), all.length);
  t.same(turns, all);
});

t.test('a list whose queue has left has no turn', async (t) => {
  const { scheduler, turns, makeQueuePair } = makeScheduler(2);
  const gone = Object.assign(makeQueuePair(0, 0), { scheduled: true });
  scheduler.schedule(Object.assign(gone, { scheduled: false }));
  scheduler.unschedule(Object.assign(gone, { scheduled: true }));
  scheduler.schedule(makeQueuePair(1, 0));
  turns.length = 0;
  t.equal(scheduler.serve(9), 1);
  t.same(turns, [[1, 0]]);
});

t.test('a queue begins at once when the lists that had work are empty', async (t) => {
  const bench = new Bench();
  const [gone, next] = bench.qps;
  bench.scheduler.schedule(Object.assign(gone, { destroyed: true }));
  bench.scheduler.serve(1);
  t.notOk(gone.scheduled);
  t.same(bench.reads, [], 'the record of a queue that takes no commands is not read');
  t.equal(bench.unit.inbound.reads, 0);
  bench.post(next, 1);
  t.ok(bench.scheduler.giveTurn(bench.unit, next));
  t.notOk(next.scheduled, 'it has no link');
  const shared = new Bench({ shared: true });
  t.notOk(shared.scheduler.giveTurn(shared.unit, shared.qps[0]), 'beside other functions');
  t.ok(shared.qps[0].scheduled, 'it waits in its list');
});

t.test('a turn begins with room in the kick list, a read and a buffer', async (t) => {
  const bench = new Bench({ busReads: 1 });
  const { fetcher } = bench.scheduler;
  const [one, two] = bench.qps;
  bench.hasRoom = false;
  t.notOk(fetcher.begin(bench.unit, one));
  t.same([bench.pool.freeCount, bench.unit.inbound.reads], [64, 0]);
  bench.hasRoom = true;
  t.ok(fetcher.begin(bench.unit, one));
  t.notOk(fetcher.begin(bench.unit, two), 'the bus takes no other read');
  t.same([bench.pool.freeCount, bench.unit.inbound.reads], [63, 1]);
});

/** Notes the sequence numbers of commands whose reads are issued. */
function noteReads(bench: Bench): number[] {
  const { inbound } = bench.unit;
  const numbers: number[] = [];
  const read: typeof inbound.read = (kind, qp, sequence, buffer) => {
    if (kind === Inbound.COMMAND) numbers.push(sequence);
    Object.getPrototypeOf(inbound).read.call(inbound, kind, qp, sequence, buffer);
  };
  Object.assign(inbound, { read });
  return numbers;
}

t.test('each command is read once, also when more are posted or copies arrive meanwhile', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  const numbers = noteReads(bench);
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching === 0);
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serve();
  t.same(numbers.splice(0), [0, 1, 2, 3, 4, 5]);
  t.same([...bench.vcbs], new Array(6).fill(-1), 'they came by no VCB');
});

t.test('a record that is read while commands are being read asks for those behind them', async (t) => {
  for (const [next, expected] of [
    [0, [0, 1, 2, 3, 4, 5, 6, 7]],
    [1, [0, 1, 2, 3, 4, 5, 6, 7]],
    [5, [0, 1, 2, 5, 6, 7]],
  ] as const) {
    const bench = new Bench();
    const [qp] = bench.qps;
    const numbers = noteReads(bench);
    bench.post(qp, 3);
    for (let times = 0; times < 2; times++) t.ok(bench.scheduler.fetcher.begin(bench.unit, qp));
    bench.scheduler.wake(bench.unit);
    bench.serveWhile(() => qp.fetching === 0);
    bench.post(qp, 5);
    qp.nextSequence = next;
    bench.serve();
    t.same(numbers, expected, `copies of commands before ${next} came meanwhile`);
  }
});

t.test('a copy that overtakes its read costs no further turn', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 2);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching < 2);
  qp.nextSequence = 2;
  bench.serve();
  t.match(bench.owner.counters, { queueTurns: 1, doorbellsIdle: 0 });
});

t.test('a queue that may not send any more is not scheduled for commands that it has lost', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 2);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching < 2);
  Object.assign(qp, { sendsAreTaken: false });
  bench.serve();
  t.same([bench.admitted, bench.owner.counters.queueTurns], [[], 1]);
});

t.test('the descriptor is written once for commands that were read together', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  let writes = 0;
  Object.assign(bench.unit.descriptors, { writePosition: () => writes++ });
  bench.post(qp, 3);
  bench.ring(qp);
  bench.serve();
  t.equal(writes, 1);
});

t.test('a queue that goes on at once is not linked again', async (t) => {
  const bench = new Bench({ quantum: 2 });
  const [qp] = bench.qps;
  let links = 0;
  bench.post(qp, 6);
  bench.ring(qp);
  bench.serveWhile(() => qp.fetching === 0);
  Object.assign(bench.unit.descriptors, { writeLink: () => links++ });
  bench.serve();
  t.same([bench.sequences(qp).length, links], [6, 0]);
});

t.test('a command is read by its header and its other bytes', async (t) => {
  const bench = new Bench();
  const [qp] = bench.qps;
  bench.post(qp, 1);
  bench.post(qp, 1, { collectLength: COMMAND_HEADER_BYTES + 16 });
  bench.ring(qp);
  bench.serve();
  t.same(bench.reads.slice(-3), [
    [0, COMMAND_HEADER_BYTES],
    [128, COMMAND_HEADER_BYTES],
    [128 + COMMAND_HEADER_BYTES, 16],
  ]);
});
