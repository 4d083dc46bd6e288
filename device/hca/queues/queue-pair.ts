// SPDX-License-Identifier: Apache-2.0
/**
 * Queue pair: attributes, state, and progress of its two queues (IBTA 10.2.4, 10.3.1; US 9,069,485
 * par. 24-26). Behaviour is in the units: admission and scheduler for the send queue, `transport/`
 * for packets and the receive queue.
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { OpcodeFlag, Transport } from '../../../protocol/infiniband/opcodes.ts';
import { newQpAttributes, type QpAttributes } from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import type { QpCreation } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { type FaultKind, FaultObject, QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { packAddress, unpackAddress } from '../function/compact-number.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { KeyHolder } from '../protection/key-holder.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import type { QueuePairTrace } from '../trace/queue-pair-trace.ts';
import type { ContextOrKernel } from './collect-context.ts';
import type { CompletionPort } from './completion-port.ts';
import { QueuePairFailure } from './queue-pair-failure.ts';
import type { ReceiveSource, SharedReceiveSource } from './receive-source.ts';
import type { SendSlots } from './send-slots.ts';
import type { XrcDomain, XrcReceiveSource } from './xrc-domain.ts';

/** The objects that a creation command names. */
export interface QueuePairParts {
  readonly pd: ProtectionDomain;
  readonly sendCq: CompletionPort;
  readonly receiveCq: CompletionPort;
  /** Undefined when a personality reads the send queue. */
  readonly sendSlots: SendSlots | undefined;
  readonly receiveSource: ReceiveSource;
  readonly srq: SharedReceiveSource | undefined;
  /** The pages that may act on the QP; only the kernel's unless given. */
  readonly collectContext?: ContextOrKernel;
  /** The XRC domain of an XRC target. */
  readonly domain?: XrcDomain | undefined;
  /** `OpcodeFlag` of packets that a personality does not know. */
  readonly unknownFlags?: number;
  readonly life: QueuePairLife;
}

/** The requester of a connected QP, as admission and send pipeline see it. */
export interface RequesterPart {
  /** Number of commands launched and not completed. */
  readonly recordCount: number;
  /** True while more commands may be launched. */
  readonly acceptsCommands: boolean;
}

/**
 * Changes of a queue pair that concern several units (IBTA 10.3.1). Scheduler, transport and
 * management request them; `hca/transport/engine/queue-pair-life.ts` carries them out in all units
 * that hold state of the QP.
 */
export interface QueuePairLife {
  /** The QP has noted why it fails, and has not left its state yet. */
  noteFailure(qp: QueuePair): void;
  /** Carries out a state change that software requested and management checked. */
  changeState(qp: QueuePair, next: QpState, notifyWhenDrained: boolean): void;
  /** Moves the QP to ERR and flushes all outstanding work. The caller has noted the failure. */
  moveToError(qp: QueuePair): void;
  /**
   * Handles a failed send command: an unreliable QP goes to SQE, a reliable one to ERR. The caller
   * has noted the failure.
   */
  failSends(qp: QueuePair): void;
  /** Moves a QP that cannot continue to ERR and posts QP_FATAL (IBTA 10.10.2.3). */
  fail(qp: QueuePair, fault: FaultKind): void;
  /** Flushes receive WQEs that software posted to a QP in ERR. */
  flushReceives(qp: QueuePair): void;
  /**
   * Posts SEND_QUEUE_DRAINED if the QP is in SQD and holds no command in flight. Call it only while
   * `drainNotify` is set.
   */
  noteDrained(qp: QueuePair): void;
  /** Removes the QP from every unit and from the table of QPs. */
  destroy(qp: QueuePair): void;
}

/** Transport bits of opcodes by service; datagrams of QP0 and QP1 are UD (IBTA 9.2, annex A14). */
const transports: Readonly<Record<ServiceType, number>> = {
  [ServiceType.RC]: Transport.RC,
  [ServiceType.UC]: Transport.UC,
  [ServiceType.UD]: Transport.UD,
  [ServiceType.SMI]: Transport.UD,
  [ServiceType.GSI]: Transport.UD,
  [ServiceType.XRC_INITIATOR]: Transport.XRC,
  [ServiceType.XRC_TARGET]: Transport.XRC,
};

/**
 * Fields are in the order of use: those that every command and packet needs come first and lie
 * together, because thousands of QPs do not fit a processor's cache.
 */
export class QueuePair implements KeyHolder, FaultSubject {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  state: QpState = QpState.RESET;
  /** From the creation: transport service, and whether every command posts a CQE. */
  readonly serviceType: ServiceType;
  readonly signalAll: boolean;
  /** Bits of its transport in opcodes, and `OpcodeFlag` of packets that its service refuses. */
  readonly transport: number;
  readonly refusedFlags: number;
  /**
   * State that the transport keeps of a connected QP; `hca/transport/state/connected-states.ts`
   * attaches it.
   */
  requester: RequesterPart | undefined = undefined;
  responder: object | undefined = undefined;
  /** The trace of the QP, while it is traced. */
  trace: QueuePairTrace | undefined = undefined;
  destroyed = false;
  /** Path MTU of a connected QP. */
  pathMtuBytes = 256;
  /** Attributes as last modified. */
  readonly attributes = newPackedAttributes();

  /**
   * `stopped`: a stop doorbell removed the QP from the scheduler for good. `stopShown`: the
   * descriptor shows that no more commands are read.
   */
  stopped = false;
  stopShown = false;
  /** The scheduler has the QP in a list, with these neighbours. */
  scheduled = false;
  nextScheduled: QueuePair | undefined = undefined;
  previousScheduled: QueuePair | undefined = undefined;
  /**
   * A doorbell of the QP waits on the bus or in the scheduler buffer. It stands for all that come
   * meanwhile.
   */
  doorbellWaiting = false;
  /** Number of entries in the doorbell overflow buffer, valid for its lap `spilledLap`. */
  spilled = 0;
  spilledLap = 0;
  /**
   * Outstanding bus reads of the QP; how many of them read commands; and the sequence number of the
   * next command to read.
   */
  busReads = 0;
  fetching = 0;
  fetchSequence = 0;
  /** Number of commands admitted and not yet completed. */
  inFlight = 0;
  /**
   * Number of commands in virtual kick lists; their lane, or the lane of the last ones; and the
   * generation of the lane map in which that lane was chosen.
   */
  kicked = 0;
  /** Number of launched commands in the send pipeline, before their packets or their records. */
  staged = 0;
  lane = -1;
  laneGeneration = 0;
  /** A kick list was full: the lane reports when it has room. */
  waitsForRoom = false;
  /** Incremented when commands in flight become void: transition to RESET, rewind, destruction. */
  epoch = 0;
  /** Sequence number of the next command to be admitted to a lane. */
  nextSequence = 0;
  /** The send queue in guest memory, for the send queue scheduler. */
  readonly sendSlots: SendSlots | undefined;
  /**
   * From the creation: packed address of the send queue descriptor, QoS level, and whether the
   * checksum of commands is ignored.
   */
  readonly #descriptor: number;
  readonly qosLevel: number;
  readonly checksumOff: boolean;
  /** Context whose pages may act on the QP, beside the kernel's. */
  readonly collectContext: ContextOrKernel;
  readonly sendCq: CompletionPort;
  /** These four are those of the SRQ that the request at work names, if the QP is an XRC target. */
  receiveCq: CompletionPort;
  pd: ProtectionDomain;
  srq: SharedReceiveSource | undefined;
  /** The queue of receive WQEs: the QP's own, or that of its SRQ. */
  receiveSource: ReceiveSource;
  /** The XRC domain of an XRC target. */
  readonly domain: XrcDomain | undefined;

  /** Attributes of the creation. */
  readonly creation: Readonly<QpCreation>;
  /** Place among the watched send queues, or -1. */
  watch = -1;
  /** How often its window is halved, and when the last watch ended (`ShadowTails`). */
  watchHalvings = 0;
  watchEndedNs = Number.NEGATIVE_INFINITY;
  /** Doorbells until the next watch, and how often their number was doubled (`ShadowTails`). */
  unwatchedBells = 0;
  watchDoublings = 0;
  /** Software requested an event for the drained send queue. */
  drainNotify = false;
  /** PSN of the next packet to send. */
  sendPsn = 0;
  /** QPN in packets: 0 of an SMI QP, 1 of a GSI QP, `number` of all others. */
  readonly wireNumber: number;
  /** Opaque handle of software. */
  tokenLow = 0;
  tokenHigh = 0;
  /** Number of type 2 memory windows bound by the QP. */
  boundWindows = 0;
  /** The failure that made the QP leave its working states, for the status. */
  readonly failure = new QueuePairFailure();
  /** Carries out changes that concern several units. */
  readonly life: QueuePairLife;
  readonly #parts: QueuePairParts;

  constructor(number: number, owner: UnderlyingFunction, creation: Readonly<QpCreation>, parts: QueuePairParts) {
    this.number = number;
    this.owner = owner;
    this.creation = creation;
    this.serviceType = creation.serviceType as ServiceType;
    this.signalAll = creation.signalAll === 1;
    this.transport = transports[this.serviceType];
    this.refusedFlags = refusedFlagsOf(this.serviceType) | (parts.unknownFlags ?? 0);
    this.wireNumber = wireNumberOf(this.serviceType, number);
    if (this.isSpecial) {
      this.attributes.port = creation.specialPort;
      this.attributes.portHigh = creation.specialPortHigh;
    }
    this.#descriptor = packAddress(creation.descriptorAddress);
    this.qosLevel = creation.qosLevel;
    this.checksumOff = creation.checksumOff === 1;
    this.pd = parts.pd;
    this.sendCq = parts.sendCq;
    this.receiveCq = parts.receiveCq;
    this.sendSlots = parts.sendSlots;
    this.srq = parts.srq;
    this.domain = parts.domain;
    this.life = parts.life;
    this.#parts = parts;
    this.collectContext = parts.collectContext;
    if (this.collectContext !== undefined) this.collectContext.queues++;
    this.receiveSource = parts.srq?.ring ?? parts.receiveSource;
    if (parts.srq !== undefined) parts.srq.references++;
    if (parts.domain !== undefined) parts.domain.references++;
    this.pd.references++;
    this.sendCq.references++;
    this.receiveCq.references++;
  }

  /** Guest address of the send queue descriptor. */
  get descriptorAddress(): number {
    return unpackAddress(this.#descriptor);
  }

  /** Entries of the translation table that its own work queues take. */
  get translationEntries(): number {
    const { sendSlots, receiveSource } = this.#parts;
    return (sendSlots?.translationEntries ?? 0) + (receiveSource.translationEntries ?? 0);
  }

  get faultObject(): FaultObject {
    return FaultObject.QP;
  }

  /** True for RC, UC and both kinds of XRC. */
  get connected(): boolean {
    return this.transport === Transport.RC || this.transport === Transport.UC || this.transport === Transport.XRC;
  }

  /** True for an XRC target, which has no send queue. */
  get isXrcTarget(): boolean {
    return this.domain !== undefined;
  }

  /** Place of its port among the ports of the adapter; -1 while it has none. */
  get portIndex(): number {
    return this.attributes.port === 0 ? -1 : this.owner.portBase + this.attributes.port - 1;
  }

  /** True for QP0 and QP1 of a port. */
  get isSpecial(): boolean {
    return this.serviceType === ServiceType.SMI || this.serviceType === ServiceType.GSI;
  }

  /**
   * True while more commands may be launched. A connected QP that waits, or has many records,
   * accepts none.
   */
  get acceptsCommands(): boolean {
    const { requester } = this;
    return requester === undefined || requester.acceptsCommands;
  }

  /** True in the states of a requester at work. In SQD it ends what it began (IBTA 10.3.1). */
  get isRequesting(): boolean {
    return this.state === QpState.RTS || this.state === QpState.SQD;
  }

  /** True in the states in which the send queue executes or flushes commands. */
  get sendsAreTaken(): boolean {
    const { state } = this;
    return (state === QpState.RTS || state === QpState.ERR || state === QpState.SQE) && this.domain === undefined;
  }

  /** True in the states in which packets are received. */
  get receives(): boolean {
    return this.state === QpState.RTR || this.isRequesting || this.state === QpState.SQE;
  }

  /** Empties both queues. Commands in flight become void. */
  resetQueues(): void {
    this.#voidCommands();
    this.inFlight = 0;
    this.nextSequence = 0;
    this.fetchSequence = 0;
    this.sendSlots?.reset();
    this.leaveQueue();
    if (this.srq === undefined) this.receiveSource.reset();
    this.stopped = false;
    this.stopShown = false;
    this.drainNotify = false;
  }

  /**
   * Restarts the send queue at `sequence`: commands from there on are read again, and their copies
   * in the lane become void.
   */
  rewind(sequence: number): void {
    this.epoch++;
    this.owner.timeline?.note(Step.COMMANDS_RETURNED, this.owner.number, this.number, sequence);
    // They were admitted, whether or not a doorbell named them.
    this.sendSlots?.name(this.nextSequence, sequence);
    this.nextSequence = sequence;
    this.fetchSequence = sequence;
  }

  /** An XRC target: a request names `queue`, which takes it, and whose PD guards memory. */
  receiveFrom(queue: XrcReceiveSource, cq: CompletionPort): void {
    this.srq = queue;
    this.receiveSource = queue.ring;
    this.receiveCq = cq;
    this.pd = queue.pd;
  }

  /** An XRC target: forgets the SRQ of the last request. No effect on other QPs. */
  leaveQueue(): void {
    const { srq, receiveSource, receiveCq, pd } = this.#parts;
    if (this.domain === undefined) return;
    this.srq = srq;
    this.receiveSource = receiveSource;
    this.receiveCq = receiveCq;
    this.pd = pd;
  }

  /** Returns the references that the constructor took. */
  release(): void {
    this.#voidCommands();
    this.trace?.release();
    this.destroyed = true;
    this.leaveQueue();
    if (this.domain !== undefined) this.domain.references--;
    this.pd.references--;
    this.sendCq.references--;
    this.receiveCq.references--;
    if (this.srq !== undefined) this.srq.references--;
    if (this.collectContext !== undefined) this.collectContext.queues--;
  }

  #voidCommands(): void {
    this.epoch++;
    this.trace?.reset();
    this.owner.announced?.forget(this);
    this.owner.timeline?.note(Step.QP_RESET, this.owner.number, this.number);
  }
}

/** New attributes, with those that packets need in front. */
function newPackedAttributes(): QpAttributes {
  const { port, pkeyIndex, remoteQpn, access, timeout, retryCount, rnrRetry, ...others } = newQpAttributes();
  return { port, pkeyIndex, remoteQpn, access, timeout, retryCount, rnrRetry, ...others };
}

/**
 * `OpcodeFlag` of packets that a service refuses: an XRC initiator takes responses only, an XRC
 * target requests only (IBTA annex A14).
 */
function refusedFlagsOf(serviceType: ServiceType): number {
  if (serviceType === ServiceType.XRC_INITIATOR) return OpcodeFlag.REQUEST;
  return serviceType === ServiceType.XRC_TARGET ? OpcodeFlag.RESPONSE : 0;
}

/** QPN in packets: 0 of an SMI QP, 1 of a GSI QP. */
function wireNumberOf(serviceType: ServiceType, number: number): number {
  if (serviceType === ServiceType.SMI) return SUBNET_MANAGEMENT_QPN;
  return serviceType === ServiceType.GSI ? GENERAL_SERVICES_QPN : number;
}
