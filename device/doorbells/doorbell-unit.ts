// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbells of one function on their way to the scheduler lists (US9069485). A doorbell waits on the bus, then in the scheduler buffer until a read of its send queue
 * descriptor has shown whether the queue is linked. With the buffer full the bus waits, and with it the completions of those very reads. So before
 * that happens (free entries below a threshold, or reads at their limit with no dedicated buffer free) doorbells are written to the overflow buffer, and read
 * back when resources have returned. What finds no place there is dropped, and all send queues of the function are looked through. Policy OFF leaves the deadlock in.
 */
import { QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, LinkCheck, OverflowPolicy } from '../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { DoorbellBuffer } from './doorbell-buffer.ts';
import type { CommandReads, DoorbellScheduler, DoorbellUnitParts } from './doorbell-unit-parts.ts';
import { Inbound, InboundQueue } from './inbound-queue.ts';
import { OverflowBuffer } from './overflow-buffer.ts';
import { OverflowThresholds } from './overflow-thresholds.ts';
import { SendQueueDescriptors } from './send-queue-descriptor.ts';
import { SendQueueList } from './send-queue-list.ts';
import { SendQueueSweep } from './send-queue-sweep.ts';
import { SpilledDoorbells } from './spilled-doorbells.ts';

/** Doorbells the bus holds for each entry of the scheduler buffer. */
const BUS_DEPTH = 4;
const SEQUENCE_BITS = SEND_COMMAND_SEQUENCE_MASK;
const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;

export class DoorbellUnit {
  readonly owner: UnderlyingFunction;
  /** The scheduler has the unit among those that take turns. */
  active = false;
  policy: OverflowPolicy = OverflowPolicy.NEWEST;
  linkCheck: LinkCheck = LinkCheck.READ;
  adaptive = false;
  /** Doorbells are being spilled. */
  spilling = false;
  readonly inbound: InboundQueue;
  readonly buffer: DoorbellBuffer;
  readonly overflow: OverflowBuffer;
  readonly thresholds: OverflowThresholds;
  readonly descriptors: SendQueueDescriptors;
  /** Scheduler lists by QoS level. */
  readonly lists: readonly SendQueueList[];
  readonly #scheduler: DoorbellScheduler<DoorbellUnit>;
  readonly #fetcher: CommandReads<DoorbellUnit>;
  readonly #spilled: SpilledDoorbells;
  readonly #sweep: SendQueueSweep;
  /** Entries of the buffer kept for doorbells that are being read back. */
  #reserved = 0;
  #stallCounted = false;

  constructor(owner: UnderlyingFunction, parts: DoorbellUnitParts<DoorbellUnit>) {
    this.owner = owner;
    const { doorbellEntries, busReads } = parts;
    ({ scheduler: this.#scheduler, fetcher: this.#fetcher } = parts);
    this.inbound = new InboundQueue(doorbellEntries * BUS_DEPTH, busReads);
    this.buffer = new DoorbellBuffer(doorbellEntries);
    this.overflow = new OverflowBuffer(owner.dma);
    this.thresholds = new OverflowThresholds(doorbellEntries);
    this.descriptors = new SendQueueDescriptors(owner.dma, owner.faults);
    this.lists = Array.from({ length: QOS_LEVELS }, () => new SendQueueList(owner, this.descriptors));
    this.#spilled = new SpilledDoorbells(owner, parts.queuePairs, this.buffer, this.overflow);
    this.#sweep = new SendQueueSweep(owner, parts.queuePairs);
  }

  get sweeping(): boolean {
    return this.#sweep.running;
  }

  /** The deadlock of the document: the bus holds a doorbell no entry is free for, and behind it what would free one. */
  get stalled(): boolean {
    return this.policy === OverflowPolicy.OFF && this.inbound.kind === Inbound.POSTED && this.#free <= 0;
  }

  /** A doorbell for a QP of the function. Its sequence number only tells whether it is old: the send queue says what there is to do. */
  ring(qp: QueuePair, sequence: number): void {
    const { counters } = this.owner;
    if (((sequence - qp.nextSequence) & SEQUENCE_BITS) >= HALF_SEQUENCE) counters.doorbellsStale++;
    if (qp.stopped) counters.doorbellsIdle++;
    // One that waits already will see all that is posted by then.
    if (qp.stopped || qp.doorbellWaiting) return;
    if (!this.inbound.takesPosted) return this.#lose();
    qp.doorbellWaiting = true;
    this.inbound.post(qp, sequence);
    this.wake();
  }

  wake(): void {
    this.#scheduler.wake(this);
  }

  /** Works through what the bus has brought. Returns the units of work done, fewer than `limit` when nothing is left that could be done. */
  advance(limit: number): number {
    let done = 0;
    while (done < limit && this.#step()) done++;
    return done;
  }

  /** Puts a doorbell of the adapter's own into the buffer: of a sweep. False when there is no room to spare. */
  insert(qp: QueuePair): boolean {
    if (this.spilling || this.#free <= this.thresholds.low) return false;
    qp.doorbellWaiting = true;
    this.buffer.push(qp, qp.nextSequence);
    return true;
  }

  /** Software gives an overflow buffer, or takes it away. False when it was refused. */
  setOverflow(base: number, entriesLog2: number, enable: boolean): boolean {
    const dropped = this.overflow.pending;
    const enabled = enable && this.overflow.enable(base, entriesLog2);
    if (!enabled) this.overflow.disable();
    if (dropped > 0) this.#startSweep();
    return enabled;
  }

  /** What was written to memory that is being taken away is lost. */
  memoryUnmapped(address: number, lengthBytes: number): void {
    if (this.overflow.touches(address, lengthBytes)) this.setOverflow(0, 0, false);
  }

  /** A stop doorbell: the QP leaves the scheduler until it is reset. The descriptor says so at once; its link is null once no read for it is outstanding. */
  stop(qp: QueuePair): void {
    if (qp.stopped) return;
    qp.stopped = true;
    this.#scheduler.unschedule(qp);
    if (qp.busReads > 0) this.descriptors.publish(qp);
    else this.descriptors.settleStop(qp);
  }

  /** Function reset: nothing waits any more, nothing is written. */
  reset(): void {
    while (this.inbound.kind !== Inbound.NONE) {
      const { queuePair, buffer } = this.inbound;
      if (queuePair !== undefined) queuePair.doorbellWaiting = false;
      buffer?.release();
      this.inbound.pop();
    }
    this.buffer.clear();
    for (const list of this.lists) list.clear();
    this.overflow.reset();
    this.#sweep.reset();
    this.#reserved = 0;
    this.spilling = false;
    this.#stallCounted = false;
  }

  get #free(): number {
    return this.buffer.free - this.#reserved;
  }

  #step(): boolean {
    if (this.spilling) this.#endSpilling();
    if (this.#issueCheck() || this.#takeInbound() || this.#issueDrain()) return true;
    return this.#sweep.running && !this.spilling && this.#free > this.thresholds.low && this.#sweep.advance(this);
  }

  #issueCheck(): boolean {
    if (this.buffer.checking === this.buffer.used || !this.inbound.takesReads) return false;
    this.inbound.read(Inbound.LINK_CHECK, this.buffer.nextToCheck, 0, undefined);
    this.buffer.checking++;
    return true;
  }

  #takeInbound(): boolean {
    switch (this.inbound.kind) {
      case Inbound.NONE:
        return false;
      case Inbound.POSTED:
        return this.#takePosted();
      case Inbound.LINK_CHECK:
        this.#takeLinkCheck();
        return true;
      case Inbound.RECORD:
        this.#fetcher.takeRecord(this);
        return true;
      case Inbound.COMMAND:
        this.#fetcher.takeCommand(this);
        return true;
      case Inbound.OVERFLOW_ENTRY:
        this.#takeOverflowEntry();
        return true;
    }
  }

  #takePosted(): boolean {
    const qp = this.inbound.queuePair as QueuePair;
    const { sequence } = this.inbound;
    this.#detectDeadlock();
    if (!this.spilling && this.#free <= 0) return false;
    this.inbound.pop();
    if (qp.destroyed || qp.stopped) qp.doorbellWaiting = false;
    else if (!this.spilling) this.buffer.push(qp, sequence);
    else if (!this.#spill(qp, sequence)) this.#lose();
    return true;
  }

  #detectDeadlock(): void {
    if (this.spilling || (this.#free >= this.thresholds.low && !this.#readsAreStuck)) return;
    const { counters } = this.owner;
    if (this.policy !== OverflowPolicy.OFF) {
      this.spilling = true;
      this.thresholds.begin(this.#free, this.adaptive);
      counters.deadlocksDetected++;
    } else if (this.#free <= 0 && !this.#stallCounted) {
      this.#stallCounted = true;
      counters.deadlocksDetected++;
    }
  }

  /** Reads at their limit whose completions wait behind posted writes, and no dedicated buffer for a command. */
  get #readsAreStuck(): boolean {
    return !this.inbound.takesReads && !this.#fetcher.hasBuffer(this.owner);
  }

  #endSpilling(): void {
    this.thresholds.noteReads(!this.inbound.takesReads);
    if (this.#free < this.thresholds.high || (this.#readsAreStuck && this.inbound.posted > 0)) return;
    this.spilling = false;
    this.thresholds.end(this.adaptive);
  }

  #spill(qp: QueuePair, sequence: number): boolean {
    if (this.policy === OverflowPolicy.MOST_SPILLED) return this.#spilled.spillMostSpilled(qp, sequence);
    return this.#spilled.spill(qp, sequence);
  }

  #lose(): void {
    this.owner.counters.doorbellsLost++;
    this.#startSweep();
  }

  #startSweep(): void {
    this.#sweep.start();
    this.wake();
  }

  #takeLinkCheck(): void {
    this.inbound.pop();
    const qp = this.buffer.pop();
    qp.doorbellWaiting = false;
    this.#stallCounted = false;
    // A QP that cannot send now is scheduled when it can; one that was stopped shows that nothing is read any more.
    if (qp.destroyed || qp.stopped || !qp.sendsAreTaken) return this.descriptors.settleStop(qp);
    this.owner.counters.linkChecks++;
    if (!this.descriptors.check(qp, this.linkCheck)) return qp.life.fail(qp, FaultKind.DMA_READ);
    if (qp.scheduled) this.owner.counters.linkChecksFailed++;
    else if (!this.#scheduler.beginAtOnce(this, qp)) this.#scheduler.schedule(qp);
    else if (this.linkCheck === LinkCheck.COMPARE_SWAP) this.descriptors.writeLink(qp);
  }

  #issueDrain(): boolean {
    const isDue = this.overflow.pending > this.#reserved && !this.spilling && this.#free >= this.thresholds.high;
    if (!isDue || !this.inbound.takesReads) return false;
    this.#reserved++;
    this.inbound.read(Inbound.OVERFLOW_ENTRY, undefined, 0, undefined);
    return true;
  }

  #takeOverflowEntry(): void {
    this.inbound.pop();
    this.#reserved--;
    // The overflow buffer may have been removed while the read was outstanding.
    if (this.overflow.pending > 0 && !this.#spilled.readBack()) this.#startSweep();
  }
}
