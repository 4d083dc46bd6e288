// SPDX-License-Identifier: Apache-2.0
/**
 * The kick arbitrator and the credits alone (US 8,484,392 par. 42-47; docs/DOCUMENTS.md decision
 * 13): the order of lanes, full ports, and the claim of a lane that needs two shared credits.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { LaneLoad } from '../../rig/fixtures/lane-load.ts';
import { CreditSource } from '../collect/credit-hold.ts';
import { CreditAccounts } from './credit-accounts.ts';
import { KickArbitrator } from './kick-arbitrator.ts';
import { Lane } from './lane.ts';
import { LaneOwners, OwnerTurns } from './owner-turns.ts';

/** Private execution and completion credits of a lane, and whether it may take shared ones. */
type Credits = readonly [number, number, boolean, boolean];

/** Lane 0 has no private credit; 1 needs a shared one for execution, 2 for completion. */
const SHARERS: readonly Credits[] = [
  [0, 0, true, true],
  [0, 9, true, false],
  [9, 0, false, true],
];

interface Options {
  readonly weights: readonly number[];
  /** Owner of each lane; without it none has one. */
  readonly owners?: readonly number[];
  readonly ports?: number;
  /** By lane; without it each has plenty. */
  readonly credits?: readonly Credits[];
  readonly shared?: number;
}

/** An arbitrator whose lanes all have work. */
class Fixture {
  readonly execution: CreditAccounts;
  readonly completion: CreditAccounts;
  readonly arbitrator: KickArbitrator;
  readonly ports: { congested: boolean }[];

  constructor({ weights, owners, ports = 1, credits, shared = 0 }: Options) {
    const lanes = weights.map((weight, number) => Object.assign(new Lane(number, 8), { weight }));
    const each: readonly Credits[] = credits ?? lanes.map(() => [100, 100, false, false] as const);
    const total = (kind: 0 | 1): number => each.reduce((sum, one) => sum + one[kind], shared);
    this.execution = new CreditAccounts(total(0), 1);
    this.completion = new CreditAccounts(total(1), 1);
    each.forEach(([execution, completion, sharesExecution, sharesCompletion], lane) => {
      this.execution.set(lane, execution, sharesExecution);
      this.completion.set(lane, completion, sharesCompletion);
    });
    const groups = new LaneOwners();
    groups.recompute(lanes, (lane) => owners?.[lane] ?? -1);
    this.ports = Array.from({ length: ports }, () => ({ congested: false }));
    this.arbitrator = new KickArbitrator(lanes, this.execution, this.completion, this.ports, new OwnerTurns(groups));
    for (const { number } of lanes) this.arbitrator.addWork(number);
  }

  /** Launches `count` commands, which end at once; returns their lanes. */
  launch(count: number): number[] {
    return Array.from({ length: count }, () => {
      const lane = this.arbitrator.select();
      const end = this.begin(lane);
      end();
      return lane;
    });
  }

  /** Launches from `lane`; the result ends the command. */
  begin(lane: number): () => void {
    const [execution, completion] = [this.execution.take(lane, 0), this.completion.take(lane, 0)];
    this.arbitrator.noteLaunch(lane);
    return () => {
      this.execution.give(lane, 0, execution);
      this.completion.give(lane, 0, completion);
    };
  }
}

t.test('a turn is as many launches as the weight of its lane', async (t) => {
  const fixture = new Fixture({ weights: [2, 1, 3] });
  t.same(fixture.launch(12), [0, 0, 1, 2, 2, 2, 0, 0, 1, 2, 2, 2]);
});

t.test('a lane that runs empty gives up the rest of its turn', async (t) => {
  const fixture = new Fixture({ weights: [3, 2] });
  t.same(fixture.launch(1), [0]);
  fixture.arbitrator.removeWork(0);
  t.same(fixture.launch(1), [1]);
  fixture.arbitrator.addWork(0);
  t.same(fixture.launch(6), [1, 0, 0, 0, 1, 1]);
});

t.test('a lane alone has one turn after the other, and goes on with the rest when another has work', async (t) => {
  const fixture = new Fixture({ weights: [3, 2] });
  fixture.arbitrator.removeWork(1);
  t.same(fixture.launch(4), [0, 0, 0, 0]);
  fixture.arbitrator.addWork(1);
  t.same(fixture.launch(5), [0, 0, 1, 1, 0]);
});

t.test('a lone lane has the turns that it has beside a lane that can never launch', async (t) => {
  for (let seed = 0; seed < 40; seed++) {
    const random = new Random(seed);
    const credits: Credits[] = [
      [3, 2, false, false],
      [2, 3, false, false],
    ];
    const lone = new Fixture({ weights: [3, 2], credits });
    const watched = new Fixture({ weights: [3, 2, 1], credits: [...credits, [0, 0, false, false]] });
    const both = [lone, watched];
    const working = [true, true];
    const ends: (() => void)[] = [];
    for (let step = 0; step < 300; step++) {
      const lane = random.below(2);
      if (random.below(10) < 3) {
        for (const { arbitrator } of both) {
          if (working[lane]) arbitrator.removeWork(lane);
          else arbitrator.addWork(lane);
        }
        working[lane] = !working[lane];
      }
      if (random.below(10) < 4) ends.shift()?.();
      const [chosen, expected] = both.map(({ arbitrator }) => arbitrator.select());
      if (chosen !== expected) return t.equal(chosen, expected, `seed ${seed}, step ${step}`);
      if (chosen < 0) continue;
      const ended = both.map((fixture) => fixture.begin(chosen));
      ends.push(() => {
        for (const end of ended) end();
      });
    }
  }
  t.pass();
});

t.test('each owner continues its own turn behind the turns of others', async (t) => {
  const fixture = new Fixture({ weights: [2, 2, 4], owners: [0, 0, 1] });
  const lanes = fixture.launch(16);
  t.same(
    lanes.filter((lane) => lane !== 2),
    [0, 0, 1, 1, 0, 0, 1, 1],
  );
  t.same(fixture.launch(2).sort(), [0, 2], 'owners of equal weight alternate');
});

t.test('without work there is no lane, for one owner and for several', async (t) => {
  for (const owners of [
    [-1, -1],
    [0, 1],
  ] as const) {
    const fixture = new Fixture({ weights: [1, 1], owners });
    for (const lane of [0, 1]) fixture.arbitrator.removeWork(lane);
    t.equal(fixture.arbitrator.select(), -1);
    fixture.arbitrator.addWork(1);
    t.equal(fixture.arbitrator.select(), 1);
  }
});

t.test('a lane waits for its full port only', async (t) => {
  const fixture = new Fixture({ weights: [1, 1, 1], ports: 2 });
  const { arbitrator, ports } = fixture;
  arbitrator.block(0, 1);
  arbitrator.block(1, 0);
  ports[1].congested = true;
  t.same(fixture.launch(4), [1, 2, 1, 2], 'lane 0 waits; the port of lane 1 has room');
  ports[0].congested = true;
  t.same(fixture.launch(2), [2, 2]);
  arbitrator.reconsider(0);
  // Lanes that a full port held back for two rounds have a launch in addition.
  t.same([...new Set(fixture.launch(6))].sort(), [0, 2], 'the first command of lane 0 has changed, that of 1 has not');
  arbitrator.reconsider(1);
  t.same([...new Set(fixture.launch(6))].sort(), [0, 1, 2]);
});

/**
 * Lane 0 has no private credit; 1 needs a shared one for execution, 2 for completion. There is one
 * of each kind, and at every choice one of them is taken: lane 0 has been passed over twice.
 */
function passOver(): { fixture: Fixture; endOne: () => void; endTwo: () => void } {
  const fixture = new Fixture({
    weights: [1, 1, 1],
    shared: 1,
    credits: SHARERS,
  });
  const endFirst = fixture.begin(1);
  t.equal(fixture.arbitrator.select(), 2);
  const endTwo = fixture.begin(2);
  t.equal(fixture.arbitrator.select(), -1);
  endFirst();
  t.equal(fixture.arbitrator.select(), 1);
  return { fixture, endOne: fixture.begin(1), endTwo };
}

t.test('shared credits are kept for a lane that two rounds passed over', async (t) => {
  const { fixture, endOne, endTwo } = passOver();
  const { arbitrator } = fixture;
  t.equal(arbitrator.select(), -1);
  endTwo();
  t.equal(arbitrator.select(), -1, 'the completion credit is kept for lane 0');
  endOne();
  t.equal(arbitrator.select(), 0);
  fixture.begin(0)();
  t.not(arbitrator.select(), 0, 'the claim is served once');
});

t.test('a lane whose list was empty while another one launched alone has not been passed over', async (t) => {
  const fixture = new Fixture({
    weights: [1, 1, 1],
    shared: 1,
    credits: SHARERS,
  });
  const { arbitrator } = fixture;
  t.equal(arbitrator.select(), 0);
  const ends = [fixture.begin(1)];
  t.equal(arbitrator.select(), 2, 'lane 0 lacks a credit, and is passed over');
  ends.push(fixture.begin(2));
  for (const end of ends) end();
  for (const lane of [0, 2]) arbitrator.removeWork(lane);
  t.equal(arbitrator.select(), 1);
  fixture.begin(1);
  for (const lane of [0, 2]) arbitrator.addWork(lane);
  t.equal(arbitrator.select(), 2);
  fixture.begin(2)();
  t.equal(arbitrator.select(), 2, 'no credit is kept for lane 0');
});

t.test('a claim lasts until it is served, whatever other lanes launch', async (t) => {
  const fixture = new Fixture({
    weights: [1, 1, 1, 1, 1],
    shared: 1,
    credits: [...SHARERS, [0, 0, true, true], [9, 9, false, false]],
  });
  const { arbitrator } = fixture;
  arbitrator.removeWork(4);
  const endOne = fixture.begin(1);
  t.equal(arbitrator.select(), 2);
  const endTwo = fixture.begin(2);
  arbitrator.addWork(4);
  t.equal(arbitrator.select(), 4, 'the lanes 0 and 3 have been passed over twice');
  fixture.begin(4)();
  arbitrator.removeWork(4);
  endOne();
  endTwo();
  t.equal(arbitrator.select(), 3, 'the first of them behind lane 2 has the claim');
});

t.test('an execution credit is kept only beside the completion credit, which takes longest', async (t) => {
  const { fixture, endOne } = passOver();
  endOne();
  t.equal(fixture.arbitrator.select(), 1, 'lane 2 holds the completion credit, so lane 1 may run');
});

t.test('a claim is served beside the turn of its owner', async (t) => {
  const { fixture, endOne, endTwo } = passOver();
  endTwo();
  endOne();
  t.equal(fixture.arbitrator.select(), 0);
  fixture.begin(0)();
  t.same(fixture.launch(3), [2, 0, 1], 'the turns go on behind lane 1');
});

t.test('a lane that cannot use its claim gives it up', async (t) => {
  for (const [what, give] of [
    ['its list is empty', ({ arbitrator }: Fixture) => arbitrator.removeWork(0)],
    ['it may not share execution credits', ({ execution }: Fixture) => execution.set(0, 0, false)],
    ['it may not share completion credits', ({ completion }: Fixture) => completion.set(0, 0, false)],
    [
      'its port is full',
      ({ arbitrator, ports }: Fixture) => {
        arbitrator.block(0, 0);
        ports[0].congested = true;
      },
    ],
  ] as const) {
    const { fixture, endTwo } = passOver();
    give(fixture);
    endTwo();
    t.equal(fixture.arbitrator.select(), 2, what);
  }
  const { fixture, endTwo } = passOver();
  fixture.arbitrator.block(0, 0);
  endTwo();
  t.equal(fixture.arbitrator.select(), -1, 'a port with room is no reason');
  fixture.arbitrator.block(1, 0);
  fixture.arbitrator.reconsider(0);
  fixture.ports[0].congested = true;
  t.equal(fixture.arbitrator.select(), -1, 'nor is the port of another lane');
});

t.test('hazard 19: credits that lanes hold beyond their number count until they return', async (t) => {
  const credits = new CreditAccounts(4, 1);
  credits.set(0, 3, false);
  credits.set(1, 0, true);
  for (let count = 0; count < 3; count++) t.equal(credits.take(0, 0), CreditSource.PRIVATE);
  t.notOk(credits.has(0) || credits.couldHave(0));
  credits.set(0, 3, false);
  t.notOk(credits.couldHave(0), 'setting the same number frees none');
  credits.set(0, 1, false);
  t.same([credits.shared, credits.sharedFree], [3, 1], 'three are private to none, two of them are still held');
  t.equal(credits.take(1, 0), CreditSource.SHARED);
  credits.set(2, 2, false);
  t.ok(credits.couldHave(2));
  t.notOk(credits.has(2), 'all four are held');
  credits.give(0, 0, CreditSource.PRIVATE);
  t.ok(credits.has(2));
  t.same([credits.used, credits.functions[0].used, credits.functions[0].sharedUsed, credits.sharedUsed], [3, 3, 1, 1]);
});

t.test('each lane has a private credit at power-on where there are more credits than lanes', async (t) => {
  for (const [executionCredits, wanted] of [
    [8, 0],
    [9, 1],
    [15, 1],
    [32, 2],
  ]) {
    const { execution } = new LaneLoad({ laneCount: 8, executionCredits }).lanes;
    t.equal(execution.lanes[7].private, wanted, `${executionCredits} credits`);
  }
});

t.test('answers take the lane of the commands of their QP; a discarded command holds no credit', async (t) => {
  const load = new LaneLoad();
  const { lanes } = load;
  for (const lane of [3, 5]) {
    const words = [1 << lane];
    if (lane === 3) lanes.setMap(0, 0, words);
    else lanes.setDedicatedMap(words);
  }
  const qp = load.addQueuePair();
  t.equal(lanes.placeAnswer(qp), 3, 'the dedicated lane is for fetched commands only');
  const buffer = load.post(qp);
  t.equal(lanes.peek(), buffer);
  t.equal(lanes.discard(), buffer);
  t.same([lanes.peek(), lanes.execution.used, lanes.functionWaiting[0], qp.kicked], [undefined, 0, 0, 0]);
});
