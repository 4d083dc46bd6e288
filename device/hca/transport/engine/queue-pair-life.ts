// SPDX-License-Identifier: Apache-2.0
/**
 * The life cycle of queue pairs (IBTA 10.3.1): what a state change, a failure or destruction means
 * for send source, lanes, transport and receive queues. The front end asks for changes that it has
 * checked; units report failures through `QueuePair.life`. `TransportEngine` makes it.
 */
import {
  CompletionStatus,
  EventType,
  FaultKind,
  QpState,
  ServiceType,
} from '../../../../protocol/layout/gen/values.gen.ts';
import type { TransmitVirtualLanes } from '../../lane/transmit-virtual-lanes.ts';
import type { PageFaults } from '../../protection/page-faults.ts';
import type { QueuePair, QueuePairLife } from '../../queues/queue-pair.ts';
import { FailureCause } from '../../queues/queue-pair-failure.ts';
import type { SendSource } from '../../queues/send-source.ts';
import type { ReceiveStage } from '../datagrams/receive-stage.ts';
import type { ReceiveQueueReader } from '../receive-queue.ts';
import type { ConnectedTransport } from './connected-transport.ts';

/** The units that hold something of a queue pair. */
export interface QueuePairUnits {
  readonly lanes: TransmitVirtualLanes;
  readonly sends: SendSource;
  readonly connected: ConnectedTransport;
  readonly receiveQueue: ReceiveQueueReader;
  readonly receiveStage: ReceiveStage;
  readonly pageFaults: PageFaults;
  /** The queue pair has left all these units: it leaves the tables of the front end. */
  removed(qp: QueuePair): void;
}

export class QueuePairLifeCycle implements QueuePairLife {
  /** Told of each QP that is about to fail; it must not change anything. */
  onFailure: ((qp: QueuePair) => void) | undefined = undefined;
  readonly #units: QueuePairUnits;

  constructor(units: QueuePairUnits) {
    this.#units = units;
  }

  noteFailure(qp: QueuePair): void {
    this.onFailure?.(qp);
  }

  changeState(qp: QueuePair, next: QpState, notifyWhenDrained: boolean): void {
    const { connected, sends } = this.#units;
    const previous = qp.state;
    if (next === QpState.ERR) {
      qp.failure.note(qp, FailureCause.SOFTWARE, CompletionStatus.SUCCESS, FaultKind.NONE);
      return this.moveToError(qp);
    }
    if (next === QpState.INIT || (next === QpState.RTS && previous === QpState.SQE)) qp.failure.clear();
    if (next === QpState.RESET) this.#returnSharedEntry(qp);
    qp.state = next;
    if (next === QpState.RESET) this.#reset(qp);
    else if (next === QpState.SQD && previous !== QpState.SQD) {
      qp.drainNotify = notifyWhenDrained;
      connected.drain(qp);
      this.noteDrained(qp);
    } else if (next === QpState.RTR) connected.startReceiving(qp);
    // Before RTS software cannot have posted anything. A look at the send queue now would only
    // fetch the first command before its collect copy comes.
    else if (next === QpState.RTS && previous === QpState.RTR) connected.startSending(qp);
    else if (next === QpState.RTS && previous !== QpState.RTS) sends.schedule(qp);
  }

  /** Receives are flushed now, sends in their order through the lane (IBTA 10.3.1). */
  moveToError(qp: QueuePair): void {
    if (qp.state === QpState.ERR) return;
    const { lanes, connected, receiveQueue, sends } = this.#units;
    qp.state = QpState.ERR;
    lanes.reconsider(qp);
    connected.flushSends(qp);
    connected.flushReceives(qp);
    receiveQueue.flush(qp);
    this.#units.pageFaults.forget(qp);
    if (qp.srq !== undefined && qp.domain === undefined)
      qp.owner.postAsynchronous(EventType.LAST_WQE_REACHED, qp, FaultKind.NONE);
    sends.schedule(qp);
  }

  /**
   * The send queue of an unreliable QP stops, and its receive queue goes on (SQE); a reliable QP
   * goes into error as a whole (IBTA 10.3.1).
   */
  failSends(qp: QueuePair): void {
    if (qp.connected && qp.serviceType !== ServiceType.UC) return this.moveToError(qp);
    if (qp.state === QpState.ERR) return;
    const { lanes, connected, sends } = this.#units;
    qp.state = QpState.SQE;
    lanes.reconsider(qp);
    connected.flushSends(qp);
    sends.schedule(qp);
  }

  fail(qp: QueuePair, fault: FaultKind): void {
    qp.failure.note(qp, FailureCause.ADAPTER, CompletionStatus.SUCCESS, fault);
    this.moveToError(qp);
    qp.owner.postAsynchronous(EventType.QP_FATAL, qp, fault);
  }

  flushReceives(qp: QueuePair): void {
    this.#units.receiveQueue.flush(qp);
  }

  noteDrained(qp: QueuePair): void {
    if (qp.state !== QpState.SQD || qp.inFlight > 0 || !qp.drainNotify) return;
    qp.drainNotify = false;
    qp.owner.postAsynchronous(EventType.SEND_QUEUE_DRAINED, qp, FaultKind.NONE);
  }

  destroy(qp: QueuePair): void {
    this.#returnSharedEntry(qp);
    this.drop(qp);
  }

  /** Removes the QP although its function is being reset: nothing completes. */
  drop(qp: QueuePair): void {
    const { lanes, connected, sends } = this.#units;
    sends.unschedule(qp);
    lanes.reconsider(qp);
    connected.drop(qp);
    this.#units.receiveStage.drop(qp);
    this.#units.receiveQueue.forget(qp);
    this.#units.pageFaults.forget(qp);
    sends.forget(qp);
    qp.release();
    this.#units.removed(qp);
  }

  #reset(qp: QueuePair): void {
    const { lanes, connected, sends } = this.#units;
    const wasStopped = qp.stopped;
    sends.unschedule(qp);
    lanes.reconsider(qp);
    connected.drop(qp);
    this.#units.receiveStage.drop(qp);
    this.#units.receiveQueue.forget(qp);
    this.#units.pageFaults.forget(qp);
    qp.resetQueues();
    sends.restart(qp, wasStopped);
  }

  /**
   * Software resets or destroys the QP. The entry of a shared queue that a message in progress has
   * taken completes as flushed: the slot is the queue's, and nothing else could tell that it is
   * free again. Entries of the QP's own queue are discarded with it.
   */
  #returnSharedEntry(qp: QueuePair): void {
    if (qp.srq !== undefined) this.#units.connected.flushReceives(qp);
  }
}
