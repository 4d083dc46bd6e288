// SPDX-License-Identifier: Apache-2.0
/**
 * What happens to commands in kick lists when their function is reset, when their lane changes and
 * when a timeline is attached; and turns of packets of one port (US 8,484,392 par. 41-47, 114-117).
 */
import t from 'tap';
import { LaneLoad, laneMaskOf, SwitchedPort } from '../../rig/fixtures/lane-load.ts';
import { CreditSource } from '../collect/credit-hold.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import { Lane } from './lane.ts';
import { LaneOwners, OwnerTurns } from './owner-turns.ts';
import { PacketTurns } from './packet-turns.ts';

const QUANTUM_BYTES = 8192;

t.test('lanes are contended while commands of two functions wait or are in flight', async (t) => {
  const load = new LaneLoad({ functionCount: 3 });
  const { lanes } = load;
  const [a, b] = [load.addQueuePair(0), load.addQueuePair(2)];
  t.notOk(lanes.contended);
  load.post(a);
  t.notOk(lanes.contended, 'one function');
  load.post(b);
  t.ok(lanes.contended);
  const launched = [load.launch(), load.launch()];
  t.ok(lanes.contended, 'in flight');
  t.same([...lanes.functionLaunches], [1, 0, 1]);
  for (const buffer of launched) if (buffer?.queuePair === a) load.finish(buffer);
  t.notOk(lanes.contended);
});

t.test('a reset drops the commands of its function; others keep their order', async (t) => {
  const load = new LaneLoad({ laneCount: 1, functionCount: 2 });
  const { lanes, owners } = load;
  const [a, b] = [load.addQueuePair(0), load.addQueuePair(1)];
  const posted = [b, a, b, a, a, b].map((qp) => load.post(qp));
  t.same([a.kicked, b.kicked, a.inFlight, ...lanes.functionWaiting], [3, 3, 3, 3, 3]);
  lanes.drop(owners[0]);
  t.same([a.kicked, b.kicked, ...lanes.functionWaiting], [0, 3, 0, 3]);
  t.same(
    [0, 1, 2].map(() => load.launch()),
    [posted[0], posted[2], posted[5]],
  );
  t.equal(load.launch(), undefined);
  lanes.drop(owners[1]);
  t.equal(lanes.lanes[0].length, 0);
});

t.test('queue pairs of a function that was reset get lanes from the first one on', async (t) => {
  const load = new LaneLoad({ laneCount: 64, functionCount: 2 });
  const place = (owner: number): number => {
    const qp = load.addQueuePair(owner);
    load.post(qp);
    return qp.lane;
  };
  const [first, second, third] = [place(0), place(0), place(0)];
  const [other] = [place(1), place(1)];
  load.lanes.drop(load.owners[0]);
  t.same([place(0), place(0), place(0)], [first, second, third]);
  t.not(place(1), other, 'the turns of the other one go on');
});

t.test('queue pairs that found a list full are woken when it is longer, or when a command leaves', async (t) => {
  const load = new LaneLoad({ laneCount: 1, listSize: 2 });
  const { lanes } = load;
  const woken: number[] = [];
  lanes.onRoom = (qp) => woken.push(qp.number);
  const [first, second, third, gone] = [0, 1, 2, 3].map(() => load.addQueuePair());
  for (let count = 0; count < 2; count++) load.post(first);
  for (const qp of [second, gone, third]) {
    t.notOk(lanes.hasRoom(qp));
    t.notOk(lanes.hasRoom(qp), 'asked twice, it waits once');
    t.ok(qp.waitsForRoom);
  }
  t.equal(lanes.lanes[0].waiting, 3);
  gone.destroyed = true;
  lanes.setLane(0, { weight: 3 });
  t.same([woken, lanes.lanes[0].weight], [[], 3]);
  lanes.setLane(0, { listSize: 4 });
  t.same(woken, [1], 'as many as there is room for; one of them was destroyed');
  t.same([second.waitsForRoom, third.waitsForRoom, lanes.lanes[0].waiting], [false, true, 1]);
  load.launch();
  t.same(woken, [1, 2]);
  t.equal(lanes.lanes[0].waiting, 0);
  t.ok(lanes.hasRoom(third));
});

t.test('a command of another level than its queue pair waits for no room', async (t) => {
  const load = new LaneLoad({ laneCount: 1, listSize: 1 });
  const { lanes } = load;
  const [qp, other] = [load.addQueuePair(), load.addQueuePair()];
  load.post(qp, false, 1);
  t.notOk(lanes.hasRoomForCollected(other, 1));
  t.notOk(other.waitsForRoom, 'its doorbell does');
  t.ok(lanes.hasRoomForCollected(other, 0), 'each level has its own list');
});

t.test('a queue pair stays on its lane while a command of it is in the pipeline', async (t) => {
  const load = new LaneLoad();
  const { lanes } = load;
  lanes.setMap(0, 0, laneMaskOf(2));
  const qp = load.addQueuePair();
  t.equal(lanes.placeAnswer(qp), 2);
  qp.staged = 1;
  lanes.setMap(0, 0, laneMaskOf(5));
  t.equal(lanes.placeAnswer(qp), 2);
  qp.staged = 0;
  t.equal(lanes.placeAnswer(qp), 5);
  lanes.setMap(0, 0, laneMaskOf(5, 6));
  const places = [0, 1].map(() => lanes.placeAnswer(load.addQueuePair())).sort();
  t.same(places, [5, 6]);
  t.same([lanes.placeAnswer(qp), lanes.placeAnswer(qp)].length, 2);
});

t.test('a timeline has launches, and each credit once when it returns', async (t) => {
  const load = new LaneLoad();
  const { lanes } = load;
  const steps: number[][] = [];
  lanes.timeline = { note: (...step: number[]) => steps.push(step) } as unknown as Timeline;
  const qp = load.addQueuePair();
  load.post(qp);
  const buffer = load.launch();
  if (buffer === undefined) throw new Error('nothing was launched');
  t.same(
    steps.map(([step]) => step),
    [Step.LAUNCH, Step.COMMAND],
  );
  t.same(steps[0].slice(1, 3), [0, qp.number]);
  t.equal(steps[0][4], buffer.hold.lane);
  steps.length = 0;
  load.finish(buffer);
  t.same(
    steps.map(([step, , lane]) => [step, lane]),
    [
      [Step.RELEASE_EXECUTION, buffer.hold.lane],
      [Step.RELEASE_COMPLETION, buffer.hold.lane],
    ],
  );
  t.same([buffer.hold.execution, buffer.hold.completion], [CreditSource.NONE, CreditSource.NONE]);
});

t.test('owners of lanes follow the map, and weights are at least 1', async (t) => {
  const { lanes } = new LaneLoad({ laneCount: 4, functionCount: 2 });
  for (const number of [0, 1]) lanes.setOwned(number, laneMaskOf());
  t.ok(lanes.owners.single);
  lanes.setOwned(0, laneMaskOf(1));
  t.notOk(lanes.owners.single);
  t.equal(lanes.owners.owners[1], 0);
  lanes.setLane(2, { weight: 0 });
  t.equal(lanes.lanes[2].weight, 1);
  lanes.setLane(1, { weight: 6 });
  t.equal(lanes.owners.weights[0], 2, 'six to three lanes without owner');
});

/** Turns of queue pairs, named by letters, at ports with lanes of these weights. */
function makePackets(weights: readonly number[], portCount = 1, owners: readonly number[] = []) {
  const lanes = weights.map((weight, number) => Object.assign(new Lane(number, 8), { weight }));
  const groups = new LaneOwners();
  groups.recompute(lanes, (lane) => owners[lane] ?? -1);
  const ports = Array.from({ length: portCount }, () => new SwitchedPort());
  return { ports, turns: new PacketTurns<string>(ports, lanes, new OwnerTurns(groups)) };
}

t.test('a turn lasts as long as the deficit of its lane; the rest is kept while its owner is served', async (t) => {
  const { turns } = makePackets([1, 2]);
  for (const [lane, name] of [
    [0, 'a'],
    [1, 'b'],
  ] as const)
    turns.push(0, lane, name);
  t.equal(turns.waiting, 2);
  const first = turns.shift();
  const weight = first === 'a' ? 1 : 2;
  t.equal(turns.allowance, weight * QUANTUM_BYTES);
  turns.charge(1000);
  t.equal(turns.allowance, weight * QUANTUM_BYTES - 1000);
  turns.push(0, weight - 1, `${first}`);
  t.equal(turns.shift(), first, 'its turn goes on');
  t.equal(turns.allowance, weight * QUANTUM_BYTES - 1000);
  turns.charge(3 * QUANTUM_BYTES);
  turns.push(0, weight - 1, `${first}`);
  t.equal(turns.shift(), first === 'a' ? 'b' : 'a', 'the deficit is used up');
});

t.test('a lane that runs empty outside its turn saves up nothing; a debt stays', async (t) => {
  const { turns } = makePackets([1, 1]);
  turns.push(0, 0, 'a');
  turns.push(0, 1, 'b');
  const first = turns.shift();
  turns.charge(QUANTUM_BYTES);
  const second = turns.shift();
  t.same([first, second].sort(), ['a', 'b']);
  turns.charge(100);
  const laneOf = (name: string | undefined) => (name === 'a' ? 0 : 1);
  turns.push(0, laneOf(first), `${first}`);
  turns.push(0, laneOf(second), `${second}`);
  t.equal(turns.shift(), second, 'the lane in its turn keeps its deficit');
  t.equal(turns.allowance, QUANTUM_BYTES - 100);
  turns.charge(3 * QUANTUM_BYTES);
  t.equal(turns.shift(), first);
  turns.charge(QUANTUM_BYTES);
  turns.push(0, laneOf(second), `${second}`);
  t.equal(turns.shift(), second, 'alone it is served, whatever its debt');
  t.ok(turns.allowance > 0 && turns.allowance <= QUANTUM_BYTES);
});

t.test('ports take turns; a full one costs no queue pair its turn', async (t) => {
  const { ports, turns } = makePackets([1], 3);
  for (const [port, name] of ['a', 'b', 'c'].entries()) turns.push(port, 0, name);
  ports[1].congested = true;
  t.equal(turns.waiting, 2);
  t.same([turns.shift(), turns.shift(), turns.shift()].sort(), ['a', 'c', undefined].sort());
  t.equal(turns.waiting, 0);
  ports[1].congested = false;
  t.same([turns.waiting, turns.shift(), turns.shift()], [1, 'b', undefined]);
});

t.test('queue pairs of a lane are served in order', async (t) => {
  const { turns } = makePackets([1, 1], 1, [0, 1]);
  for (const name of ['a', 'b', 'c']) turns.push(0, 1, name);
  t.same([turns.shift(), turns.shift(), turns.shift(), turns.shift()], ['a', 'b', 'c', undefined]);
});
