// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a connection in a chaos run: does what software would, in both directions, and knows what may happen to it. Everything that cannot be is an
 * exception that says what.
 */
import { QpMask, QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import type { Random } from '../../random.ts';
import { ExposedMemory } from './exposed-memory.ts';
import { FastKey } from './fast-key.ts';
import type { Side } from './network.ts';
import { type Operation, plain } from './operation.ts';
import { OperationSource } from './operation-source.ts';
import type { ConnectionPlan, WirePlan } from './plan.ts';
import { ReceiveSide, type ReceivingEnd } from './receive-side.ts';
import { SEND_ENTRIES_LOG2, type SendingEnd, SendSide } from './send-side.ts';
import type { CompletingEnd, SideQueues } from './side-queues.ts';
import type { Trace } from './trace.ts';
import { WindowKey } from './window-key.ts';

const RECEIVE_ENTRIES_LOG2 = 4;
const AMPLE_LOG2 = 7;
const RNR_INFINITE = 7;

export class Endpoint implements ReceivingEnd, SendingEnd, CompletingEnd {
  readonly name: string;
  readonly plan: ConnectionPlan;
  readonly side: Side;
  readonly queues: SideQueues;
  readonly qp: DriverQueuePair;
  readonly memory: ExposedMemory;
  readonly window: WindowKey;
  readonly receiver: ReceiveSide;
  readonly sender: SendSide;
  fastKey: FastKey;
  /** The QP may fail, or completions may be lost, for a reason that is known. */
  mayFail = false;
  /** Software has stopped the QP: it does not say why it answers nothing. */
  isStopped = false;
  /** Nothing more will come: in RESET. */
  isDead = false;
  /** The QP is gone with its function. */
  isGone = false;
  failed = false;
  /** First PSN sent on this connection. */
  psn = 0;
  source!: OperationSource;
  other!: Endpoint;
  readonly #random: Random;
  readonly #wire: WirePlan;
  #isDrained = false;
  #handle = 0;

  constructor(
    name: string,
    side: Side,
    queues: SideQueues,
    plan: ConnectionPlan,
    wire: WirePlan,
    random: Random,
    trace: Trace,
  ) {
    this.name = name;
    this.side = side;
    this.queues = queues;
    this.plan = plan;
    this.#random = random;
    this.#wire = wire;
    const { fixture } = side;
    const cq = { entriesLog2: queues.srq ? AMPLE_LOG2 : plan.completionEntriesLog2 };
    this.qp = fixture.driver.createQueuePair({
      pd: fixture.pd,
      sendCq: queues.cq ?? fixture.createCompletionQueue(cq),
      receiveCq: queues.cq ?? fixture.createCompletionQueue(cq),
      sendEntriesLog2: SEND_ENTRIES_LOG2,
      receiveEntriesLog2: RECEIVE_ENTRIES_LOG2,
      creation: { serviceType: plan.serviceType, signalAll: plan.signalAll, srqn: queues.srq?.queue.srqn ?? 0 },
    });
    queues.add(this);
    this.memory = new ExposedMemory(fixture, fixture.pd, Math.min(plan.largest, 2000));
    this.window = new WindowKey(fixture, fixture.pd, plan.windowKind);
    this.fastKey = new FastKey(fixture, fixture.pd);
    this.receiver = new ReceiveSide(this, RECEIVE_ENTRIES_LOG2, queues.srq, trace);
    this.sender = new SendSide(this, random, trace);
  }

  get isReliable(): boolean {
    return this.plan.serviceType === ServiceType.RC;
  }

  /** CQs of this end may overflow; not with a shared queue, which would lose its entries with the completions. */
  get mayOverflow(): boolean {
    const { cq, srq } = this.queues;
    return cq === undefined && srq === undefined && this.plan.completionEntriesLog2 < 5;
  }

  /** Brings the QP from RESET to RTS. */
  connect(other: Endpoint, sendPsn: number, receivePsn: number): void {
    this.other = other;
    this.psn = sendPsn;
    const { fixture, port } = this.side;
    const { plan } = this;
    this.source = new OperationSource(fixture, this.#random, other, plan.largest);
    const dlid = other.side.fixture.lidOf(other.side.port);
    if (plan.serviceType === ServiceType.UD) {
      this.#handle = fixture.driver.addressHandles.add({ port, dlid, pd: fixture.pd });
      this.qp.start({ port, qkey: 0x77, sendPsn });
      return;
    }
    const { pathMtu, timeout, retryCount, rnrRetry, minRnrTimer, maxReads } = plan;
    const retries = { timeout, retryCount, rnrRetry, minRnrTimer, maxReads };
    const remoteQpn = other.qp.qpn;
    this.qp.connect({ reliable: this.isReliable, port, dlid, remoteQpn, pathMtu, sendPsn, receivePsn, ...retries });
    if (!this.isReliable) return;
    this.sender.post({ ...plain('REGISTER'), request: this.fastKey.request });
    this.sender.post(this.window.bind());
  }

  /** Takes the QP out of the old connection: what it was doing ends here, and is judged by what has arrived. */
  disconnect(): void {
    this.reap();
    this.qp.toReset();
    this.isDead = true;
    this.reap();
  }

  /** Both ends are in RESET: forgets the old connection. */
  restart(): void {
    this.sender.restart();
    this.receiver.restart();
    this.#isDrained = false;
    this.isDead = false;
    this.isStopped = false;
    this.failed = false;
    this.mayFail = false;
    if (!this.isReliable) return;
    this.fastKey = new FastKey(this.side.fixture, this.side.fixture.pd);
    this.window.renew();
  }

  /** Posts one send, if the send queue has room. */
  send(bad = false): void {
    const { sender } = this;
    if (this.isDead || !sender.hasRoom || (bad && !this.isReliable)) return;
    const drawn = bad ? this.source.drawBad() : this.isReliable ? this.source.draw() : this.#drawDatagram();
    sender.post(sender.mustSignal ? { ...drawn, request: { ...drawn.request, signaled: true } } : drawn);
  }

  /** A signalled request that does nothing: with it everything before it has completed. */
  sendLast(): void {
    if (!this.isDead) this.sender.post(this.source.drawNothing(true));
  }

  /** Takes the window back while the other end may be using it. */
  revoke(): void {
    if (!this.isReliable || !this.sender.hasRoom || !this.window.isBound) return;
    this.mayFail = true;
    this.sender.post(this.window.revoke());
  }

  /** Binds a window that is known not to be bound any more. */
  rebind(): void {
    if (!this.isDead && this.window.mayBind && this.sender.hasRoom) this.sender.post(this.window.bind());
  }

  /** Stops beginning requests, and goes on. Refused by a QP that has failed. */
  drain(): void {
    this.qp.modify({ attributeMask: QpMask.STATE, state: QpState.SQD });
    this.#isDrained = true;
  }

  resume(): void {
    if (!this.#isDrained || this.isDead) return;
    this.#isDrained = false;
    // RTS would take a QP out of SQE as well.
    this.reap();
    if (this.failed) return;
    this.qp.modify({ attributeMask: QpMask.STATE, state: QpState.RTS });
  }

  /** Software takes the QP, or the whole function, away. */
  die(): void {
    this.isDead = true;
    this.mayFail = true;
  }

  /** A completion is still to come. */
  get isWaiting(): boolean {
    return !this.isDead && !this.mayOverflow && this.sender.outstanding > 0;
  }

  /** Completions so far. */
  get progress(): number {
    return this.sender.over + this.receiver.over;
  }

  /** What this end is about to send makes the other one fail. */
  markOther(): void {
    if (this.isReliable) this.other.mayFail = true;
  }

  /** Posts receive entries up to `depth`. */
  receive(depth = this.plan.receiveDepth): void {
    if (!this.isDead) this.receiver.post(depth);
  }

  /** Takes all completions and checks them. */
  reap(): void {
    const { sendCq, receiveCq } = this.qp.parts;
    this.queues.reap(sendCq);
    this.queues.reap(receiveCq);
  }

  toState(state: QpState): void {
    if (!this.isDead) this.qp.change({ attributeMask: QpMask.STATE, state });
  }

  /** Tells a QP in error of receives posted since. */
  ring(): void {
    if (!this.isDead) this.qp.ring();
  }

  /** Every send has had its completion, and every receive; only when nothing is going on any more and the QP is in error. */
  checkComplete(): void {
    if (this.isDead || this.mayOverflow) return;
    this.expect(this.sender.outstanding === 0, `${this.sender.outstanding} sends never completed`);
    this.expect(this.receiver.pending === 0, `${this.receiver.pending} receives lost`);
  }

  /** What the other end received fits what this one sent; what it did to the other's memory fits as well. */
  checkDelivered(): void {
    if (!this.isReliable) return;
    const { received } = this.other.receiver;
    const { messagesDone } = this.sender;
    this.expect(received >= messagesDone, `${messagesDone} messages succeeded, ${received} arrived`);
    const wrong = this.memory.findWrong() ?? this.window.memory.findWrong() ?? this.source.findWrongCell();
    if (wrong !== undefined) this.fail(wrong);
  }

  get nowNs(): number {
    return this.side.fixture.machine.clock.now();
  }

  get wireIsGood(): boolean {
    const { drop, corrupt, duplicate, reorder, flaps } = this.#wire;
    return drop + corrupt + duplicate + reorder === 0 && flaps.length === 0;
  }

  /** What this end receives it answers or refuses, and its answer arrives: the other one need not find out by itself that it has failed. */
  get isHeard(): boolean {
    return (
      this.wireIsGood && !this.isDead && !this.isStopped && !this.mayOverflow && this.plan.rnrRetry === RNR_INFINITE
    );
  }

  /** Datagrams fail when they find the port down. */
  get portMayFail(): boolean {
    return this.plan.serviceType === ServiceType.UD && this.#wire.isProduct && this.#wire.flaps.length > 0;
  }

  expect(holds: boolean, otherwise: string): void {
    if (!holds) this.fail(otherwise);
  }

  fail(what: string): never {
    throw new Error(`${this.name}: ${what}`);
  }

  #drawDatagram(): Operation {
    const isDatagram = this.plan.serviceType === ServiceType.UD;
    const operation = this.source.drawSend(isDatagram ? Math.min(this.plan.largest, 1024) : this.plan.largest);
    if (!isDatagram) return operation;
    const { qpn: remoteQpn } = this.other.qp;
    return { ...operation, request: { ...operation.request, remoteQpn, qkey: 0x77, addressHandle: this.#handle } };
  }
}
