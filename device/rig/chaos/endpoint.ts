// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a connection in a chaos run: a QP that requests and responds, the memory and keys that
 * it exposes, and the facts by which its completions are judged (whether the QP may fail, whether a
 * CQ may overflow). A completion or a byte that no fact explains throws an error. Called by
 * `run.ts`.
 */
import { AccessFlag, QpMask, QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ExposedMemory } from './exposed-memory.ts';
import { FastKey } from './fast-key.ts';
import type { WireSide } from './network.ts';
import { newOperation, type Operation } from './operation.ts';
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

/** An end: its QP, both halves, and its state. */
export class Endpoint implements ReceivingEnd, SendingEnd, CompletingEnd {
  readonly name: string;
  readonly plan: ConnectionPlan;
  readonly side: WireSide;
  readonly queues: SideQueues;
  readonly qp: DriverQueuePair;
  readonly memory: ExposedMemory;
  readonly window: WindowKey;
  readonly receiver: ReceiveSide;
  readonly sender: SendSide;
  fastKey: FastKey;
  /** The QP may fail, or completions may be lost, for a known reason. */
  mayFail = false;
  /** Software has put the QP into ERR, so it answers nothing, not even by a NAK. */
  isStopped = false;
  /** The QP is in RESET, or gone with its function: no completion follows. */
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
    side: WireSide,
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

  /** Not with a shared receive queue: lost completions would lose its entries too. */
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
    this.source = new OperationSource(fixture, this.#random, other, plan);
    const dlid = other.side.fixture.lidOf(other.side.port);
    if (plan.serviceType === ServiceType.UD) {
      this.#handle = fixture.driver.addressHandles.add({ port, dlid, pd: fixture.pd });
      this.qp.start({ port, qkey: 0x77, sendPsn });
      return;
    }
    const { pathMtu, timeout, retryCount, rnrRetry, minRnrTimer, maxReads } = plan;
    const access = FULL_ACCESS | AccessFlag.FLUSH_GLOBAL;
    const more = { timeout, retryCount, rnrRetry, minRnrTimer, maxReads, access };
    const remoteQpn = other.qp.qpn;
    this.qp.connect({ reliable: this.isReliable, port, dlid, remoteQpn, pathMtu, sendPsn, receivePsn, ...more });
    if (!this.isReliable) return;
    const { fastKey } = this;
    const check = (): undefined => {
      fastKey.isRegistered = true;
    };
    this.sender.post({ ...newOperation('REGISTER'), request: fastKey.request, check });
    this.sender.post(this.window.bind());
  }

  /** Ends the old connection. Checks the completions so far; outstanding requests get none. */
  disconnect(): void {
    this.reap();
    this.qp.toReset();
    this.isDead = true;
    this.reap();
  }

  /** Forgets the old connection. Both ends are in RESET. */
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

  /** Posts one send if the send queue has room; `bad`: one that the other end must refuse. */
  send(bad = false): void {
    const { sender } = this;
    if (this.isDead || !sender.hasRoom || (bad && !this.isReliable)) return;
    const drawn = bad ? this.source.drawBad() : this.isReliable ? this.source.draw() : this.#drawDatagram();
    sender.post(sender.mustSignal ? { ...drawn, request: { ...drawn.request, signaled: true } } : drawn);
  }

  /** Posts a signaled NOP: its completion shows that all requests before it have completed. */
  sendLast(): void {
    if (!this.isDead) this.sender.post(this.source.drawNothing(true));
  }

  /** Unbinds the window while the other end may be using it. */
  revoke(): void {
    if (!this.isReliable || !this.sender.hasRoom || !this.window.isBound) return;
    this.mayFail = true;
    this.sender.post(this.window.revoke());
  }

  /** Binds the window again if it is known to be unbound. */
  rebind(): void {
    if (!this.isDead && this.window.mayBind && this.sender.hasRoom) this.sender.post(this.window.bind());
  }

  /** Moves the QP to SQD, where it begins no request. A QP that has failed refuses it. */
  drain(): void {
    this.qp.modify({ attributeMask: QpMask.STATE, state: QpState.SQD });
    this.#isDrained = true;
  }

  /** Moves the QP from SQD back to RTS. */
  resume(): void {
    if (!this.#isDrained || this.isDead) return;
    this.#isDrained = false;
    // RTS would take a QP out of SQE as well.
    this.reap();
    if (this.failed) return;
    this.qp.modify({ attributeMask: QpMask.STATE, state: QpState.RTS });
  }

  /** Notes that software has reset the QP or its function. */
  markDead(): void {
    this.isDead = true;
    this.mayFail = true;
  }

  /** A completion is still to come. */
  get isWaiting(): boolean {
    return !this.isDead && !this.mayOverflow && this.sender.outstanding > 0;
  }

  /** Completions so far. */
  get progress(): number {
    return this.sender.completed + this.receiver.completed;
  }

  /** Notes that the next send makes the other end fail. */
  markOther(): void {
    if (this.isReliable) this.other.mayFail = true;
  }

  /** Posts receive entries until `depth` are outstanding. */
  receive(depth = this.plan.receiveDepth): void {
    if (!this.isDead) this.receiver.post(depth);
  }

  /** Takes and checks all completions. */
  reap(): void {
    const { sendCq, receiveCq } = this.qp.parts;
    this.queues.reap(sendCq);
    this.queues.reap(receiveCq);
  }

  toState(state: QpState): void {
    if (!this.isDead) this.qp.change({ attributeMask: QpMask.STATE, state });
  }

  /** Rings a QP in error, so that it flushes receive entries posted since. */
  ring(): void {
    if (!this.isDead) this.qp.ring();
  }

  /** Checks that all sends and receives have completed. Called for a QP in error, at rest. */
  checkComplete(): void {
    if (this.isDead || this.mayOverflow) return;
    this.expect(this.sender.outstanding === 0, `${this.sender.outstanding} sends never completed`);
    this.expect(this.receiver.pending === 0, `${this.receiver.pending} receives lost`);
  }

  /**
   * Checks that the other end has received what this one sent, and that the memory of both holds
   * only what the requests of this connection may have left there.
   */
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
    const { drop, corrupt, duplicate, reorder, bitsPerSecond, flaps } = this.#wire;
    // Packets that a slow wire holds longer than the timeout cost retries.
    return drop + corrupt + duplicate + reorder + bitsPerSecond === 0 && flaps.length === 0;
  }

  /**
   * This end answers or refuses each request, and the answer arrives: the other end then never runs
   * out of retries because this one has failed.
   */
  get answersArrive(): boolean {
    return (
      this.wireIsGood && !this.isDead && !this.isStopped && !this.mayOverflow && this.plan.rnrRetry === RNR_INFINITE
    );
  }

  /** Datagrams fail when the port is down. */
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
