// SPDX-License-Identifier: Apache-2.0
/**
 * The QPs of the device: builds a queue pair of the transport (`device/hca/transport`) behind each
 * context, moves it through its states, and passes doorbells to its send queue. Commands call it as
 * a unit of the HCA, UAR pages bring it doorbells, and the packet receiver asks it for QPs.
 */

import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { OpcodeFlag } from '../../../protocol/infiniband/opcodes.ts';
import { newQpCreation, type QpCreation } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { SEND_BLOCK_BYTES } from '../../../protocol/mlx5/gen/constants.gen.ts';
import type { Qpc } from '../../../protocol/mlx5/gen/qpc.gen.ts';
import { QpState as ContextState, QpService } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { KeyHolder } from '../../hca/protection/key-holder.ts';
import { AbsentCompletionQueue, absentReceiveQueue } from '../../hca/queues/absent-queues.ts';
import type { CompletionPort } from '../../hca/queues/completion-port.ts';
import { QueuePair, type QueuePairParts } from '../../hca/queues/queue-pair.ts';
import type { ReceiveSource } from '../../hca/queues/receive-source.ts';
import { ReceiveQueue } from '../shared/receive-queue.ts';
import { RequestBlock } from '../shared/request-block.ts';
import type { TransportUnits } from '../shared/transport-units.ts';
import type { Hca } from './hca/hca.ts';
import { applyAttributes, applyReceivePsn, applySendPsn, vectorOf } from './hca/queue-pair-attributes.ts';
import { hasReceives, type QueuePairPlan, type QueuePairUnit } from './hca/queue-pair-plan.ts';
import type { PageList } from './memory/page-list.ts';
import { QueueMemory, ReceiveCounter, SendCounter } from './memory/queue-memory.ts';
import type { KeyRequest, KeyRequests } from './memory/umr.ts';
import { CompletionEncoder, type CompletionIdentity, type RequestPlaces } from './queues/completion-encoder.ts';
import type { Mlx5CompletionQueue } from './queues/completion-queue.ts';
import { Mlx5QueuePair } from './queues/queue-pair.ts';
import { receiveFormat } from './queues/receive-requests.ts';
import { observeDoorbell } from './queues/send-doorbells.ts';
import { SendPlace, SendQueue } from './queues/send-queue.ts';

const LOG_BLOCK = Math.log2(SEND_BLOCK_BYTES);
/** The port of a function. */
const PORT = 1;

/** Operations of newer adapters. */
const UNKNOWN_FLAGS = OpcodeFlag.FLUSH | OpcodeFlag.ATOMIC_WRITE;

/** States that commands move a QP to. */
const transportStates: Readonly<Partial<Record<ContextState, QpState>>> = {
  [ContextState.RESET]: QpState.RESET,
  [ContextState.INIT]: QpState.INIT,
  [ContextState.RTR]: QpState.RTR,
  [ContextState.RTS]: QpState.RTS,
  [ContextState.ERROR]: QpState.ERR,
};

const services: Readonly<Record<QpService, ServiceType>> = {
  [QpService.RC]: ServiceType.RC,
  [QpService.UC]: ServiceType.UC,
  [QpService.UD]: ServiceType.UD,
  [QpService.XRC]: ServiceType.XRC_INITIATOR,
  [QpService.DCI]: ServiceType.RC,
  [QpService.QP0]: ServiceType.SMI,
  [QpService.QP1]: ServiceType.GSI,
  // It changes keys and sends no packets, in the order of a reliable connection.
  [QpService.UMR]: ServiceType.RC,
};

export class QueuePairs implements QueuePairUnit, KeyRequests {
  /** Called when software has moved a QP to RTR. */
  onReady: (qp: QueuePair) => void = () => {};
  readonly #hca: Hca;
  readonly #units: TransportUnits<SendQueue>;
  /** The request of `fetch`. */
  readonly #request = new RequestBlock();

  constructor(hca: Hca, units: TransportUnits<SendQueue>) {
    this.#hca = hca;
    this.#units = units;
  }

  /** The request of a QP that changes a key. */
  fetch({ number }: KeyHolder, sequence: number): KeyRequest | undefined {
    const queuePair = this.#hca.queuePairs.get(number);
    const lengthBytes = queuePair?.sends?.read(sequence, this.#request) ?? 0;
    if (queuePair === undefined || lengthBytes === 0) return undefined;
    const { isLocal, registersMemory } = queuePair;
    return { view: this.#request.view, lengthBytes, changesAll: isLocal, registers: registersMemory };
  }

  create(context: Uint8Array, fields: Readonly<Qpc>, plan: QueuePairPlan, pages: PageList): Mlx5QueuePair | undefined {
    const created = this.#hca.queuePairs.add(this.#hca.underlying, (number) =>
      this.#build(number, context, fields, plan, pages),
    );
    if (created === undefined) return undefined;
    const { qp, sends } = created;
    this.#units.engine.connected.attach(qp);
    if (sends !== undefined) this.#units.sends.add(sends);
    if (qp.isSpecial) this.#units.special.add(qp);
    return created;
  }

  hasSpecial(service: QpService): boolean {
    const wireNumber = service === QpService.QP0 ? SUBNET_MANAGEMENT_QPN : GENERAL_SERVICES_QPN;
    return this.#units.special.get(PORT - 1, wireNumber) !== undefined;
  }

  move(queuePair: Mlx5QueuePair, next: ContextState): void {
    const { qp, sends } = queuePair;
    const state = transportStates[next];
    if (state === undefined) return;
    if (state !== QpState.RESET && state !== QpState.ERR) this.#apply(queuePair, state);
    this.#units.flusher.changeState(qp, state, false);
    queuePair.noteState();
    if (state === QpState.RESET) {
      sends?.reset();
      this.#units.flusher.forget(qp);
    }
    if (state === QpState.RTR) this.onReady(qp);
    if (state === QpState.RTS) this.#units.sends.schedule(qp);
  }

  destroy(queuePair: Mlx5QueuePair): void {
    this.#units.flusher.destroy(queuePair.qp);
    this.#forget(queuePair);
  }

  reset(): void {
    for (const queuePair of this.#hca.queuePairs.values()) {
      this.#units.engine.life.drop(queuePair.qp);
      this.#units.flusher.forget(queuePair.qp);
      this.#forget(queuePair);
    }
  }

  /** A doorbell of a page names a QP. Returns false when it does not belong to the page. */
  ring(uar: number, qpn: number): boolean {
    const queuePair = this.#hca.queuePairs.get(qpn);
    const sends = queuePair?.sends;
    if (queuePair === undefined || sends === undefined || queuePair.uar !== uar) return false;
    const { posted } = sends;
    if (!sends.ring()) return true;
    observeDoorbell(sends, posted);
    this.#units.sends.makeReady(sends);
    return true;
  }

  /** The queue pair of the transport with a number, for packets. */
  get(qpn: number): QueuePair | undefined {
    return this.#hca.queuePairs.get(qpn)?.qp;
  }

  /** Visits the queue pairs of the transport, for reports. */
  forEach(visit: (qp: QueuePair) => void): void {
    for (const { qp } of this.#hca.queuePairs.values()) visit(qp);
  }

  #apply({ qp, view, isLocal }: Mlx5QueuePair, next: QpState): void {
    const { connected } = this.#units.engine;
    applyAttributes(qp, view);
    const port = this.#hca.ports[qp.attributes.port - 1];
    if (next !== QpState.INIT && qp.connected && !isLocal && port !== undefined)
      connected.loadPath(qp, vectorOf(view), 0, port);
    if (next === QpState.RTR) applyReceivePsn(qp, view);
    if (next === QpState.RTS && qp.state === QpState.RTR) applySendPsn(qp, view);
  }

  #forget(queuePair: Mlx5QueuePair): void {
    this.#units.special.remove(queuePair.qp);
    this.#hca.groups.drop(queuePair.qp);
    this.#hca.queuePairs.remove(queuePair);
  }

  #build(
    number: number,
    context: Uint8Array,
    fields: Readonly<Qpc>,
    plan: QueuePairPlan,
    pages: PageList,
  ): Mlx5QueuePair {
    const { underlying } = this.#hca;
    const { dma } = underlying;
    const memory = new QueueMemory(dma, pages);
    const place = new SendPlace(memory, plan.receiveEntries * plan.receiveBytes, Math.max(plan.sendBlocks, 1));
    const parts = plan.isXrcTarget ? this.#targetParts(fields) : this.#parts(fields, plan, memory, place);
    const qp = new QueuePair(number, underlying, creationOf(fields, plan), parts);
    const sends = plan.sendBlocks === 0 ? undefined : new SendQueue(qp, place, new SendCounter(dma, fields.dbrAddr));
    return new Mlx5QueuePair(context, qp, sends, this.#use(fields, plan));
  }

  /** An XRC target names its domain and no other object. */
  #targetParts({ xrcd }: Readonly<Qpc>): QueuePairParts {
    return {
      // No memory belongs to it: until a request names an SRQ, nothing can be accessed.
      pd: this.#hca.transport.protectionDomain(0),
      sendCq: new AbsentCompletionQueue(),
      receiveCq: new AbsentCompletionQueue(),
      sendSlots: undefined,
      receiveSource: absentReceiveQueue,
      srq: undefined,
      domain: this.#hca.transport.xrcDomain(xrcd),
      life: this.#units.flusher,
      unknownFlags: UNKNOWN_FLAGS,
    };
  }

  #parts(fields: Readonly<Qpc>, plan: QueuePairPlan, memory: QueueMemory, place: SendPlace): QueuePairParts {
    const { completionQueues, sharedReceiveQueues, ports } = this.#hca;
    const isDatagram = [QpService.UD, QpService.QP0, QpService.QP1].some((service) => service === fields.st);
    const identity: CompletionIdentity = { ...this.#hca.identify(fields.userIndex), ...(isDatagram ? { ports } : {}) };
    const srq = plan.usesSharedQueue ? sharedReceiveQueues.get(fields.srqnRmpnXrqn) : undefined;
    const receives = this.#receives(fields, plan, memory);
    const sendCq = completionQueues.get(fields.cqnSnd) as Mlx5CompletionQueue;
    const receiveCq = hasReceives(plan) ? completionQueues.get(fields.cqnRcv) : undefined;
    const places: RequestPlaces = srq ?? { counterOf: (counter) => counter };
    const receivePort: CompletionPort =
      receiveCq === undefined ? new AbsentCompletionQueue() : new CompletionEncoder(receiveCq, places, identity);
    return {
      pd: this.#hca.transport.protectionDomain(fields.pd),
      sendCq: new CompletionEncoder(sendCq, place, identity),
      receiveCq: receivePort,
      sendSlots: undefined,
      receiveSource: receives,
      srq,
      life: this.#units.flusher,
      unknownFlags: UNKNOWN_FLAGS,
    };
  }

  #receives(fields: Readonly<Qpc>, plan: QueuePairPlan, memory: QueueMemory): ReceiveSource {
    if (plan.receiveEntries === 0) return absentReceiveQueue;
    const counter = new ReceiveCounter(this.#hca.underlying.dma, fields.dbrAddr);
    const place = { memory, offset: 0, entries: plan.receiveEntries, strideBytes: plan.receiveBytes, counter };
    return new ReceiveQueue(place, receiveFormat);
  }

  /** Counts the QP as user of what it names; returns what ends that. */
  #use({ pd, cqnSnd, cqnRcv, uarPage, xrcd }: Readonly<Qpc>, plan: QueuePairPlan): () => void {
    const { domains, xrcDomains, completionQueues, uars } = this.#hca;
    if (plan.isXrcTarget) {
      xrcDomains.use(xrcd);
      return () => xrcDomains.release(xrcd);
    }
    const numbers = hasReceives(plan) ? [cqnSnd, cqnRcv] : [cqnSnd];
    const queues = numbers.map((number) => completionQueues.get(number)).filter((queue) => queue !== undefined);
    // A QP that changes the keys of all domains may name none.
    const usesDomain = domains.use(pd);
    uars.use(uarPage);
    for (const queue of queues) queue.users++;
    return () => {
      if (usesDomain) domains.release(pd);
      uars.release(uarPage);
      for (const queue of queues) queue.users--;
    };
  }
}

function creationOf(fields: Readonly<Qpc>, plan: QueuePairPlan): QpCreation {
  const serviceType = plan.isXrcTarget ? ServiceType.XRC_TARGET : services[fields.st as QpService];
  return {
    ...newQpCreation(),
    pd: fields.pd,
    serviceType,
    specialPort: serviceType === ServiceType.SMI || serviceType === ServiceType.GSI ? PORT : 0,
    checksumOff: 1,
    blockMulticastLoopback: fields.blockLbMc,
    sendEntriesLog2: fields.logSqSize,
    sendStrideLog2: LOG_BLOCK,
    receiveEntriesLog2: plan.receiveEntries === 0 ? 0 : Math.log2(plan.receiveEntries),
    receiveStrideLog2: plan.receiveBytes === 0 ? 0 : Math.log2(plan.receiveBytes),
  };
}
