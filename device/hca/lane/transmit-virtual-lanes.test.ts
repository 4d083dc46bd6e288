// SPDX-License-Identifier: Apache-2.0
/**
 * Lanes without an adapter: map, kick lists, credits, arbitration (US 8,484,392 par. 41-47,
 * 114-117).
 */
import t from 'tap';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { TvlState } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { LaneLoad, laneMaskOf, SwitchedPort } from '../../rig/fixtures/lane-load.ts';
import { CreditSource } from '../collect/credit-hold.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { LaneSet } from './lane-set.ts';

/**
 * Launches and ends `count` commands while every queue pair keeps commands in its list. Returns the
 * launches by queue pair.
 */
function flood(load: LaneLoad, queuePairs: readonly QueuePair[], count: number): number[] {
  const launches = queuePairs.map(() => 0);
  for (let done = 0; done < count; done++) {
    for (const qp of queuePairs) while (qp.kicked < 4) load.post(qp);
    const buffer = load.launch();
    if (buffer === undefined) throw new Error('nothing can be launched');
    launches[queuePairs.indexOf(buffer.queuePair as QueuePair)]++;
    load.finish(buffer);
  }
  return launches;
}

t.test('a lane set returns its members in turn, across words', async (t) => {
  const set = new LaneSet();
  t.equal(set.after(5), -1);
  for (const lane of [0, 31, 32, 127]) set.add(lane);
  t.same(
    [-1, 0, 31, 32, 127].map((lane) => set.after(lane)),
    [0, 31, 32, 127, 0],
  );
  t.same([set.takeNext(), set.takeNext(), set.size], [0, 31, 4]);
  set.assign(laneMaskOf(64));
  t.equal(set.after(64), 64, 'the only member follows itself');
  t.notOk(set.has(-1));
});

t.test('the lane map has lanes for levels, functions and dedicated buffers', async (t) => {
  const load = new LaneLoad({ functionCount: 3 });
  const { lanes } = load;
  const { map } = lanes;
  for (let functionNumber = 0; functionNumber < 3; functionNumber++) {
    lanes.setOwned(functionNumber, laneMaskOf());
    for (const level of [0, 1]) lanes.setMap(functionNumber, level, laneMaskOf());
  }
  lanes.setOwned(0, laneMaskOf(0, 1, 2));
  lanes.setMap(0, 1, laneMaskOf(2));
  lanes.setOwned(1, laneMaskOf(3));
  t.equal(map.getLanes(0, 0).size, 3, 'a level without lanes uses those of the function');
  t.equal(map.getLanes(0, 1).size, 1);
  t.equal(map.getLanes(2, 0).size, 4, 'a function without lanes uses the shared ones');
  lanes.setDedicatedMap(laneMaskOf(7));
  t.equal(map.shared.size, 3);
  t.same(
    [0, 3, 5, 7, 8].map((lane) => map.getState(lane)),
    [TvlState.ALLOCATED, TvlState.ALLOCATED, TvlState.SHARED, TvlState.DEDICATED, TvlState.NONE],
  );
  const qp = load.addQueuePair(0, 1);
  load.post(qp);
  t.equal(qp.lane, 2);
  load.post(qp, true);
  t.equal(qp.lane, 2, 'a queue pair with a listed command stays on its lane');
  lanes.setMap(0, 1, laneMaskOf(1));
  load.post(qp);
  t.equal(lanes.lanes[2].length, 3, 'it also stays when the map changes');
  while (load.launch() !== undefined);
  load.post(qp);
  t.equal(qp.lane, 1);
  load.launch();
  load.post(qp, true);
  t.equal(qp.lane, 7);
  lanes.setOwned(2, laneMaskOf(4, 5, 6));
  t.equal(map.getOwner(5), 2);
});

t.test('a new map spreads queue pairs anew, also those whose lane is in it', async (t) => {
  const load = new LaneLoad();
  const [a, b] = [load.addQueuePair(), load.addQueuePair()];
  for (const qp of [a, b]) load.post(qp);
  t.same([a.lane, b.lane], [0, 1]);
  while (load.launch() !== undefined);
  load.lanes.setMap(0, 0, laneMaskOf(0, 1));
  const first = load.lanes.map.getLanes(0, 0).after(b.lane);
  for (const qp of [b, a]) load.post(qp);
  t.same([b.lane, a.lane], [first, 1 - first]);
});

t.test('queue pairs are spread evenly over their lanes', async (t) => {
  const load = new LaneLoad({ laneCount: 128 });
  for (let count = 0; count < 384; count++) load.post(load.addQueuePair());
  t.ok(load.lanes.lanes.every(({ length }) => length === 3));
});

t.test('several functions own equal parts of half the lanes at power-on', async (t) => {
  const { map } = new LaneLoad({ laneCount: 128, functionCount: 34 }).lanes;
  t.same([map.getOwned(0).size, map.getOwned(33).size, map.shared.size], [1, 1, 94]);
  const two = new LaneLoad({ laneCount: 128, functionCount: 2 }).lanes.map;
  t.same([two.getOwned(1).size, two.getLanes(1, 0).size, two.shared.size], [32, 16, 64]);
  const three = new LaneLoad({ laneCount: 128, functionCount: 3 }).lanes.map;
  t.same([three.getOwned(1).size, three.getLanes(1, 0).size, three.getLanes(1, 1).size], [20, 10, 10]);
  for (let lane = 20; lane < 40; lane++)
    t.ok(three.getLanes(1, 0).has(lane) || three.getLanes(1, 1).has(lane), `lane ${lane} is used`);
});

t.test('a lane takes private credits first, then shared ones if it may', async (t) => {
  const load = new LaneLoad({ laneCount: 2, executionCredits: 6 });
  const { lanes } = load;
  lanes.setLane(0, { executionCredits: 2, completionCredits: 8 });
  lanes.setLane(1, { executionCredits: 1, completionCredits: 8, sharedExecution: false });
  const [a, b] = [load.addQueuePair(), load.addQueuePair()];
  for (let count = 0; count < 6; count++) for (const qp of [a, b]) load.post(qp);
  const sources: Record<number, CreditSource[]> = { 0: [], 1: [] };
  for (let buffer = load.launch(); buffer !== undefined; buffer = load.launch())
    sources[buffer.hold.lane].push(buffer.hold.execution);
  const { PRIVATE, SHARED } = CreditSource;
  t.same(sources, { 0: [PRIVATE, PRIVATE, SHARED, SHARED, SHARED], 1: [PRIVATE] });
  t.equal(load.findFault(), undefined);
  for (const buffer of [...load.launched]) load.finish(buffer);
  t.same(
    [lanes.execution.used, lanes.completion.used],
    [0, 0],
    'each credit returns once, although it is released twice',
  );
});

t.test('launches follow the weights of lanes exactly', async (t) => {
  const load = new LaneLoad({ laneCount: 4 });
  const queuePairs = [1, 2, 5].map((weight, lane) => {
    load.lanes.setLane(lane, { weight });
    return load.addQueuePair();
  });
  t.same(flood(load, queuePairs, 8000), [1000, 2000, 5000]);
  load.lanes.setLane(0, { weight: 0 });
  t.equal(flood(load, queuePairs, 8000)[0], 1000, 'weight 0 counts as 1');
});

t.test('a full port stops only the lanes that need it', async (t) => {
  const port = new SwitchedPort();
  const load = new LaneLoad({ laneCount: 4, ports: [port] });
  const { lanes } = load;
  const [a, b] = [load.addQueuePair(), load.addQueuePair()];
  for (const qp of [a, b]) for (let count = 0; count < 3; count++) load.post(qp);
  port.congested = true;
  t.equal(lanes.peek()?.queuePair, a);
  lanes.block(0);
  for (let count = 0; count < 3; count++) t.equal(load.launch()?.queuePair, b);
  t.equal(lanes.peek(), undefined);
  t.equal(b.kicked, 0);
  lanes.reconsider(Object.assign(b, { lane: a.lane }));
  t.equal(lanes.peek(), undefined, 'a queue pair without commands changes nothing');
  lanes.reconsider(a);
  t.equal(lanes.peek()?.queuePair, a, 'it may no longer need the port');
  lanes.block(0);
  port.congested = false;
  t.equal(load.launch()?.queuePair, a);
});

t.test('a full kick list refuses commands and reports when it has room', async (t) => {
  const load = new LaneLoad({ laneCount: 1, listSize: 2 });
  const { lanes } = load;
  const woken: QueuePair[] = [];
  lanes.onRoom = (qp) => woken.push(qp);
  const [a, b, c] = [load.addQueuePair(), load.addQueuePair(), load.addQueuePair()];
  for (let count = 0; count < 2; count++) load.post(a);
  for (const qp of [b, b, c]) t.notOk(lanes.hasRoomForCollected(qp, qp.qosLevel));
  load.launch();
  t.same(woken, [b], 'room for one');
  load.launch();
  t.same(woken, [b, c], 'no queue pair is left waiting at an empty list');
  t.ok(lanes.hasRoom(b));
  for (let count = 0; count < 2; count++) load.post(a);
  t.notOk(lanes.hasRoom(b));
  b.destroyed = true;
  lanes.setLane(0, { listSize: 9 });
  t.equal(woken.length, 2, 'a destroyed queue pair is not woken');
});

t.test('an empty list wakes all queues that wait: no later launch would', async (t) => {
  const load = new LaneLoad({ laneCount: 1, listSize: 1 });
  const woken: QueuePair[] = [];
  load.lanes.onRoom = (qp) => woken.push(qp);
  const [a, b, c] = [load.addQueuePair(), load.addQueuePair(), load.addQueuePair()];
  load.post(a);
  for (const qp of [b, c]) t.notOk(load.lanes.hasRoom(qp));
  load.launch();
  t.same(woken, [b, c]);
});

t.test('the timeline shows each credit once, although it is released twice', async (t) => {
  const load = new LaneLoad();
  const qp = load.addQueuePair();
  load.post(qp);
  const buffer = load.launch() as PhysicalCollectBuffer;
  const steps: number[][] = [];
  load.lanes.timeline = { note: (...step: number[]) => steps.push(step) } as unknown as Timeline;
  const { lane } = buffer.hold;
  load.lanes.releaseCompletion(buffer.hold);
  t.same(steps.splice(0), [[Step.RELEASE_COMPLETION, 0, lane]]);
  load.lanes.releaseExecution(buffer.hold);
  t.same(steps.splice(0), [[Step.RELEASE_EXECUTION, 0, lane]]);
  load.lanes.releaseCompletion(buffer.hold);
  load.lanes.releaseExecution(buffer.hold);
  t.same(steps, []);
});

t.test('the level of its VCB decides the lane and the list of a collected command', async (t) => {
  const load = new LaneLoad({ laneCount: 2, listSize: 1 });
  const { lanes } = load;
  const woken: QueuePair[] = [];
  lanes.onRoom = (qp) => woken.push(qp);
  lanes.setMap(0, 0, laneMaskOf(0));
  lanes.setMap(0, 1, laneMaskOf(1));
  const [a, b] = [load.addQueuePair(0, 0), load.addQueuePair(0, 1)];
  const { counters } = load.owners[0];
  t.ok(lanes.hasRoom(b));
  load.post(a, false, 1);
  t.equal(a.lane, 1, 'a QP of level 0, a VCB of level 1');
  t.equal(counters.levelMismatches, 1);
  t.notOk(lanes.hasRoom(b), 'it is in the list of level 1');
  t.notOk(lanes.hasRoomForCollected(load.addQueuePair(0, 0), 1));
  t.ok(lanes.hasRoomForCollected(load.addQueuePair(0, 1), 0), 'the list of level 0 is empty');
  load.launch();
  t.same(woken, [b], 'its launch wakes the queue of level 1; a refused mismatch waits by its doorbell');
  load.post(a, true);
  t.equal(a.lane, 0, 'a fetched command has the level of its QP');
  t.equal(counters.levelMismatches, 1);
  load.post(b, false, 0);
  t.equal(b.lane, 0);
  t.equal(counters.levelMismatches, 2);
});

t.test('a kick list filled by one function or level neither refuses nor wakes queue pairs of another', async (t) => {
  const load = new LaneLoad({ laneCount: 1, functionCount: 2, listSize: 2 });
  const { lanes } = load;
  const woken: QueuePair[] = [];
  lanes.onRoom = (qp) => woken.push(qp);
  const [a, b, c] = [load.addQueuePair(0, 0), load.addQueuePair(1, 0), load.addQueuePair(1, 1)];
  for (let count = 0; count < 2; count++) load.post(a);
  t.notOk(lanes.hasRoomForCollected(a, a.qosLevel));
  for (const qp of [b, c])
    for (let count = 0; count < 2; count++) {
      t.ok(lanes.hasRoomForCollected(qp, qp.qosLevel));
      load.post(qp);
    }
  for (const qp of [b, c]) t.notOk(lanes.hasRoomForCollected(qp, qp.qosLevel));
  for (const expected of [[a], [a], [a, b], [a, b], [a, b, c]]) {
    load.launch();
    t.same(woken, expected, 'each is woken by launches of its own class');
  }
});

t.test('a lane that needs two shared credits does not starve beside lanes that need one', async (t) => {
  const load = new LaneLoad({ laneCount: 3, executionCredits: 5, completionCredits: 5 });
  const { lanes } = load;
  lanes.setLane(0, { executionCredits: 4, completionCredits: 0 });
  lanes.setLane(1, { executionCredits: 0, completionCredits: 4 });
  lanes.setLane(2, { executionCredits: 0, completionCredits: 0 });
  const queuePairs = [0, 1, 2].map(() => load.addQueuePair());
  const launches = [0, 0, 0];
  const inFlight: PhysicalCollectBuffer[] = [];
  for (let round = 0; round < 3000; round++) {
    for (const qp of queuePairs) while (qp.kicked < 4) load.post(qp);
    for (let buffer = load.launch(); buffer !== undefined; buffer = load.launch()) {
      launches[buffer.hold.lane]++;
      inFlight.push(buffer);
    }
    // Shared credits return one at a time, of alternating kinds, never both at once.
    const next = inFlight.find(({ hold }) => hold.lane === (round % 2 === 0 ? 0 : 1)) ?? inFlight[0];
    inFlight.splice(inFlight.indexOf(next), 1);
    load.finish(next);
  }
  t.ok(launches[2] > 100, `the third lane launched ${launches}`);
  t.equal(load.findFault(), undefined);
});

for (let seed = 1; seed <= 20; seed++)
  t.test(`credits are conserved, order is kept and no lane starves under random load, seed ${seed}`, async (t) => {
    const random = new Random(seed);
    const functionCount = random.between(1, 5);
    const laneCount = random.pick([1, 3, 32, 33, 128]);
    const ports = [new SwitchedPort(), new SwitchedPort()];
    const load = new LaneLoad({ laneCount, functionCount, executionCredits: 20, completionCredits: 30, ports });
    const { lanes } = load;
    const expected = new Map<QueuePair, number>();
    for (let count = random.between(2, 60); count > 0; count--)
      expected.set(load.addQueuePair(random.below(functionCount), random.below(2)), 0);
    const someMask = (): number[] => Array.from({ length: random.below(4) }, () => random.below(laneCount));
    for (let step = 0; step < 20_000; step++) {
      const qp = random.pick(load.queuePairs);
      if (random.oneIn(2) && lanes.hasRoomForCollected(qp, qp.qosLevel)) load.post(qp, random.oneIn(3));
      else if (random.oneIn(2)) {
        const buffer = lanes.peek();
        if (buffer !== undefined && random.oneIn(8)) {
          const port = random.below(2);
          if (ports[port].congested) lanes.block(port);
          continue;
        }
        const launched = load.launch();
        if (launched === undefined) continue;
        const from = launched.queuePair as QueuePair;
        const sequence = expected.get(from) as number;
        if (launched.view.getUint32(0) !== sequence) t.fail(`step ${step}: QP ${from.number} out of order`);
        expected.set(from, (sequence + 1) & SEND_COMMAND_SEQUENCE_MASK);
      } else if (load.launched.length > 0) {
        const buffer = random.pick(load.launched);
        const ending = random.below(4);
        if (ending === 0) lanes.releaseExecution(buffer.hold);
        else if (ending === 1) lanes.releaseCompletion(buffer.hold);
        else load.finish(buffer);
      }
      if (random.oneIn(20)) random.pick(ports).congested = random.oneIn(2);
      if (random.oneIn(50)) lanes.setOwned(random.below(functionCount), laneMaskOf(...someMask()));
      if (random.oneIn(50)) lanes.setMap(random.below(functionCount), random.below(2), laneMaskOf(...someMask()));
      if (random.oneIn(100)) lanes.setDedicatedMap(laneMaskOf(...someMask()));
      if (random.oneIn(20))
        lanes.setLane(random.below(laneCount), {
          executionCredits: random.below(4),
          completionCredits: random.below(4),
          sharedExecution: random.oneIn(2),
          sharedCompletion: random.oneIn(2),
          weight: random.between(1, 9),
          listSize: random.between(1, 20),
        });
      if (random.oneIn(2000)) {
        const owner = random.pick(load.owners) as UnderlyingFunction;
        lanes.drop(owner);
        for (const [dropped] of expected) if (dropped.owner === owner) expected.set(dropped, dropped.nextSequence);
      }
      const fault = load.findFault();
      if (fault !== undefined) return t.fail(`step ${step}: ${fault}`);
    }
    // With credits for all lanes, every listed command is launched.
    for (const port of ports) port.congested = false;
    for (const buffer of [...load.launched]) load.finish(buffer);
    for (let lane = 0; lane < laneCount; lane++)
      lanes.setLane(lane, { executionCredits: 0, completionCredits: 0, sharedExecution: true, sharedCompletion: true });
    for (let buffer = load.launch(); buffer !== undefined; buffer = load.launch()) load.finish(buffer);
    t.ok(
      lanes.lanes.every(({ length }) => length === 0),
      'every list is empty',
    );
    t.same([lanes.execution.used, lanes.completion.used], [0, 0]);
    t.ok(lanes.functionWaiting.every((count) => count === 0));
  });
