// SPDX-License-Identifier: Apache-2.0
/** The sanitizer's machine and driver: QPs, their CQs on one event queue, a send context, management commands with events, and who works when. */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { getManagementCommandSequence } from '../../../protocol/layout/gen/management-command.gen.ts';
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
import type { DriverEventQueue } from '../../hosts/in-process/driver/event-queue.ts';
import type { OutstandingWork } from '../../hosts/in-process/driver/outstanding-work.ts';
import { Random } from '../../random.ts';
import { Bench } from '../bench.ts';
import type { Trace } from '../chaos/trace.ts';
import { InterleavedAccess } from './interleaved-access.ts';
import { Messages } from './messages.ts';
import type { SanitizePlan } from './plan.ts';
import type { Work } from './receiver.ts';
import { Traffic } from './traffic.ts';

const EVENT_VECTOR = 20;
const MEMORY_BYTES = 1 << 21;
const ADAPTER = { vcbCount: 8, pcbCount: 16, pcbGuaranteed: [4, 4], schedulerBufferCount: 4 } as const;
const TIME_STEP_NS = 2000;
const SPARES_MAX = 4;
const MANAGEMENT_EVENTS_LOG2 = 1;

export class SanitizeWorld {
  readonly bench: Bench;
  readonly messages = new Messages();
  readonly classes: DriverClasses;
  readonly random: Random;
  readonly trace: Trace;
  /** Messages that shall have been sent when the round is over. */
  target = 0;
  readonly #plan: SanitizePlan;
  readonly #work: OutstandingWork<Work>;
  readonly #poller: EventPoller;
  readonly #traffic: Traffic;
  readonly #managementEvents: DriverEventQueue;
  readonly #asked: number[] = [];
  #askedCount = 0;
  readonly #destroyed = new Set<DriverCompletionQueue>();
  #spare: { queue: DriverCompletionQueue; post: () => void; destroy: () => void } | undefined;
  #spares = 0;
  #interrupted = false;
  /** Somebody else is at work; the driver's own processor stands still. */
  #elsewhere = false;
  #managing = false;

  constructor(plan: SanitizePlan, trace: Trace, classes: Partial<DriverClasses>) {
    this.#plan = plan;
    this.trace = trace;
    this.classes = { ...driverClasses, ...classes };
    this.random = new Random(plan.seed).fork();
    let access: InterleavedAccess | undefined;
    this.bench = new Bench({
      seed: plan.seed,
      adapter: ADAPTER,
      memoryBytes: MEMORY_BYTES,
      budget: plan.budget,
      ordering: plan.ordering,
      classes,
      access: (machine) => {
        // The bench looks at registers after each step, and a register read would make every write visible.
        access = new InterleavedAccess(machine);
        return access;
      },
    });
    this.bench.machine.onStep = () => {};
    const { driver } = this.bench;
    const controls = plan.interrupts ? EqControl.INTERRUPT : EqControl.PRIMARY_SUMMARY;
    const attributes = { controls, nextInterruptDelayNsLow: plan.nextInterruptDelayNs };
    const events = driver.createEventQueue({ vector: EVENT_VECTOR, summaryCount: 4, attributes });
    this.#managementEvents = driver.createEventQueue({ entriesLog2: MANAGEMENT_EVENTS_LOG2, vector: EVENT_VECTOR + 1 });
    this.#work = new this.classes.OutstandingWork<Work>();
    this.#traffic = new Traffic(this, events, this.#work, plan);
    const take = (queue: DriverCompletionQueue): void => this.#take(queue);
    this.#poller = new this.classes.EventPoller(events, this.#traffic.queues, take);
    if (!plan.deadman) this.#poller.readBack = () => this.bench.read(0);
    this.bench.host.onVector = (vector) => {
      if (vector === EVENT_VECTOR) this.#interrupted = true;
    };
    if (access !== undefined) access.onTouch = () => this.#touch();
  }

  /** One thing the driver's processor does, or the device, or time. */
  act(): void {
    switch (this.random.below(16)) {
      case 0:
      case 1:
      case 2:
        return this.#traffic.post();
      case 3:
      case 4:
      case 5:
        return this.random.oneIn(this.#plan.laziness) ? this.#serve() : undefined;
      case 6:
        return this.#manage();
      case 7:
      case 8:
        return this.#traffic.refreshCredits();
      case 9:
        this.#checkManagementEvents();
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
    const { machine } = this.bench;
    for (let count = 0; count <= alarms; count++) {
      machine.runUntilIdle();
      if (!machine.clock.jumpToAlarm()) break;
    }
    this.#serve();
    this.#runDeadman();
    this.#traffic.refreshCredits();
    this.#traffic.post();
    this.#checkErrors();
  }

  /** At the end: nothing is owed. */
  close(): void {
    const { access, machine } = this.bench;
    (access as InterleavedAccess).onTouch = () => {};
    machine.runUntilIdle();
    this.#checkManagementEvents();
    this.#checkErrors();
    if (this.#asked.length > 0) throw new Error(`${this.#asked.length} management events never came`);
    this.#traffic.close();
    this.bench.finish();
  }

  note(what: string, a = 0, b = 0, c = 0): void {
    this.trace.add(this.bench.machine.clock.now(), what, a, b, c);
  }

  /** Between two accesses of the driver the rest of the machine goes on, now and then. */
  #touch(): void {
    if (this.#elsewhere || !this.random.oneIn(this.#plan.touchRate)) return;
    this.#elsewhere = true;
    for (let left = this.random.below(this.#plan.burst) + 1; left > 0; left--) {
      if (this.random.oneIn(6)) this.#workElsewhere();
      else this.#advance();
    }
    this.#elsewhere = false;
  }

  /** Another processor: it posts, and asks for management events. */
  #workElsewhere(): void {
    if (this.random.oneIn(4)) this.#manage();
    else this.#traffic.post();
  }

  #advance(): void {
    const { machine } = this.bench;
    if (this.random.oneIn(4)) machine.clock.advance(this.random.below(TIME_STEP_NS));
    if (this.random.oneIn(3)) machine.ordering.land();
    else machine.step();
  }

  #serve(): void {
    if (!this.#plan.interrupts) this.#poller.poll();
    else if (this.#interrupted) {
      this.#interrupted = false;
      this.note('interrupt');
      this.#poller.serve();
    }
  }

  #runDeadman(): void {
    if (this.#plan.deadman && this.#poller.deadman() > 0) this.note('deadman found events');
  }

  #take(queue: DriverCompletionQueue): void {
    if (this.#destroyed.has(queue)) throw new Error(`CQ ${queue.cqn} was destroyed and is served`);
    for (let entry = queue.poll(); entry !== undefined; entry = queue.poll()) this.#complete(entry);
  }

  #complete(entry: CompletionEntry): void {
    const { qpn, receive, queueSequence, status } = entry;
    this.note(receive ? 'received' : 'sent', qpn, queueSequence, status);
    if (status !== CompletionStatus.SUCCESS) throw new Error(`QP ${qpn}: ${completionStatusName(status)}`);
    const work = this.#work.take(entry);
    if (work === undefined) throw new Error(`QP ${qpn}: a completion of ${queueSequence}, which is not outstanding`);
    if ('receiver' in work) work.receiver.arrive(work.buffer, entry);
    else if (work.message >= 0) this.messages.complete(work.message);
  }

  /** A command that posts an event; no more of them than the event queue has room for. */
  #manage(): void {
    const events = this.#managementEvents;
    if (this.#managing || this.#askedCount - events.returned >= events.buffer.entries) return;
    this.#managing = true;
    const { management } = this.bench.driver;
    const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER, notify: 1, eventQueue: events.eqn });
    this.#asked.push(getManagementCommandSequence(new DataView(bytes.buffer), 0));
    this.#askedCount++;
    management.submit(bytes, 'a query');
    this.#managing = false;
  }

  #checkManagementEvents(): void {
    for (const { objectNumber, eventType } of this.#managementEvents.walk()) {
      const asked = this.#asked.shift();
      if (asked !== objectNumber)
        throw new Error(`${eventTypeName(eventType)} ${objectNumber} came, where command ${asked} was next`);
      this.note('management event', objectNumber);
    }
  }

  #checkErrors(): void {
    for (const { eventType, objectNumber } of this.bench.asynchronous.walk())
      throw new Error(`${eventTypeName(eventType)} of object ${objectNumber}`);
    this.#traffic.checkContext();
  }

  /** A CQ that comes and goes: created, used once, destroyed with its event perhaps still unread. */
  #useSpare(): void {
    if (this.#managing) return;
    this.#managing = true;
    if (this.#spare === undefined && this.#spares++ < SPARES_MAX) this.#spare = this.#createSpare();
    else if (this.#spare !== undefined) {
      this.#spare.post();
      for (let left = this.random.below(8); left > 0; left--) this.#advance();
      this.#spare.destroy();
      this.#spare = undefined;
    }
    this.#managing = false;
  }

  #createSpare() {
    const { bench } = this;
    const queue = bench.driver.createCompletionQueue({ eventQueue: this.#poller.events, summaryIndex: 3 });
    const qp = bench.createQueuePair({ sendCq: queue, strideLog2: 6 });
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
      bench.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: queue.cqn });
    };
    return { queue, post, destroy };
  }
}
