// SPDX-License-Identifier: Apache-2.0
/**
 * The collect BAR of one function (US8484392; DESIGN.md 4.3): virtual collect buffers through which send commands arrive, the dedicated collect buffer for
 * management commands, and the control words of each page. A write to a free VCB binds a PCB; without one the VCB goes to send-queue
 * mode: what identifies the command is kept, the rest is dropped until the kick, and a doorbell takes the command's place.
 */
import { CANCEL_CANCEL_MASK, CANCEL_CANCEL_SHIFT } from '../../protocol/layout/gen/cancel.gen.ts';
import {
  CANCEL_OFFSET,
  DATA_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  NOTIFY_OFFSET,
  PAGE_BYTES,
  QOS_LEVELS,
  STOP_OFFSET,
} from '../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { FaultLog } from '../function/fault-log.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { DEDICATED_COLLECT_BUFFERS, getDedicatedOffset } from './geometry.ts';
import type { PcbAllocator } from './pcb-allocator.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import type { VcbSpace } from './vcb-space.ts';

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

/** What a collect unit is built from. */
export interface CollectParts {
  readonly owner: Pick<UnderlyingFunction, 'number' | 'faults' | 'timeline'>;
  /** VCB pages the collect BAR has room for. */
  readonly pageCount: number;
  readonly space: VcbSpace;
  readonly allocator: PcbAllocator;
  readonly sink: CollectSink;
}

/** Collecting state of a VCB: none, a bound PCB, or a stand-in that keeps only what a doorbell needs (send-queue mode). */
type Collecting = PhysicalCollectBuffer | undefined;

const STAND_IN_INDEX = -1;
/** The field of a cancel that is one: all ones. It is at the top of the high dword. */
const CANCEL = CANCEL_CANCEL_MASK >>> CANCEL_CANCEL_SHIFT;

export class CollectUnit {
  kicks = 0;
  cancels = 0;
  choked = 0;
  choke = false;
  /** Commands of each QoS level that found no PCB. */
  readonly levelRefusals = new Uint32Array(QOS_LEVELS);
  /** VCBs with a command being collected. */
  inUseCount = 0;
  /** Byte offset of the first VCB of QoS level 1 (the sub-BAR). */
  qosDivider: number;
  readonly dedicatedOffset: number;
  readonly #owner: CollectParts['owner'];
  readonly #functionNumber: number;
  readonly #space: VcbSpace;
  readonly #allocator: PcbAllocator;
  readonly #sink: CollectSink;
  readonly #faults: FaultLog;
  readonly #collecting: Collecting[];
  readonly #standIns: PhysicalCollectBuffer[] = [];
  readonly #dedicated = new PhysicalCollectBuffer(0);

  constructor(parts: CollectParts) {
    this.dedicatedOffset = getDedicatedOffset(parts.pageCount);
    this.qosDivider = this.dedicatedOffset;
    this.#owner = parts.owner;
    this.#functionNumber = parts.owner.number;
    this.#space = parts.space;
    this.#allocator = parts.allocator;
    this.#sink = parts.sink;
    this.#faults = parts.owner.faults;
    this.#collecting = new Array<Collecting>(this.dedicatedOffset / PAGE_BYTES).fill(undefined);
  }

  /** VCBs the function has now. */
  get vcbCount(): number {
    return this.#space.getCount(this.#functionNumber);
  }

  /** The most it could be given: what its BAR has room for. */
  get pageCount(): number {
    return this.#collecting.length;
  }

  get refusals(): number {
    return this.levelRefusals.reduce((sum, count) => sum + count, 0);
  }

  /** VCBs of QoS level 1; the others are of level 0. */
  get levelOneCount(): number {
    return Math.min(this.vcbCount, Math.max(0, this.vcbCount - Math.ceil(this.qosDivider / PAGE_BYTES)));
  }

  /** Moves the sub-BAR so that the last `count` VCBs are those of QoS level 1. */
  set levelOneCount(count: number) {
    this.qosDivider = (this.vcbCount - count) * PAGE_BYTES;
  }

  /** A write of 1, 2, 4 or 8 bytes anywhere in the BAR. */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    const page = Math.floor(offset / PAGE_BYTES);
    const inPage = offset % PAGE_BYTES;
    if (offset % sizeBytes !== 0) return this.#faults.report(FaultKind.COLLECT_RESERVED, page, offset);
    if (offset >= this.dedicatedOffset) return this.#writeDedicated(page, inPage, offset, sizeBytes, low, high);
    // A command begun before the share shrank may still be ended, or cancelled.
    if (page >= this.vcbCount && this.#collecting[page] === undefined)
      return this.#faults.report(FaultKind.COLLECT_OUT_OF_RANGE, page, offset);
    if (inPage < DATA_BYTES) return this.#writeData(page, inPage, sizeBytes, low, high);
    this.#writeControl(page, inPage, offset, sizeBytes, low, high);
  }

  /** A command is being collected in the page, also in send-queue mode. */
  isInUse(page: number): boolean {
    return this.#collecting[page] !== undefined;
  }

  /** Number of the VCB whose PCB the page fills; -1 when there is none. For tests. */
  getBoundVcb(page: number): number {
    return this.#collecting[page]?.vcb ?? -1;
  }

  /** The dedicated buffer may be used for the next management command. */
  releaseDedicated(): void {
    this.#dedicated.state = PcbState.FREE;
  }

  /** Drops everything half-collected. */
  reset(): void {
    for (let page = 0; page < this.#collecting.length; page++) this.#free(page);
    this.releaseDedicated();
    this.qosDivider = this.dedicatedOffset;
    this.choke = false;
    this.kicks = 0;
    this.levelRefusals.fill(0);
    this.cancels = 0;
    this.choked = 0;
  }

  #writeData(page: number, inPage: number, sizeBytes: number, low: number, high: number): void {
    let buffer = this.#collecting[page];
    if (buffer === undefined) {
      if (this.choke) {
        this.choked++;
        return;
      }
      buffer = this.#open(page);
    }
    buffer.store(inPage, sizeBytes, low, high);
    if (buffer.lengthKnown) this.#kickWhenWhole(page, buffer);
  }

  #open(page: number): PhysicalCollectBuffer {
    const qosLevel = page * PAGE_BYTES >= this.qosDivider ? 1 : 0;
    const buffer = this.#bind(page, qosLevel) ?? this.#openStandIn(page, qosLevel);
    this.#collecting[page] = buffer;
    this.inUseCount++;
    return buffer;
  }

  #bind(page: number, qosLevel: number): PhysicalCollectBuffer | undefined {
    const vcb = this.#space.take(this.#functionNumber, page);
    if (vcb < 0) return undefined;
    const buffer = this.#allocator.bind(this.#functionNumber, qosLevel, vcb);
    if (buffer === undefined) this.#space.free(this.#functionNumber, vcb);
    else this.#owner.timeline?.note(Step.BIND, this.#functionNumber, vcb, buffer.index);
    return buffer;
  }

  /** Send-queue mode still follows the command to its kick, so that the VCB is freed exactly there. */
  #openStandIn(page: number, qosLevel: number): PhysicalCollectBuffer {
    this.levelRefusals[qosLevel]++;
    this.#owner.timeline?.note(Step.REFUSE, this.#functionNumber, page);
    const buffer = this.#standIns.pop() ?? new PhysicalCollectBuffer(STAND_IN_INDEX);
    buffer.open();
    return buffer;
  }

  /** Ends the collecting of a page and says what was bound to it. */
  #leave(page: number): Collecting {
    const buffer = this.#collecting[page];
    if (buffer === undefined) return undefined;
    this.#collecting[page] = undefined;
    this.inUseCount--;
    if (buffer.vcb >= 0) this.#space.free(this.#functionNumber, buffer.vcb);
    else this.#standIns.push(buffer);
    return buffer;
  }

  #kickWhenWhole(page: number, buffer: PhysicalCollectBuffer): void {
    if (!buffer.lengthValid) {
      this.#faults.report(FaultKind.COLLECT_BAD_LENGTH, page, buffer.collectLength);
      this.#free(page);
    } else if (buffer.whole) this.#kick(page, buffer);
  }

  #kick(page: number, buffer: PhysicalCollectBuffer): void {
    this.kicks++;
    this.#leave(page);
    if (buffer.vcb >= 0) return this.#sink.kickSend(buffer);
    this.#sink.ringImplicit(buffer.view.getUint32(0, true), buffer.view.getUint32(4, true));
  }

  #writeControl(page: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    if (sizeBytes !== 8) return this.#faults.report(FaultKind.COLLECT_RESERVED, page, offset);
    switch (inPage) {
      case NOTIFY_OFFSET:
        return this.#sink.notify(low, high);
      case DOORBELL_OFFSET:
        return this.#sink.ringExplicit(low, high);
      case STOP_OFFSET:
        return this.#sink.stop(low);
      case KICK_OFFSET:
        return this.#kickExplicitly(page);
      case CANCEL_OFFSET:
        return this.#cancel(page, offset, high);
      default:
        this.#faults.report(FaultKind.COLLECT_RESERVED, page, offset);
    }
  }

  /** The writer says the command is whole. What did not arrive makes it a damaged copy: the checksum or, at the latest, the send queue decides. */
  #kickExplicitly(page: number): void {
    const buffer = this.#collecting[page];
    if (buffer === undefined) return;
    if (buffer.identified && buffer.lengthValid && buffer.whole) return this.#kick(page, buffer);
    if (buffer.identified) this.#sink.ringImplicit(buffer.view.getUint32(0, true), buffer.view.getUint32(4, true));
    this.kicks++;
    this.#free(page);
  }

  #cancel(page: number, offset: number, high: number): void {
    if (high >>> CANCEL_CANCEL_SHIFT !== CANCEL) return this.#faults.report(FaultKind.COLLECT_RESERVED, page, offset);
    if (this.#collecting[page] === undefined) return;
    this.cancels++;
    this.#free(page);
  }

  #free(page: number): void {
    this.#leave(page)?.release();
  }

  #writeDedicated(page: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    const inside = offset < this.dedicatedOffset + DEDICATED_COLLECT_BUFFERS * PAGE_BYTES;
    if (!inside) return this.#faults.report(FaultKind.COLLECT_OUT_OF_RANGE, page, offset);
    const buffer = this.#dedicated;
    if (inPage === CANCEL_OFFSET && sizeBytes === 8 && high >>> CANCEL_CANCEL_SHIFT === CANCEL) {
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
