// SPDX-License-Identifier: Apache-2.0
/**
 * The ends of the records of connected QPs: completed, failed, flushed, dropped, or returned to the
 * send queue (US 8,484,392 par. 121-124; IBTA 9.7, 10.3.1). Each way returns the PCB and both
 * credits of the command once. `ConnectedTransport` begins records and disposes of them; requester,
 * completer and `RequesterPages` end them by `RecordEndings`.
 */
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, FaultKind, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import type { TransmitVirtualLanes } from '../../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { FailureCause, UNKNOWN } from '../../queues/queue-pair-failure.ts';
import type { QueuePairTrace } from '../../trace/queue-pair-trace.ts';
import { postSendCompletion } from '../completions.ts';
import { sendStatus } from '../fault-status.ts';
import { RECORDS_PER_QUEUE_PAIR, type RequesterState } from '../state/requester-state.ts';
import type { SendRecord, SendRecordPool } from '../state/send-record.ts';
import type { ResendReads } from './resend-reads.ts';
import type { RetryTimers } from './retry-timers.ts';

/** The ends of a record that requester, completer and `RequesterPages` bring about. */
export interface RecordEndings {
  /** Completes done records, oldest first, up to the first that is not done. */
  completeDone(state: RequesterState): void;
  /**
   * Completes the oldest record with an error and fails the QP's sends. `psn` and `syndrome` are
   * those of the packet that says so, for the record of the failure.
   */
  failOldest(state: RequesterState, status: CompletionStatus, fault: FaultKind, psn?: number, syndrome?: number): void;
  /**
   * Returns records that have not begun: their credits are released, and their commands are read
   * from the send queue again later. So a waiting QP holds no credit for them.
   */
  returnUnbegun(state: RequesterState): void;
  /** Returns PCB and execution credit, once. Called when the last packet is with the port. */
  releaseExecution(record: SendRecord): void;
}

/** Units that take back credits and commands. */
export interface SendRecordLifeParts {
  readonly lanes: TransmitVirtualLanes;
  /** The send queue may be read again. */
  schedule(qp: QueuePair): void;
  /**
   * Software may use memory of messages that did not end well, or of READs of the peer: loans of
   * payload end.
   */
  takeLoans(): void;
}

export class SendRecordLife implements RecordEndings {
  readonly #parts: SendRecordLifeParts;
  readonly #timers: RetryTimers;
  readonly #pool: SendRecordPool;
  readonly #resends: ResendReads;

  constructor(parts: SendRecordLifeParts, timers: RetryTimers, pool: SendRecordPool, resends: ResendReads) {
    this.#parts = parts;
    this.#timers = timers;
    this.#pool = pool;
    this.#resends = resends;
  }

  completeDone(state: RequesterState): void {
    const { qp } = state;
    const before = state.recordCount;
    let ended: QueuePairTrace | undefined;
    while (state.oldest?.done) {
      const record = state.oldest;
      if (record.fault !== FaultKind.NONE)
        return this.failOldest(state, sendStatus(record.fault, record.opcode), record.fault);
      state.shift();
      const { trace } = record;
      if (trace !== undefined)
        trace.endRecord(state, record, CompletionStatus.SUCCESS, FaultKind.NONE, trace === ended);
      ended = trace;
      if (record.signaled || qp.signalAll)
        postSendCompletion(
          qp,
          record.sequence,
          record.opcode,
          CompletionStatus.SUCCESS,
          FaultKind.NONE,
          record.responseBytes,
        );
      this.#release(qp, record);
      // The completion may have failed the QP, which flushed all other records.
      if (qp.state === QpState.ERR) return;
    }
    if (before >= RECORDS_PER_QUEUE_PAIR && state.recordCount < before) this.#parts.schedule(qp);
    if (state.recordCount === 0 && qp.drainNotify) qp.life.noteDrained(qp);
  }

  failOldest(
    state: RequesterState,
    status: CompletionStatus,
    fault: FaultKind,
    psn: number = UNKNOWN,
    syndrome: number = UNKNOWN,
  ): void {
    const { qp } = state;
    this.#parts.takeLoans();
    const record = state.shift();
    qp.failure.note(qp, FailureCause.SEND, status, fault, record?.sequence, psn, syndrome);
    if (record !== undefined) {
      record.trace?.endRecord(state, record, status, fault);
      postSendCompletion(qp, record.sequence, record.opcode, status, fault);
      this.#release(qp, record);
    }
    qp.life.failSends(qp);
  }

  returnUnbegun(state: RequesterState): void {
    const { qp } = state;
    let last: SendRecord | undefined;
    let record = state.oldest;
    while (record?.numbered) {
      // Begun records must not delay other QPs while this one waits.
      this.releaseExecution(record);
      last = record;
      record = record.next;
    }
    if (record === undefined) {
      // Commands that wait in the kick list return as well.
      if (qp.inFlight > state.recordCount)
        qp.rewind((qp.nextSequence - (qp.inFlight - state.recordCount)) & SEND_COMMAND_SEQUENCE_MASK);
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
    if (qp.drainNotify) qp.life.noteDrained(qp);
  }

  /** Ends all records, with flushed completions when `report`, otherwise without any. */
  dispose(state: RequesterState, report: boolean): void {
    const { qp } = state;
    this.#timers.turnOff(state);
    this.#parts.takeLoans();
    for (let record = state.shift(); record !== undefined; record = state.shift()) {
      record.trace?.endRecord(state, record, CompletionStatus.FLUSHED, FaultKind.NONE);
      if (report) postSendCompletion(qp, record.sequence, record.opcode, CompletionStatus.FLUSHED, FaultKind.NONE);
      this.#release(qp, record);
    }
    state.start(state.nextPsn);
  }

  releaseExecution(record: SendRecord): void {
    const { buffer } = record;
    if (buffer === undefined) return;
    record.buffer = undefined;
    this.#parts.lanes.releaseExecution(record.hold);
    buffer.release();
  }

  #release(qp: QueuePair, record: SendRecord): void {
    this.releaseExecution(record);
    this.#parts.lanes.releaseCompletion(record.hold);
    if (qp.inFlight > 0) qp.inFlight--;
    record.trace = undefined;
    this.#resends.drop(record);
    this.#pool.give(record);
  }
}
