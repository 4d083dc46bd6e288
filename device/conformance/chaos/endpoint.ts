// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a connection in a chaos run: posts sends and receives as software would, reaps completions, and checks each against what the oracle knows.
 * Everything that cannot be is an exception that says what.
 */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  CompletionStatus,
  completionStatusNames,
  QpMask,
  QpState,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import type { Random } from '../../hosts/in-process/random.ts';
import { ExposedMemory } from './exposed-memory.ts';
import { FastKey } from './fast-key.ts';
import { type Operation, OperationSource, plain, REMOTE_FAILURES } from './operation.ts';
import type { ConnectionPlan, WirePlan } from './plan.ts';
import { ReceiveSide } from './receive-side.ts';
import type { Trace } from './trace.ts';
import type { Side } from './world.ts';

const SEND_ENTRIES_LOG2 = 4;
const RECEIVE_ENTRIES_LOG2 = 4;
const { SUCCESS, FLUSHED, RETRY_EXCEEDED, RNR_RETRY_EXCEEDED } = CompletionStatus;

export class Endpoint {
  readonly name: string;
  readonly plan: ConnectionPlan;
  readonly side: Side;
  readonly qp: DriverQueuePair;
  readonly memory: ExposedMemory;
  readonly fastKey: FastKey;
  readonly receiver: ReceiveSide;
  /** Sends posted, in order, and how many of them are known to be over. */
  readonly operations: Operation[] = [];
  over = 0;
  /** Of those that consume a receive entry: the ones posted, and how many are known to have succeeded. */
  readonly messages: Operation[] = [];
  messagesDone = 0;
  /** The QP may fail, or completions may be lost, for a reason that is known. */
  mayFail = false;
  /** Nothing more will come: reset. */
  isDead = false;
  failed = false;
  readonly #random: Random;
  readonly #trace: Trace;
  readonly #wire: WirePlan;
  #isDrained = false;
  source!: OperationSource;
  other!: Endpoint;
  #handle = 0;

  constructor(name: string, side: Side, plan: ConnectionPlan, wire: WirePlan, random: Random, trace: Trace) {
    this.name = name;
    this.side = side;
    this.plan = plan;
    this.#random = random;
    this.#trace = trace;
    this.#wire = wire;
    const { bench } = side;
    const cq = { entriesLog2: plan.completionEntriesLog2 };
    this.qp = bench.driver.createQueuePair({
      pd: bench.pd,
      sendCq: bench.createCompletionQueue(cq),
      receiveCq: bench.createCompletionQueue(cq),
      sendEntriesLog2: SEND_ENTRIES_LOG2,
      receiveEntriesLog2: RECEIVE_ENTRIES_LOG2,
      creation: { serviceType: plan.serviceType, signalAll: plan.signalAll },
    });
    this.memory = new ExposedMemory(bench, bench.pd, Math.min(plan.largest, 2000));
    this.fastKey = new FastKey(bench, bench.pd);
    this.receiver = new ReceiveSide(this, RECEIVE_ENTRIES_LOG2, trace);
  }

  get isReliable(): boolean {
    return this.plan.serviceType === ServiceType.RC;
  }

  /** CQs of this end may overflow. */
  get isCramped(): boolean {
    return this.plan.completionEntriesLog2 < 5;
  }

  connect(other: Endpoint, first: boolean): void {
    this.other = other;
    const { bench, port } = this.side;
    const { plan } = this;
    this.source = new OperationSource(bench, this.#random, other.memory, other.fastKey, plan.largest);
    const dlid = other.side.bench.lidOf(other.side.port);
    const [sendPsn, receivePsn] = first ? plan.psns : [plan.psns[1], plan.psns[0]];
    if (plan.serviceType === ServiceType.UD) {
      this.#handle = bench.driver.addressHandles.add({ port, dlid, pd: bench.pd });
      this.qp.start({ port, qkey: 0x77, sendPsn });
      return;
    }
    const { pathMtu, timeout, retryCount, rnrRetry, minRnrTimer, maxReads } = plan;
    const retries = { timeout, retryCount, rnrRetry, minRnrTimer, maxReads };
    const remoteQpn = other.qp.qpn;
    this.qp.connect({ reliable: this.isReliable, port, dlid, remoteQpn, pathMtu, sendPsn, receivePsn, ...retries });
    if (this.isReliable) this.#post({ ...plain('REGISTER'), request: this.fastKey.request });
  }

  /** Posts one send, if the send queue has room. */
  send(bad = false): void {
    const outstanding = this.operations.length - this.over;
    // One place is kept for the last request.
    if (this.isDead || outstanding >= (1 << SEND_ENTRIES_LOG2) - 1 || (bad && !this.isReliable)) return;
    const drawn = bad ? this.source.drawBad() : this.isReliable ? this.source.draw() : this.#drawDatagram();
    // Software that never asks for a completion never learns that its queue has room.
    const mustSignal = outstanding >= 1 << (SEND_ENTRIES_LOG2 - 1);
    this.#post(mustSignal ? { ...drawn, request: { ...drawn.request, signaled: true } } : drawn);
  }

  /** A signalled request that does nothing: with it everything before it has completed. */
  sendLast(): void {
    if (this.isDead) return;
    this.#post(this.source.drawNothing(true));
  }

  /** Stops beginning requests, and goes on. Refused by a QP that has failed. */
  drain(): void {
    this.qp.modify({ attributeMask: QpMask.STATE, state: QpState.SQD });
    this.#isDrained = true;
  }

  resume(): void {
    if (!this.#isDrained || this.isDead) return;
    this.#isDrained = false;
    this.qp.modify({ attributeMask: QpMask.STATE, state: QpState.RTS });
  }

  /** Software takes the QP, or the whole function, away. */
  die(): void {
    this.isDead = true;
    this.mayFail = true;
  }

  /** A completion is still to come. */
  get isWaiting(): boolean {
    return !this.isDead && !this.isCramped && this.over < this.operations.length;
  }

  /** Completions so far. */
  get progress(): number {
    return this.over + this.receiver.over;
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
    for (let entry = sendCq.poll(); entry !== undefined; entry = sendCq.poll()) this.#reapSend(entry);
    for (let entry = receiveCq.poll(); entry !== undefined; entry = receiveCq.poll()) this.receiver.reap(entry);
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
    if (this.isDead || this.isCramped) return;
    this.expect(this.over === this.operations.length, `${this.operations.length - this.over} sends never completed`);
    this.expect(this.receiver.pending === 0, `${this.receiver.pending} receives lost`);
  }

  /** What the other end received fits what this one sent. */
  checkDelivered(): void {
    const { received } = this.other.receiver;
    if (!this.isReliable) return;
    this.expect(received >= this.messagesDone, `${this.messagesDone} messages succeeded, ${received} arrived`);
    const wrong = this.memory.findWrong();
    if (wrong !== undefined) this.fail(wrong);
  }

  #post(operation: Operation): void {
    const by = this.#random.pick(['collect', 'doorbell', 'register'] as const);
    this.qp.post(operation.request, by);
    this.#trace.add(this.nowNs, `${this.name} posts ${operation.name}`, this.operations.length);
    this.operations.push(operation);
    if (operation.payload !== undefined) this.messages.push(operation);
  }

  get nowNs(): number {
    return this.side.bench.machine.clock.now();
  }

  #drawDatagram(): Operation {
    const isDatagram = this.plan.serviceType === ServiceType.UD;
    const operation = this.source.drawSend(isDatagram ? Math.min(this.plan.largest, 1024) : this.plan.largest);
    if (!isDatagram) return operation;
    const { qpn: remoteQpn } = this.other.qp;
    return { ...operation, request: { ...operation.request, remoteQpn, qkey: 0x77, addressHandle: this.#handle } };
  }

  #reapSend(entry: CompletionEntry): void {
    const { status, queueSequence } = entry;
    this.#trace.add(this.nowNs, `${this.name} send ${completionStatusNames[status]}`, queueSequence);
    const ahead = (queueSequence - this.over) & 0xffff;
    this.expect(
      this.over + ahead < this.operations.length,
      `completion of send ${queueSequence}, which was not posted`,
    );
    for (let skipped = 0; skipped < ahead; skipped++) {
      const { request } = this.operations[this.over] as Operation;
      const isSilent = request.signaled === false && this.plan.signalAll === 0 && !this.failed;
      this.expect(isSilent || this.isCramped, `send ${this.over} has no completion`);
      this.#succeed(this.operations[this.over++] as Operation);
    }
    const operation = this.operations[this.over++] as Operation;
    if (status === SUCCESS) this.#succeed(operation);
    else this.#failSend(operation, status);
  }

  #succeed(operation: Operation): void {
    this.expect(!this.failed, `${operation.name} ${this.over - 1} succeeds behind a failed one`);
    this.expect(!operation.bad, `bad request ${this.over - 1} succeeds`);
    if (operation.payload !== undefined) this.messagesDone++;
    if (operation.write !== undefined) operation.write.done = true;
    const wrong = operation.check();
    if (wrong !== undefined) this.fail(`send ${this.over - 1}: ${wrong}`);
  }

  #failSend(operation: Operation, status: number): void {
    const wasFailed = this.failed;
    this.failed = true;
    const name = `${operation.name} ${this.over - 1} ends with ${completionStatusNames[status]}`;
    if (status === FLUSHED) return this.expect(wasFailed || this.mayFail || this.isCramped, name);
    this.expect(!wasFailed, `${name} behind a failed one`);
    const other = this.other;
    // Its failure may have come first, without software having looked.
    other.reap();
    const otherIsGone = other.mayFail || other.isDead || other.failed || other.isCramped;
    if (status === RETRY_EXCEEDED) this.expect(otherIsGone || !this.wireIsGood, name);
    else if (status === RNR_RETRY_EXCEEDED) this.expect(this.plan.rnrRetry < 7, name);
    else this.expect(REMOTE_FAILURES.includes(status) && (operation.bad || otherIsGone), name);
    // The other end has refused it, and failed with it.
    other.mayFail ||= operation.bad;
  }

  get wireIsGood(): boolean {
    const { drop, corrupt, duplicate, reorder, flaps } = this.#wire;
    return drop + corrupt + duplicate + reorder === 0 && flaps.length === 0;
  }

  expect(holds: boolean, otherwise: string): void {
    if (!holds) this.fail(otherwise);
  }

  fail(what: string): never {
    throw new Error(`${this.name}: ${what}`);
  }
}
