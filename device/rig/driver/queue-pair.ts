// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of a queue pair: fills send slots and posts them by collect buffer or doorbell,
 * fills receive slots, moves the QP through its states (IBTA 10.3.1). Posting follows
 * docs/PROGRAMMING.md: slot, record, then collect copy or doorbell.
 */
import {
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
  encodeAddressHandle,
  newAddressHandle,
} from '../../../protocol/layout/gen/address-handle.gen.ts';
import {
  CANCEL_OFFSET,
  CANCEL_VALUE_HIGH,
  COMMAND_HEADER_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  STOP_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_SIZE, encodeDoorbell, newDoorbell } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  decodeQpAttributes,
  encodeQpAttributes,
  newQpAttributes,
  QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET,
  QP_ATTRIBUTES_SIZE,
  type QpAttributes,
} from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import { QP_CREATION_SIZE } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import {
  getQueuePairRecordWatched,
  QUEUE_PAIR_RECORD_SIZE,
  setQueuePairRecordReceiveTail,
  setQueuePairRecordSendTail,
  setQueuePairRecordWatched,
} from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import type { ReceiveEntry } from '../../../protocol/layout/gen/receive-entry.gen.ts';
import { RECEIVE_ENTRY_SEQUENCE_MASK } from '../../../protocol/layout/gen/receive-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import type { Sge } from '../../../protocol/layout/gen/sge.gen.ts';
import { AccessFlag, ManagementOpcode, QpMask, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { highOfPort } from '../../../protocol/layout/port-number.ts';
import { type CollectStyle, writeCollected } from './collect-writer.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { ManagementChannel, ManagementResult } from './management-channel.ts';
import type { DriverQueueBuffer } from './queue-buffer.ts';
import { buildSendCommand, type SendRequest } from './send-request.ts';
import { fillReceiveSlot } from './shared-receive-queue.ts';

const SEQUENCE_MASK = 0xffff;

/** The parts of a queue pair that its driver keeps. */
interface QueuePairParts {
  readonly qpn: number;
  readonly sendBuffer: DriverQueueBuffer;
  readonly receiveBuffer: DriverQueueBuffer;
  readonly recordAddress: number;
  readonly descriptorAddress: number;
  readonly sendCq: DriverCompletionQueue;
  readonly receiveCq: DriverCompletionQueue;
  readonly qosLevel: number;
  readonly checksumKey: number;
  /** Byte offset in the collect BAR of the QP's page. */
  readonly page: number;
}

/** The attributes of a connected QP on its way to RTS. */
export interface Connection {
  readonly reliable: boolean;
  readonly port: number;
  readonly dlid: number;
  readonly remoteQpn: number;
  /** Destination GID; with it packets have a GRH. */
  readonly globalRoute?: Uint8Array;
  /** Index of the source GID in the port's table; 0 unless given. */
  readonly sourceGidIndex?: number;
  readonly sendPsn?: number;
  readonly receivePsn?: number;
  readonly pathMtu?: number;
  readonly access?: number;
  readonly maxReads?: number;
  readonly minRnrTimer?: number;
  readonly timeout?: number;
  readonly retryCount?: number;
  readonly rnrRetry?: number;
}

const ALL_REMOTE = AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.REMOTE_ATOMIC;

/**
 * Way of posting. `tail`: by doorbell unless the device watches the queue. `slot` fills slot and
 * record without a collect copy or doorbell.
 */
export type PostBy = 'collect' | 'doorbell' | 'register' | 'tail' | 'slot';

/** A queue pair. */
export class DriverQueuePair {
  readonly parts: QueuePairParts;
  readonly qpn: number;
  /** Sequence numbers of the next send and of the next receive entry. */
  sendTail = 0;
  receiveTail = 0;
  qkey = 0;
  readonly #access: HardwareAccess;
  readonly #management: ManagementChannel;
  readonly #doorbell = new DataView(new ArrayBuffer(DOORBELL_SIZE));

  constructor(access: HardwareAccess, management: ManagementChannel, parts: QueuePairParts) {
    this.#access = access;
    this.#management = management;
    this.parts = parts;
    this.qpn = parts.qpn;
  }

  /** Modifies attributes; returns the result, whatever the status. `path`: address vector. */
  modify(attributes: Partial<QpAttributes>, path?: Connection): ManagementResult {
    return this.#management.execute(this.#modification(attributes, path));
  }

  /** Modifies attributes; throws if refused. */
  change(attributes: Partial<QpAttributes>, path?: Connection): void {
    this.#management.perform(this.#modification(attributes, path));
  }

  /** RESET to INIT. */
  toInit(attributes: { port?: number; pkeyIndex?: number; qkey?: number } = {}): void {
    const { port = 1, pkeyIndex = 0, qkey = 0x1000 } = attributes;
    this.qkey = qkey;
    const attributeMask = QpMask.STATE | QpMask.PKEY_INDEX | QpMask.PORT | QpMask.QKEY;
    this.change({ attributeMask, state: QpState.INIT, port, pkeyIndex, qkey });
  }

  toReadyToReceive(): void {
    this.change({ attributeMask: QpMask.STATE, state: QpState.RTR });
  }

  toReadyToSend(sendPsn = 0): void {
    this.change({ attributeMask: QpMask.STATE | QpMask.SEND_PSN, state: QpState.RTS, sendPsn });
  }

  /** RESET to RTS. */
  start(attributes: { port?: number; pkeyIndex?: number; qkey?: number; sendPsn?: number } = {}): this {
    this.toInit(attributes);
    this.toReadyToReceive();
    this.toReadyToSend(attributes.sendPsn ?? 0);
    return this;
  }

  /** RESET to INIT, of an SMI or GSI QP, whose port is that of its creation. */
  toSpecialInit(qkey = 0): void {
    this.qkey = qkey;
    this.change({ attributeMask: QpMask.STATE | QpMask.PKEY_INDEX | QpMask.QKEY, state: QpState.INIT, qkey });
  }

  /** RESET to RTS, of an SMI or GSI QP. */
  startSpecial(qkey = 0): this {
    this.toSpecialInit(qkey);
    this.toReadyToReceive();
    this.toReadyToSend();
    return this;
  }

  toError(): void {
    this.change({ attributeMask: QpMask.STATE, state: QpState.ERR });
  }

  /** To RESET; the record is zeroed first, as software must. */
  toReset(): void {
    this.sendTail = 0;
    this.receiveTail = 0;
    // From here on the device ignores the tail.
    setQueuePairRecordWatched(this.#record(), 0, 0);
    this.#writeTails();
    this.change({ attributeMask: QpMask.STATE, state: QpState.RESET });
  }

  /** Brings a connected QP from RESET to RTS, without the attributes that its service lacks. */
  connect(connection: Connection): this {
    this.toConnectedInit(connection);
    this.toConnectedReceive(connection);
    this.toConnectedSend(connection);
    return this;
  }

  toConnectedInit(connection: Connection): void {
    const { port, access = ALL_REMOTE } = connection;
    const attributeMask = QpMask.STATE | QpMask.PKEY_INDEX | QpMask.PORT | QpMask.ACCESS;
    this.change({ attributeMask, state: QpState.INIT, port, access });
  }

  toConnectedReceive(connection: Connection): void {
    const { remoteQpn, receivePsn = 0, maxReads = 16, minRnrTimer = 1, pathMtu = 3 } = connection;
    let attributeMask = QpMask.STATE | QpMask.ADDRESS_VECTOR | QpMask.PATH_MTU | QpMask.REMOTE_QPN | QpMask.RECEIVE_PSN;
    if (connection.reliable) attributeMask |= QpMask.MAX_READS_SERVED | QpMask.MIN_RNR_TIMER;
    const attributes = { attributeMask, state: QpState.RTR, remoteQpn, receivePsn, maxReadsServed: maxReads };
    this.change({ ...attributes, minRnrTimer, pathMtu }, connection);
  }

  toConnectedSend(connection: Connection): void {
    const { sendPsn = 0, maxReads = 16, timeout = 14, retryCount = 7, rnrRetry = 7 } = connection;
    let attributeMask = QpMask.STATE | QpMask.SEND_PSN;
    if (connection.reliable)
      attributeMask |= QpMask.TIMEOUT | QpMask.RETRY_COUNT | QpMask.RNR_RETRY | QpMask.MAX_READS_INITIATED;
    const retries = { timeout, retryCount, rnrRetry };
    this.change({ attributeMask, state: QpState.RTS, sendPsn, maxReadsInitiated: maxReads, ...retries });
  }

  /** The attributes in the device. */
  query(): QpAttributes {
    const { payload } = this.#management.perform({ opcode: ManagementOpcode.QUERY_QP, objectNumber: this.qpn });
    return decodeQpAttributes(payload, QP_CREATION_SIZE, newQpAttributes());
  }

  destroy(): void {
    this.#management.perform({ opcode: ManagementOpcode.DESTROY_QP, objectNumber: this.qpn });
  }

  /** Builds a command, fills its slot, advances the tail and posts it; returns its bytes. */
  post(request: SendRequest, by: PostBy = 'collect', style: CollectStyle = {}): Uint8Array {
    const bytes = this.fill(request);
    this.advanceSendTail();
    if (by === 'collect') this.collect(bytes, style);
    else if (by === 'tail') this.ringUnwatched();
    else if (by !== 'slot') this.ring((this.sendTail - 1) & SEND_COMMAND_SEQUENCE_MASK, by);
    return bytes;
  }

  /** Builds a command and fills the next slot, without advancing the tail. */
  fill(request: SendRequest): Uint8Array {
    const { qosLevel, checksumKey, sendBuffer } = this.parts;
    const context = { qpn: this.qpn, sequence: this.sendTail, qosLevel, checksumKey, qkey: this.qkey };
    const bytes = buildSendCommand(request, context);
    const slot = sendBuffer.slot(this.sendTail);
    new Uint8Array(slot.buffer, slot.byteOffset, Math.min(bytes.length, slot.byteLength)).set(
      bytes.subarray(0, slot.byteLength),
    );
    return bytes;
  }

  /** Advances the tail over the next slot. */
  advanceSendTail(): void {
    this.sendTail = (this.sendTail + 1) & SEND_COMMAND_SEQUENCE_MASK;
    this.#writeTails();
  }

  /** True while the device watches the tail by itself. */
  get watched(): boolean {
    return getQueuePairRecordWatched(this.#record(), 0) === 1;
  }

  /**
   * Rings unless the device watches the queue. On a real processor a full barrier lies between the
   * store of the tail and this load.
   */
  ringUnwatched(): void {
    if (!this.watched) this.ring();
  }

  /** Writes command bytes through a collect page. */
  collect(bytes: Uint8Array, style: CollectStyle = {}, page = this.parts.page): void {
    writeCollected(this.#access, page, bytes, style);
  }

  /** Rings the doorbell for `sequence`, in the collect page or by register. */
  ring(sequence = (this.sendTail - 1) & SEQUENCE_MASK, by: 'doorbell' | 'register' = 'doorbell'): void {
    const { page } = this.parts;
    const collectLength = COMMAND_HEADER_BYTES;
    encodeDoorbell(this.#doorbell, 0, { ...newDoorbell(), qpn: this.qpn, sequence, collectLength });
    const low = this.#doorbell.getUint32(0, true);
    const high = this.#doorbell.getUint32(4, true);
    if (by === 'doorbell') this.#access.writeCollect(page + DOORBELL_OFFSET, DOORBELL_SIZE, low, high);
    else this.#access.writeRegister(CSR.SEND_DOORBELL, DOORBELL_SIZE, low, high);
  }

  /** Kicks the command in the page by software. */
  kick(page = this.parts.page): void {
    this.#access.writeCollect(page + KICK_OFFSET, DOORBELL_SIZE, 0, 0);
  }

  /** Cancels the half-written command in the page. */
  cancel(page = this.parts.page): void {
    this.#access.writeCollect(page + CANCEL_OFFSET, DOORBELL_SIZE, 0, CANCEL_VALUE_HIGH);
  }

  /** Removes the QP from the scheduler. */
  stop(): void {
    encodeDoorbell(this.#doorbell, 0, { ...newDoorbell(), qpn: this.qpn });
    const low = this.#doorbell.getUint32(0, true);
    this.#access.writeCollect(this.parts.page + STOP_OFFSET, DOORBELL_SIZE, low, this.#doorbell.getUint32(4, true));
  }

  /** Posts a receive WQE; `entry` overrides fields of its head. */
  postReceive(sges: readonly Sge[], entry: Partial<ReceiveEntry> = {}): void {
    fillReceiveSlot(this.parts.receiveBuffer, this.receiveTail, sges, entry);
    this.receiveTail = (this.receiveTail + 1) & RECEIVE_ENTRY_SEQUENCE_MASK;
    this.#writeTails();
  }

  #modification(attributes: Partial<QpAttributes>, path: Connection | undefined) {
    const payload = new Uint8Array(QP_ATTRIBUTES_SIZE);
    const view = new DataView(payload.buffer);
    encodeQpAttributes(view, 0, { ...newQpAttributes(), portHigh: highOfPort(attributes.port ?? 0), ...attributes });
    if (path !== undefined) {
      const { port, dlid, globalRoute, sourceGidIndex = 0 } = path;
      const route = { globalRoute: Number(globalRoute !== undefined), sourceGidIndex };
      const vector = { ...newAddressHandle(), valid: 1, port, portHigh: highOfPort(port), dlid, ...route };
      encodeAddressHandle(view, QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET, vector);
      if (globalRoute)
        payload.set(globalRoute, QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET + ADDRESS_HANDLE_DESTINATION_GID_OFFSET);
    }
    return { opcode: ManagementOpcode.MODIFY_QP, objectNumber: this.qpn, payload };
  }

  #record(): DataView {
    return this.#access.view(this.parts.recordAddress, QUEUE_PAIR_RECORD_SIZE);
  }

  #writeTails(): void {
    const record = this.#record();
    setQueuePairRecordSendTail(record, 0, this.sendTail);
    setQueuePairRecordReceiveTail(record, 0, this.receiveTail);
  }
}
