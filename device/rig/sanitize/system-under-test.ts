// SPDX-License-Identifier: Apache-2.0
/**
 * The machine and the driver of a sanitizer run (docs/HAZARDS.md): QPs whose CQs share an event
 * queue, a send context, management commands with events, and the order in which driver, device,
 * another processor and time take turns. Driven by `run.ts`.
 */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  CompletionStatus,
  completionStatusName,
  EqControl,
  eventTypeName,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import type { Trace } from '../chaos/trace.ts';
import type { DriverCompletionQueue } from '../driver/completion-queue.ts';
import { type DriverClasses, driverClasses } from '../driver/driver-classes.ts';
import type { EventPoller } from '../driver/event-poller.ts';
import type { OutstandingWork } from '../driver/outstanding-work.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { InterleavedAccess } from './interleaved-access.ts';
import { type DriverAccess, Interleaving } from './interleaving.ts';
import { ManagementEvents } from './management-events.ts';
import { Messages } from './messages.ts';
import type { RoundPlan, SanitizePlan } from './plan.ts';
import type { Work } from './receiver.ts';
import { ShortLivedQueue } from './short-lived-queue.ts';
import { SanitizedTraffic } from './traffic.ts';

const EVENT_VECTOR = 20;
const MEMORY_BYTES = 1 << 21;
const ADAPTER = { vcbCount: 8, pcbCount: 16, pcbGuaranteed: [4, 4], schedulerBufferCount: 4 } as const;
/** Messages that may complete before the driver polls: as many as a queue holds. */
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
  /** The driver is taking events: the best time for the last message of a round. */
  serving = false;
  /** Messages to have been sent at the end of the round. */
  target = 0;
  readonly #plan: SanitizePlan;
  #round: RoundPlan;
  readonly #work: OutstandingWork<Work>;
  readonly #poller: EventPoller;
  readonly #traffic: SanitizedTraffic;
  readonly #management: ManagementEvents;
  readonly #destroyed = new Set<DriverCompletionQueue>();
  #spare: ShortLivedQueue | undefined;
  #spares = 0;
  #interrupted = false;
  /** The device or another processor runs between two accesses of the driver. */
  #othersRun = false;

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
      bringUp: plan.tailWindowUs === undefined ? {} : { tailWindowUs: plan.tailWindowUs },
      access: (machine) => {
        access = new InterleavedAccess(machine);
        return access;
      },
    });
    // The fixture reads registers after each step, which would make every write visible.
    this.fixture.machine.onStep = () => {};
    const { driver } = this.fixture;
    // Both the interrupt and the summary byte are posted, whichever of them the driver uses.
    const attributes = { controls: EqControl.INTERRUPT, nextInterruptDelayNsLow: plan.nextInterruptDelayNs };
    const events = driver.createEventQueue({ vector: EVENT_VECTOR, summaryCount: 4, attributes });
    this.#management = new ManagementEvents(this.fixture, EVENT_VECTOR + 1, (what, sequence) =>
      this.note(what, sequence),
    );
    this.#work = new this.classes.OutstandingWork<Work>();
    this.#traffic = new SanitizedTraffic(this, events, this.#work, plan);
    const take = (queue: DriverCompletionQueue): void => this.#take(queue);
    this.#poller = new this.classes.EventPoller(events, this.#traffic.queues, take);
    this.fixture.host.onVector = (vector) => {
      if (vector === EVENT_VECTOR) this.#interrupted = true;
    };
    if (access !== undefined) access.onAccess = (kind) => this.#runBetween(kind);
  }

  /** Sends packets until the credit counter is about to carry or to wrap. */
  warmUp(): void {
    this.target = Number.POSITIVE_INFINITY;
    this.#traffic.warmUp(this.#plan.warmUpBlocks, () => {
      this.fixture.settle();
      this.#poller.serve();
    });
  }

  /**
   * Starts a round. Events left by the last round are served first: they would wait for a slow poll
   * that this round may not have. A small round begins with all messages but the last one
   * completed, so that the last one arrives while the driver serves them.
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

  /** One action of the driver's processor, of the device, or of time. */
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
        return this.#management.request();
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

  /** Lets the device finish its work up to `alarms` alarms from now; then the driver polls. */
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

  /** At the end of the run: checks that no event, completion or credit is missing. */
  close(): void {
    const { access, machine } = this.fixture;
    (access as InterleavedAccess).onAccess = () => {};
    machine.runUntilIdle();
    this.#management.close();
    this.#checkErrors();
    this.#traffic.close();
    this.fixture.finish();
  }

  /** Adds a line to the trace. */
  note(what: string, a = 0, b = 0, c = 0): void {
    this.trace.add(this.fixture.machine.clock.now(), what, a, b, c);
  }

  /** Called before each access of the driver: sometimes lets the rest of the machine work. */
  #runBetween(kind: DriverAccess): void {
    if (this.#othersRun) return;
    const actions = this.interleaving.draw(kind);
    if (actions === 0) return;
    this.#othersRun = true;
    if (Number.isFinite(actions)) this.#runOthers(actions);
    else this.#runOthersToEnd();
    this.#othersRun = false;
  }

  #runOthers(actions: number): void {
    for (let left = actions; left > 0; left--) {
      if (this.random.oneIn(6)) this.#runOtherProcessor();
      else this.#advance();
    }
  }

  /** Another processor posts, and the device completes all of it. */
  #runOthersToEnd(): void {
    for (let left = this.random.between(1, 8); left > 0; left--) this.#runOtherProcessor();
    this.fixture.machine.runUntilIdle();
    if (this.random.below(4) > 0) this.#rest();
    if (this.random.oneIn(2)) return;
    this.#traffic.force();
    this.fixture.machine.runUntilIdle();
  }

  /** One action of another processor: a post, a forced credit return or a management command. */
  #runOtherProcessor(): void {
    const what = this.random.below(8);
    if (what === 0) this.#management.request();
    else if (what === 1) this.#traffic.force();
    else this.#traffic.post();
  }

  #advance(): void {
    const { machine } = this.fixture;
    if (this.random.oneIn(4)) machine.clock.advance(this.random.below(TIME_STEP_NS));
    if (this.random.oneIn(3)) machine.ordering.land();
    else machine.step();
  }

  /** The host of the idle device waits: no send queue is watched any longer. */
  #rest(): void {
    const { machine } = this.fixture;
    if (machine.adapter.rest?.() === true) machine.runUntilIdle();
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

  /** Creates a CQ, or uses and destroys it, perhaps with its event still unread. */
  #useSpare(): void {
    if (this.#management.busy) return;
    this.#management.busy = true;
    const spare = this.#spare;
    if (spare !== undefined) {
      spare.post();
      for (let left = this.random.below(8); left > 0; left--) this.#advance();
      this.note('CQ destroyed', spare.queue.cqn);
      spare.destroy();
      this.#destroyed.add(spare.queue);
      this.#spare = undefined;
    } else if (this.#spares++ < SPARES_MAX) {
      this.#spare = new ShortLivedQueue(this.fixture, this.#poller, this.#work);
    }
    this.#management.busy = false;
  }
}
