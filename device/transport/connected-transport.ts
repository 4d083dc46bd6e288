// SPDX-License-Identifier: Apache-2.0
/**
 * RC and UC as a whole: requester, completer, responder and their timers put together, and the life of a record from launch to completion. The send
 * pipeline launches commands here; the port receiver brings packets.
 */
import { COMMAND_HEADER_BYTES, MESSAGE_MAX_BYTES, SGE_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandCollectLength,
  getSendCommandSgeAddress,
  getSendCommandSgeCount,
  getSendCommandSgeLength,
  getSendCommandSgeLkey,
} from '../../protocol/layout/gen/send-command.gen.ts';
import { SGE_SIZE } from '../../protocol/layout/gen/sge.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  FaultKind,
  QpState,
  SendOpcode,
} from '../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { AdapterClock } from '../host.ts';
import type { Lane } from '../lane/lane.ts';
import type { Port } from '../port/port.ts';
import type { KeyCheck } from '../queues/key-check.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { AtomicUnit } from './atomic-unit.ts';
import { Completer } from './completer.ts';
import { postSendCompletion } from './completions.ts';
import { sendStatus } from './fault-status.ts';
import { KeyRequests } from './key-requests.ts';
import type { ReceiveQueueReader } from './receive-queue.ts';
import { RequestKind, requestKind } from './request-opcodes.ts';
import { Requester } from './requester.ts';
import { RECORDS_PER_QUEUE_PAIR, type RequesterState } from './requester-state.ts';
import { Responder } from './responder.ts';
import { Responses } from './responses.ts';
import { RetryTimers } from './retry-timers.ts';
import { type SendRecord, SendRecordPool } from './send-record.ts';

const ATOMIC_BYTES = 8;
const SEQUENCE_MASK = 0xffff;

export interface ConnectedSurroundings {
  readonly clock: AdapterClock;
  readonly ports: readonly Port[];
  readonly lane: Lane;
  readonly keys: KeyCheck;
  readonly reader: ReceiveQueueReader;
  /** More commands may be taken from the send queue. */
  schedule(qp: QueuePair): void;
  moveToError(qp: QueuePair): void;
  /** A command of the send queue failed. */
  failSends(qp: QueuePair): void;
  noteDrained(qp: QueuePair): void;
}

export class ConnectedTransport {
  readonly timers = new RetryTimers();
  readonly requester: Requester;
  readonly completer: Completer;
  readonly responder: Responder;
  readonly responses: Responses;
  readonly #around: ConnectedSurroundings;
  readonly #pool = new SendRecordPool();

  constructor(around: ConnectedSurroundings) {
    this.#around = around;
    const { ports, lane, keys, reader, clock } = around;
    const keyRequests = new KeyRequests(keys);
    const now = (): number => clock.now();
    const completeDone = (qp: QueuePair): void => this.#completeDone(qp);
    const returnUnbegun = (qp: QueuePair): void => this.#returnUnbegun(qp);
    const fail = (qp: QueuePair, event: EventType, fault: FaultKind): void => this.#failResponder(qp, event, fault);
    this.requester = new Requester({
      ports,
      timers: this.timers,
      now,
      releaseExecutionCredit: () => lane.releaseExecutionCredit(),
      performLocal: (qp, record) => keyRequests.perform(qp, record),
      completeDone,
      returnUnbegun,
    });
    this.completer = new Completer({
      requester: this.requester,
      timers: this.timers,
      now,
      completeDone,
      failOldest: (qp, status, fault) => this.#failOldest(qp, status, fault),
      resume: (qp) => this.#resume(qp),
      returnUnbegun,
    });
    this.responses = new Responses({ ports, keys, reader, fail });
    this.responder = new Responder({
      keys,
      reader,
      responses: this.responses,
      atomics: new AtomicUnit(keys),
      fail,
      established: (qp) => qp.owner.postAsynchronous(EventType.COMMUNICATION_ESTABLISHED, qp, FaultKind.NONE),
    });
  }

  /** Makes a record of a launched command, whose PCB is free afterwards. Both its credits are held by the record. */
  launch(qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    const state = qp.requester as RequesterState;
    const record = this.#pool.take();
    record.load(buffer);
    record.fault = buffer.fault !== FaultKind.NONE ? buffer.fault : this.#loadPayload(qp, record, buffer);
    state.append(record);
    this.requester.wake(state);
  }

  /** Sends what can be sent, at most about `limit` packets. Returns the packets sent. */
  run(limit: number): number {
    let sent = 0;
    while (sent < limit) {
      const answers = this.responses.serve();
      const requests = this.requester.serve();
      if (answers <= 0 && requests <= 0) break;
      sent += Math.max(0, answers) + Math.max(0, requests);
    }
    return sent;
  }

  /** Fires timers that are due, and asks the clock for the next one. */
  expire(): void {
    const { clock } = this.#around;
    const { nextNs } = this.timers;
    if (nextNs === Number.POSITIVE_INFINITY) return;
    const now = clock.now();
    if (nextNs <= now) this.timers.expire(now, (qp) => this.completer.expire(qp.requester as RequesterState));
    // Asked again each time: a clock keeps the earliest alarm only, and links ask for alarms too.
    if (this.timers.nextNs !== Number.POSITIVE_INFINITY) clock.setAlarm(this.timers.nextNs);
  }

  /** A connection begins (RTR: receiving; RTS: sending). */
  startReceiving(qp: QueuePair): void {
    qp.responder?.start(qp.attributes.receivePsn, qp.attributes.maxReadsServed);
  }

  startSending(qp: QueuePair): void {
    qp.requester?.start(qp.sendPsn);
  }

  /** SQD: what is begun is finished, the rest goes back to the send queue (IBTA 10.3.1). */
  drain(qp: QueuePair): void {
    if (qp.requester !== undefined) this.#returnUnbegun(qp);
  }

  /** Completes every record as flushed, in order; their credits come back. */
  flush(qp: QueuePair): void {
    this.#dispose(qp, true);
  }

  /** Drops every record without a completion: RESET, destruction. */
  drop(qp: QueuePair): void {
    this.#dispose(qp, false);
  }

  #dispose(qp: QueuePair, report: boolean): void {
    const state = qp.requester;
    if (state === undefined) return;
    this.timers.set(state, Number.POSITIVE_INFINITY);
    for (let record = state.shift(); record !== undefined; record = state.shift()) {
      if (report) postSendCompletion(qp, record.sequence, record.opcode, CompletionStatus.FLUSHED, FaultKind.NONE);
      this.#release(qp, record);
    }
    state.start(state.nextPsn);
  }

  /** Completes the records that are done, oldest first, until one is not. */
  #completeDone(qp: QueuePair): void {
    const state = qp.requester as RequesterState;
    const before = state.recordCount;
    while (state.oldest?.done) {
      const record = state.oldest;
      if (record.fault !== FaultKind.NONE)
        return this.#failOldest(qp, sendStatus(record.fault, record.opcode), record.fault);
      state.shift();
      if (record.signaled || qp.creation.signalAll)
        postSendCompletion(
          qp,
          record.sequence,
          record.opcode,
          CompletionStatus.SUCCESS,
          FaultKind.NONE,
          returnedBytes(record),
        );
      this.#release(qp, record);
      // The completion may have failed the QP, which flushed the rest.
      if (qp.state === QpState.ERR) return;
    }
    if (before >= RECORDS_PER_QUEUE_PAIR && state.recordCount < before) this.#around.schedule(qp);
    if (state.recordCount === 0) this.#around.noteDrained(qp);
  }

  #failOldest(qp: QueuePair, status: CompletionStatus, fault: FaultKind): void {
    const state = qp.requester as RequesterState;
    const record = state.shift();
    if (record !== undefined) {
      postSendCompletion(qp, record.sequence, record.opcode, status, fault);
      this.#release(qp, record);
    }
    this.#around.failSends(qp);
  }

  /** IBTA 9.9.3: the responder failed; software is told by an event. */
  #failResponder(qp: QueuePair, event: EventType, fault: FaultKind): void {
    if (qp.state === QpState.ERR) return;
    qp.owner.faults.report(fault, qp.number, 0);
    this.#around.moveToError(qp);
    qp.owner.postAsynchronous(event, qp, fault);
  }

  /** Records not begun give back their credits; their commands will be read from the send queue again. */
  #returnUnbegun(qp: QueuePair): void {
    const state = qp.requester as RequesterState;
    let last: SendRecord | undefined;
    let record = state.oldest;
    while (record?.numbered) {
      // What is begun must not hold up others while the QP waits.
      this.#releaseExecution(record);
      last = record;
      record = record.next;
    }
    if (record === undefined) {
      // Commands that wait in the lane go back as well.
      if (qp.inFlight > state.recordCount)
        qp.rewind((qp.nextSequence - (qp.inFlight - state.recordCount)) & SEQUENCE_MASK);
      qp.inFlight = state.recordCount;
      return;
    }
    qp.rewind(record.sequence);
    if (last === undefined) state.oldest = undefined;
    else last.next = undefined;
    state.newest = last;
    if (state.cursor !== undefined && !state.cursor.numbered) state.cursor = undefined;
    while (record !== undefined) {
      const { next }: SendRecord = record;
      state.recordCount--;
      this.#release(qp, record);
      record = next;
    }
    qp.inFlight = state.recordCount;
    this.#around.noteDrained(qp);
  }

  #resume(qp: QueuePair): void {
    this.requester.wake(qp.requester as RequesterState);
    this.#around.schedule(qp);
  }

  #release(qp: QueuePair, record: SendRecord): void {
    this.#releaseExecution(record);
    this.#around.lane.releaseCompletionCredit();
    if (qp.inFlight > 0) qp.inFlight--;
    this.#pool.give(record);
  }

  #releaseExecution(record: SendRecord): void {
    if (!record.executing) return;
    record.executing = false;
    this.#around.lane.releaseExecutionCredit();
  }

  /** Checks the command and takes its payload or its scatter/gather list. */
  #loadPayload(qp: QueuePair, record: SendRecord, buffer: PhysicalCollectBuffer): FaultKind {
    const { view } = buffer;
    const kind = requestKind(qp.creation.serviceType, record.opcode);
    record.list.clear();
    if (kind === RequestKind.NONE) return FaultKind.COMMAND_OPCODE;
    if (kind === RequestKind.LOCAL) {
      record.loadHeader(buffer.bytes);
      return FaultKind.NONE;
    }
    const room = getSendCommandCollectLength(view, 0) - COMMAND_HEADER_BYTES;
    if (record.messageLength > MESSAGE_MAX_BYTES) return FaultKind.COMMAND_LENGTH;
    const count = getSendCommandSgeCount(view, 0);
    if (record.inline) {
      if (kind === RequestKind.READ || kind === RequestKind.ATOMIC || count !== 0) return FaultKind.COMMAND_SGE;
      if (record.messageLength > room) return FaultKind.COMMAND_LENGTH;
      record.inlineBytes.set(buffer.bytes.subarray(COMMAND_HEADER_BYTES, COMMAND_HEADER_BYTES + record.messageLength));
      return FaultKind.NONE;
    }
    if (kind === RequestKind.ATOMIC) {
      if (count !== 1 || record.messageLength !== ATOMIC_BYTES || room < 2 * ATOMIC_BYTES) return FaultKind.COMMAND_SGE;
      record.loadAtomicOperands(view);
    }
    if (count > SGE_MAX || (count > 1 && count * SGE_SIZE > room)) return FaultKind.COMMAND_SGE;
    if (count === 1)
      record.list.add(
        getSendCommandSgeAddress(view, 0),
        getSendCommandSgeLength(view, 0),
        getSendCommandSgeLkey(view, 0),
      );
    else record.list.addFrom(view, COMMAND_HEADER_BYTES, count);
    if (record.list.totalBytes !== record.messageLength) return FaultKind.COMMAND_SGE;
    const writesLocal = kind === RequestKind.READ || kind === RequestKind.ATOMIC;
    return record.list.check(qp, this.#around.keys, writesLocal ? AccessFlag.LOCAL_WRITE : 0);
  }
}

/** Bytes a READ or atomic brought back. */
function returnedBytes(record: SendRecord): number {
  const isFetch =
    record.opcode === SendOpcode.RDMA_READ ||
    record.opcode === SendOpcode.COMPARE_SWAP ||
    record.opcode === SendOpcode.FETCH_ADD;
  return isFetch ? record.messageLength : 0;
}
