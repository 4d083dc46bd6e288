// SPDX-License-Identifier: Apache-2.0
/**
 * The messages of a sanitizer run: sends of two datagram QPs and a connected one, which share a CQ,
 * and packets through a send context. Called by `SystemUnderTest` on behalf of each processor.
 */
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { SendContextState, ServiceType, sendContextStateName } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { CollectPagePool } from '../driver/collect-page-pool.ts';
import type { DriverCompletionQueue } from '../driver/completion-queue.ts';
import type { DriverClasses } from '../driver/driver-classes.ts';
import type { DriverEventQueue } from '../driver/event-queue.ts';
import type { OutstandingWork } from '../driver/outstanding-work.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { DriverSendContext } from '../driver/send-context.ts';
import type { SendRequest } from '../driver/send-request.ts';
import type { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { composeDatagram } from '../fixtures/send-context-fixture.ts';
import type { Interleaving } from './interleaving.ts';
import type { Messages } from './messages.ts';
import type { SanitizePlan } from './plan.ts';
import { Receiver, type Work } from './receiver.ts';

const QUEUE_LOG2 = 2;
const STRIDE_LOG2 = 7;
const LARGE_BYTES = [1000, 1400] as const;
const SMALL_BYTES = [4, 200] as const;
/** Blocks that the low byte of the credit counter counts. */
const CARRY_BLOCKS = 256;
/** One in so many attempts posts the last message of a round while no event is served. */
const LAST_WHILE_IDLE = 32;
/** Loads of a read of the credit word, approximately. */
const CREDIT_LOADS = 20;
const INLINE_BYTES = 56;

interface Sender {
  readonly name: string;
  readonly qp: DriverQueuePair;
  readonly receiver: Receiver;
  readonly request: SendRequest;
  /** A processor is posting to the QP. */
  busy: boolean;
}

/** The system that the messages pass through. */
interface MessageSystem {
  readonly fixture: AdapterFixture;
  readonly classes: Pick<DriverClasses, 'CollectPagePool'>;
  readonly messages: Messages;
  readonly random: Random;
  readonly interleaving: Interleaving;
  /** The driver is taking events. */
  readonly serving: boolean;
  /** Messages to have been sent at the end of the round. */
  readonly target: number;
  note(what: string, a?: number, b?: number, c?: number): void;
}

/** QPs, receive queues and the send context of a run. */
export class SanitizedTraffic {
  readonly queues: readonly DriverCompletionQueue[];
  readonly #system: MessageSystem;
  readonly #plan: SanitizePlan;
  readonly #work: OutstandingWork<Work>;
  readonly #sendCq: DriverCompletionQueue;
  readonly #senders: readonly Sender[];
  readonly #receivers: readonly Receiver[];
  readonly #pages: CollectPagePool;
  readonly #context: DriverSendContext;
  /** The sender that posts for the present: one posts a stream for a while. */
  #sender: Sender;
  #sendsPosted = 0;
  #contextBusy = false;
  #packets = 0;
  #packetsFreed = 0;
  #replenishing = false;

  constructor(system: MessageSystem, events: DriverEventQueue, work: OutstandingWork<Work>, plan: SanitizePlan) {
    this.#system = system;
    this.#plan = plan;
    this.#work = work;
    const { fixture, messages } = system;
    const { driver } = fixture;
    const queue = (summaryIndex: number): DriverCompletionQueue =>
      driver.createCompletionQueue({ entriesLog2: QUEUE_LOG2, eventQueue: events, summaryIndex });
    this.queues = [queue(0), queue(1), queue(2)];
    const [sendCq, datagramCq, connectedCq] = this.queues;
    this.#sendCq = sendCq;
    const sizes = { strideLog2: STRIDE_LOG2, receiveEntriesLog2: QUEUE_LOG2, sendEntriesLog2: QUEUE_LOG2 };
    const datagrams = fixture.createQueuePair({ port: 2, sendCq: datagramCq, ...sizes });
    const [a, b] = connectPair(fixture, { sendCq, receiveCq: connectedCq, ...sizes });
    const toDatagrams = new Receiver(fixture, datagrams, work, messages, GRH_SIZE);
    const toConnected = new Receiver(fixture, b, work, messages, 0);
    this.#receivers = [toDatagrams, toConnected];
    const { qpn: remoteQpn, qkey } = datagrams;
    const request = { remoteQpn, qkey, addressHandle: fixture.handleTo(1, 2) };
    const datagramSender = (name: string): Sender => {
      const qp = fixture.createQueuePair({ sendCq, ...sizes });
      return { name, qp, receiver: toDatagrams, request, busy: false };
    };
    const connected = { name: 'connected', qp: a, receiver: toConnected, request: {}, busy: false };
    this.#senders = [datagramSender('first'), datagramSender('second'), connected];
    [this.#sender] = this.#senders;
    this.#pages = new system.classes.CollectPagePool([driver.takePage(0)]);
    this.#context = driver.createSendContext({ blocks: plan.blocks, threshold: plan.threshold });
    this.#context.enable();
    for (const queue of this.queues) queue.notify();
  }

  /** Posts a message if the round needs one and there is room. Any processor may call it. */
  post(): void {
    this.#replenish();
    const { messages, random, target, serving } = this.#system;
    const left = target - messages.count;
    // The last message is mostly posted while the driver serves the others.
    if (left <= 0 || (left === 1 && !serving && !random.oneIn(LAST_WHILE_IDLE))) return;
    if (random.oneIn(2)) this.#sendPacket(random.oneIn(3));
    else {
      if (random.oneIn(2)) this.#sender = random.pick(this.#senders);
      this.#send(this.#sender);
    }
  }

  /** Sends large packets until `blocks` blocks have been sent. */
  warmUp(blocks: number, settle: () => void): void {
    for (let tries = 0; this.#context.sent < blocks; tries++) {
      if (tries > blocks) throw new Error(`no room for a packet after ${this.#context.sent} blocks`);
      this.#replenish();
      this.#sendPacket(true);
      if (tries % 2 === 1) settle();
    }
    this.#system.interleaving.stop();
    settle();
    this.close();
  }

  /** Reads the credit word, unless another processor uses the context. */
  refreshCredits(): void {
    if (this.#contextBusy) return;
    this.#contextBusy = true;
    this.#context.refresh();
    this.#contextBusy = false;
  }

  /** Asks the device to return credits. */
  force(): void {
    this.#context.force();
  }

  /** Throws if the send context has halted. */
  checkContext(): void {
    const { state } = this.#context;
    if (state !== SendContextState.ENABLED) throw new Error(`the send context is ${sendContextStateName(state)}`);
  }

  /** Forces a credit return and checks that all credits are back. */
  close(): void {
    const context = this.#context;
    context.force();
    this.#system.fixture.settle();
    context.refresh();
    if (context.available !== context.blocks)
      throw new Error(`${context.blocks - context.available} credits of ${context.blocks} are lost`);
  }

  #replenish(): void {
    if (this.#replenishing) return;
    this.#replenishing = true;
    for (const receiver of this.#receivers) receiver.replenish();
    this.#replenishing = false;
  }

  #send(sender: Sender): void {
    const { receiver, qp } = sender;
    if (sender.busy || !receiver.hasRoom || this.#sendsPosted - this.#sendCq.returned >= this.#sendCq.buffer.entries)
      return;
    const { random, messages } = this.#system;
    sender.busy = true;
    receiver.expected++;
    this.#sendsPosted++;
    const message = messages.count;
    const inline = messages.create(sender.name, random.between(1, INLINE_BYTES / 4) * 4, true);
    this.#work.add({ qpn: qp.qpn, receive: 0, queueSequence: qp.sendTail }, { message });
    this.#system.note(`post ${sender.name}`, qp.qpn, qp.sendTail, message);
    const request = { ...sender.request, inline };
    if (this.#plan.tailWindowUs !== undefined && random.below(3) > 0) this.#postByTail(qp, request);
    else if (random.oneIn(3)) qp.post(request, 'doorbell');
    else {
      const bytes = qp.post(request, 'slot');
      if (!this.#pages.write((page) => qp.collect(bytes, { random }, page))) qp.ring();
    }
    sender.busy = false;
  }

  /** Posts; the device may end its watch of the queue just before the tail is stored. */
  #postByTail(qp: DriverQueuePair, request: SendRequest): void {
    const { random, interleaving } = this.#system;
    if (random.below(3) > 0) interleaving.aim('store', 1);
    qp.post(request, 'tail');
  }

  #sendPacket(large: boolean): void {
    const [receiver] = this.#receivers;
    if (this.#contextBusy || !receiver.hasRoom) return;
    this.#contextBusy = true;
    receiver.expected++;
    const { random, messages } = this.#system;
    const [least, most] = large ? LARGE_BYTES : SMALL_BYTES;
    const length = random.between(least / 4, most / 4) * 4;
    const context = this.#context;
    const blocks = Math.ceil((length + 64) / 64) + 1;
    if (context.available < blocks) context.refresh();
    if (context.available < blocks) {
      receiver.expected--;
      context.force();
    } else {
      const message = messages.count;
      const payload = messages.create('packets', length, false);
      this.#system.note('packet', message, length, context.available);
      const number = this.#packets++;
      const control = { creditReturn: this.#plan.requestCredits ? random.below(2) : 0 };
      const before = context.sent;
      context.send(this.#compose(payload, number), control, () => this.#freed(number));
      const isCarry = Math.floor(before / CARRY_BLOCKS) < Math.floor(context.sent / CARRY_BLOCKS);
      if (isCarry || random.oneIn(3)) this.#awaitCredits();
    }
    this.#contextBusy = false;
  }

  /** Reads the credit word while the device may be writing it. */
  #awaitCredits(): void {
    this.#system.interleaving.aim('load', CREDIT_LOADS);
    this.#context.refresh();
  }

  #compose(payload: Uint8Array, psn: number): Uint8Array {
    const { fixture } = this.#system;
    const [sender] = this.#senders;
    const { qpn, qkey } = this.#receivers[0].qp;
    const lids = { slid: fixture.lidOf(1), dlid: fixture.lidOf(2) };
    return composeDatagram(payload, { ...lids, destQpn: qpn, srcQpn: sender.qp.qpn, qKey: qkey, psn });
  }

  /** The driver takes a packet for sent: checks that the device has sent it. */
  #freed(number: number): void {
    const { functions, sendContexts } = this.#system.fixture.machine.device;
    const sent = sendContexts.get(functions[0].underlying, this.#context.number)?.packetsSent ?? 0;
    if (number !== this.#packetsFreed++)
      throw new Error(`packet ${number} is freed, ${this.#packetsFreed - 1} was next`);
    if (number >= sent) throw new Error(`packet ${number} is freed, and the device has sent ${sent}`);
  }
}

function connectPair(
  fixture: AdapterFixture,
  request: { sendCq: DriverCompletionQueue; receiveCq: DriverCompletionQueue; strideLog2: number },
): readonly [DriverQueuePair, DriverQueuePair] {
  const create = (): DriverQueuePair =>
    fixture.driver.createQueuePair({ pd: fixture.pd, ...request, creation: { serviceType: ServiceType.RC } });
  const [a, b] = [create(), create()];
  a.connect({ reliable: true, port: 1, dlid: fixture.lidOf(2), remoteQpn: b.qpn });
  b.connect({ reliable: true, port: 2, dlid: fixture.lidOf(1), remoteQpn: a.qpn });
  return [a, b];
}
