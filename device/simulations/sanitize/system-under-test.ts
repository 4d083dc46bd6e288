// SPDX-License-Identifier: Apache-2.0
/** The sanitizer's machine and driver: QPs, their CQs on one event queue, a send context, management commands with events, and who works when. */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  CompletionStatus,
  completionStatusName,
  EqControl,
  eventTypeName,
  ManagementOpcode,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../../hosts/in-process/driver/completion-queue.ts';
import { type DriverClasses, driverClasses } from '../../hosts/in-process/driver/driver-classes.ts';
import type { EventPoller } from '../../hosts/in-process/driver/event-poller.ts';
import type { OutstandingWork } from '../../hosts/in-process/driver/outstanding-work.ts';
import { Random } from '../../random.ts';
import { AdapterFixture } from '../../test-support/adapter-fixture.ts';
import type { Trace } from '../chaos/trace.ts';
import { InterleavedAccess } from './interleaved-access.ts';
import { Interleaving, type Touch } from './interleaving.ts';
import { ManagementEvents } from './management-events.ts';
import { Messages } from './messages.ts';
import type { RoundPlan, SanitizePlan } from './plan.ts';
import type { Work } from './receiver.ts';
import { Traffic } from './traffic.ts';

const EVENT_VECTOR = 20;
const MEMORY_BYTES = 1 << 21;
const ADAPTER = { vcbCount: 8, pcbCount: 16, pcbGuaranteed: [4, 4], schedulerBufferCount: 4 } as const;
/** Messages that may be completed before the driver looks at all: as many as any queue holds. */
const READY_MAX = 4;
const TIME_STEP_NS = 2000;
const SPARES_MAX = 4;

export class SystemUnderTest {
  readonly fixture: AdapterFixture;
  readonly messages = new Messages();
  readonly classes: DriverClasses;
  readonly random: Random;
  readonly trace: Trace;
  readonly interleaving: Interleaving;
  /** The driver takes events: when the last message of a round best comes. */
  serving = false;
  /** Messages that shall have been sent when the round is over. */
  target = 0;
  readonly #plan: SanitizePlan;
  #round: RoundPlan;
  readonly #work: OutstandingWork<Work>;
  readonly #poller: EventPoller;
  readonly #traffic: Traffic;
  readonly #management: ManagementEvents;
  readonly #destroyed = new Set<DriverCompletionQueue>();
  #spare: { queue: DriverCompletionQueue; post: () => void; destroy: () => void } | undefined;
  #spares = 0;
  #interrupted = false;
  /** Somebody else is at work; the driver's own processor stands still. */
  #elsewhere = false;

  constructor(plan: SanitizePlan, trace: Trace, classes: Partial<DriverClasses>) {
    this.#plan = plan;
    this.trace = trace;
    this.classes = { ...driverClasses, ...classes };
    [this.#round] = plan.rounds;
    this.random = new Random(plan.seed).fork();
    this.interleaving = new Interleaving(this.random);
    let access: InterleavedAccess | undefined;
    this.fixture = new AdapterFixture({
      seed: plan.seed,
      adapter: ADAPTER,
      memoryBytes: MEMORY_BYTES,
      budget: plan.budget,
      ordering: plan.ordering,
      classes,
      access: (machine) => {
        // The fixture looks at registers after each step, and a register read would make every write visible.
        access = new InterleavedAccess(machine);
        return access;
      },
    });
    this.fixture.machine.onStep = () => {};
    const { driver } = this.fixture;
    // Whether the driver waits for the interrupt or polls the byte, both come.
    const attributes = { controls: EqControl.INTERRUPT, nextInterruptDelayNsLow: plan.nextInterruptDelayNs };
    const events = driver.createEventQueue({ vector: EVENT_VECTOR, summaryCount: 4, attributes });
    this.#management = new ManagementEvents(this.fixture, EVENT_VECTOR + 1, (what, sequence) =>
      this.note(what, sequence),
    );
    this.#work = new this.classes.OutstandingWork<Work>();
    this.#traffic = new Traffic(this, events, this.#work, plan);
    const take = (queue: DriverCompletionQueue): void => this.#take(queue);
    this.#poller = new this.classes.EventPoller(events, this.#traffic.queues, take);
    this.fixture.host.onVector = (vector) => {
      if (vector === EVENT_VECTOR) this.#interrupted = true;
    };
    if (access !== undefined) access.onTouch = (touch) => this.#touch(touch);
  }

  /** Brings the credit counter to where it is interesting. */
  warmUp(): void {
    this.target = Number.POSITIVE_INFINITY;
    this.#traffic.warmUp(this.#plan.warmUpBlocks, () => {
      this.fixture.settle();
      this.#poller.serve();
    });
  }

  /**
   * The next round. What the last one left, as an event about nothing, would wait for a deadman which this one may not have. A small round begins with all messages but the last
   * one completed: that one then comes while the driver serves them.
   */
  begin(round: RoundPlan): void {
    this.#round = round;
    this.interleaving.stop();
    this.#poller.readBack = () => this.fixture.read(0);
    this.fixture.machine.runUntilIdle();
    this.#poller.serve();
    if (round.deadman) this.#poller.readBack = undefined;
    this.target = this.messages.count + round.messages;
    for (let left = Math.min(round.messages, READY_MAX) - 1; left > 0; left--) {
      this.interleaving.renew();
      this.#traffic.post();
    }
    this.fixture.machine.runUntilIdle();
  }

  /** One thing the driver's processor does, or the device, or time. */
  act(): void {
    this.interleaving.renew();
    switch (this.random.below(16)) {
      case 0:
      case 1:
      case 2:
        return this.#traffic.post();
      case 3:
      case 4:
      case 5:
        return this.random.oneIn(this.#round.laziness) ? this.#serve() : undefined;
      case 6:
        return this.#management.ask();
      case 7:
      case 8:
        return this.#traffic.refreshCredits();
      case 9:
        this.#management.check();
        return this.#checkErrors();
      case 10:
        return this.random.oneIn(8) ? this.#useSpare() : undefined;
      case 11:
        return this.random.oneIn(16) ? this.#runDeadman() : undefined;
      default:
        return this.#advance();
    }
  }

  /** The device does all it has to do, up to some alarms from now; then the driver looks wherever it would look. */
  idle(alarms: number): void {
    const { machine } = this.fixture;
    for (let count = 0; count <= alarms; count++) {
      machine.runUntilIdle();
      if (!machine.clock.jumpToAlarm()) break;
    }
    this.#serve();
    this.#runDeadman();
    this.#traffic.refreshCredits();
    this.serving = true;
    this.#traffic.post();
    this.serving = false;
    this.#checkErrors();
  }

  /** At the end: nothing is owed. */
  close(): void {
    const { access, machine } = this.fixture;
    (access as InterleavedAccess).onTouch = () => {};
    machine.runUntilIdle();
    this.#management.close();
    this.#checkErrors();
    this.#traffic.close();
    this.fixture.finish();
  }

  note(what: string, a = 0, b = 0, c = 0): void {
    this.trace.add(this.fixture.machine.clock.now(), what, a, b, c);
  }

  /** Between two accesses of the driver the rest of the machine goes on, now and then. */
  #touch(touch: Touch): void {
    if (this.#elsewhere) return;
    const actions = this.interleaving.draw(touch);
    if (actions === 0) return;
    this.#elsewhere = true;
    if (Number.isFinite(actions)) this.#goOn(actions);
    else this.#complete();
    this.#elsewhere = false;
  }

  #goOn(actions: number): void {
    for (let left = actions; left > 0; left--) {
      if (this.random.oneIn(6)) this.#workElsewhere();
      else this.#advance();
    }
  }

  /** Others post what there is room for, and all of it is done and visible. */
  #complete(): void {
    for (let left = this.random.between(1, 8); left > 0; left--) this.#workElsewhere();
    this.fixture.machine.runUntilIdle();
    if (this.random.oneIn(2)) return;
    this.#traffic.force();
    this.fixture.machine.runUntilIdle();
  }

  /** Another processor: it posts, and asks for management events. */
  #workElsewhere(): void {
    const what = this.random.below(8);
    if (what === 0) this.#management.ask();
    else if (what === 1) this.#traffic.force();
    else this.#traffic.post();
  }

  #advance(): void {
    const { machine } = this.fixture;
    if (this.random.oneIn(4)) machine.clock.advance(this.random.below(TIME_STEP_NS));
    if (this.random.oneIn(3)) machine.ordering.land();
    else machine.step();
  }

  #serve(): void {
    this.serving = true;
    if (!this.#round.interrupts) this.#poller.poll();
    else if (this.#interrupted) {
      this.#interrupted = false;
      this.note('interrupt');
      this.#poller.serve();
    }
    this.serving = false;
  }

  #runDeadman(): void {
    if (this.#round.deadman && this.#poller.deadman() > 0) this.note('deadman found events');
  }

  #take(queue: DriverCompletionQueue): void {
    if (this.#destroyed.has(queue)) throw new Error(`CQ ${queue.cqn} was destroyed and is served`);
    for (let entry = queue.poll(); entry !== undefined; entry = queue.poll()) this.#account(entry);
  }

  #account(entry: CompletionEntry): void {
    const { qpn, receive, queueSequence, status } = entry;
    this.note(receive ? 'received' : 'sent', qpn, queueSequence, status);
    if (status !== CompletionStatus.SUCCESS) throw new Error(`QP ${qpn}: ${completionStatusName(status)}`);
    const work = this.#work.take(entry);
    if (work === undefined) throw new Error(`QP ${qpn}: a completion of ${queueSequence}, which is not outstanding`);
    if ('receiver' in work) work.receiver.arrive(work.buffer, entry);
    else if (work.message >= 0) this.messages.complete(work.message);
  }

  #checkErrors(): void {
    for (const { eventType, objectNumber } of this.fixture.asynchronous.walk())
      throw new Error(`${eventTypeName(eventType)} of object ${objectNumber}`);
    this.#traffic.checkContext();
  }

  /** A CQ that comes and goes: created, used once, destroyed with its event perhaps still unread. */
  #useSpare(): void {
    if (this.#management.busy) return;
    this.#management.busy = true;
    if (this.#spare === undefined && this.#spares++ < SPARES_MAX) this.#spare = this.#createSpare();
    else if (this.#spare !== undefined) {
      this.#spare.post();
      for (let left = this.random.below(8); left > 0; left--) this.#advance();
      this.#spare.destroy();
      this.#spare = undefined;
    }
    this.#management.busy = false;
  }

  #createSpare() {
    const { fixture } = this;
    const queue = fixture.driver.createCompletionQueue({ eventQueue: this.#poller.events, summaryIndex: 3 });
    const qp = fixture.createQueuePair({ sendCq: queue, strideLog2: 6 });
    this.#poller.add(queue);
    queue.notify();
    const post = (): void => {
      this.#work.add({ qpn: qp.qpn, receive: 0, queueSequence: qp.sendTail }, { message: -1 });
      qp.post({ header: { opcode: SendOpcode.NOP } }, 'doorbell');
    };
    const destroy = (): void => {
      this.note('CQ destroyed', queue.cqn);
      qp.destroy();
      this.#poller.forget(queue);
      this.#destroyed.add(queue);
      fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: queue.cqn });
    };
    return { queue, post, destroy };
  }
}
