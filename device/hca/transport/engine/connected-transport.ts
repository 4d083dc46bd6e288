// SPDX-License-Identifier: Apache-2.0
/**
 * RC and UC (IBTA 9.7, 9.8.2; US 8,484,392 par. 40, 122-124): builds requester, completer,
 * responder and their timers, and connects them. The send pipeline launches commands here,
 * `PacketReceiver` brings packets, the queue-pair life cycle starts, drains, flushes and drops
 * connections, and `Adapter.run` calls `run`.
 */
import { CompletionStatus, EventType, FaultKind, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { AdapterClock } from '../../../host.ts';
import type { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { DmaTiming } from '../../function/dma-timing.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { ReceiveQueueReader } from '../receive-queue.ts';
import { loadCommand } from '../requester/command-loader.ts';
import { Completer } from '../requester/completer.ts';
import { Requester } from '../requester/requester.ts';
import { RequesterKeys } from '../requester/requester-keys.ts';
import { ResendReads } from '../requester/resend-reads.ts';
import { RetryTimers } from '../requester/retry-timers.ts';
import { SendRecordLife, type SendRecordLifeParts } from '../requester/send-record-life.ts';
import { AtomicUnit } from '../responder/atomic-unit.ts';
import { Responder } from '../responder/responder.ts';
import { ResponderAnswers } from '../responder/responder-answers.ts';
import type { FailResponder } from '../responder/responder-request.ts';
import { ResponseReads } from '../responder/response-reads.ts';
import { attachStates, requesterOf, responderOf } from '../state/connected-states.ts';
import type { RequesterState } from '../state/requester-state.ts';
import type { ResponderState } from '../state/responder-state.ts';
import { SendRecordPool } from '../state/send-record.ts';

/** Units of the adapter that the transport of connections uses. */
export interface ConnectedTransportParts extends SendRecordLifeParts {
  readonly clock: AdapterClock;
  readonly ports: readonly Port[];
  /** Ports of one function. */
  readonly portsOfFunction: number;
  readonly keys: KeyLookup;
  readonly reader: ReceiveQueueReader;
  readonly timing: DmaTiming;
}

export class ConnectedTransport {
  readonly timers = new RetryTimers();
  readonly requester: Requester;
  readonly completer: Completer;
  readonly responder: Responder;
  readonly answers: ResponderAnswers;
  readonly reads: ResponseReads;
  readonly resends: ResendReads;
  readonly #parts: ConnectedTransportParts;
  readonly #pool = new SendRecordPool();
  readonly #records: SendRecordLife;

  constructor(parts: ConnectedTransportParts) {
    this.#parts = parts;
    const { ports, portsOfFunction, lanes, keys, reader, clock, timing } = parts;
    this.resends = new ResendReads(timing);
    const records = new SendRecordLife(parts, this.timers, this.#pool, this.resends);
    this.#records = records;
    const fail: FailResponder = (qp, event, fault, detail) => this.#failResponder(qp, event, fault, detail);
    this.reads = new ResponseReads(timing);
    const takeLoans = (): void => parts.takeLoans();
    const awaitTurn = (state: ResponderState): void => this.requester.awaitTurn(state, lanes.placeAnswer(state.qp));
    this.answers = new ResponderAnswers({ ports, keys, reader, reads: this.reads, fail, awaitTurn, takeLoans });
    const { timers, resends, answers } = this;
    this.requester = new Requester({
      ...{ ports, portsOfFunction, timers, keys, clock, records, answers, resends },
      lanes: lanes.lanes,
      turns: lanes.turns,
      local: new RequesterKeys(keys),
      schedule: (qp) => parts.schedule(qp),
    });
    this.completer = new Completer({ requester: this.requester, records, timers, clock });
    this.responder = new Responder({
      keys,
      reader,
      answers: this.answers,
      atomics: new AtomicUnit(keys),
      fail,
      established: (qp) => qp.owner.postAsynchronous(EventType.COMMUNICATION_ESTABLISHED, qp, FaultKind.NONE),
    });
  }

  /**
   * Begins the record of a launched command. The record holds the command's credits: its PCB and
   * execution credit until its last packet is with the port.
   */
  launch(state: RequesterState, buffer: PhysicalCollectBuffer): void {
    const { qp } = state;
    const record = this.#pool.take();
    record.trace = qp.trace;
    record.trace?.launch(record);
    loadCommand(qp, record, buffer, this.#parts.keys);
    state.append(record);
    this.requester.wake(state);
  }

  /**
   * Sends answers and requests, about `limit` packets. Returns the units of work done; 0 only when
   * no QP can do anything.
   */
  run(limit: number): number {
    let done = 0;
    let idleTurns = this.#waiting();
    while (done < limit && idleTurns > 0) {
      const work = this.answers.serve() + this.requester.serve();
      done += work;
      // A QP that waits for its port or its peer says nothing about the QPs behind it.
      idleTurns = work > 0 ? this.#waiting() : idleTurns - 1;
    }
    return done;
  }

  /** Takes in data of READs that has arrived, and fires expired timers: at the start of a pass. */
  expire(): void {
    if (this.reads.busy || this.resends.busy) this.#landReads();
    const { nextNs } = this.timers;
    if (nextNs === Number.POSITIVE_INFINITY) return;
    const now = this.#parts.clock.now();
    if (nextNs <= now) this.timers.expire(now, (state) => this.completer.expire(state));
  }

  /**
   * Takes in data that has arrived, and sets the alarm for the next timer: at the end of a pass.
   * A timer that has expired meanwhile fires in the next pass, which can send again. Fired here, it
   * would cost a retry without a packet.
   */
  settle(): void {
    if (this.reads.busy || this.resends.busy) this.#landReads();
    // Asked again each time: a clock keeps only the earliest alarm, and links set alarms too.
    if (this.timers.nextNs !== Number.POSITIVE_INFINITY) this.#parts.clock.setAlarm(this.timers.nextNs);
  }

  #landReads(): void {
    this.answers.land();
    this.resends.land((state) => this.requester.wake(state));
    const nextNs = Math.min(this.reads.nextNs, this.resends.nextNs);
    if (nextNs !== Number.POSITIVE_INFINITY) this.#parts.clock.setAlarm(nextNs);
  }

  /** Attaches the states of a new connected QP. */
  attach(qp: QueuePair): void {
    if (qp.connected) attachStates(qp);
  }

  /**
   * Loads the primary path of the QP from the address vector at `offset` of `command`, for `port`.
   * Returns false for a bad vector and for a datagram QP.
   */
  loadPath(qp: QueuePair, command: DataView, offset: number, port: Port): boolean {
    return requesterOf(qp)?.path.load(command, offset, port) ?? false;
  }

  /** Sets the number of READs and atomics that the responder can repeat. */
  resizeReads(qp: QueuePair, maxReads: number): void {
    responderOf(qp)?.resize(maxReads);
  }

  /** The QP enters RTR: the responder starts. */
  startReceiving(qp: QueuePair): void {
    responderOf(qp)?.start(qp.attributes.receivePsn, qp.attributes.maxReadsServed);
  }

  /** The QP enters RTS: the requester starts. */
  startSending(qp: QueuePair): void {
    const state = requesterOf(qp);
    if (state === undefined) return;
    this.timers.add(state);
    state.start(qp.sendPsn);
  }

  /** SQD: begun messages end; the others return to the send queue (IBTA 10.3.1). */
  drain(qp: QueuePair): void {
    const state = requesterOf(qp);
    if (state !== undefined) this.#records.returnUnbegun(state);
  }

  /** Completes all records as flushed, in order, and returns their credits. */
  flushSends(qp: QueuePair): void {
    const state = requesterOf(qp);
    if (state !== undefined) this.#records.dispose(state, true);
  }

  /**
   * Flushes the receive WQE of the message in progress, before the caller flushes the others. Of
   * the queued answers only a NAK, which may be the cause, and those before it are still sent.
   */
  flushReceives(qp: QueuePair): void {
    qp.trace?.endMessage(CompletionStatus.FLUSHED, FaultKind.NONE);
    const state = responderOf(qp);
    if (state !== undefined) this.responder.abandon(state);
  }

  /** The SRQ that the last request for an XRC target named is gone, and with it the WQE taken. */
  closeQueue(qp: QueuePair): void {
    const state = responderOf(qp);
    if (state !== undefined) state.wqeTaken = false;
    qp.leaveQueue();
  }

  /** Drops all records and queued answers without completions: RESET or destruction. */
  drop(qp: QueuePair): void {
    const state = requesterOf(qp);
    if (state !== undefined) {
      this.#records.dispose(state, false);
      this.timers.remove(state);
    }
    responderOf(qp)?.clear();
  }

  #waiting(): number {
    return Math.max(this.answers.waiting, this.requester.waiting);
  }

  /** IBTA 9.9.3: the responder failed. An event reports it unless a completion did. */
  #failResponder(qp: QueuePair, event: EventType | undefined, fault: FaultKind, detail: number): void {
    if (qp.state === QpState.ERR) return;
    qp.owner.faults.report(fault, qp, detail);
    qp.life.moveToError(qp);
    if (event !== undefined) qp.owner.postAsynchronous(event, qp, fault);
  }
}
