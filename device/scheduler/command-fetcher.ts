// SPDX-License-Identifier: Apache-2.0
/**
 * Reads posted commands from send queues in guest memory into dedicated collect buffers and admits them to the lanes (US8484392 figure 9; US9069485). Two bus
 * reads in a row: the queue-pair-record says how many commands are posted; each command is then read into a buffer of its own. A command that arrived
 * by a collect copy meanwhile is not executed twice: only the sequence number expected next is admitted.
 */
import { COMMAND_HEADER_BYTES, SEND_QUEUE_MAX_LOG2 } from '../../protocol/layout/gen/constants.gen.ts';
import { getQueuePairRecordSendTail, QUEUE_PAIR_RECORD_SIZE } from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  getSendCommandSequence,
  SEND_COMMAND_SEQUENCE_MASK,
  setSendCommandSequence,
} from '../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, QpState } from '../../protocol/layout/gen/values.gen.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { DoorbellUnit } from '../doorbells/doorbell-unit.ts';
import type { CommandReads, DoorbellScheduler } from '../doorbells/doorbell-unit-parts.ts';
import { Inbound } from '../doorbells/inbound-queue.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { checkCommand } from './command-check.ts';

/**
 * Commands read from one send queue before the next has its turn. Fewer where functions share the adapter: it is by these turns that it is shared for short
 * messages.
 */
const QUANTUM = 16;
const SHARED_QUANTUM = 8;
/** Sequence numbers of commands. A copy: imports are looked up at each use. */
const SEQUENCE_BITS = SEND_COMMAND_SEQUENCE_MASK;
const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;
const LARGEST_QUEUE = 2 ** SEND_QUEUE_MAX_LOG2;

export class CommandFetcher implements CommandReads<DoorbellUnit> {
  readonly #buffers: PcbAllocator;
  readonly #lanes: TransmitVirtualLanes;
  readonly #scheduler: DoorbellScheduler<DoorbellUnit>;
  readonly #shared: boolean;
  readonly #record = new Uint8Array(QUEUE_PAIR_RECORD_SIZE);
  readonly #recordView = new DataView(this.#record.buffer);

  /** `shared`: by several functions. */
  constructor(
    buffers: PcbAllocator,
    lanes: TransmitVirtualLanes,
    scheduler: DoorbellScheduler<DoorbellUnit>,
    shared: boolean,
  ) {
    this.#buffers = buffers;
    this.#lanes = lanes;
    this.#scheduler = scheduler;
    this.#shared = shared;
  }

  /** The function may have a dedicated buffer now. */
  hasBuffer(owner: UnderlyingFunction): boolean {
    return this.#buffers.canBind(owner.number, 0);
  }

  /** Begins the turn of a queue: its first command has a buffer, and its record is being read. False when it has to wait. */
  begin(unit: DoorbellUnit, qp: QueuePair): boolean {
    if (!unit.inbound.takesReads || !this.#lanes.hasRoom(qp, true)) return false;
    const buffer = this.#bind(qp);
    if (buffer === undefined) return false;
    unit.inbound.read(Inbound.RECORD, qp, 0, buffer);
    return true;
  }

  /** The completion at the head of the bus is that of a queue-pair-record. */
  takeRecord(unit: DoorbellUnit): void {
    const qp = unit.inbound.queuePair as QueuePair;
    const first = unit.inbound.buffer as PhysicalCollectBuffer;
    unit.inbound.pop();
    if (!takesCommands(qp)) {
      first.release();
      return unit.descriptors.settleStop(qp);
    }
    if (qp.state === QpState.ERR) qp.life.flushReceives(qp);
    const posted = this.#readPosted(qp);
    if (posted === 0) qp.owner.counters.doorbellsIdle++;
    this.#readCommands(unit, qp, posted, first);
  }

  /** The completion at the head of the bus is that of a command. */
  takeCommand(unit: DoorbellUnit): void {
    const { sequence } = unit.inbound;
    const qp = unit.inbound.queuePair as QueuePair;
    const buffer = unit.inbound.buffer as PhysicalCollectBuffer;
    unit.inbound.pop();
    qp.fetching--;
    const isDue = buffer.epoch === qp.epoch && sequence === qp.nextSequence;
    if (isDue && qp.sendsAreTaken && !qp.stopped && this.#lanes.hasRoom(qp, true)) return this.#fetch(qp, buffer);
    buffer.release();
    unit.descriptors.settleStop(qp);
    // A copy of it came meanwhile, or all fetched commands became void.
    if (buffer.epoch !== qp.epoch || ((sequence - qp.nextSequence) & SEQUENCE_BITS) >= HALF_SEQUENCE) return;
    qp.fetchSequence = qp.nextSequence;
    if (qp.sendsAreTaken) this.#scheduler.schedule(qp);
  }

  #bind(qp: QueuePair): PhysicalCollectBuffer | undefined {
    return this.#buffers.bind(qp.owner.number, 0, -1);
  }

  /** Issues reads of the commands that are posted and not being read; the queue takes another turn when some are left. */
  #readCommands(unit: DoorbellUnit, qp: QueuePair, posted: number, first: PhysicalCollectBuffer): void {
    const { inbound } = unit;
    const ahead = qp.fetching === 0 ? 0 : (qp.fetchSequence - qp.nextSequence) & SEQUENCE_BITS;
    const skipped = ahead < HALF_SEQUENCE ? ahead : 0;
    let sequence = (qp.nextSequence + skipped) & SEQUENCE_BITS;
    let left = posted - skipped;
    if (left <= 0) return first.release();
    const quantum = this.#shared ? SHARED_QUANTUM : QUANTUM;
    let buffer: PhysicalCollectBuffer | undefined = first;
    for (let taken = 0; buffer !== undefined; ) {
      buffer.epoch = qp.epoch;
      inbound.read(Inbound.COMMAND, qp, sequence, buffer);
      qp.fetching++;
      sequence = (sequence + 1) & SEQUENCE_BITS;
      left--;
      taken++;
      buffer = left > 0 && taken < quantum && inbound.takesReads ? this.#bind(qp) : undefined;
    }
    qp.fetchSequence = sequence;
    if (left > 0 && (this.#shared || !this.#scheduler.beginAtOnce(unit, qp))) this.#scheduler.schedule(qp);
  }

  /** Commands posted and not yet admitted; 0, with a fault, when software's record cannot be believed. */
  #readPosted(qp: QueuePair): number {
    const { recordAddress } = qp;
    if (!qp.owner.dma.read(qp.number, recordAddress, QUEUE_PAIR_RECORD_SIZE, this.#record, 0)) {
      qp.life.fail(qp, FaultKind.DMA_READ);
      return 0;
    }
    const posted = (getQueuePairRecordSendTail(this.#recordView, 0) - qp.nextSequence) & SEQUENCE_BITS;
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
    qp.owner.timeline?.note(Step.FETCH, qp.owner.number, qp.number, sequence);
    this.#lanes.admit(qp, buffer);
  }

  #read(qp: QueuePair, buffer: PhysicalCollectBuffer, address: number, sequence: number): FaultKind {
    const { dma } = qp.owner;
    buffer.forgetLength();
    if (!dma.readBlock(qp.number, address, COMMAND_HEADER_BYTES, buffer, 0)) return FaultKind.DMA_READ;
    if (getSendCommandSequence(buffer.view, 0) !== sequence) return FaultKind.COMMAND_SEQUENCE;
    const length = buffer.collectLength;
    if (!buffer.lengthValid || length > qp.sendStrideBytes) return FaultKind.COLLECT_BAD_LENGTH;
    const rest = length - COMMAND_HEADER_BYTES;
    if (rest > 0 && !dma.readBlock(qp.number, address + COMMAND_HEADER_BYTES, rest, buffer, COMMAND_HEADER_BYTES))
      return FaultKind.DMA_READ;
    return checkCommand(qp, buffer);
  }
}

/** The send queue may be read now; a QP that takes no commands is scheduled again when it does. */
export function takesCommands(qp: QueuePair): boolean {
  return !qp.destroyed && !qp.stopped && qp.sendsAreTaken && (qp.state !== QpState.RTS || qp.acceptsCommands);
}
