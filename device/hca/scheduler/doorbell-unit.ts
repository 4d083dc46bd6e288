// SPDX-License-Identifier: Apache-2.0
/**
 * The way of one function's doorbells from the bus to the scheduler lists (US 9,069,485 par. 67,
 * 70-74, 84-95; docs/DOCUMENTS.md decisions 5 and 7). A doorbell waits on the bus, then in the
 * scheduler buffer until a read of its send queue descriptor has shown whether the queue is linked.
 * A full buffer stops the bus and so the completions of those reads. Before that, doorbells are
 * spilled to the overflow buffer and read back later; a sweep of all send queues finds the commands
 * of lost ones. Command admission rings; the send queue scheduler calls `advance`.
 * Registers: doorbell-registers, report: status-report, view: contents/lists.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, LinkCheck, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import type { DmaTiming } from '../function/dma-timing.ts';
import type { ObjectTable } from '../function/object-table.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { DoorbellBuffer } from './doorbell-buffer.ts';
import { type CollectWrite, HeldWrites } from './held-writes.ts';
import { Inbound, InboundQueue } from './inbound-queue.ts';
import { OverflowBuffer } from './overflow-buffer.ts';
import { OverflowThresholds } from './overflow-thresholds.ts';
import { SendQueueDescriptors } from './send-queue-descriptor.ts';
import { SendQueueList } from './send-queue-list.ts';
import { SendQueueSweep } from './send-queue-sweep.ts';
import { SpilledDoorbells } from './spilled-doorbells.ts';

/** Capacity of the bus: posted doorbells per entry of the scheduler buffer. */
const BUS_DEPTH = 4;
const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;

/** The send queue scheduler as the doorbell unit and the command fetcher use it. */
export interface DoorbellScheduler {
  readonly fetcher: CommandReads;
  /** Schedules `unit.advance`. No effect when it is scheduled. */
  wake(unit: DoorbellUnit): void;
  /**
   * Gives the QP a turn: at once if no queue waits for one, else in its list. Returns true when the
   * turn has begun, without a link.
   */
  giveTurn(unit: DoorbellUnit, qp: QueuePair): boolean;
  /** Appends the QP to its list. No effect when the QP is in the list or stopped. */
  schedule(qp: QueuePair): void;
  /** Removes the QP from its list, if it is linked. */
  unschedule(qp: QueuePair): void;
}

/** The command fetcher: it takes the completions of bus reads of records and commands. */
export interface CommandReads {
  /** True when a dedicated buffer can be bound for the function. */
  hasBuffer(owner: UnderlyingFunction): boolean;
  /** Takes the completion at the head of the bus, of a read of a queue-pair-record. */
  takeRecord(unit: DoorbellUnit): void;
  /** Takes the completion at the head of the bus, of a read of a command. */
  takeCommand(unit: DoorbellUnit): void;
}

/** Constructor arguments of a doorbell unit. */
export interface DoorbellUnitParts {
  readonly scheduler: DoorbellScheduler;
  readonly queuePairs: ObjectTable<QueuePair>;
  /** Capacity of the scheduler buffer. */
  readonly doorbellEntries: number;
  /** Limit of outstanding bus reads, and how long they take. */
  readonly busReads: number;
  /** Posted doorbells that the bus holds per entry of the scheduler buffer. */
  readonly busDepth?: number;
  readonly timing: DmaTiming;
  /** Takes writes to the collect BAR that the stalled bus has held. */
  readonly deliver: CollectWrite;
}

/**
 * The way of a doorbell, by method:
 *
 * 1. `ring` posts it on the bus. The scheduler calls `advance`.
 * 2. `#takePosted` moves it from the bus to the scheduler buffer.
 * 3. `#issueCheck` reads its descriptor. `#takeLinkCheck` takes the completion, and the scheduler
 *    gives the queue a turn (`giveTurn`).
 * 4. `CommandFetcher.begin` begins the turn: it reads the record. `takeRecord` takes the completion
 *    and reads the commands.
 * 5. `takeCommand` takes each completion and admits the command to a lane.
 *
 * All these reads are on the bus of this unit, which hands each completion to the method named.
 */
export class DoorbellUnit {
  readonly owner: UnderlyingFunction;
  /** True while the unit waits for a turn of the scheduler. */
  active = false;
  policy: OverflowPolicy = OverflowPolicy.NEWEST;
  linkCheck: LinkCheck = LinkCheck.READ;
  adaptive = false;
  /** What is spilled beside doorbells that arrive: see the fields of DOORBELL_POLICY. */
  spillBuffered = false;
  spillCommands = false;
  /** True from the detection of a potential deadlock until resources have returned. */
  spilling = false;
  readonly inbound: InboundQueue;
  readonly held: HeldWrites;
  readonly buffer: DoorbellBuffer;
  readonly overflow: OverflowBuffer;
  readonly thresholds: OverflowThresholds;
  readonly spilled: SpilledDoorbells;
  readonly descriptors: SendQueueDescriptors;
  /** Scheduler lists by QoS level. */
  readonly lists: readonly SendQueueList[];
  readonly #scheduler: DoorbellScheduler;
  readonly #fetcher: CommandReads;
  readonly #sweep: SendQueueSweep;
  /** Entries of the scheduler buffer reserved for doorbells that are being read back. */
  #reserved = 0;
  #stallCounted = false;

  constructor(owner: UnderlyingFunction, parts: DoorbellUnitParts) {
    this.owner = owner;
    const { doorbellEntries, busReads, busDepth = BUS_DEPTH } = parts;
    this.#scheduler = parts.scheduler;
    this.#fetcher = parts.scheduler.fetcher;
    this.inbound = new InboundQueue(doorbellEntries * busDepth, busReads, parts.timing);
    this.held = new HeldWrites(parts.deliver);
    this.buffer = new DoorbellBuffer(doorbellEntries);
    this.overflow = new OverflowBuffer(owner.dma);
    this.thresholds = new OverflowThresholds(doorbellEntries);
    this.descriptors = new SendQueueDescriptors(owner.dma, owner.faults);
    this.lists = Array.from({ length: QOS_LEVELS }, () => new SendQueueList(owner, this.descriptors));
    this.spilled = new SpilledDoorbells(owner, parts.queuePairs, this.buffer, this.overflow);
    this.#sweep = new SendQueueSweep(owner, parts.queuePairs);
  }

  get sweeping(): boolean {
    return this.#sweep.running;
  }

  /**
   * True in the deadlock of par. 74, which overflow policy OFF does not avoid: the doorbell at the
   * head of the bus has no free entry, and the completions that would free one are behind it.
   */
  get stalled(): boolean {
    return this.policy === OverflowPolicy.OFF && this.inbound.kind === Inbound.POSTED && this.#free() <= 0;
  }

  /**
   * Takes a doorbell for a QP of the function. The send queue in guest memory says which commands
   * are posted; the sequence number shows whether it is stale, and ends an exact turn.
   */
  ring(qp: QueuePair, sequence: number): void {
    const { counters } = this.owner;
    qp.sendSlots?.name(sequence + 1, qp.nextSequence);
    if (((sequence - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK) >= HALF_SEQUENCE) counters.doorbellsStale++;
    if (qp.stopped) counters.doorbellsIdle++;
    // A doorbell that already waits covers all commands posted until it is served.
    if (qp.stopped || qp.doorbellWaiting) return;
    if (!this.inbound.takesPosted) return this.lose();
    qp.doorbellWaiting = true;
    this.inbound.post(qp, sequence);
    this.wake();
  }

  /** Asks the scheduler for a turn. */
  wake(): void {
    this.#scheduler.wake(this);
  }

  /**
   * Processes arrivals from the bus. Returns the units of work done, at most `limit`; fewer when no
   * more work is possible now.
   */
  advance(limit: number): number {
    let done = 0;
    while (done < limit && this.#step()) done++;
    return done;
  }

  /** Inserts a doorbell for the sweep. Returns false when the buffer has no entry to spare. */
  insert(qp: QueuePair): boolean {
    if (this.spilling || this.#free() <= this.thresholds.low) return false;
    qp.doorbellWaiting = true;
    this.buffer.push(qp, qp.nextSequence);
    return true;
  }

  /**
   * Sets the overflow buffer at `base`, or removes it. Returns false when none is enabled then.
   * Doorbells in the previous buffer are lost, so a sweep starts.
   */
  setOverflow(base: number, entriesLog2: number, enable: boolean): boolean {
    const dropped = this.overflow.pending;
    const enabled = enable && this.overflow.enable(base, entriesLog2);
    if (!enabled) this.overflow.disable();
    if (dropped > 0) this.#startSweep();
    return enabled;
  }

  /** Guest memory is unmapped. An overflow buffer in it is removed. */
  memoryUnmapped(address: number, lengthBytes: number): void {
    if (this.overflow.touches(address, lengthBytes)) this.setOverflow(0, 0, false);
  }

  /**
   * Takes a stop doorbell (docs/DOCUMENTS.md decision 3): the QP leaves the scheduler until it is
   * reset. The descriptor shows `destroyed` at once, and a null link when no read for the QP is
   * outstanding (hazard 15).
   */
  stop(qp: QueuePair): void {
    if (qp.stopped) return;
    qp.stopped = true;
    this.#scheduler.unschedule(qp);
    if (qp.busReads > 0) this.descriptors.publish(qp);
    else this.descriptors.settleStop(qp);
  }

  /** Function reset: drops all that waits and writes nothing. */
  reset(): void {
    this.held.clear();
    this.inbound.clear();
    this.buffer.clear();
    for (const list of this.lists) list.clear();
    this.spilled.reset();
    this.#sweep.reset();
    this.#reserved = 0;
    this.spilling = false;
    this.#stallCounted = false;
  }

  #free(): number {
    return this.buffer.free - this.#reserved;
  }

  #step(): boolean {
    if (this.spilling) this.#endSpilling();
    if (this.held.count > 0 && this.inbound.takesPosted && this.held.deliver(this.inbound.taken)) return true;
    if (this.#issueCheck() || this.#takeInbound() || this.#issueDrain()) return true;
    return this.#sweep.running && !this.spilling && this.#free() > this.thresholds.low && this.#sweep.advance(this);
  }

  #issueCheck(): boolean {
    if (this.buffer.checking === this.buffer.used || !this.inbound.takesReads) return false;
    this.inbound.read(Inbound.LINK_CHECK, this.buffer.nextToCheck, this.buffer.serialToCheck, undefined);
    this.buffer.checking++;
    return true;
  }

  #takeInbound(): boolean {
    const { kind } = this.inbound;
    if (kind === Inbound.NONE) return false;
    if (kind === Inbound.POSTED) return this.#takePosted();
    if (kind === Inbound.LINK_CHECK) this.#takeLinkCheck();
    else if (kind === Inbound.RECORD) this.#fetcher.takeRecord(this);
    else if (kind === Inbound.COMMAND) this.#fetcher.takeCommand(this);
    else this.#takeOverflowEntry();
    return true;
  }

  #takePosted(): boolean {
    const qp = this.inbound.queuePair as QueuePair;
    const { sequence } = this.inbound;
    this.#detectDeadlock();
    if (!this.spilling && this.#free() <= 0) return false;
    this.inbound.pop();
    if (qp.destroyed || qp.stopped) qp.doorbellWaiting = false;
    else if (!this.spilling) this.buffer.push(qp, sequence);
    else if (!this.spilled.take(qp, sequence, this)) this.lose();
    return true;
  }

  #detectDeadlock(): void {
    if (this.spilling || (this.#free() >= this.thresholds.low && !this.#readsAreStuck())) return;
    const { counters } = this.owner;
    if (this.policy !== OverflowPolicy.OFF) {
      this.spilling = true;
      this.owner.timeline?.note(Step.SPILL_BEGIN, this.owner.number, this.#free());
      this.thresholds.begin(this.#free(), this.adaptive);
      counters.deadlocksDetected++;
      const missing = this.thresholds.high - this.#free();
      if (this.spillBuffered && !this.spilled.spillBuffered(missing, this)) this.lose();
    } else if (this.#free() <= 0 && !this.#stallCounted) {
      this.#stallCounted = true;
      counters.deadlocksDetected++;
    }
  }

  /**
   * The second sign of a potential deadlock (decision 7): no further read can be issued, their
   * completions wait behind posted writes, and no dedicated buffer is free for a command.
   */
  #readsAreStuck(): boolean {
    return !this.inbound.takesReads && !this.#fetcher.hasBuffer(this.owner);
  }

  /** Ends spilling when enough entries are free and the reads cannot be stuck (par. 92). */
  #endSpilling(): void {
    this.thresholds.noteReads(!this.inbound.takesReads);
    if (this.#free() < this.thresholds.high || (this.#readsAreStuck() && this.inbound.posted > 0)) return;
    this.spilling = false;
    this.owner.timeline?.note(Step.SPILL_END, this.owner.number, this.#free());
    this.thresholds.end(this.adaptive);
  }

  /**
   * Spills a command that arrives by collect buffer after the detection (par. 86-88), unless a
   * doorbell that waits covers it. Returns false when commands are taken as they come.
   */
  prune(qp: QueuePair, sequence: number): boolean {
    if (!this.spilling || !this.spillCommands) return false;
    if (qp.doorbellWaiting) qp.sendSlots?.name(sequence + 1, qp.nextSequence);
    else if (!this.spilled.take(qp, sequence, this)) this.lose();
    return true;
  }

  /** A doorbell or a write is lost: a sweep finds its command. */
  lose(): void {
    this.owner.counters.doorbellsLost++;
    this.#startSweep();
  }

  #startSweep(): void {
    this.#sweep.start();
    this.wake();
  }

  /** The link check of the oldest entry has completed: links the queue unless it is linked. */
  #takeLinkCheck(): void {
    const { queuePair, sequence: serial } = this.inbound;
    this.inbound.pop();
    const qp = this.buffer.take(serial);
    if (qp === undefined) return this.descriptors.settleStop(queuePair as QueuePair);
    qp.doorbellWaiting = false;
    this.#stallCounted = false;
    // A QP that cannot send now is scheduled when it can. A stopped one shows its null link.
    if (qp.destroyed || qp.stopped || !qp.sendsAreTaken) return this.descriptors.settleStop(qp);
    this.owner.counters.linkChecks++;
    if (!this.descriptors.check(qp, this.linkCheck)) return qp.life.fail(qp, FaultKind.DMA_READ);
    if (qp.scheduled) this.owner.counters.linkChecksFailed++;
    else if (this.#scheduler.giveTurn(this, qp) && this.linkCheck === LinkCheck.COMPARE_SWAP)
      this.descriptors.unlinkAtOnce(qp);
  }

  /** Reads back the next spilled doorbell once resources have returned (par. 93). */
  #issueDrain(): boolean {
    const isDue = this.spilled.isDue(this.#reserved) && !this.spilling && this.#free() >= this.thresholds.high;
    if (!isDue || !this.inbound.takesReads) return false;
    this.#reserved++;
    this.inbound.read(Inbound.OVERFLOW_ENTRY, undefined, 0, undefined);
    return true;
  }

  #takeOverflowEntry(): void {
    this.inbound.pop();
    this.#reserved--;
    // The overflow buffer may have been removed while the read was outstanding.
    if (this.overflow.pending > 0 && !this.spilled.readBack()) this.#startSweep();
  }
}
