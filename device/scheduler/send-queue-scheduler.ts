// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue scheduler: reads posted commands from send queues in guest memory into dedicated collect buffers and admits them to the lane
 * (US8484392 figure 9; US9069485). A QP is in its list at most once, however many doorbells rang; QPs take turns.
 */
import { COMMAND_HEADER_BYTES, SEND_QUEUE_MAX_LOG2 } from '../../protocol/layout/gen/constants.gen.ts';
import { getQueuePairRecordSendTail, QUEUE_PAIR_RECORD_SIZE } from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  getSendCommandQosLevel,
  getSendCommandQpn,
  getSendCommandSequence,
  SEND_COMMAND_CHECKSUM_OFFSET,
  setSendCommandSequence,
} from '../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, QpState } from '../../protocol/layout/gen/values.gen.ts';
import { hasCommandChecksum } from '../collect/checksum.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Commands read from one send queue before the next has its turn. */
const QUANTUM = 8;
const SEQUENCE_MASK = 0xffff;
const LARGEST_QUEUE = 2 ** SEND_QUEUE_MAX_LOG2;

export class SendQueueScheduler {
  readonly #buffers: PcbAllocator;
  readonly #lanes: TransmitVirtualLanes;
  readonly #record = new Uint8Array(QUEUE_PAIR_RECORD_SIZE);
  readonly #recordView = new DataView(this.#record.buffer);
  #head: QueuePair | undefined = undefined;
  #tail: QueuePair | undefined = undefined;

  constructor(buffers: PcbAllocator, lanes: TransmitVirtualLanes) {
    this.#buffers = buffers;
    this.#lanes = lanes;
  }

  /** Some send queue waits for its turn and the first one may have a buffer. */
  get ready(): boolean {
    return this.#head !== undefined && this.#buffers.canBind(this.#head.owner.number, this.#head.creation.qosLevel);
  }

  /** Puts the QP at the end of the list unless it is there. */
  schedule(qp: QueuePair): void {
    if (qp.scheduled || qp.stopped) return;
    qp.scheduled = true;
    qp.nextScheduled = undefined;
    if (this.#tail === undefined) this.#head = qp;
    else this.#tail.nextScheduled = qp;
    this.#tail = qp;
  }

  /** Takes the QP off the list, wherever it stands. */
  unschedule(qp: QueuePair): void {
    if (!qp.scheduled) return;
    let before: QueuePair | undefined;
    for (let at = this.#head; at !== qp; at = at?.nextScheduled) before = at;
    if (before === undefined) this.#head = qp.nextScheduled;
    else before.nextScheduled = qp.nextScheduled;
    if (this.#tail === qp) this.#tail = before;
    qp.scheduled = false;
    qp.nextScheduled = undefined;
  }

  /** Gives the first QP of the list its turn. Returns the commands read. */
  serve(): number {
    const qp = this.#head;
    if (qp === undefined) return 0;
    this.unschedule(qp);
    // A QP that takes no commands now is scheduled again when it does.
    if (!qp.sendsAreTaken || qp.stopped || (qp.state === QpState.RTS && !qp.acceptsCommands)) return 0;
    if (qp.state === QpState.ERR) qp.owner.adapter.flushReceives(qp);
    const posted = this.#readPosted(qp);
    if (posted === 0) qp.owner.counters.doorbellsIdle++;
    let taken = 0;
    let room = true;
    while (taken < posted && taken < QUANTUM) {
      // Without room in its kick list the QP is scheduled again when there is.
      room = this.#lanes.hasRoom(qp, true);
      if (!room) break;
      const buffer = this.#buffers.bind(qp.owner.number, qp.creation.qosLevel, -1);
      if (buffer === undefined) break;
      this.#fetch(qp, buffer);
      taken++;
    }
    if (taken < posted && room) this.schedule(qp);
    return taken;
  }

  /** Commands posted and not yet admitted; 0, with a fault, when software's record cannot be believed. */
  #readPosted(qp: QueuePair): number {
    const { recordAddress } = qp;
    if (!qp.owner.dma.read(qp.number, recordAddress, QUEUE_PAIR_RECORD_SIZE, this.#record, 0)) {
      qp.owner.queuePairFailed(qp, FaultKind.DMA_READ);
      return 0;
    }
    const posted = (getQueuePairRecordSendTail(this.#recordView, 0) - qp.nextSequence) & SEQUENCE_MASK;
    if (posted <= qp.sendEntries) return posted;
    // Behind what collect buffers brought already: an old tail, harmless. Otherwise the tail lies.
    if (posted < LARGEST_QUEUE) qp.owner.faults.report(FaultKind.DOORBELL_BEYOND_TAIL, qp.number, recordAddress);
    return 0;
  }

  #fetch(qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    const sequence = qp.nextSequence;
    const address = qp.sendSlotAddress(sequence);
    buffer.fault = this.#read(qp, buffer, address, sequence);
    if (buffer.fault !== FaultKind.NONE) {
      if (qp.state === QpState.RTS && buffer.fault !== FaultKind.DMA_READ)
        qp.owner.faults.report(buffer.fault, qp.number, address);
      setSendCommandSequence(buffer.view, 0, sequence);
    }
    qp.owner.counters.commandsFetched++;
    this.#lanes.admit(qp, buffer);
  }

  #read(qp: QueuePair, buffer: PhysicalCollectBuffer, address: number, sequence: number): FaultKind {
    const { dma } = qp.owner;
    buffer.view.setUint32(4, 0);
    if (!dma.read(qp.number, address, COMMAND_HEADER_BYTES, buffer.bytes, 0)) return FaultKind.DMA_READ;
    if (getSendCommandSequence(buffer.view, 0) !== sequence) return FaultKind.COMMAND_SEQUENCE;
    const length = buffer.collectLength;
    if (!buffer.lengthValid || length > qp.sendStrideBytes) return FaultKind.COLLECT_BAD_LENGTH;
    const rest = length - COMMAND_HEADER_BYTES;
    if (rest > 0 && !dma.read(qp.number, address + COMMAND_HEADER_BYTES, rest, buffer.bytes, COMMAND_HEADER_BYTES))
      return FaultKind.DMA_READ;
    return checkCommand(qp, buffer);
  }
}

/** Checks that hold for a command however it arrived. */
export function checkCommand(qp: QueuePair, buffer: PhysicalCollectBuffer): FaultKind {
  const { view } = buffer;
  if (getSendCommandQpn(view, 0) !== qp.number) return FaultKind.COMMAND_BAD_QP;
  if (getSendCommandQosLevel(view, 0) !== qp.qosLevel) return FaultKind.COMMAND_QOS;
  if (qp.checksumOff) return FaultKind.NONE;
  const { checksumKey } = qp.creation;
  const length = buffer.collectLength;
  const right = hasCommandChecksum(
    view,
    length,
    SEND_COMMAND_CHECKSUM_OFFSET,
    checksumKey & 0xffff,
    checksumKey >>> 16,
  );
  return right ? FaultKind.NONE : FaultKind.COMMAND_CHECKSUM;
}
