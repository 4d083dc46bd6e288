// SPDX-License-Identifier: Apache-2.0
/**
 * A small driver that uses only BARs and guest memory, as docs/PROGRAMMING.md says. It brings a
 * function up and creates PDs, MRs, EQs, CQs, QPs, SRQs, windows and send contexts. Used by all
 * in-process tests, and by the suites that run over a vfio-user socket.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { COMPLETION_QUEUE_RECORD_SIZE } from '../../../protocol/layout/gen/completion-queue-record.gen.ts';
import {
  IDENTITY_MAGIC,
  LAYOUT_HASH_HIGH,
  LAYOUT_HASH_LOW,
  OVERFLOW_ENTRY_BYTES,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getMrAttributesLkey,
  getMrAttributesRkey,
  type MrAttributes,
} from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import { getMwAttributesRkey } from '../../../protocol/layout/gen/mw-attributes.gen.ts';
import { QUEUE_PAIR_RECORD_SIZE } from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  CSR,
  CSR_DEVICE_CONTROL_ENABLE_MASK,
  CSR_DEVICE_CONTROL_RESET_MASK,
  CSR_OVERFLOW_CONTROL_ENABLE_MASK,
  CSR_SHADOW_TAILS_ENABLE_MASK,
  getCsrDeviceStatusReady,
  getCsrOverflowControlEnable,
  setCsrOverflowControlEntriesLog2,
  setCsrShadowTailsWindowUs,
} from '../../../protocol/layout/gen/registers.gen.ts';
import type { SendContextAttributes } from '../../../protocol/layout/gen/send-context-attributes.gen.ts';
import { SEND_QUEUE_DESCRIPTOR_SIZE } from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { SRQ_RECORD_SIZE } from '../../../protocol/layout/gen/srq-record.gen.ts';
import {
  AccessFlag,
  CqMask,
  EqControl,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  type MwKind,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { AddressHandleTable } from './address-handle-table.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import { type DriverClasses, driverClasses } from './driver-classes.ts';
import type { DriverEventQueue } from './event-queue.ts';
import { GuestAllocator } from './guest-allocator.ts';
import type { HardwareAccess } from './hardware-access.ts';
import { ManagementChannel, type ManagementResult } from './management-channel.ts';
import {
  cqPayload,
  eqPayload,
  mrPayload,
  mwPayload,
  pdPayload,
  qpCreationPayload,
  sendContextPayload,
  srqPayload,
} from './payloads.ts';
import { DriverQueueBuffer } from './queue-buffer.ts';
import { memoryOf, receiveMemoryOf, sendMemoryOf } from './queue-fields.ts';
import type { DriverQueuePair } from './queue-pair.ts';
import type {
  BringUpRequest,
  CompletionQueueRequest,
  DriverBuffer,
  DriverMemoryRegion,
  EventQueueRequest,
  QueuePairRequest,
  SharedReceiveQueueRequest,
} from './requests.ts';
import { DriverResources } from './resources.ts';
import type { DriverSendContext } from './send-context.ts';
import { DriverSharedReceiveQueue } from './shared-receive-queue.ts';

const ENTRY_STRIDE_LOG2 = 6;
/** Bytes of a line of credit words, with room for eight send contexts. */
const CREDIT_LINE_BYTES = 64;
const SEND_STRIDE_LOG2 = 9;
const RECEIVE_STRIDE_LOG2 = 9;

/** The driver of one function. */
export class Driver {
  readonly access: HardwareAccess;
  readonly allocator: GuestAllocator;
  readonly management: ManagementChannel;
  readonly resources: DriverResources;
  addressHandles!: AddressHandleTable;
  /** Bus address of the doorbell overflow buffer, or 0. */
  overflowAddress = 0;
  readonly classes: DriverClasses;
  readonly #nextPage: number[] = [];

  constructor(access: HardwareAccess, classes: Partial<DriverClasses> = {}) {
    this.access = access;
    this.classes = { ...driverClasses, ...classes };
    this.allocator = new GuestAllocator(access);
    this.management = new ManagementChannel(access, this.allocator);
    this.resources = new DriverResources(this.management);
  }

  /**
   * Checks identity and layout hash, enables the function, splits its collect buffers between the
   * QoS levels, sets up the address handle table and the overflow buffer.
   */
  bringUp(request: BringUpRequest = {}): this {
    const { access } = this;
    const { addressHandleEntries = 64, levelOnePages = 0, overflowEntriesLog2 = 10 } = request;
    if (access.readRegister(CSR.IDENTITY, 4) !== IDENTITY_MAGIC) throw new Error('This is not a vuhca function.');
    const low = access.readRegister(CSR.LAYOUT_HASH, 8);
    if (low !== LAYOUT_HASH_LOW || access.readHigh !== LAYOUT_HASH_HIGH) {
      throw new Error('The device was built from other layout tables; rebuild driver or device.');
    }
    access.waitFor(
      () => getCsrDeviceStatusReady(access.readRegister(CSR.DEVICE_STATUS, 4)) === 1,
      'DEVICE_STATUS.ready',
    );
    access.writeRegister(CSR.DEVICE_CONTROL, 4, CSR_DEVICE_CONTROL_ENABLE_MASK, 0);
    if (levelOnePages > 0) {
      const divider = (access.readRegister(CSR.VCB_COUNT, 4) - levelOnePages) * PAGE_BYTES;
      access.writeRegister(CSR.QOS_DIVIDER, 8, divider, 0);
    }
    this.addressHandles = new AddressHandleTable(access, this.allocator, addressHandleEntries);
    if (overflowEntriesLog2 > 0) this.giveOverflowBuffer(overflowEntriesLog2);
    if (request.tailWindowUs !== undefined) this.watchTails(request.tailWindowUs);
    return this;
  }

  /** Gives the device an overflow buffer for doorbells; throws if it is refused. */
  giveOverflowBuffer(entriesLog2: number): void {
    const { access } = this;
    const base = this.allocator.allocate(2 ** entriesLog2 * OVERFLOW_ENTRY_BYTES);
    access.writeRegister(CSR.OVERFLOW_BASE, 8, lowDword(base), highDword(base));
    const control = setCsrOverflowControlEntriesLog2(CSR_OVERFLOW_CONTROL_ENABLE_MASK, entriesLog2);
    access.writeRegister(CSR.OVERFLOW_CONTROL, 4, control, 0);
    if (getCsrOverflowControlEnable(access.readRegister(CSR.OVERFLOW_CONTROL, 4)) === 0)
      throw new Error(`The device refused a doorbell overflow buffer of ${2 ** entriesLog2} entries.`);
    this.overflowAddress = base;
  }

  /** Turns shadow tails on. `windowUs`: time of a watch after a find; 0: the device's default. */
  watchTails(windowUs = 0): void {
    const control = setCsrShadowTailsWindowUs(CSR_SHADOW_TAILS_ENABLE_MASK, windowUs);
    this.access.writeRegister(CSR.SHADOW_TAILS, 4, control, 0);
  }

  /** Resets the function by register: all objects are gone, all memory is free. */
  reset(): void {
    this.access.writeRegister(CSR.DEVICE_CONTROL, 4, CSR_DEVICE_CONTROL_RESET_MASK, 0);
  }

  createProtectionDomain(token = 0): number {
    return this.management.perform({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}), token }).objectNumber;
  }

  /** Registers memory: a list of pages, or a contiguous range from `startAddress` on. */
  createMemoryRegion(attributes: Partial<MrAttributes>): DriverMemoryRegion {
    const { objectNumber, payload } = this.management.perform({
      opcode: ManagementOpcode.CREATE_MR,
      payload: mrPayload(attributes),
    });
    return { number: objectNumber, lkey: getMrAttributesLkey(payload, 0), rkey: getMrAttributesRkey(payload, 0) };
  }

  /** A region over all memory of the driver; virtual addresses equal bus addresses. */
  createDmaRegion(pd: number, access: number = AccessFlag.LOCAL_WRITE): DriverMemoryRegion {
    const { memoryAddress: startAddress, memoryBytes: length } = this.access;
    return this.createMemoryRegion({ pd, kind: MrKind.PHYSICAL, access, startAddress, length });
  }

  createEventQueue(request: EventQueueRequest = {}): DriverEventQueue {
    const { vector = 0, asynchronous = false, summaryCount = 0 } = request;
    const buffer = this.#queue(request.entriesLog2 ?? 6, ENTRY_STRIDE_LOG2, request.paged);
    const summaryAddress = summaryCount > 0 ? this.allocator.allocate(1 + summaryCount) : 0;
    const payload = eqPayload({
      ...memoryOf(buffer),
      vector,
      asynchronous: Number(asynchronous),
      controls: EqControl.INTERRUPT,
      primarySummaryAddress: summaryAddress,
      secondarySummaryAddress: summaryCount > 0 ? summaryAddress + 1 : 0,
      secondarySummaryCount: summaryCount,
      ...request.attributes,
    });
    const { objectNumber } = this.management.perform({ opcode: ManagementOpcode.CREATE_EQ, payload });
    const summary = summaryCount > 0 ? this.access.view(summaryAddress, 1 + summaryCount) : undefined;
    return new this.classes.EventQueue(this.access, objectNumber, vector, buffer, summary);
  }

  createCompletionQueue(request: CompletionQueueRequest = {}): DriverCompletionQueue {
    const buffer = this.#queue(request.entriesLog2 ?? 6, ENTRY_STRIDE_LOG2, request.paged);
    const recordAddress = this.allocator.allocate(COMPLETION_QUEUE_RECORD_SIZE);
    const eventQueue = request.eventQueue?.eqn ?? 0;
    const { token = 0, summaryIndex = 0, collectContext = 0 } = request;
    const payload = cqPayload({ ...memoryOf(buffer), recordAddress, eventQueue, summaryIndex, collectContext });
    const { objectNumber } = this.management.perform({ opcode: ManagementOpcode.CREATE_CQ, payload, token });
    return new this.classes.CompletionQueue(this.access, objectNumber, buffer, recordAddress);
  }

  /** Moves a CQ to a ring of another size, with its unread CQEs. */
  resizeCompletionQueue(queue: DriverCompletionQueue, entriesLog2: number): ManagementResult {
    const buffer = this.#queue(entriesLog2, ENTRY_STRIDE_LOG2, queue.buffer.paged);
    const payload = cqPayload({ ...memoryOf(buffer), attributeMask: CqMask.RESIZE });
    const result = this.management.execute({ opcode: ManagementOpcode.MODIFY_CQ, objectNumber: queue.cqn, payload });
    if (result.status === ManagementStatus.OK) queue.buffer = buffer;
    return result;
  }

  createQueuePair(request: QueuePairRequest): DriverQueuePair {
    const { pd, sendCq, receiveCq = sendCq, qosLevel = 0, checksumKey = 0, strideLog2 } = request;
    const sendBuffer = this.#queue(request.sendEntriesLog2 ?? 4, strideLog2 ?? SEND_STRIDE_LOG2, request.paged);
    const receiveBuffer = this.#queue(
      request.receiveEntriesLog2 ?? 4,
      strideLog2 ?? RECEIVE_STRIDE_LOG2,
      request.paged,
    );
    const recordAddress = this.allocator.allocate(QUEUE_PAIR_RECORD_SIZE);
    const descriptorAddress = this.allocator.allocate(SEND_QUEUE_DESCRIPTOR_SIZE);
    const payload = qpCreationPayload({
      pd,
      serviceType: ServiceType.UD,
      sendCq: sendCq.cqn,
      receiveCq: receiveCq.cqn,
      recordAddress,
      descriptorAddress,
      ...sendMemoryOf(sendBuffer),
      ...receiveMemoryOf(receiveBuffer),
      qosLevel,
      checksumKey,
      userQueue: Number(request.user !== undefined),
      collectContext: request.user?.collectContext ?? 0,
      ...request.creation,
    });
    const { objectNumber: qpn } = this.management.perform({ opcode: ManagementOpcode.CREATE_QP, payload });
    const page = request.user?.page ?? this.takePage(qosLevel);
    const parts = { qpn, sendBuffer, receiveBuffer, recordAddress, descriptorAddress, sendCq, receiveCq };
    return new this.classes.QueuePair(this.access, this.management, { ...parts, qosLevel, checksumKey, page });
  }

  createSharedReceiveQueue(request: SharedReceiveQueueRequest): DriverSharedReceiveQueue {
    const buffer = this.#queue(request.entriesLog2 ?? 4, RECEIVE_STRIDE_LOG2, request.paged);
    const recordAddress = this.allocator.allocate(SRQ_RECORD_SIZE);
    const payload = srqPayload({
      pd: request.pd,
      ...memoryOf(buffer),
      strideLog2: RECEIVE_STRIDE_LOG2,
      recordAddress,
      limit: request.limit ?? 0,
    });
    const { objectNumber } = this.management.perform({ opcode: ManagementOpcode.CREATE_SRQ, payload });
    return new DriverSharedReceiveQueue(this.access, this.management, objectNumber, buffer, recordAddress);
  }

  /** Allocates a memory window; its R_Key changes with each bind. */
  createMemoryWindow(pd: number, kind: MwKind): { readonly number: number; readonly rkey: number } {
    const payload = mwPayload({ pd, kind });
    const result = this.management.perform({ opcode: ManagementOpcode.CREATE_MW, payload });
    return { number: result.objectNumber, rkey: getMwAttributesRkey(result.payload, 0) };
  }

  /** Allocates a send context, not yet enabled. */
  createSendContext(attributes: Partial<SendContextAttributes> = {}): DriverSendContext {
    const { blocks = 32 } = attributes;
    const creditAddress = attributes.creditAddress ?? this.allocator.allocate(CREDIT_LINE_BYTES);
    const payload = sendContextPayload({
      port: 1,
      virtualLanes: 1,
      threshold: Math.floor(blocks / 2),
      ...attributes,
      blocks,
      creditAddress,
    });
    const { objectNumber } = this.management.perform({ opcode: ManagementOpcode.CREATE_SEND_CONTEXT, payload });
    const line = this.access.view(creditAddress, CREDIT_LINE_BYTES);
    return new this.classes.SendContext(this.access, objectNumber, blocks, line);
  }

  /** Guest memory with `content`, or with that many zero bytes. */
  createBuffer(content: Uint8Array | number): DriverBuffer {
    const lengthBytes = typeof content === 'number' ? content : content.length;
    const address = this.allocator.allocate(Math.max(lengthBytes, 1));
    const view = this.access.view(address, lengthBytes);
    const bytes = new Uint8Array(view.buffer, view.byteOffset, lengthBytes);
    if (typeof content !== 'number') bytes.set(content);
    return { address, lengthBytes, bytes };
  }

  /** Byte offset in the collect BAR of the next page of a QoS level, round robin. */
  takePage(qosLevel: number): number {
    const count = this.access.readRegister(CSR.VCB_COUNT, 4);
    const divider = Math.min(count, this.access.readRegister(CSR.QOS_DIVIDER, 8) / PAGE_BYTES);
    const first = qosLevel === 0 ? 0 : divider;
    const pages = qosLevel === 0 ? divider : count - divider;
    if (!(pages > 0)) throw new Error(`QoS level ${qosLevel} has no collect buffers.`);
    const turn = this.#nextPage[qosLevel] ?? 0;
    this.#nextPage[qosLevel] = turn + 1;
    return (first + (turn % pages)) * PAGE_BYTES;
  }

  #queue(entriesLog2: number, strideLog2: number, paged = false): DriverQueueBuffer {
    return DriverQueueBuffer.allocate(this.access, this.allocator, entriesLog2, strideLog2, paged);
  }
}
