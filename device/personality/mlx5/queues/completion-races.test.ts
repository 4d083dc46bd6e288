// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queues under random load: software and device work at once, in any order, with EQs
 * that are nearly full, moderation and resizing. No completion is left without its event, none is
 * lost, doubled or out of order.
 */
import t from 'tap';
import { CommandStatus, CqFieldSelect, QueueStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { seedsOf } from '../../../rig/fixtures/seeds.ts';
import { CompletionFixture } from '../../../rig/mlx5/driver/completion-fixture.ts';
import type { Mlx5DriverCompletionQueue } from '../../../rig/mlx5/driver/completion-queue.ts';
import type { DriverEventQueue } from '../../../rig/mlx5/driver/mlx5-driver.ts';

const QUEUES = 5;
const STEPS = 300;
const PERIOD_US = 20;
const PERIOD_NS = PERIOD_US * 1000;
const LOG_SIZE_MAX = 4;

/** A CQ, and what software knows of it. */
interface Consumer {
  readonly cq: Mlx5DriverCompletionQueue;
  /** Entries posted to it, and the number of each that was solicited. */
  readonly posted: number[];
  solicited: number[];
  readonly taken: number[];
  /** What software has asked for since its last event, and the entries that it had taken then. */
  request: { readonly any: boolean; readonly consumed: number } | undefined;
  events: DriverEventQueue;
  /** The index that software has told last. */
  told: number;
}

class Races {
  readonly fixture: CompletionFixture;
  readonly random: Random;
  readonly queues: readonly [DriverEventQueue, DriverEventQueue];
  readonly consumers: readonly Consumer[];
  readonly #byNumber: ReadonlyMap<number, Consumer>;
  #value = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.fixture = new CompletionFixture({ logEvents: 1, seed });
    const { driver, events } = this.fixture;
    this.queues = [events, driver.createEventQueue(events.uar, 0n, 1, 2)];
    this.consumers = Array.from({ length: QUEUES }, () => this.#create());
    this.#byNumber = new Map(this.consumers.map((consumer) => [consumer.cq.number, consumer]));
  }

  /** One act of software or of the device. */
  step(): void {
    const { random } = this;
    const consumer = random.pick(this.consumers);
    const acts = [
      () => this.#post(consumer),
      () => this.#post(consumer),
      () => this.#arm(consumer),
      () => this.#take(consumer),
      () => this.#tell(consumer),
      () => this.#seeEvents(random.pick(this.queues)),
      () => this.#tellEvents(random.pick(this.queues)),
      () => this.#wait(random.below(PERIOD_NS)),
      () => this.#change(consumer),
      () => this.#resize(consumer),
    ];
    random.pick(acts)();
  }

  /** Lets everything come to an end, without asking for more. */
  settle(): void {
    this.#wait(PERIOD_NS);
    for (let round = 0; round < 2 * QUEUES; round++)
      for (const events of this.queues) {
        this.#seeEvents(events);
        this.#tellEvents(events);
      }
  }

  /** What software waits for in vain. */
  *findForgotten(): Generator<string> {
    for (const { cq, request, solicited } of this.consumers) {
      if (request === undefined) continue;
      const { producerCount } = this.fixture.deviceQueue(cq);
      const latest = request.any ? producerCount : (solicited.at(-1) ?? 0);
      if (latest > request.consumed)
        yield `CQ ${cq.number}: ${latest} entries, ${request.consumed} taken, no event (any: ${request.any})`;
    }
  }

  /** Takes all that is left. */
  finish(): void {
    for (const consumer of this.consumers) this.#take(consumer, Number.POSITIVE_INFINITY);
  }

  #create(): Consumer {
    const { random, fixture } = this;
    const events = random.pick(this.queues);
    const moderation = { cqPeriod: random.pick([0, PERIOD_US]), cqMaxCount: random.pick([0, 3]) };
    const cq = fixture.create({ logCqSize: 3, cqeSz: random.below(3), ...moderation }, events);
    return { cq, posted: [], solicited: [], taken: [], request: undefined, events, told: 0 };
  }

  #post(consumer: Consumer): void {
    const { cq, posted, solicited } = consumer;
    const { fixture, random } = this;
    const queue = fixture.deviceQueue(cq);
    if (queue.producerCount - consumer.told >= cq.entries) return;
    const isSolicited = random.below(3) === 0;
    if (!fixture.post(cq, ++this.#value, isSolicited)) throw new Error(`CQ ${cq.number} takes no entry`);
    posted.push(this.#value);
    if (isSolicited) solicited.push(queue.producerCount);
  }

  #arm(consumer: Consumer): void {
    const { random } = this;
    const solicited = random.below(2) === 0;
    const { cq, request } = consumer;
    consumer.request = { any: !solicited || request?.any === true, consumed: cq.consumed };
    cq.arm({ solicited, asDwords: random.below(2) === 0 });
    this.fixture.driver.machine.runUntilIdle();
  }

  #take(consumer: Consumer, limit = this.random.below(4)): void {
    for (const { byteCount } of consumer.cq.take(limit)) consumer.taken.push(byteCount);
  }

  #tell(consumer: Consumer): void {
    consumer.cq.tell();
    consumer.told = consumer.cq.consumed;
  }

  #seeEvents(events: DriverEventQueue): void {
    for (const number of this.fixture.peekEvents(events)) {
      const consumer = this.#byNumber.get(number);
      if (consumer?.request === undefined) throw new Error(`CQ ${number} has an event that nothing asked for`);
      consumer.request = undefined;
    }
  }

  #tellEvents(events: DriverEventQueue): void {
    this.fixture.driver.arm(events);
    this.fixture.driver.machine.runUntilIdle();
  }

  #wait(ns: number): void {
    this.fixture.driver.machine.clock.advance(ns);
    this.fixture.driver.machine.runUntilIdle();
  }

  /** Another EQ, or another moderation. */
  #change(consumer: Consumer): void {
    const { random } = this;
    consumer.events = random.pick(this.queues);
    this.fixture.modify(consumer.cq, random.below(2 ** (CqFieldSelect.EQN + 1)) & ~(1 << CqFieldSelect.OVERRUN), {
      cqPeriod: random.pick([0, PERIOD_US]),
      cqMaxCount: random.pick([0, 1, 4]),
      cEqnOrApuElement: consumer.events.number,
    });
    this.fixture.driver.machine.runUntilIdle();
  }

  /** Moves to a ring of another size; entries come between the command and the copy. */
  #resize(consumer: Consumer): void {
    const { random, fixture } = this;
    const { cq, told } = consumer;
    const logCqSize = random.below(LOG_SIZE_MAX + 1);
    const { producerCount } = fixture.deviceQueue(cq);
    const waiting = producerCount - told;
    const fits = waiting < cq.entries && waiting <= 2 ** logCqSize;
    const { answer, finish } = cq.resize({ logCqSize, pageOffset: 2 * random.below(32) });
    if (answer.status !== (fits ? CommandStatus.OK : CommandStatus.BAD_SIZE))
      throw new Error(`CQ ${cq.number}: status ${answer.status}, ${waiting} wait, 2^${logCqSize} entries`);
    if (!fits) return;
    const room = 2 ** logCqSize - waiting - 1;
    for (let count = random.below(3); count > 0 && count <= room; count--) this.#post(consumer);
    finish();
    // All entries before the one of the resizing have another number in the new ring.
    consumer.solicited = consumer.solicited.map((number) => (number <= producerCount ? number + 1 : number));
    const { request } = consumer;
    if (request !== undefined) consumer.request = { ...request, consumed: request.consumed + 1 };
  }
}

for (const seed of seedsOf(8, 200))
  t.test(`no completion is left without its event: seed ${seed}`, async (t) => {
    const races = new Races(seed);
    for (let step = 0; step < STEPS; step++) {
      races.step();
      if (step % 20 !== 19) continue;
      races.settle();
      const [forgotten] = races.findForgotten();
      if (forgotten !== undefined) t.fail(`seed ${seed}, step ${step}: ${forgotten}`);
    }
    races.finish();
    for (const { posted, taken } of races.consumers) t.same(taken, posted, `seed ${seed}: each entry once, in order`);
    for (const events of races.queues)
      t.equal(races.fixture.deviceEvents(events).status, QueueStatus.OK, `seed ${seed}: no EQ is overrun`);
  });
