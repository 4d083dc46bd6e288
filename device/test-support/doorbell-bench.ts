// SPDX-License-Identifier: Apache-2.0
/**
 * A doorbell unit without an adapter, with a scheduler and a fetcher that only note what they are
 * asked (US 9,069,485 par. 67-75). Used by the tests of `doorbells/`.
 */
import type { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import { DoorbellUnit } from '../doorbells/doorbell-unit.ts';
import { DmaTiming } from '../function/dma-timing.ts';
import type { ObjectTable } from '../function/object-table.ts';
import { UnderlyingFunction } from '../function/underlying-function.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Entries of the scheduler buffer. */
export const ENTRIES = 4;
export const MEMORY_BYTES = 4096;
/** The overflow buffer; descriptors are below. */
export const OVERFLOW_BASE = 2048;
export const OVERFLOW_LOG2 = 4;

/** A bus read completes in the order of the bus. */
export class DoorbellBench {
  readonly memory = new Uint8Array(MEMORY_BYTES);
  readonly owner: UnderlyingFunction;
  readonly unit: DoorbellUnit;
  readonly qps: QueuePair[];
  readonly failed: FaultKind[] = [];
  /** What the scheduler was asked, by QP. */
  readonly scheduled: number[] = [];
  readonly unscheduled: number[] = [];
  readonly begun: number[] = [];
  mayBegin = false;
  hasBuffer = true;
  wakes = 0;

  /** Writes to the collect BAR that were delivered: their offsets. */
  readonly delivered: number[] = [];

  constructor(busReads = 8, queuePairs = 12, dmaLatencyNs = 0) {
    const clock = { now: () => 0 } as AdapterClock;
    this.owner = new UnderlyingFunction(0, clock, this.#makeHost(), () => {});
    this.owner.setBusMaster(true);
    this.qps = Array.from({ length: queuePairs }, (_, number) => this.#makeQueuePair(number));
    this.unit = new DoorbellUnit(this.owner, {
      scheduler: {
        wake: () => this.wakes++,
        schedule: (qp) => this.scheduled.push(qp.number),
        beginAtOnce: (_unit, qp) => this.mayBegin && this.begun.push(qp.number) > 0,
        unschedule: (qp) => this.unscheduled.push(qp.number),
      },
      fetcher: { hasBuffer: () => this.hasBuffer, takeRecord: () => {}, takeCommand: () => {} },
      queuePairs: this.#makeTable(),
      doorbellEntries: ENTRIES,
      busReads,
      busDepth: 2,
      timing: new DmaTiming(clock, { dmaLatencyNs }),
      deliver: (offset) => this.delivered.push(offset),
    });
    for (const qp of this.qps) this.unit.descriptors.publish(qp);
  }

  #makeHost(): HostPort {
    const { memory } = this;
    const fits = (address: number, lengthBytes: number): boolean => address + lengthBytes <= MEMORY_BYTES;
    const host: Partial<HostPort> = {
      readMemory: ({ value }, lengthBytes, target, at) => {
        if (!fits(value, lengthBytes)) return false;
        target.set(memory.subarray(value, value + lengthBytes), at);
        return true;
      },
      writeMemory: ({ value }, source, at, lengthBytes) => {
        if (!fits(value, lengthBytes)) return false;
        memory.set(source.subarray(at, at + lengthBytes), value);
        return true;
      },
      compareAndSwap: ({ value }, expected, desired) => {
        const view = new DataView(memory.buffer);
        const found = view.getInt32(value, true);
        if (found === expected) view.setInt32(value, desired, true);
        return found;
      },
    };
    return host as HostPort;
  }

  #makeQueuePair(number: number): QueuePair {
    const { owner } = this;
    const life = { fail: (_qp: QueuePair, fault: FaultKind) => this.failed.push(fault) };
    const qp = {
      number,
      owner,
      life,
      descriptorAddress: 64 * (number + 1),
      nextSequence: 0,
      qosLevel: 0,
      spilledLap: 0,
    };
    return { ...qp, spilled: 0, busReads: 0, sendsAreTaken: true } as unknown as QueuePair;
  }

  #makeTable(): ObjectTable<QueuePair> {
    const { qps } = this;
    const table = { slotCount: qps.length, at: (slot: number) => qps[slot], get: (number: number) => qps[number] };
    return table as ObjectTable<QueuePair>;
  }

  /** Rings for the QPs from `first` to before `end`. */
  ring(first: number, end: number): void {
    for (const qp of this.qps.slice(first, end)) this.unit.ring(qp, qp.nextSequence);
  }

  /** QPs of the scheduler buffer, the oldest entry first. */
  get entries(): number[] {
    return Array.from({ length: this.unit.buffer.used }, (_, place) => this.unit.buffer.queuePairAt(place).number);
  }

  /** State of the QP's link in guest memory. */
  linkState(place: number): number {
    return this.memory[this.qps[place].descriptorAddress + 3];
  }

  /** Spills doorbells of the QPs from `first` to before `end`. */
  spill(first: number, end: number): void {
    for (const qp of this.qps.slice(first, end)) this.unit.spilled.take(qp, qp.nextSequence, this.unit);
  }

  setOverflow(): void {
    this.unit.setOverflow(OVERFLOW_BASE, OVERFLOW_LOG2, true);
  }

  runAll(): number {
    return this.unit.advance(1000);
  }
}
