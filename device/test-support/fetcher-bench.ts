// SPDX-License-Identifier: Apache-2.0
/**
 * Send queue scheduler and command fetcher with one doorbell unit and send queues in memory,
 * without an adapter (US 9,069,485 par. 70, 75-76). Used by the tests of `scheduler/`.
 */
import { COMMAND_HEADER_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import { setQueuePairRecordSendTail } from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import { encodeSendCommand, newSendCommand, type SendCommand } from '../../protocol/layout/gen/send-command.gen.ts';
import { type FaultKind, QpState } from '../../protocol/layout/gen/values.gen.ts';
import { PcbAllocator } from '../collect/pcb-allocator.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { DoorbellUnit } from '../doorbells/doorbell-unit.ts';
import type { Dma } from '../function/dma.ts';
import { DmaTiming } from '../function/dma-timing.ts';
import type { ObjectTable } from '../function/object-table.ts';
import { UnderlyingFunction } from '../function/underlying-function.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { SendSlots } from '../queues/send-slots.ts';
import { SendQueueScheduler } from '../scheduler/send-queue-scheduler.ts';

export const MEMORY_BYTES = 1 << 17;
export const QUEUE_ENTRIES = 32;
export const STRIDE_BYTES = 128;
/** By QP: its queue, then descriptor and record. */
export const QP_BYTES = QUEUE_ENTRIES * STRIDE_BYTES + 128;

interface Options {
  readonly queuePairs?: number;
  readonly buffers?: number;
  readonly busReads?: number;
  readonly shared?: boolean;
  readonly quantum?: number;
}

/** A function with send queues; admitted commands are noted. */
export class FetcherBench {
  readonly memory = new Uint8Array(MEMORY_BYTES);
  readonly view = new DataView(this.memory.buffer);
  readonly owner: UnderlyingFunction;
  readonly qps: QueuePair[];
  readonly pool: PcbAllocator;
  readonly unit: DoorbellUnit;
  readonly scheduler: SendQueueScheduler;
  /** QP and sequence number of what was admitted, in order, and its buffers. */
  readonly admitted: number[][] = [];
  readonly buffers: PhysicalCollectBuffer[] = [];
  readonly failed: FaultKind[] = [];
  /** VCBs of admitted commands; addresses and lengths of reads of guest memory. */
  readonly vcbs: number[] = [];
  readonly reads: number[][] = [];
  flushed = 0;
  hasRoom = true;
  /** Memory from here on cannot be accessed. */
  end = MEMORY_BYTES;
  readonly #tails: number[];

  constructor({ queuePairs = 3, buffers = 64, busReads = 64, shared = false, quantum }: Options = {}) {
    const clock = { now: () => 0 } as AdapterClock;
    this.owner = new UnderlyingFunction(0, clock, this.#makeHost(), () => {});
    this.owner.setBusMaster(true);
    this.qps = Array.from({ length: queuePairs }, (_, number) => this.#makeQueuePair(number));
    this.#tails = this.qps.map(() => 0);
    this.pool = new PcbAllocator(buffers, 1);
    const lanes = {
      hasRoom: () => this.hasRoom,
      admit: (qp: QueuePair, buffer: PhysicalCollectBuffer) => {
        this.admitted.push([qp.number, qp.nextSequence, buffer.fault]);
        this.buffers.push(buffer);
        this.vcbs.push(buffer.vcb);
        qp.nextSequence = (qp.nextSequence + 1) & 0xffff;
        buffer.release();
      },
    } as unknown as TransmitVirtualLanes;
    this.scheduler = new SendQueueScheduler(this.pool, lanes, shared, quantum);
    const { qps } = this;
    this.unit = new DoorbellUnit(this.owner, {
      scheduler: this.scheduler,
      fetcher: this.scheduler.fetcher,
      queuePairs: { slotCount: qps.length, at: (slot: number) => qps[slot] } as ObjectTable<QueuePair>,
      doorbellEntries: 16,
      busReads,
      timing: new DmaTiming(clock, {}),
      deliver: () => {},
    });
    this.scheduler.addUnit(this.unit);
    for (const qp of this.qps) this.unit.descriptors.publish(qp);
  }

  #makeHost(): HostPort {
    const { memory } = this;
    const host: Partial<HostPort> = {
      readMemory: ({ value }, lengthBytes, target, at) => {
        this.reads.push([value, lengthBytes]);
        if (value + lengthBytes > this.end) return false;
        target.set(memory.subarray(value, value + lengthBytes), at);
        return true;
      },
      writeMemory: ({ value }, source, at, lengthBytes) => {
        memory.set(source.subarray(at, at + lengthBytes), value);
        return true;
      },
    };
    return host as HostPort;
  }

  #makeQueuePair(number: number): QueuePair {
    const base = number * QP_BYTES;
    const descriptorAddress = base + QUEUE_ENTRIES * STRIDE_BYTES;
    const { owner } = this;
    const life = {
      fail: (_qp: QueuePair, fault: FaultKind) => this.failed.push(fault),
      flushReceives: () => this.flushed++,
    };
    const at = (dma: Dma, offset: number) => dma.at(base + offset);
    const [entriesLog2, strideLog2] = [QUEUE_ENTRIES, STRIDE_BYTES].map(Math.log2);
    const sendSlots = new SendSlots(
      { at } as ConstructorParameters<typeof SendSlots>[0],
      entriesLog2,
      strideLog2,
      descriptorAddress + 64,
    );
    const queue = { sendSlots, descriptorAddress };
    const counts = {
      nextSequence: 0,
      fetching: 0,
      fetchSequence: 0,
      epoch: 0,
      busReads: 0,
      spilledLap: 0,
      qosLevel: 0,
    };
    const state = { state: QpState.RTS, sendsAreTaken: true, acceptsCommands: true, checksumOff: true };
    return { number, owner, life, ...queue, ...counts, ...state } as unknown as QueuePair;
  }

  /** Posts commands without a doorbell. */
  post(qp: QueuePair, count: number, fields: Partial<SendCommand> = {}): void {
    for (let posted = 0; posted < count; posted++) {
      const sequence = this.#tails[qp.number]++ & 0xffff;
      const at = qp.number * QP_BYTES + (sequence % QUEUE_ENTRIES) * STRIDE_BYTES;
      const command = { ...newSendCommand(), qpn: qp.number, sequence, collectLength: COMMAND_HEADER_BYTES };
      encodeSendCommand(this.view, at, { ...command, ...fields });
    }
    this.setTail(qp, this.#tails[qp.number]);
  }

  setTail(qp: QueuePair, tail: number): void {
    setQueuePairRecordSendTail(this.view, qp.sendSlots?.recordAddress ?? -1, tail & 0xffff);
  }

  ring(qp: QueuePair): void {
    this.unit.ring(qp, qp.nextSequence);
  }

  serve(limit = 10_000): number {
    let done = 0;
    for (let turn = 0; turn < 100; turn++) {
      const units = this.scheduler.serve(limit);
      done += units;
      if (units === 0) break;
    }
    return done;
  }

  /** Serves in the smallest steps. */
  serveWhile(condition: () => boolean): void {
    for (let step = 0; condition(); step++) {
      if (step === 1000) throw new Error('the condition does not end');
      this.scheduler.serve(1);
    }
  }

  /** Sequence numbers admitted for a QP. */
  sequences({ number }: QueuePair): number[] {
    return this.admitted.filter(([qp]) => qp === number).map(([, sequence]) => sequence);
  }

  get faults(): number[] {
    return [...this.owner.faults.counts].flatMap((count, kind) => new Array<number>(count).fill(kind));
  }
}
