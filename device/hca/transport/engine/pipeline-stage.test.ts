// SPDX-License-Identifier: Apache-2.0
/**
 * The pipeline stage alone: the time of each command, turns of lanes, drop of one function, and a
 * random load with an oracle (US 8,484,392 par. 39-42).
 */
import t from 'tap';
import { Random } from '../../../random.ts';
import { SimulatedClock } from '../../../rig/machine/simulated-clock.ts';
import { type KickedCollectBuffer, PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { DmaTiming, type DmaTimingOptions } from '../../function/dma-timing.ts';
import type { UnderlyingFunction } from '../../function/underlying-function.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { PipelineStage } from './pipeline-stage.ts';

const FUNCTIONS = 2;
const any = (): boolean => true;

/** A stage, its clock, and commands without an adapter around them. */
class Bench {
  readonly clock = new SimulatedClock();
  readonly timing: DmaTiming;
  readonly stage: PipelineStage;
  readonly owners = Array.from({ length: FUNCTIONS }, (_, number) => ({ number }) as UnderlyingFunction);

  constructor(options: DmaTimingOptions) {
    this.timing = new DmaTiming(this.clock, options);
    this.stage = new PipelineStage(this.timing, FUNCTIONS);
  }

  enter(lane: number, reads: number, functionNumber = 0): KickedCollectBuffer {
    const command: PhysicalCollectBuffer = new PhysicalCollectBuffer(0);
    command.kick({ owner: this.owners[functionNumber], staged: 0 } as QueuePair);
    command.hold.lane = lane;
    command.hold.functionNumber = functionNumber;
    this.stage.enter(command, reads);
    return command;
  }

  /** Lets time pass; returns the commands that leave. */
  pass(timeNs: number, mayLeave: (command: KickedCollectBuffer) => boolean = any): KickedCollectBuffer[] {
    this.clock.advance(timeNs);
    this.stage.land();
    const left: KickedCollectBuffer[] = [];
    for (let one = this.stage.take(mayLeave); one !== undefined; one = this.stage.take(mayLeave)) left.push(one);
    return left;
  }
}

t.test('the next time is that of a read, or of the pipeline; a command that waits for its port has none', async (t) => {
  const bench = new Bench({ dmaLatencyNs: 100, pipelineNs: 30, dmaContexts: 1 });
  const { stage } = bench;
  t.equal(stage.nextNs, Number.POSITIVE_INFINITY);
  const quick = bench.enter(0, 0);
  t.equal(stage.nextNs, 30);
  const slow = bench.enter(1, 2);
  t.equal(stage.nextNs, 30);
  t.same(bench.pass(29), []);
  t.same(
    bench.pass(1, () => false),
    [],
    'it may not leave',
  );
  t.equal(stage.nextNs, 100, 'the read');
  t.same(bench.pass(0), [quick]);
  t.same(bench.pass(70), []);
  t.equal(stage.nextNs, 200, 'the second read began when the first was complete');
  t.same(bench.pass(100), [slow]);
  t.equal(stage.nextNs, Number.POSITIVE_INFINITY);
  t.equal(slow.queuePair?.staged, 0);
});

t.test('lanes take turns to leave', async (t) => {
  const bench = new Bench({ dmaLatencyNs: 100 });
  const commands = [0, 0, 5, 5].map((lane) => bench.enter(lane, 1));
  t.same(bench.pass(100), [commands[0], commands[2], commands[1], commands[3]]);
  const [first, second] = [bench.enter(0, 1), bench.enter(5, 1)];
  t.same(bench.pass(100), [first, second], 'after lane 5');
  const blocked = bench.enter(0, 1);
  const free = bench.enter(5, 1);
  t.same(
    bench.pass(100, ({ hold }) => hold.lane === 5),
    [free],
    'a lane that waits for its port stops no other',
  );
  t.same(bench.pass(0), [blocked]);
});

t.test('lanes take turns for contexts', async (t) => {
  const bench = new Bench({ dmaLatencyNs: 100, dmaContexts: 1 });
  const long = bench.enter(0, 3);
  const short = bench.enter(2, 1);
  t.same(bench.pass(100), []);
  t.same(bench.pass(100), [short]);
  t.same(bench.pass(100), []);
  t.same(bench.pass(100), [long]);
});

t.test('a PCB that is dropped and used again waits for its own reads', async (t) => {
  const bench = new Bench({ dmaLatencyNs: 100 });
  const command = bench.enter(0, 1);
  bench.clock.advance(60);
  bench.stage.drop(bench.owners[0], () => {});
  bench.stage.enter(command, 1);
  t.same(bench.pass(40), [], 'the read of the dropped command arrives');
  t.same(bench.pass(59), []);
  t.same(bench.pass(1), [command]);
});

t.test('a function that is reset loses its commands on every lane; others keep order and reads', async (t) => {
  const bench = new Bench({ dmaLatencyNs: 100, dmaContexts: 2 });
  const { stage } = bench;
  const plan: [lane: number, functionNumber: number][] = [
    [0, 1],
    [0, 0],
    [0, 1],
    [0, 0],
    [3, 1],
    [3, 1],
    [4, 0],
  ];
  const commands = plan.map(([lane, functionNumber]) => bench.enter(lane, 2, functionNumber));
  const dropped: PhysicalCollectBuffer[] = [];
  stage.drop(bench.owners[1], (command) => dropped.push(command));
  t.same(dropped, [commands[0], commands[2], commands[4], commands[5]]);
  t.same([...stage.functionCounts], [3, 0]);
  t.equal(stage.contextsUsed, 2, 'contexts return with the completions');
  const left: KickedCollectBuffer[] = [];
  for (let turn = 0; turn < 6; turn++) left.push(...bench.pass(100));
  t.same(
    left.map((command) => commands.indexOf(command)).filter((index) => index < 6),
    [1, 3],
  );
  t.ok(left.includes(commands[6]));
  t.equal(stage.reads, 2 + 6, 'reads of dropped commands that were not issued are not');
  t.notOk(stage.busy);
  stage.drop(bench.owners[1], () => t.fail('nothing is left'));
});

t.test('no more contexts than are allowed now', async (t) => {
  const bench = new Bench({ dmaLatencyNs: 100, dmaContexts: 4 });
  for (let lane = 0; lane < 8; lane++) bench.enter(lane, 1);
  t.equal(bench.stage.contextsUsed, 4);
  bench.timing.contexts = 2;
  t.equal(bench.pass(100).length, 4);
  t.equal(bench.stage.contextsUsed, 2);
  bench.timing.reset();
  t.equal(bench.pass(100).length, 2);
  t.equal(bench.stage.contextsUsed, 2, 'the last two');
});

for (const seed of [1, 2, 3, 4])
  t.test(`random load, seed ${seed}`, async (t) => {
    const random = new Random(seed);
    const latencyNs = 100;
    const contexts = random.between(1, 5);
    const bench = new Bench({ dmaLatencyNs: latencyNs, pipelineNs: 40, dmaContexts: contexts });
    const { stage, clock } = bench;
    /** By lane: commands in order, with reads and time of entry. */
    const lanes = Array.from({ length: 6 }, () => [] as [PhysicalCollectBuffer, number, number][]);
    const leave = (command: PhysicalCollectBuffer): void => {
      const [head, reads, entered] = lanes[command.hold.lane].shift() ?? [];
      if (head !== command) throw new Error(`seed ${seed}: a command overtakes one of its lane`);
      const leastNs = Math.max(40, Math.ceil((reads ?? 0) / contexts) * latencyNs);
      if (clock.now() - (entered ?? 0) < leastNs) throw new Error(`seed ${seed}: too early`);
    };
    for (let step = 0; step < 4000; step++) {
      const [lane, reads] = [random.below(6), random.below(4)];
      if (random.oneIn(3)) lanes[lane].push([bench.enter(lane, reads, random.below(2)), reads, clock.now()]);
      if (random.oneIn(400)) {
        const owner = bench.owners[random.below(2)];
        const gone = new Set<PhysicalCollectBuffer>();
        stage.drop(owner, (command) => gone.add(command));
        for (const queue of lanes)
          queue.splice(0, queue.length, ...queue.filter(([{ queuePair }]) => queuePair?.owner !== owner));
        t.ok([...gone].every(({ queuePair }) => queuePair?.owner === owner));
      }
      for (const command of bench.pass(random.below(60), () => !random.oneIn(4))) leave(command);
      const count = lanes.reduce((sum, { length }) => sum + length, 0);
      if (stage.count !== count || stage.functionCounts[0] + stage.functionCounts[1] !== count)
        throw new Error(`seed ${seed}, step ${step}: ${stage.count} commands, not ${count}`);
      if (stage.contextsUsed > contexts) throw new Error(`seed ${seed}: ${stage.contextsUsed} contexts`);
    }
    while (clock.now() < 1e9 && stage.busy) {
      const { nextNs } = stage;
      if (nextNs === Number.POSITIVE_INFINITY) break;
      for (const command of bench.pass(Math.max(0, nextNs - clock.now()))) leave(command);
    }
    t.notOk(stage.busy, 'its next times lead to the end');
  });
