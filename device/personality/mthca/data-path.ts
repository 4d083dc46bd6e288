// SPDX-License-Identifier: Apache-2.0
/**
 * The QPs for which the transport (`device/hca/transport`) works: builds one behind each context,
 * moves it through its states, and passes doorbells to its send queue. Commands call it as a unit
 * of the HCA, user access regions bring it doorbells, and the packet receiver asks it for QPs.
 */
import { OpcodeFlag } from '../../../protocol/infiniband/opcodes.ts';
import { newQpCreation, type QpCreation } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import {
  decodeQpContext,
  getQpContextUar,
  newQpContext,
  type QpContext,
} from '../../../protocol/mthca/gen/qp-context.gen.ts';
import type { SendDoorbell } from '../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { QpContextState, QpService } from '../../../protocol/mthca/gen/values.gen.ts';
import { ProtectionDomain } from '../../hca/protection/protection-domain.ts';
import { QueuePair } from '../../hca/queues/queue-pair.ts';
import { ReceiveQueue } from '../shared/receive-queue.ts';
import type { TransportUnits } from '../shared/transport-units.ts';
import type { Hca, QueuePairUnit } from './hca/hca.ts';
import { applyAttributes, applyReceivePsn, applySendPsn, vectorOf } from './hca/queue-pair-attributes.ts';
import { QueueBuffer, REQUEST_UNIT_BYTES } from './memory/queue-buffer.ts';
import { CompletionEncoder } from './queues/completion-encoder.ts';
import type { MthcaCompletionQueue } from './queues/completion-queue.ts';
import type { DataParts, MthcaQueuePair } from './queues/queue-pair.ts';
import { receiveFormat } from './queues/receive-segments.ts';
import { ringSends } from './queues/send-doorbells.ts';
import { SendPlace, SendQueue } from './queues/send-queue.ts';

const LOG_REQUEST_UNIT = Math.log2(REQUEST_UNIT_BYTES);
const HIGH_DWORD = 2 ** 32;

const { INIT, RTR, RTS, SQE, SQD, ERR } = QpContextState;

/** States that commands move a QP to. */
const transportStates: Readonly<Partial<Record<QpContextState, QpState>>> = {
  [INIT]: QpState.INIT,
  [RTR]: QpState.RTR,
  [RTS]: QpState.RTS,
  [SQE]: QpState.SQE,
  [SQD]: QpState.SQD,
  [ERR]: QpState.ERR,
};

const services: Readonly<Partial<Record<number, ServiceType>>> = {
  [QpService.RC]: ServiceType.RC,
  [QpService.UC]: ServiceType.UC,
  [QpService.UD]: ServiceType.UD,
};

export class DataPath implements QueuePairUnit {
  /** Called when software has moved a QP to RTR. */
  onReady: (qp: QueuePair) => void = () => {};
  readonly #hca: Hca;
  readonly #units: TransportUnits<SendQueue>;
  readonly #context = newQpContext();

  constructor(hca: Hca, units: TransportUnits<SendQueue>) {
    this.#hca = hca;
    this.#units = units;
  }

  add(qp: MthcaQueuePair): void {
    const { connected } = this.#units.engine;
    const data = this.#build(qp.number, decodeQpContext(qp.view, 0, this.#context));
    qp.data = data;
    connected.attach(data.qp);
    this.#units.sends.add(data.sends);
    applyAttributes(data.qp, qp.view);
    this.#units.flusher.changeState(data.qp, QpState.INIT, false);
  }

  move(qp: MthcaQueuePair, next: QpContextState, notify: boolean): void {
    const { data, view } = qp;
    const state = transportStates[next];
    if (data === undefined || state === undefined) return;
    const { connected } = this.#units.engine;
    applyAttributes(data.qp, view);
    if (next !== INIT && next !== ERR) this.#loadPath(data.qp, view);
    if (next === RTR) applyReceivePsn(data.qp, view);
    if (next === RTS && data.qp.state === QpState.RTR) applySendPsn(data.qp, view);
    if (data.qp.state === QpState.SQD && data.qp.connected)
      connected.resizeReads(data.qp, data.qp.attributes.maxReadsServed);
    this.#units.flusher.changeState(data.qp, state, notify);
    if (next === RTR) this.onReady(data.qp);
    if (next === RTS) this.#units.sends.schedule(data.qp);
  }

  drop(qp: MthcaQueuePair): void {
    if (qp.data === undefined) return;
    this.#units.flusher.destroy(qp.data.qp);
    qp.data = undefined;
  }

  /** As `drop`, and nothing completes: the HCA stops. */
  discard(qp: MthcaQueuePair): void {
    if (qp.data === undefined) return;
    this.#units.engine.life.drop(qp.data.qp);
    this.#units.flusher.forget(qp.data.qp);
    qp.data = undefined;
  }

  /**
   * Takes a send doorbell of a page. Returns false when the QP does not belong to the page, or the
   * doorbell names no new requests of it.
   */
  ring(page: number, doorbell: Readonly<SendDoorbell>): boolean {
    const qp = this.#hca.queuePairs.get(doorbell.qpn);
    if (qp?.data === undefined || qp.number !== doorbell.qpn || getQpContextUar(qp.view, 0) !== page) return false;
    return ringSends(this.#units.sends, qp.data.sends, doorbell);
  }

  /** The queue pair of the transport with a number, for packets. */
  get(qpn: number): QueuePair | undefined {
    const qp = this.#hca.queuePairs.get(qpn);
    return qp?.number === qpn ? qp.data?.qp : undefined;
  }

  /** Visits the queue pairs of the transport, for reports. */
  forEach(visit: (qp: QueuePair) => void): void {
    for (const { data } of this.#hca.queuePairs.values()) if (data !== undefined) visit(data.qp);
  }

  #loadPath(qp: QueuePair, context: DataView): void {
    const port = this.#hca.portAt(qp.attributes.port);
    if (port !== undefined) this.#units.engine.connected.loadPath(qp, vectorOf(context), 0, port);
  }

  #build(qpn: number, context: Readonly<QpContext>): DataParts {
    const { underlying, regions, records, completionQueues, sharedReceiveQueues } = this.#hca;
    const { pd, queueKey, queueBase, uar } = context;
    const buffer = new QueueBuffer(regions, queueKey, pd, queueBase * HIGH_DWORD);
    const sendBytes = REQUEST_UNIT_BYTES * 2 ** context.sendStride;
    const place = new SendPlace(buffer, context.sendQueueOffset, 2 ** context.logSendEntries, sendBytes);
    const receives = new ReceiveQueue(
      {
        memory: buffer,
        offset: context.receiveQueueOffset,
        entries: 2 ** context.logReceiveEntries,
        strideBytes: REQUEST_UNIT_BYTES * 2 ** context.receiveStride,
        counter: records.counterAt(uar, context.receiveRecord),
      },
      receiveFormat,
    );
    const srq = context.hasSrq === 1 ? sharedReceiveQueues.get(context.srqn) : undefined;
    const sendCq = completionQueues.get(context.sendCqn) as MthcaCompletionQueue;
    const receiveCq = completionQueues.get(context.receiveCqn) as MthcaCompletionQueue;
    const qp = new QueuePair(qpn, underlying, creationOf(context), {
      pd: new ProtectionDomain(pd, underlying),
      sendCq: new CompletionEncoder(sendCq, place),
      receiveCq: new CompletionEncoder(receiveCq, srq?.ring ?? receives),
      sendSlots: undefined,
      receiveSource: receives,
      srq,
      life: this.#units.flusher,
      unknownFlags: OpcodeFlag.FLUSH | OpcodeFlag.ATOMIC_WRITE,
    });
    return { qp, sends: new SendQueue(qp, place) };
  }
}

function creationOf(context: Readonly<QpContext>): QpCreation {
  return {
    ...newQpCreation(),
    pd: context.pd,
    serviceType: services[context.service] ?? ServiceType.RC,
    signalAll: context.signalsAll,
    checksumOff: 1,
    sendEntriesLog2: context.logSendEntries,
    sendStrideLog2: LOG_REQUEST_UNIT + context.sendStride,
    receiveEntriesLog2: context.logReceiveEntries,
    receiveStrideLog2: LOG_REQUEST_UNIT + context.receiveStride,
  };
}
