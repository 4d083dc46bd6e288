// SPDX-License-Identifier: Apache-2.0
/**
 * The collect BAR of one function (US8484392; DESIGN.md 4.3): virtual collect buffers through which send commands arrive, the dedicated collect buffer for
 * management commands, and the control words of each page. A write to a free VCB binds a PCB; without one the VCB goes to send-queue
 * mode: what identifies the command is kept, the rest is dropped until the kick, and a doorbell takes the command's place.
 */
import {
  CANCEL_OFFSET,
  DATA_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  NOTIFY_OFFSET,
  PAGE_BYTES,
  STOP_OFFSET,
} from '../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { FaultLog } from '../observe/faults.ts';
import { DEDICATED_COLLECT_BUFFERS, getDedicatedOffset } from './geometry.ts';
import type { PcbAllocator } from './pcb-allocator.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';

/** What becomes of what arrives in the collect BAR. */
export interface CollectSink {
  /** A send command is whole; the sink owns the PCB now. */
  kickSend(buffer: PhysicalCollectBuffer): void;
  /** A command found no PCB: only its first 8 bytes were kept. */
  ringImplicit(low: number, high: number): void;
  ringExplicit(low: number, high: number): void;
  stop(low: number): void;
  notify(low: number, high: number): void;
  /** A management command is whole. */
  kickManagement(buffer: PhysicalCollectBuffer): void;
}

/** Collecting state of a VCB: none, a bound PCB, or a stand-in that keeps only what a doorbell needs (send-queue mode). */
type Collecting = PhysicalCollectBuffer | undefined;

const STAND_IN_INDEX = -1;

export class CollectUnit {
  kicks = 0;
  refusals = 0;
  cancels = 0;
  choked = 0;
  choke = false;
  /** Byte offset of the first VCB of QoS level 1. */
  qosDivider: number;
  readonly vcbCount: number;
  readonly dedicatedOffset: number;
  readonly #allocator: PcbAllocator;
  readonly #sink: CollectSink;
  readonly #faults: FaultLog;
  readonly #collecting: Collecting[];
  readonly #standIns: PhysicalCollectBuffer[] = [];
  readonly #dedicated = new PhysicalCollectBuffer(0);

  constructor(vcbCount: number, allocator: PcbAllocator, sink: CollectSink, faults: FaultLog) {
    this.vcbCount = vcbCount;
    this.dedicatedOffset = getDedicatedOffset(vcbCount);
    this.qosDivider = this.dedicatedOffset;
    this.#allocator = allocator;
    this.#sink = sink;
    this.#faults = faults;
    this.#collecting = new Array<Collecting>(vcbCount).fill(undefined);
  }

  /** A write of 1, 2, 4 or 8 bytes anywhere in the BAR. */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    const page = Math.floor(offset / PAGE_BYTES);
    const inPage = offset % PAGE_BYTES;
    if (offset % sizeBytes !== 0) return this.#faults.report(FaultKind.COLLECT_RESERVED, page, offset);
    if (offset >= this.dedicatedOffset) return this.#writeDedicated(page, inPage, offset, sizeBytes, low, high);
    if (page >= this.vcbCount) return this.#faults.report(FaultKind.COLLECT_OUT_OF_RANGE, page, offset);
    if (inPage < DATA_BYTES) return this.#writeData(page, inPage, sizeBytes, low, high);
    this.#writeControl(page, inPage, offset, sizeBytes, low, high);
  }

  /** A command is being collected in the VCB, also in send-queue mode. */
  isInUse(vcb: number): boolean {
    return this.#collecting[vcb] !== undefined;
  }

  /** The dedicated buffer may be used for the next management command. */
  releaseDedicated(): void {
    this.#dedicated.state = PcbState.FREE;
  }

  /** Drops everything half-collected. */
  reset(): void {
    for (let vcb = 0; vcb < this.vcbCount; vcb++) this.#free(vcb);
    this.releaseDedicated();
    this.qosDivider = this.dedicatedOffset;
    this.choke = false;
    this.kicks = 0;
    this.refusals = 0;
    this.cancels = 0;
    this.choked = 0;
  }

  #writeData(vcb: number, inPage: number, sizeBytes: number, low: number, high: number): void {
    let buffer = this.#collecting[vcb];
    if (buffer === undefined) {
      if (this.choke) {
        this.choked++;
        return;
      }
      buffer = this.#open(vcb);
    }
    buffer.store(inPage, sizeBytes, low, high);
    if (buffer.lengthKnown) this.#kickWhenWhole(vcb, buffer);
  }

  #open(vcb: number): PhysicalCollectBuffer {
    const qosLevel = vcb * PAGE_BYTES >= this.qosDivider ? 1 : 0;
    const buffer = this.#allocator.bind(vcb, qosLevel) ?? this.#openStandIn();
    this.#collecting[vcb] = buffer;
    return buffer;
  }

  /** Send-queue mode still follows the command to its kick, so that the VCB is freed exactly there. */
  #openStandIn(): PhysicalCollectBuffer {
    this.refusals++;
    const buffer = this.#standIns.pop() ?? new PhysicalCollectBuffer(STAND_IN_INDEX);
    buffer.open();
    return buffer;
  }

  #kickWhenWhole(vcb: number, buffer: PhysicalCollectBuffer): void {
    if (!buffer.lengthValid) {
      this.#faults.report(FaultKind.COLLECT_BAD_LENGTH, vcb, buffer.collectLength);
      this.#free(vcb);
    } else if (buffer.whole) this.#kick(vcb, buffer);
  }

  #kick(vcb: number, buffer: PhysicalCollectBuffer): void {
    this.kicks++;
    this.#collecting[vcb] = undefined;
    if (buffer.index !== STAND_IN_INDEX) return this.#sink.kickSend(buffer);
    this.#standIns.push(buffer);
    this.#sink.ringImplicit(buffer.view.getUint32(0, true), buffer.view.getUint32(4, true));
  }

  #writeControl(vcb: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    if (sizeBytes !== 8) return this.#faults.report(FaultKind.COLLECT_RESERVED, vcb, offset);
    switch (inPage) {
      case NOTIFY_OFFSET:
        return this.#sink.notify(low, high);
      case DOORBELL_OFFSET:
        return this.#sink.ringExplicit(low, high);
      case STOP_OFFSET:
        return this.#sink.stop(low);
      case KICK_OFFSET:
        return this.#kickExplicitly(vcb);
      case CANCEL_OFFSET:
        return this.#cancel(vcb, offset, high);
      default:
        this.#faults.report(FaultKind.COLLECT_RESERVED, vcb, offset);
    }
  }

  /** The writer says the command is whole. What did not arrive makes it a damaged copy: the checksum or, at the latest, the send queue decides. */
  #kickExplicitly(vcb: number): void {
    const buffer = this.#collecting[vcb];
    if (buffer === undefined) return;
    if (buffer.identified && buffer.lengthValid && buffer.whole) return this.#kick(vcb, buffer);
    if (buffer.identified) this.#sink.ringImplicit(buffer.view.getUint32(0, true), buffer.view.getUint32(4, true));
    this.kicks++;
    this.#free(vcb);
  }

  #cancel(vcb: number, offset: number, high: number): void {
    if (high >>> 24 !== 0xff) return this.#faults.report(FaultKind.COLLECT_RESERVED, vcb, offset);
    if (this.#collecting[vcb] === undefined) return;
    this.cancels++;
    this.#free(vcb);
  }

  #free(vcb: number): void {
    const buffer = this.#collecting[vcb];
    if (buffer === undefined) return;
    this.#collecting[vcb] = undefined;
    if (buffer.index === STAND_IN_INDEX) this.#standIns.push(buffer);
    else this.#allocator.release(buffer);
  }

  #writeDedicated(page: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    const inside = offset < this.dedicatedOffset + DEDICATED_COLLECT_BUFFERS * PAGE_BYTES;
    if (!inside) return this.#faults.report(FaultKind.COLLECT_OUT_OF_RANGE, page, offset);
    const buffer = this.#dedicated;
    if (inPage === CANCEL_OFFSET && sizeBytes === 8 && high >>> 24 === 0xff) {
      if (buffer.state === PcbState.COLLECTING) this.releaseDedicated();
      return;
    }
    // While a command executes its buffer takes no other: software holds the lock until the response.
    if (inPage >= DATA_BYTES || buffer.state > PcbState.COLLECTING)
      return this.#faults.report(FaultKind.COLLECT_RESERVED, page, offset);
    if (buffer.state === PcbState.FREE) buffer.open();
    buffer.store(inPage, sizeBytes, low, high);
    if (!buffer.lengthKnown) return;
    if (!buffer.lengthValid) {
      this.#faults.report(FaultKind.COLLECT_BAD_LENGTH, page, buffer.collectLength);
      this.releaseDedicated();
    } else if (buffer.whole) {
      buffer.state = PcbState.KICKED;
      this.#sink.kickManagement(buffer);
    }
  }
}
