// SPDX-License-Identifier: Apache-2.0
/**
 * RC and UC as a whole: requester, completer, responder and their timers put together, and the life of a record from launch to completion. The send
 * pipeline launches commands here; the port receiver brings packets.
 */
import { SEND_COMMAND_SEQUENCE_MASK } from '../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, EventType, FaultKind, QpState } from '../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { AdapterClock } from '../host.ts';
import type { Port } from '../port/port.ts';
import type { KeyCheck } from '../protection/key-check.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { AtomicUnit } from './atomic-unit.ts';
import { CommandLoader } from './command-loader.ts';
import { Completer } from './completer.ts';
import { attachStates, requesterOf, responderOf } from './connected-states.ts';
import type { ReceiveQueueReader } from './receive-queue.ts';
import { Requester } from './requester.ts';
import { RequesterKeys } from './requester-keys.ts';
import type { RequesterState } from './requester-state.ts';
import { Responder } from './responder.ts';
import { ResponderAnswers } from './responder-answers.ts';
import type { FailResponder } from './responder-request.ts';
import { RetryTimers } from './retry-timers.ts';
import { SendRecordPool } from './send-record.ts';
import { SendRecordLife, type SendRecordLifeParts } from './send-record-life.ts';

export interface ConnectedTransportParts extends SendRecordLifeParts {
  readonly clock: AdapterClock;
  readonly ports: readonly Port[];
  readonly keys: KeyCheck;
  readonly reader: ReceiveQueueReader;
}

export class ConnectedTransport {
  readonly timers = new RetryTimers();
  readonly requester: Requester;
  readonly completer: Completer;
  readonly responder: Responder;
  readonly answers: ResponderAnswers;
  readonly #parts: ConnectedTransportParts;
  readonly #loader: CommandLoader;
  readonly #pool = new SendRecordPool();
  readonly #records: SendRecordLife;

  constructor(parts: ConnectedTransportParts) {
    this.#parts = parts;
    const { ports, lanes, keys, reader, clock } = parts;
    this.#loader = new CommandLoader(keys);
    const records = new SendRecordLife(parts, this.timers, this.#pool);
    this.#records = records;
    const requesterKeys = new RequesterKeys(keys);
    const now = (): number => clock.now();
    const completeDone = (qp: QueuePair): void => records.completeDone(qp);
    const returnUnbegun = (qp: QueuePair): void => records.returnUnbegun(qp);
    const fail: FailResponder = (qp, event, fault, detail) => this.#failResponder(qp, event, fault, detail);
    const awaitTurn = (qp: QueuePair): void => this.requester.awaitTurn(qp, lanes.placeAnswer(qp));
    this.answers = new ResponderAnswers({ ports, keys, reader, fail, awaitTurn });
    this.requester = new Requester({
      ports,
      lanes: lanes.lanes,
      turns: lanes.turns,
      timers: this.timers,
      now,
      releaseExecution: (record) => records.releaseExecution(record),
      performLocal: (qp, record) => requesterKeys.perform(qp, record),
      completeDone,
      returnUnbegun,
      answers: this.answers,
    });
    this.completer = new Completer({
      requester: this.requester,
      timers: this.timers,
      now,
      completeDone,
      failOldest: (qp, status, fault) => records.failOldest(qp, status, fault),
      resume: (qp) => this.#resume(qp),
      returnUnbegun,
    });
    this.responder = new Responder({
      keys,
      reader,
      answers: this.answers,
      atomics: new AtomicUnit(keys),
      fail,
      established: (qp) => qp.owner.postAsynchronous(EventType.COMMUNICATION_ESTABLISHED, qp, FaultKind.NONE),
    });
  }

  /** Makes a record of a launched command. It holds the command's credits, and its PCB as long as the execution credit. */
  launch(qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    const state = qp.requester as RequesterState;
    const record = this.#pool.take();
    record.trace = qp.trace;
    record.trace?.launch(record);
    this.#loader.load(qp, record, buffer);
    state.append(record);
    this.requester.wake(state);
  }

  /** Answers and sends what can be sent now, about `limit` packets at most. Returns the work done: 0 only when no QP can do anything. */
  run(limit: number): number {
    let done = 0;
    let idleTurns = this.#waiting;
    while (done < limit && idleTurns > 0) {
      const work = this.answers.serve() + this.requester.serve();
      done += work;
      // One QP that must wait, for its port or for others, says nothing about those behind it.
      idleTurns = work > 0 ? this.#waiting : idleTurns - 1;
    }
    return done;
  }

  /** Fires timers that are due, and asks the clock for the next one. */
  expire(): void {
    const { clock } = this.#parts;
    const { nextNs } = this.timers;
    if (nextNs === Number.POSITIVE_INFINITY) return;
    const now = clock.now();
    if (nextNs <= now) this.timers.expire(now, (state) => this.completer.expire(state));
    // Asked again each time: a clock keeps the earliest alarm only, and links ask for alarms too.
    if (this.timers.nextNs !== Number.POSITIVE_INFINITY) clock.setAlarm(this.timers.nextNs);
  }

  /** Gives a new connected QP what the transport keeps of it. */
  attach(qp: QueuePair): void {
    if (qp.connected) attachStates(qp);
  }

  /**
   * Takes the primary path from the address vector at `offset` of `command`; it leaves by `port`.
   * Returns false when the vector is bad, or the QP is a datagram QP.
   */
  loadPath(qp: QueuePair, command: DataView, offset: number, port: Port): boolean {
    return requesterOf(qp)?.path.load(command, offset, port) ?? false;
  }

  /** Changes how many READs and atomics the responder can repeat. */
  resizeReads(qp: QueuePair, maxReads: number): void {
    responderOf(qp)?.resize(maxReads);
  }

  /** A connection begins (RTR: receiving; RTS: sending). */
  startReceiving(qp: QueuePair): void {
    responderOf(qp)?.start(qp.attributes.receivePsn, qp.attributes.maxReadsServed);
  }

  startSending(qp: QueuePair): void {
    const state = requesterOf(qp);
    if (state === undefined) return;
    this.timers.add(state);
    state.start(qp.sendPsn);
  }

  /** SQD: what is begun is finished, the rest goes back to the send queue (IBTA 10.3.1). */
  drain(qp: QueuePair): void {
    if (qp.requester !== undefined) this.#records.returnUnbegun(qp);
  }

  /** Completes every record as flushed, in order; their credits come back. */
  flushSends(qp: QueuePair): void {
    this.#records.dispose(qp, true);
  }

  /** The receive entry of a message in progress is flushed before all others; nothing more is answered but the NAK that may be the cause. */
  flushReceives(qp: QueuePair): void {
    qp.trace?.endMessage(CompletionStatus.FLUSHED, FaultKind.NONE);
    const state = responderOf(qp);
    if (state !== undefined) this.responder.abandon(qp, state);
  }

  /** Drops every record, and what is to be answered, without a completion: RESET, destruction. */
  drop(qp: QueuePair): void {
    this.#records.dispose(qp, false);
    const state = requesterOf(qp);
    if (state !== undefined) this.timers.remove(state);
    responderOf(qp)?.clear();
  }

  get #waiting(): number {
    return Math.max(this.answers.waiting, this.requester.waiting);
  }

  /** IBTA 9.9.3: the responder failed; software is told by an event unless a completion has told it. */
  #failResponder(qp: QueuePair, event: EventType | undefined, fault: FaultKind, detail: number): void {
    if (qp.state === QpState.ERR) return;
    qp.owner.faults.report(fault, qp.number, detail);
    qp.life.moveToError(qp);
    if (event !== undefined) qp.owner.postAsynchronous(event, qp, fault);
  }

  #resume(qp: QueuePair): void {
    this.requester.wake(qp.requester as RequesterState);
    this.#parts.schedule(qp);
  }
}
