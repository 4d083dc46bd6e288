// SPDX-License-Identifier: Apache-2.0
/**
 * The fetch of posted commands: from send queues in guest memory into dedicated collect buffers,
 * and so to the lanes (US 8,484,392 par. 102-107; US 9,069,485 par. 75-76). Two bus reads follow
 * each other: the queue-pair-record tells how many commands are posted; each is then read into a
 * buffer of its own. A command that was admitted from a collect copy meanwhile is not executed
 * again: only the sequence number expected next is admitted. Called by the send queue scheduler,
 * and by `DoorbellUnit` with the completions of the reads.
 */
import { COMMAND_HEADER_BYTES, SEND_QUEUE_MAX_LOG2 } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getQueuePairRecordSendTail,
  QUEUE_PAIR_RECORD_SIZE,
} from '../../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  getSendCommandSequence,
  SEND_COMMAND_SEQUENCE_MASK,
  setSendCommandSequence,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { ScratchBlock } from '../function/scratch-block.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { SendSlots } from '../queues/send-slots.ts';
import { compareFetched } from './announced-commands.ts';
import { checkCommand } from './command-check.ts';
import type { CommandReads, DoorbellScheduler, DoorbellUnit } from './doorbell-unit.ts';
import { Inbound } from './inbound-queue.ts';

/**
 * Commands read from one send queue per turn. With several functions the quantum is shorter: for
 * short messages these turns divide the adapter's time among functions.
 */
const QUANTUM = 16;
const SHARED_QUANTUM = 8;
const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;
const LARGEST_QUEUE = 2 ** SEND_QUEUE_MAX_LOG2;

export class CommandFetcher implements CommandReads {
  readonly #buffers: PcbAllocator;
  readonly #lanes: TransmitVirtualLanes;
  readonly #scheduler: DoorbellScheduler;
  readonly #quantum: number;
  readonly #record = new ScratchBlock(QUEUE_PAIR_RECORD_SIZE);

  /**
   * `shared`: several functions share the adapter. `quantum`: commands per turn of a send queue.
   */
  constructor(
    buffers: PcbAllocator,
    lanes: TransmitVirtualLanes,
    scheduler: DoorbellScheduler,
    shared: boolean,
    quantum = shared ? SHARED_QUANTUM : QUANTUM,
  ) {
    this.#buffers = buffers;
    this.#lanes = lanes;
    this.#scheduler = scheduler;
    this.#quantum = quantum;
  }

  /** True when a dedicated buffer can be bound for the function. */
  hasBuffer(owner: UnderlyingFunction): boolean {
    return this.#buffers.canBind(owner.number, 0);
  }

  /**
   * Begins the turn of a queue: binds the buffer of its first command and issues the read of its
   * record. Returns false when the queue has to wait for a read, a buffer or its kick list.
   */
  begin(unit: DoorbellUnit, qp: QueuePair): boolean {
    if (!unit.inbound.takesReads || !this.#lanes.hasRoom(qp)) return false;
    const buffer = this.#bind(qp);
    if (buffer === undefined) return false;
    qp.owner.counters.queueTurns++;
    unit.inbound.read(Inbound.RECORD, qp, 0, buffer);
    return true;
  }

  /** Takes the completion at the head of the bus, of a read of a queue-pair-record. */
  takeRecord(unit: DoorbellUnit): void {
    const qp = unit.inbound.queuePair as QueuePair;
    const first = unit.inbound.buffer as PhysicalCollectBuffer;
    unit.inbound.pop();
    if (!takesCommands(qp)) {
      first.release();
      return unit.descriptors.settleStop(qp);
    }
    if (qp.state === QpState.ERR) qp.life.flushReceives(qp);
    const posted = this.#readPosted(qp, unit.spilled.takesNamed);
    if (posted === 0) qp.owner.counters.doorbellsIdle++;
    this.#readCommands(unit, qp, posted, first);
  }

  /** Takes the completion at the head of the bus, of a read of a command. */
  takeCommand(unit: DoorbellUnit): void {
    const { sequence } = unit.inbound;
    const qp = unit.inbound.queuePair as QueuePair;
    const buffer = unit.inbound.buffer as PhysicalCollectBuffer;
    unit.inbound.pop();
    qp.fetching--;
    const isDue = buffer.epoch === qp.epoch && sequence === qp.nextSequence;
    if (isDue && qp.sendsAreTaken && !qp.stopped && this.#lanes.hasRoom(qp)) {
      this.#fetch(qp, buffer);
      // One write for all commands that were read together.
      if (qp.fetching === 0) unit.descriptors.writePosition(qp);
      return;
    }
    buffer.release();
    unit.descriptors.settleStop(qp);
    // A collect copy has been admitted meanwhile, or all fetched commands became void.
    if (buffer.epoch !== qp.epoch || ((sequence - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK) >= HALF_SEQUENCE)
      return;
    qp.fetchSequence = qp.nextSequence;
    if (qp.sendsAreTaken) this.#scheduler.schedule(qp);
  }

  #bind(qp: QueuePair): PhysicalCollectBuffer | undefined {
    return this.#buffers.bind(qp.owner.number, 0, -1);
  }

  /**
   * Issues reads of the posted commands that are not being read yet, up to the quantum. The queue
   * takes another turn when more are posted.
   */
  #readCommands(unit: DoorbellUnit, qp: QueuePair, posted: number, first: PhysicalCollectBuffer): void {
    const { inbound } = unit;
    const ahead = qp.fetching === 0 ? 0 : (qp.fetchSequence - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK;
    const skipped = ahead < HALF_SEQUENCE ? ahead : 0;
    let sequence = (qp.nextSequence + skipped) & SEND_COMMAND_SEQUENCE_MASK;
    let left = posted - skipped;
    if (left <= 0) return first.release();
    let buffer: PhysicalCollectBuffer | undefined = first;
    for (let taken = 0; buffer !== undefined; ) {
      buffer.epoch = qp.epoch;
      inbound.read(Inbound.COMMAND, qp, sequence, buffer);
      qp.fetching++;
      sequence = (sequence + 1) & SEND_COMMAND_SEQUENCE_MASK;
      left--;
      taken++;
      buffer = left > 0 && taken < this.#quantum && inbound.takesReads ? this.#bind(qp) : undefined;
    }
    qp.fetchSequence = sequence;
    if (left > 0) this.#scheduler.giveTurn(unit, qp);
  }

  /**
   * Commands posted and not admitted yet; `named`: up to the last one that a doorbell has named. 0,
   * with a fault, when the record cannot be read or holds an impossible tail.
   */
  #readPosted(qp: QueuePair, named: boolean): number {
    const slots = slotsOf(qp);
    const { entries, recordAddress } = slots;
    qp.owner.announced?.lookAgain();
    if (!qp.owner.dma.at(recordAddress).readBlock(qp, QUEUE_PAIR_RECORD_SIZE, this.#record, 0)) {
      qp.life.fail(qp, FaultKind.DMA_READ);
      return 0;
    }
    const tail = getQueuePairRecordSendTail(this.#record.view, 0);
    const posted = (tail - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK;
    if (posted <= entries) {
      slots.tail = tail;
      const count = slots.takeNamed(posted, qp.nextSequence);
      return named ? count : posted;
    }
    // A tail behind the commands that came by collect buffer is old and harmless. Any other tail
    // beyond the queue is wrong.
    if (posted < LARGEST_QUEUE) qp.owner.faults.report(FaultKind.DOORBELL_BEYOND_TAIL, qp, recordAddress);
    return 0;
  }

  /**
   * Reads the command from memory and admits it, with its fault if it has one: the fault is then
   * reported in order, by a completion.
   */
  #fetch(qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    const sequence = qp.nextSequence;
    buffer.fault = this.#read(qp, buffer, sequence);
    const { announced } = qp.owner;
    if (announced !== undefined) compareFetched(announced, qp, buffer);
    if (buffer.fault !== FaultKind.NONE) {
      if (qp.state === QpState.RTS && buffer.fault !== FaultKind.DMA_READ)
        qp.owner.faults.report(buffer.fault, qp, slotsOf(qp).at(qp.owner.dma, sequence).address);
      setSendCommandSequence(buffer.view, 0, sequence);
    }
    qp.owner.counters.commandsFetched++;
    qp.owner.timeline?.note(Step.FETCH, qp.owner.number, qp.number, sequence);
    this.#lanes.admit(qp, buffer);
  }

  #read(qp: QueuePair, buffer: PhysicalCollectBuffer, sequence: number): FaultKind {
    const slots = slotsOf(qp);
    const dma = slots.at(qp.owner.dma, sequence);
    buffer.forgetLength();
    if (!dma.readBlock(qp, COMMAND_HEADER_BYTES, buffer, 0)) return FaultKind.DMA_READ;
    if (getSendCommandSequence(buffer.view, 0) !== sequence) return FaultKind.COMMAND_SEQUENCE;
    const length = buffer.collectLength;
    if (!buffer.lengthValid || length > slots.strideBytes) return FaultKind.COLLECT_BAD_LENGTH;
    const rest = length - COMMAND_HEADER_BYTES;
    dma.at(dma.address + COMMAND_HEADER_BYTES);
    if (rest > 0 && !dma.readBlock(qp, rest, buffer, COMMAND_HEADER_BYTES)) return FaultKind.DMA_READ;
    return checkCommand(qp, buffer);
  }
}

/**
 * True when the send queue may be read now. A QP that takes no commands is scheduled again when it
 * does.
 */
export function takesCommands(qp: QueuePair): boolean {
  return !qp.destroyed && !qp.stopped && qp.sendsAreTaken && (qp.state !== QpState.RTS || qp.acceptsCommands);
}

/** The send queue of a QP of this front end, which has one. */
function slotsOf(qp: QueuePair): SendSlots {
  return qp.sendSlots as SendSlots;
}
