// SPDX-License-Identifier: Apache-2.0
/**
 * Queue pair: its attributes, its state, and how far its two queues are (IBTA 10.2.4, 10.3.1). Behaviour lives in the units: admission and
 * scheduler (send queue), transport engines, receive queue.
 */
import { newQpAttributes, type QpAttributes } from '../../protocol/layout/gen/qp-attributes.gen.ts';
import type { QpCreation } from '../../protocol/layout/gen/qp-creation.gen.ts';
import { type FaultKind, QpState, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';
import type { KeyHolder } from '../protection/key-holder.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import type { QueuePairTrace } from '../trace/queue-pair-trace.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { ReceiveRing } from './receive-ring.ts';
import type { SharedReceiveQueue } from './shared-receive-queue.ts';

/** What the objects of a creation command were resolved to. */
export interface QueuePairParts {
  readonly pd: ProtectionDomain;
  readonly sendCq: CompletionQueue;
  readonly receiveCq: CompletionQueue;
  readonly sendMemory: QueueMemory;
  readonly receiveRing: ReceiveRing;
  readonly srq: SharedReceiveQueue | undefined;
  readonly life: QueuePairLife;
}

/** The requester of a connected QP, as admission and pipeline see it. */
export interface RequesterPart {
  /** Commands launched and not completed. */
  readonly recordCount: number;
  readonly acceptsCommands: boolean;
}

/**
 * What can happen to a queue pair as a whole (IBTA 10.3.1). Scheduler, transport and management ask
 * for it; `adapter/queue-pair-life.ts` carries it out over all units that hold something of the QP.
 */
export interface QueuePairLife {
  /** Carries out a state change that software asked for and management checked. */
  changeState(qp: QueuePair, next: QpState, notifyWhenDrained: boolean): void;
  /** Puts the QP into ERR: everything outstanding is flushed. */
  moveToError(qp: QueuePair): void;
  /** A send command failed: SQE for an unreliable QP, ERR for a reliable one. */
  failSends(qp: QueuePair): void;
  /** The QP cannot go on: ERR, and the event QP_FATAL (IBTA 10.10.2.3). */
  fail(qp: QueuePair, fault: FaultKind): void;
  /** Flushes receive entries that software posted to a QP in ERR. */
  flushReceives(qp: QueuePair): void;
  /** Posts SEND_QUEUE_DRAINED if the QP is in SQD and holds no command in flight. Call it only while `drainNotify` is set. */
  noteDrained(qp: QueuePair): void;
  /** Removes the QP from every unit and from the table of QPs. */
  destroy(qp: QueuePair): void;
}

/** Fields are in the order of use: what every command and packet needs comes first and lies together, as thousands of QPs do not fit a processor's cache. */
export class QueuePair implements KeyHolder {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  state: QpState = QpState.RESET;
  /** Of the creation: transport service, and whether every command posts a CQE. */
  readonly serviceType: ServiceType;
  readonly signalAll: boolean;
  /** What the transport keeps of a connected QP; see `transport/connected-states.ts`. */
  requester: RequesterPart | undefined = undefined;
  responder: object | undefined = undefined;
  /** Set while the QP is traced. */
  trace: QueuePairTrace | undefined = undefined;
  destroyed = false;
  /** Path MTU of a connected QP. */
  pathMtuBytes = 256;
  /** As modified. */
  readonly attributes = newPackedAttributes();

  /** A stop doorbell took the QP off the scheduler for good; the descriptor shows that nothing is read any more. */
  stopped = false;
  stopShown = false;
  /** The scheduler has the QP in a list, and its neighbours there. */
  scheduled = false;
  nextScheduled: QueuePair | undefined = undefined;
  previousScheduled: QueuePair | undefined = undefined;
  /** A doorbell waits on the bus or in the scheduler buffer: it stands for all that come meanwhile. */
  doorbellWaiting = false;
  /** Entries in the doorbell overflow buffer, if they are of its present lap. */
  spilled = 0;
  spilledLap = 0;
  /** Bus reads outstanding for the QP, and of these, of commands; the next one of these would be of `fetchSequence`. */
  busReads = 0;
  fetching = 0;
  fetchSequence = 0;
  /** Commands admitted and not yet completed. */
  inFlight = 0;
  /** Commands in virtual kick lists; the lane these are on, or the last ones were, and the state of the lane map when it was chosen. */
  kicked = 0;
  lane = -1;
  laneGeneration = 0;
  /** A kick list was full: the lane tells when there is room. */
  waitsForRoom = false;
  /** Incremented by everything that voids commands in flight: a transition to RESET, destruction. */
  epoch = 0;
  /** Sequence number of the next command to be admitted to a lane. */
  nextSequence = 0;
  readonly sendMemory: QueueMemory;
  /** Slots of the send queue, a power of two, and bytes of each. */
  readonly sendEntries: number;
  readonly sendStrideBytes: number;
  /** Of the creation: guest addresses of queue-pair-record and send queue descriptor, QoS level, and whether the checksum of commands is not checked. */
  readonly recordAddress: number;
  readonly descriptorAddress: number;
  readonly qosLevel: number;
  readonly checksumOff: boolean;
  readonly sendCq: CompletionQueue;
  readonly receiveCq: CompletionQueue;
  readonly pd: ProtectionDomain;
  readonly srq: SharedReceiveQueue | undefined;
  /** Where receive entries come from: its own ring or that of its SRQ. */
  readonly receiveRing: ReceiveRing;

  /** As created. */
  readonly creation: Readonly<QpCreation>;
  /** Software asked to be told when the send queue has drained. */
  drainNotify = false;
  /** PSN of the next packet to send. */
  sendPsn = 0;
  /** Software's own handle. */
  tokenLow = 0;
  tokenHigh = 0;
  /** Type 2 memory windows bound by the QP. */
  boundWindows = 0;
  /** What happens to the QP as a whole. */
  readonly life: QueuePairLife;

  constructor(number: number, owner: UnderlyingFunction, creation: Readonly<QpCreation>, parts: QueuePairParts) {
    this.number = number;
    this.owner = owner;
    this.creation = creation;
    this.serviceType = creation.serviceType as ServiceType;
    this.signalAll = creation.signalAll === 1;
    this.recordAddress = creation.recordAddress;
    this.descriptorAddress = creation.descriptorAddress;
    this.qosLevel = creation.qosLevel;
    this.checksumOff = creation.checksumOff === 1;
    this.pd = parts.pd;
    this.sendCq = parts.sendCq;
    this.receiveCq = parts.receiveCq;
    this.sendMemory = parts.sendMemory;
    this.sendEntries = 1 << creation.sendEntriesLog2;
    this.sendStrideBytes = 1 << creation.sendStrideLog2;
    this.srq = parts.srq;
    this.life = parts.life;
    this.receiveRing = parts.srq?.ring ?? parts.receiveRing;
    if (parts.srq !== undefined) parts.srq.references++;
    this.pd.references++;
    this.sendCq.references++;
    this.receiveCq.references++;
  }

  /** RC or UC. */
  get connected(): boolean {
    return this.serviceType === ServiceType.RC || this.serviceType === ServiceType.UC;
  }

  /** More commands may be launched: a connected QP that waits, or has many records, takes none. */
  get acceptsCommands(): boolean {
    const { requester } = this;
    return requester === undefined || requester.acceptsCommands;
  }

  /** Guest address of the slot of a send command. */
  sendSlotAddress(sequence: number): number {
    return this.sendMemory.addressOf((sequence & (this.sendEntries - 1)) * this.sendStrideBytes);
  }

  /** States in which the send queue executes, or flushes, commands. */
  get sendsAreTaken(): boolean {
    return this.state === QpState.RTS || this.state === QpState.ERR || this.state === QpState.SQE;
  }

  /** States in which packets are received. */
  get receives(): boolean {
    return (
      this.state === QpState.RTR ||
      this.state === QpState.RTS ||
      this.state === QpState.SQD ||
      this.state === QpState.SQE
    );
  }

  /** Empties both queues; commands in flight become void. */
  resetQueues(): void {
    this.epoch++;
    this.trace?.reset();
    this.inFlight = 0;
    this.nextSequence = 0;
    this.fetchSequence = 0;
    if (this.srq === undefined) this.receiveRing.reset();
    this.stopped = false;
    this.stopShown = false;
    this.drainNotify = false;
  }

  /** Commands from `sequence` on are to be read from the send queue again; their copies in the lane become void. */
  rewind(sequence: number): void {
    this.epoch++;
    this.nextSequence = sequence;
    this.fetchSequence = sequence;
  }

  /** Gives back what the constructor took. */
  release(): void {
    this.epoch++;
    this.trace?.release();
    this.destroyed = true;
    this.pd.references--;
    this.sendCq.references--;
    this.receiveCq.references--;
    if (this.srq !== undefined) this.srq.references--;
  }
}

/** Attributes with those that packets need in front. */
function newPackedAttributes(): QpAttributes {
  const { port, pkeyIndex, remoteQpn, access, timeout, retryCount, rnrRetry, ...others } = newQpAttributes();
  return { port, pkeyIndex, remoteQpn, access, timeout, retryCount, rnrRetry, ...others };
}
