// SPDX-License-Identifier: Apache-2.0
/**
 * The fixture of most tests of the whole adapter: a machine, a driver that has brought the function
 * up, a PD, a DMA region, event queues, and helpers that create QPs, buffers and address handles.
 * The invariants are checked after each step; `finish` checks that nothing leaked.
 */
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import type { Sge } from '../../protocol/layout/gen/sge.gen.ts';
import { FaultKind, QpState } from '../../protocol/layout/gen/values.gen.ts';
import { InProcessAccess } from '../hosts/in-process/access.ts';
import type { DriverCompletionQueue } from '../hosts/in-process/driver/completion-queue.ts';
import { Driver } from '../hosts/in-process/driver/driver.ts';
import type { DriverClasses } from '../hosts/in-process/driver/driver-classes.ts';
import type { DriverEventQueue } from '../hosts/in-process/driver/event-queue.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type {
  BringUpRequest,
  CompletionQueueRequest,
  DriverBuffer,
  DriverMemoryRegion,
  QueuePairRequest,
} from '../hosts/in-process/driver/requests.ts';
import type { SendRequest } from '../hosts/in-process/driver/send-request.ts';
import type { InProcessHost } from '../hosts/in-process/host.ts';
import { InProcessMachine, type MachineOptions } from '../hosts/in-process/machine.ts';
import type { Random } from '../random.ts';
import {
  findBadBinding,
  findBadRequester,
  findBrokenInvariant,
  findLeak,
  findLostTranslations,
  findUnexplained,
} from './invariants.ts';
import { findLaneFault } from './lane-invariants.ts';

/** Vectors of the two event queues of every fixture. */
export const COMPLETION_VECTOR = 5;
export const ASYNCHRONOUS_VECTOR = 9;

/** The machine, and changes of the driver. */
export interface AdapterFixtureOptions extends MachineOptions {
  readonly bringUp?: BringUpRequest;
  /** Classes of the driver that are replaced. */
  readonly classes?: Partial<DriverClasses>;
  /** Builds the driver's access to the machine. */
  readonly access?: (machine: InProcessMachine) => InProcessAccess;
}

/** Options of a datagram QP. */
export interface QueuePairOptions extends Partial<QueuePairRequest> {
  readonly port?: number;
  readonly qkey?: number;
  readonly pkeyIndex?: number;
  readonly sendPsn?: number;
  /** State of the QP; RTS unless given. */
  readonly state?: 'reset' | 'init' | 'rtr' | 'rts';
}

/** A buffer in guest memory. */
export type Buffer = DriverBuffer;

/** A datagram sender on port 1 and its receiver on port 2. */
export interface Pair {
  readonly sender: DriverQueuePair;
  readonly receiver: DriverQueuePair;
  /** Address handle of the receiver's port. */
  readonly handle: number;
  /** A request to the receiver. */
  to(request?: SendRequest): SendRequest;
}

/** An adapter with one function brought up. */
export class AdapterFixture {
  readonly machine: InProcessMachine;
  readonly access: InProcessAccess;
  readonly host: InProcessHost;
  driver!: Driver;
  pd = 0;
  region!: DriverMemoryRegion;
  events!: DriverEventQueue;
  asynchronous!: DriverEventQueue;
  /** No share of the function shrinks while it is in use: `checkInvariants` expects it. */
  steady = true;
  readonly #classes: Partial<DriverClasses> | undefined;

  constructor(options: AdapterFixtureOptions = {}) {
    this.machine = new InProcessMachine(options);
    this.access = options.access?.(this.machine) ?? new InProcessAccess(this.machine);
    this.#classes = options.classes;
    this.host = this.access.host;
    this.machine.onStep = () => this.checkInvariants();
    this.bringUp(options.bringUp);
  }

  /** Brings the function up after power-on or a reset. */
  bringUp(request?: BringUpRequest): void {
    this.driver = new Driver(this.access, this.#classes).bringUp(request);
    this.pd = this.driver.createProtectionDomain();
    this.region = this.driver.createDmaRegion(this.pd);
    this.events = this.driver.createEventQueue({ vector: COMPLETION_VECTOR });
    this.asynchronous = this.driver.createEventQueue({ vector: ASYNCHRONOUS_VECTOR, asynchronous: true });
  }

  get random(): Random {
    return this.machine.random;
  }

  createCompletionQueue(request: CompletionQueueRequest = {}): DriverCompletionQueue {
    return this.driver.createCompletionQueue({ eventQueue: this.events, ...request });
  }

  /** A datagram QP on port 1 unless `options` differ. */
  createQueuePair(options: QueuePairOptions = {}): DriverQueuePair {
    const { port = 1, qkey = 0x1234, pkeyIndex = 0, sendPsn = 0, state = 'rts' } = options;
    const sendCq = options.sendCq ?? this.createCompletionQueue();
    const qp = this.driver.createQueuePair({ pd: this.pd, ...options, sendCq });
    if (state !== 'reset') qp.toInit({ port, qkey, pkeyIndex });
    if (state === 'rtr' || state === 'rts') qp.toReadyToReceive();
    if (state === 'rts') qp.toReadyToSend(sendPsn);
    return qp;
  }

  /** A sender and a receiver with the same Q_Key, and the handle between them. */
  createPair(options: { sender?: QueuePairOptions; receiver?: QueuePairOptions } = {}): Pair {
    const sender = this.createQueuePair({ port: 1, ...options.sender });
    const receiver = this.createQueuePair({ port: 2, ...options.receiver });
    const handle = this.handleTo(options.sender?.port ?? 1, options.receiver?.port ?? 2);
    const { qpn: remoteQpn, qkey } = receiver;
    const to = (request: SendRequest = {}): SendRequest => ({ remoteQpn, qkey, addressHandle: handle, ...request });
    return { sender, receiver, handle, to };
  }

  /** Address handle for packets from `port` to the LID of `toPort`. */
  handleTo(port: number, toPort: number): number {
    return this.driver.addressHandles.add({ port, dlid: this.lidOf(toPort), pd: this.pd });
  }

  lidOf(port: number): number {
    return port > 2 ? this.read(CSR.UPPER_PORT_LID, port - 3) : this.read(CSR.PORT_LID, port - 1);
  }

  /** Guest memory with `content`, or with so many zeros. */
  createBuffer(content: Uint8Array | number): Buffer {
    return this.driver.createBuffer(content);
  }

  /** An SGE for a part of a buffer, with the L_Key of the fixture's region. */
  sge(buffer: Buffer, offset = 0, length = buffer.lengthBytes - offset): Sge {
    return { address: buffer.address + offset, length, lkey: this.region.lkey };
  }

  /** Posts a new receive buffer of `lengthBytes` and returns it. */
  postReceive(qp: DriverQueuePair, lengthBytes: number): Buffer {
    const buffer = this.createBuffer(lengthBytes);
    qp.postReceive([this.sge(buffer)]);
    return buffer;
  }

  /** A 32-bit register, or one of an array. */
  read(offset: number, index = 0): number {
    return this.access.readRegister(offset + index * 4, 4);
  }

  faults(kind: FaultKind): number {
    return this.read(CSR.FAULT_COUNT, kind);
  }

  /** Counts of all faults, by name; kinds that did not occur are absent. */
  allFaults(): Record<string, number> {
    const seen: Record<string, number> = {};
    for (const [name, kind] of Object.entries(FaultKind)) if (this.faults(kind) > 0) seen[name] = this.faults(kind);
    return seen;
  }

  /** Lets the device work until it is idle. */
  settle(): void {
    this.machine.runUntilIdle();
  }

  /** Throws if an invariant of the adapter is violated. */
  checkInvariants(): void {
    const core = this.machine.device;
    const broken =
      findBrokenInvariant(this.access, this.steady) ??
      findBadBinding(core) ??
      findLaneFault(core) ??
      findBadRequester(core) ??
      findUnexplained(core);
    if (broken !== undefined) throw new Error(`${broken}; ${this.machine.describe()}`);
  }

  /**
   * Lets all work end. Throws if a resource leaked or the device wrote out of bounds.
   * `halfWritten`: commands left half-written on purpose.
   */
  finish(halfWritten = 0): void {
    this.settle();
    const { device } = this.machine;
    const leak = findLeak(this.access, halfWritten) ?? findUnexplained(device) ?? findLostTranslations(device);
    if (leak !== undefined) throw new Error(`${leak}; ${this.machine.describe()}`);
    const overrun = this.driver.allocator.findOverrun();
    if (overrun !== undefined) {
      throw new Error(`The device wrote out of bounds at 0x${overrun.toString(16)}; ${this.machine.describe()}`);
    }
  }

  /** Sends a message between two new QPs; throws unless it arrives. */
  proveItWorks(): void {
    const { sender, receiver, to } = this.createPair();
    const buffer = this.postReceive(receiver, 40 + 64);
    const payload = this.random.bytes(48);
    sender.post(to({ inline: payload }));
    const sent = sender.parts.sendCq.take('the send of a proof');
    const received = receiver.parts.receiveCq.take('the receipt of a proof');
    const intact = payload.every((byte, index) => buffer.bytes[40 + index] === byte);
    if (sent.status !== 0 || received.status !== 0 || !intact)
      throw new Error(`It no longer works; ${this.machine.describe()}`);
    sender.destroy();
    receiver.destroy();
  }
}

export { QpState };
