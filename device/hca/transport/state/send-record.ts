// SPDX-License-Identifier: Apache-2.0
/**
 * A launched command of a connected QP, from launch to completion: the entry of the completion list
 * from which retries are served (US 8,484,392 par. 40, 43, 123-124). Records come from a pool; each
 * is held exactly as long as its completion credit.
 */
import { packetCount } from '../../../../protocol/infiniband/mtu.ts';
import { addPsn, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import {
  getAtomicOperandsCompareHigh,
  getAtomicOperandsCompareLow,
  getAtomicOperandsSwapOrAddHigh,
  getAtomicOperandsSwapOrAddLow,
} from '../../../../protocol/layout/gen/atomic-operands.gen.ts';
import { COMMAND_HEADER_BYTES, INLINE_MAX_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  getRdmaTargetPlacementType,
  getRdmaTargetRemoteAddressHigh,
  getRdmaTargetRemoteAddressLow,
  getRdmaTargetRkey,
  getRdmaTargetSelectivity,
} from '../../../../protocol/layout/gen/rdma-target.gen.ts';
import {
  getSendCommandFence,
  getSendCommandImmediate,
  getSendCommandInline,
  getSendCommandMessageLength,
  getSendCommandOpcode,
  getSendCommandSequence,
  getSendCommandSignaled,
  getSendCommandSolicited,
  getSendCommandXrcSrqn,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { CreditHold } from '../../collect/credit-hold.ts';
import type { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { QueuePairTrace } from '../../trace/queue-pair-trace.ts';
import { RequestKind } from '../requester-opcodes.ts';
import { ScatterGatherList } from '../scatter-gather.ts';

export class SendRecord {
  next: SendRecord | undefined = undefined;
  /** Sequence number in the send queue. */
  sequence = 0;
  opcode = 0;
  /** Kind of the opcode, for the requester. */
  kind: RequestKind = RequestKind.NONE;
  signaled = false;
  solicited = 0;
  fence = false;
  inline = false;
  messageLength = 0;
  remoteAddressHigh = 0;
  remoteAddressLow = 0;
  rkey = 0;
  immediate = 0;
  /** SRQ at the destination, of an XRC request. */
  xrcSrqn = 0;
  swapOrAddHigh = 0;
  swapOrAddLow = 0;
  compareHigh = 0;
  compareLow = 0;
  /** Of a FLUSH. */
  placementType = 0;
  selectivity = 0;
  /** First and last PSN; for a READ, of its responses. */
  firstPsn = 0;
  lastPsn = 0;
  /** True once PSNs are assigned: the record has begun. */
  numbered = false;
  /** Packets sent (for a READ: 1 when the request is sent), and READ responses received. */
  packetsSent = 0;
  responsesReceived = 0;
  /** Responses received when the newest request of a READ was sent: its answer begins there. */
  requestedFrom = 0;
  /** True when no packet of it is outstanding. It completes when it is the oldest. */
  done = false;
  /** Reads of payload that is sent again: see `PendingReads`. A record in the pool has none. */
  readonly active = true;
  readsLeft = 0;
  readsOutstanding = 0;
  readRound = 0;
  /** Its PCB, as long as it holds the execution credit. */
  buffer: PhysicalCollectBuffer | undefined = undefined;
  hold = new CreditHold();
  fault: FaultKind = FaultKind.NONE;
  /** Trace of the QP at launch, if it was traced, and the command block there. */
  trace: QueuePairTrace | undefined = undefined;
  launchedNs = 0;
  traceBlock = -1;
  readonly list = new ScatterGatherList();
  readonly inlineBytes = new Uint8Array(INLINE_MAX_BYTES);
  /** Header of a command without packets, in the place of inline payload. */
  readonly headerView = new DataView(this.inlineBytes.buffer);

  /**
   * Takes the fields of a command, its PCB and its credits. The caller loads and checks the
   * scatter/gather list.
   */
  load(buffer: PhysicalCollectBuffer): void {
    const { view } = buffer;
    this.next = undefined;
    this.sequence = getSendCommandSequence(view, 0);
    this.opcode = getSendCommandOpcode(view, 0);
    this.signaled = getSendCommandSignaled(view, 0) === 1;
    this.solicited = getSendCommandSolicited(view, 0);
    this.fence = getSendCommandFence(view, 0) === 1;
    this.inline = getSendCommandInline(view, 0) === 1;
    this.messageLength = getSendCommandMessageLength(view, 0);
    this.immediate = getSendCommandImmediate(view, 0);
    this.xrcSrqn = getSendCommandXrcSrqn(view, 0);
    this.remoteAddressHigh = getRdmaTargetRemoteAddressHigh(view, SEND_COMMAND_TARGET_OFFSET);
    this.remoteAddressLow = getRdmaTargetRemoteAddressLow(view, SEND_COMMAND_TARGET_OFFSET);
    this.rkey = getRdmaTargetRkey(view, SEND_COMMAND_TARGET_OFFSET);
    this.numbered = false;
    this.packetsSent = 0;
    this.responsesReceived = 0;
    this.requestedFrom = 0;
    this.done = false;
    this.buffer = buffer;
    const { hold } = this;
    this.hold = buffer.hold;
    buffer.hold = hold;
    this.fault = FaultKind.NONE;
  }

  /** True for a READ, atomic, FLUSH or ATOMIC WRITE, whose PSNs are those of its response. */
  get isFetch(): boolean {
    return this.kind >= RequestKind.READ && this.kind <= RequestKind.ATOMIC_WRITE;
  }

  /** Bytes that the responses bring into local memory. */
  get responseBytes(): number {
    return this.kind === RequestKind.READ || this.kind === RequestKind.ATOMIC ? this.messageLength : 0;
  }

  /** PSNs that the record takes; a READ takes those of its responses. */
  countPsns(mtuBytes: number): number {
    return this.isFetch && this.kind !== RequestKind.READ ? 1 : packetCount(this.messageLength, mtuBytes);
  }

  /** Keeps the command header, for operations without packets. */
  loadHeader(bytes: Uint8Array): void {
    this.inlineBytes.set(bytes.subarray(0, COMMAND_HEADER_BYTES));
  }

  /** Assigns `count` PSNs from `psn` on, or none: the record has begun. */
  number(psn: number, count: number): void {
    this.numbered = true;
    this.firstPsn = psn;
    this.lastPsn = addPsn(psn, count - 1);
  }

  /** The packets before `psn` have arrived: those that are to be sent again are not sent. */
  skipTo(psn: number): void {
    this.packetsSent = Math.max(this.packetsSent, psnDistance(this.firstPsn, psn));
  }

  loadPlacement(view: DataView): void {
    this.placementType = getRdmaTargetPlacementType(view, SEND_COMMAND_TARGET_OFFSET);
    this.selectivity = getRdmaTargetSelectivity(view, SEND_COMMAND_TARGET_OFFSET);
  }

  loadAtomicOperands(view: DataView): void {
    this.swapOrAddHigh = getAtomicOperandsSwapOrAddHigh(view, COMMAND_HEADER_BYTES);
    this.swapOrAddLow = getAtomicOperandsSwapOrAddLow(view, COMMAND_HEADER_BYTES);
    this.compareHigh = getAtomicOperandsCompareHigh(view, COMMAND_HEADER_BYTES);
    this.compareLow = getAtomicOperandsCompareLow(view, COMMAND_HEADER_BYTES);
  }
}

/** A pool that grows to the number of records in use and then allocates nothing. */
export class SendRecordPool {
  readonly #free: SendRecord[] = [];

  take(): SendRecord {
    return this.#free.pop() ?? new SendRecord();
  }

  give(record: SendRecord): void {
    record.next = undefined;
    this.#free.push(record);
  }
}
