// SPDX-License-Identifier: Apache-2.0
/**
 * Collect BAR of one function (US 8,484,392 par. 87-90, 95-101, 108-114): virtual collect buffers
 * (VCBs) for send commands, dedicated collect buffers for management commands, and the control
 * words of each page. A store to a free VCB binds a PCB. Without a free PCB the VCB goes to
 * send-queue mode: the unit keeps the identification of the command, drops the rest up to the kick,
 * and rings a doorbell in place of the command. The PCIe function calls it.
 * Registers: collect-registers, commands: collect-context-commands, view: contents/buffers.
 */
import {
  CANCEL_OFFSET,
  DATA_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  NOTIFY_OFFSET,
  PAGE_BYTES,
  QOS_LEVELS,
  STOP_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandQpn, getSendCommandSequence } from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultLog } from '../function/fault-log.ts';
import { Step } from '../function/timeline.ts';
import { NO_VCB } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ContextOrKernel } from '../queues/collect-context.ts';
import { CollectChoke } from './collect-choke.ts';
import { DedicatedCollectBuffer } from './dedicated-collect-buffer.ts';
import { getDedicatedOffset, isCancel } from './geometry.ts';
import type { PcbAllocator } from './pcb-allocator.ts';
import { PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import { RefusedCommand } from './refused-command.ts';
import type { VcbSpace } from './vcb-space.ts';

/**
 * Receives the commands and doorbells that arrive in the collect BAR. Dwords are signed. `context`
 * is that of the page.
 */
export interface CollectSink {
  /** A send command is complete. The sink now owns the PCB. */
  kickSend(buffer: PhysicalCollectBuffer, context: ContextOrKernel): void;
  /** A command found no PCB; its first 8 bytes are the doorbell. */
  ringImplicit(low: number, high: number, context: ContextOrKernel): void;
  ringExplicit(low: number, high: number, context: ContextOrKernel): void;
  stop(low: number, context: ContextOrKernel): void;
  notify(low: number, high: number, context: ContextOrKernel): void;
  /** A management command is complete. */
  kickManagement(buffer: DedicatedCollectBuffer): void;
}

/** Constructor arguments of a collect unit. */
export interface CollectParts {
  readonly owner: Pick<UnderlyingFunction, 'number' | 'faults' | 'timeline'>;
  /** Number of VCB pages for which the collect BAR has room. */
  readonly pageCount: number;
  /** Number of dedicated collect buffers. */
  readonly dedicatedCount: number;
  readonly space: VcbSpace;
  readonly allocator: PcbAllocator;
  readonly sink: CollectSink;
}

/** State of a VCB: undefined while idle, a bound PCB, or a refused command (send-queue mode). */
export type Collecting = PhysicalCollectBuffer | RefusedCommand | undefined;

export class CollectUnit {
  /** Commands kicked, cancelled, and refused for any reason. */
  kicks = 0;
  cancels = 0;
  refusals = 0;
  /** Commands that found `choke` set. */
  readonly choke = new CollectChoke();
  /** Commands of each QoS level that found no PCB. */
  readonly levelRefusals = new Uint32Array(QOS_LEVELS);
  /** Number of VCBs in which a command is being collected. */
  inUseCount = 0;
  /** Byte offset of the first VCB of QoS level 1 (the sub-BAR). */
  qosDivider: number;
  readonly dedicatedOffset: number;
  readonly dedicated: readonly DedicatedCollectBuffer[];
  readonly #owner: CollectParts['owner'];
  readonly #functionNumber: number;
  readonly #space: VcbSpace;
  readonly #allocator: PcbAllocator;
  readonly #sink: CollectSink;
  readonly #faults: FaultLog;
  readonly #collecting: Collecting[];
  /** Context of each page. */
  readonly #contexts: ContextOrKernel[];
  /** Refused commands of earlier use. */
  readonly #spare: RefusedCommand[] = [];

  constructor(parts: CollectParts) {
    this.dedicatedOffset = getDedicatedOffset(parts.pageCount);
    this.qosDivider = this.dedicatedOffset;
    this.#owner = parts.owner;
    this.#functionNumber = parts.owner.number;
    this.#space = parts.space;
    this.#allocator = parts.allocator;
    this.#sink = parts.sink;
    this.#faults = parts.owner.faults;
    this.dedicated = Array.from(
      { length: parts.dedicatedCount },
      () => new DedicatedCollectBuffer(this.#faults, (buffer) => parts.sink.kickManagement(buffer)),
    );
    const pages = this.dedicatedOffset / PAGE_BYTES;
    this.#collecting = new Array<Collecting>(pages).fill(undefined);
    this.#contexts = new Array<ContextOrKernel>(pages).fill(undefined);
  }

  /** Number of VCBs that the function has now. */
  get vcbCount(): number {
    return this.#space.getCount(this.#functionNumber);
  }

  /** Largest number of VCBs that fits its BAR. */
  get pageCount(): number {
    return this.#collecting.length;
  }

  /** Number of VCBs of QoS level 1; the others have level 0. */
  get levelOneCount(): number {
    return Math.min(this.vcbCount, Math.max(0, this.vcbCount - Math.ceil(this.qosDivider / PAGE_BYTES)));
  }

  /** Moves the sub-BAR: the last `count` VCBs get QoS level 1. */
  set levelOneCount(count: number) {
    this.qosDivider = (this.vcbCount - count) * PAGE_BYTES;
  }

  /** Takes a write of 1, 2, 4 or 8 bytes anywhere in the BAR, as two signed dwords. */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#faults.duringWrite(sizeBytes, low, high);
    this.#write(offset, sizeBytes, low, high);
    this.#faults.endAccess();
  }

  /** The context of a page. */
  getContext(page: number): ContextOrKernel {
    return this.#contexts[page];
  }

  /** Gives a page to a context or to the kernel. A command that is being collected is dropped. */
  assign(page: number, context: ContextOrKernel): void {
    const former = this.#contexts[page];
    if (former === context) return;
    this.choke.forget(page);
    this.#free(page);
    this.#contexts[page] = context;
    if (former !== undefined) former.pages--;
    if (context !== undefined) context.pages++;
  }

  /** True while a command is being collected in the page, also in send-queue mode. */
  isInUse(page: number): boolean {
    return this.#collecting[page] !== undefined;
  }

  /** The PCB that the page fills, or its refused command. For tests and `vuhca show`. */
  getCollecting(page: number): Collecting {
    return this.#collecting[page];
  }

  /** Drops all commands that are being collected, and clears the counters. */
  reset(): void {
    for (let page = 0; page < this.#collecting.length; page++) this.#free(page);
    this.#contexts.fill(undefined);
    for (const buffer of this.dedicated) buffer.reset();
    this.qosDivider = this.dedicatedOffset;
    this.choke.reset();
    this.kicks = 0;
    this.refusals = 0;
    this.levelRefusals.fill(0);
    this.cancels = 0;
  }

  #write(offset: number, sizeBytes: number, low: number, high: number): void {
    const page = Math.floor(offset / PAGE_BYTES);
    const inPage = offset % PAGE_BYTES;
    if (offset % sizeBytes !== 0) return this.#faults.reportPage(FaultKind.COLLECT_RESERVED, page, offset);
    if (offset >= this.dedicatedOffset) return this.#writeDedicated(page, inPage, offset, sizeBytes, low, high);
    // The share bounds the data areas alone: a process whose page is no longer in it still rings
    // doorbells.
    if (inPage >= DATA_BYTES) return this.#writeControl(page, inPage, offset, sizeBytes, low, high);
    // A command that began before the share shrank may still be finished.
    if (page >= this.vcbCount && this.#collecting[page] === undefined)
      return this.#faults.reportPage(FaultKind.COLLECT_OUT_OF_RANGE, page, offset);
    this.#writeData(page, inPage, sizeBytes, low, high);
  }

  #writeData(page: number, inPage: number, sizeBytes: number, low: number, high: number): void {
    let buffer = this.#collecting[page];
    if (buffer === undefined) {
      if (this.choke.active) return this.choke.drop(page, inPage, sizeBytes, low, high);
      buffer = this.#open(page);
    }
    buffer.store(inPage, sizeBytes, low, high);
    if (buffer.lengthKnown) this.#kickVirtually(page, buffer);
  }

  /** Starts a command in a free VCB, with a PCB or in send-queue mode. */
  #open(page: number): PhysicalCollectBuffer | RefusedCommand {
    const qosLevel = page * PAGE_BYTES >= this.qosDivider ? 1 : 0;
    const buffer = this.#bind(page, qosLevel) ?? this.#refuse(page);
    this.#collecting[page] = buffer;
    this.inUseCount++;
    return buffer;
  }

  /** Binds a PCB for the page; undefined when its VCB number or every PCB is taken. */
  #bind(page: number, qosLevel: number): PhysicalCollectBuffer | undefined {
    const vcb = this.#space.take(this.#functionNumber, page);
    if (vcb < 0) return undefined;
    const buffer = this.#allocator.bind(this.#functionNumber, qosLevel, vcb);
    if (buffer === undefined) {
      this.levelRefusals[qosLevel]++;
      this.#space.free(this.#functionNumber, vcb);
    } else this.#owner.timeline?.note(Step.BIND, this.#functionNumber, vcb, buffer.index);
    return buffer;
  }

  /**
   * Send-queue mode follows the command to its kick as well: the VCB is free again exactly then.
   */
  #refuse(page: number): RefusedCommand {
    this.refusals++;
    this.#owner.timeline?.note(Step.REFUSE, this.#functionNumber, page);
    const command = this.#spare.pop() ?? new RefusedCommand();
    command.open();
    return command;
  }

  /** Ends the collection in a page and returns its buffer. */
  #leave(page: number): Collecting {
    const buffer = this.#collecting[page];
    if (buffer === undefined) return undefined;
    this.#collecting[page] = undefined;
    this.inUseCount--;
    if (buffer instanceof RefusedCommand) this.#spare.push(buffer);
    else this.#space.free(this.#functionNumber, buffer.vcb);
    return buffer;
  }

  /**
   * The virtual kick (US 8,484,392 par. 108-113): no store asks for it. The length in the command
   * tells that the last missing byte has arrived.
   */
  #kickVirtually(page: number, buffer: PhysicalCollectBuffer | RefusedCommand): void {
    if (!buffer.lengthValid) {
      this.#faults.reportPage(FaultKind.COLLECT_BAD_LENGTH, page, buffer.collectLength);
      this.#free(page);
    } else if (buffer.whole) this.#kick(page, buffer);
  }

  #kick(page: number, buffer: PhysicalCollectBuffer | RefusedCommand): void {
    this.kicks++;
    this.#leave(page);
    const context = this.#contexts[page];
    if (buffer instanceof PhysicalCollectBuffer) return this.#sink.kickSend(buffer, context);
    this.#sink.ringImplicit(buffer.view.getInt32(0, true), buffer.view.getInt32(4, true), context);
  }

  #writeControl(page: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    if (sizeBytes !== 8) return this.#faults.reportPage(FaultKind.COLLECT_RESERVED, page, offset);
    switch (inPage) {
      case NOTIFY_OFFSET:
        return this.#sink.notify(low, high, this.#contexts[page]);
      case DOORBELL_OFFSET:
        return this.#sink.ringExplicit(low, high, this.#contexts[page]);
      case STOP_OFFSET:
        return this.#sink.stop(low, this.#contexts[page]);
      case KICK_OFFSET:
        return this.#kickExplicitly(page);
      case CANCEL_OFFSET:
        return this.#cancel(page, offset, high);
      default:
        this.#faults.reportPage(FaultKind.COLLECT_RESERVED, page, offset);
    }
  }

  /**
   * Software declares the command complete (US 8,484,392 par. 90). Bytes that have not arrived are
   * 0. If software meant others, the checksum fails, and a doorbell takes the place of the command.
   * A command without its first 8 bytes names no queue pair and is dropped.
   */
  #kickExplicitly(page: number): void {
    const buffer = this.#collecting[page];
    if (buffer === undefined) return this.choke.forget(page);
    if (!buffer.identified) {
      this.kicks++;
      return this.#free(page);
    }
    if (buffer instanceof PhysicalCollectBuffer) buffer.clearMissing();
    this.#kick(page, buffer);
  }

  #cancel(page: number, offset: number, high: number): void {
    if (!isCancel(high)) return this.#faults.reportPage(FaultKind.COLLECT_RESERVED, page, offset);
    const buffer = this.#collecting[page];
    if (buffer === undefined) return this.choke.forget(page);
    this.cancels++;
    this.#noteCancel(buffer);
    this.#free(page);
  }

  #noteCancel({ identified, view, vcb }: PhysicalCollectBuffer | RefusedCommand): void {
    const { timeline } = this.#owner;
    if (timeline === undefined) return;
    const qpn = identified ? getSendCommandQpn(view, 0) : 0;
    const sequence = identified ? getSendCommandSequence(view, 0) : 0;
    timeline.note(Step.CANCEL, this.#functionNumber, qpn, sequence, vcb < 0 ? NO_VCB : vcb);
  }

  #free(page: number): void {
    const buffer = this.#leave(page);
    if (buffer instanceof PhysicalCollectBuffer) buffer.release();
  }

  #writeDedicated(page: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    const buffer = this.dedicated.at(page - this.dedicatedOffset / PAGE_BYTES);
    if (buffer === undefined) this.#faults.reportPage(FaultKind.COLLECT_OUT_OF_RANGE, page, offset);
    else buffer.write(page, inPage, offset, sizeBytes, low, high);
  }
}
