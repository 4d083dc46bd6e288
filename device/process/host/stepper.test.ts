// SPDX-License-Identifier: Apache-2.0
/**
 * A process that makes steps: what it does while it stands still, in a step, in a run to a
 * condition and in a run without end; its time; and a real one with a client of its socket.
 */
import t from 'tap';
import { CSR, CSR_DEVICE_CONTROL_ENABLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { CONFIG_REGION } from '../../../protocol/vfio-user/client/client.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { AttachedProcess } from '../../rig/live/attached-process.ts';
import { Stepper } from './stepper.ts';
import { WallClock } from './wall-clock.ts';

const BUDGET = 256;
const FAR_NS = 5e9;
const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;

/** A fabric with a number of units of work, and a clock that the test moves. */
class Stage {
  /** Time of the machine. */
  nowNs = 1000;
  work = 0;
  stores = 0;
  readonly budgets: number[] = [];
  readonly clock = new WallClock(() => this.nowNs);
  readonly stepper = new Stepper({
    clock: this.clock,
    run: (budget) => {
      this.budgets.push(budget);
      this.work = Math.max(0, this.work - budget);
      return this.work > 0;
    },
    countStores: () => this.stores,
  });

  /** A guest stores something, which makes work. */
  store(work: number): void {
    this.stores++;
    this.work += work;
  }
}

t.test('it stands still: no work is done, and no time passes', async (t) => {
  const stage = new Stage();
  const { clock, stepper } = stage;
  stage.store(5);
  clock.setAlarm(10);
  stage.nowNs += FAR_NS;
  t.notOk(stepper.pass(BUDGET), 'the pump has nothing to wait for');
  t.equal(clock.nextAlarmNs, Number.POSITIVE_INFINITY);
  t.equal(clock.now(), 0);
  t.same(stage.budgets, []);
  t.same(stepper.report, { going: 'still', steps: 0, reached: false });
});

t.test('steps do a unit of work each, and take no time while there is work', async (t) => {
  const stage = new Stage();
  const { clock, stepper } = stage;
  clock.setAlarm(7000);
  stage.store(4);
  stepper.step(3);
  t.same(stage.budgets, [1, 1, 1]);
  t.equal(stage.work, 1);
  stage.nowNs += FAR_NS;
  stepper.step(1);
  t.equal(clock.now(), 0);
  stage.store(1);
  stepper.step(1);
  t.equal(clock.now(), 0, 'what a guest has stored comes before any alarm');
  t.equal(stage.work, 0);
  stepper.step(1);
  t.equal(clock.now(), 7000, 'without work it is the time of the next alarm');
  stepper.step(1);
  t.equal(clock.now(), 7000, 'there is no other alarm');
  t.same(stepper.report, { going: 'still', steps: 7, reached: false });
});

t.test('a run to a condition ends with the step by which it holds', async (t) => {
  const stage = new Stage();
  const { clock, stepper } = stage;
  stage.store(1000);
  stepper.seek('work is 800', () => stage.work === 800);
  t.match(stepper.report, { going: 'seeks', condition: 'work is 800', reached: false });
  let passes = 0;
  while (stepper.pass(BUDGET)) {
    passes++;
    stage.nowNs += 10;
    t.ok(stage.work > 800, 'accesses of guests come in between');
  }
  t.ok(passes >= 2);
  t.equal(stage.work, 800);
  t.same(stepper.report, { going: 'still', steps: 200, condition: 'work is 800', reached: true });
  const reachedNs = clock.now();
  t.equal(reachedNs, passes * 10, 'its time has passed as that of the machine');
  stage.nowNs += FAR_NS;
  t.equal(clock.now(), reachedNs);
  stepper.step(1);
  t.match(stepper.report, { steps: 201, reached: false });
});

t.test('a run without end works as other processes do, without the time of its rests', async (t) => {
  const stage = new Stage();
  const { clock, stepper } = stage;
  clock.setAlarm(50);
  stage.nowNs += FAR_NS;
  stepper.goOn();
  stage.store(300);
  t.equal(clock.now(), 0);
  t.ok(stepper.pass(BUDGET));
  t.equal(clock.nextAlarmNs - stage.nowNs, 50);
  stage.nowNs += 60;
  t.notOk(stepper.pass(BUDGET));
  t.equal(clock.nextAlarmNs, Number.POSITIVE_INFINITY, 'the alarm came');
  t.same(stage.budgets, [BUDGET, BUDGET]);
  stepper.stop();
  stage.nowNs += FAR_NS;
  stepper.goOn();
  stepper.goOn();
  t.equal(clock.now(), 60);
  t.match(stepper.report, { going: 'runs', steps: 0 });
});

t.test('a guest is answered while the adapter stands still', async (t) => {
  const fixture = await AttachedProcess.start(t, { name: 'a', options: defaultAdapterOptions }, true);
  const { process, host } = fixture;
  const stepper = process.stepper as Stepper;
  await fixture.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
  await fixture.write(0, CSR.DEVICE_CONTROL, CSR_DEVICE_CONTROL_ENABLE_MASK);
  t.equal(await fixture.read(0, CSR.DEVICE_CONTROL), CSR_DEVICE_CONTROL_ENABLE_MASK);
  t.notOk(await fixture.triesToInterrupt(), 'nothing is done');
  const { counters } = host.context.interrupts;
  const before = counters.undeliverable;
  stepper.step(1);
  t.equal(counters.undeliverable, before + 1, 'an interrupt goes out in the step');
  const stoodNs = process.clock.now();
  await fixture.settle();
  t.equal(process.clock.now(), stoodNs);
  stepper.goOn();
  t.ok(await fixture.triesToInterrupt(), 'it runs');
});

t.test('a recording of it replays', async (t) => {
  const fixture = await AttachedProcess.start(t, { name: 'a', options: defaultAdapterOptions }, true);
  const { clock, stepper } = fixture.process;
  await fixture.write(0, CSR.DEVICE_CONTROL, CSR_DEVICE_CONTROL_ENABLE_MASK);
  for (const moves of [3, 1]) {
    stepper?.step(moves);
    clock.setAlarm(clock.now() + FAR_NS);
    await fixture.read(0, CSR.LOCAL_TIME);
  }
  stepper?.goOn();
  await fixture.settle();
  t.ok(clock.now() >= FAR_NS, 'a step has gone to an alarm');
  t.match(fixture.replay(), { truncated: false, divergence: undefined });
});
