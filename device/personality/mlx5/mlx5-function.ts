// SPDX-License-Identifier: Apache-2.0
/**
 * The PCIe endpoint of an mlx5 device: one BAR with the initialising segment and, behind it, the
 * UAR pages. Values are big-endian in the BAR: drivers swap them, and so does this file. Hosts call
 * it through `FunctionPort`.
 */
import { highDword, joinDwords, lowDword, swapBytes } from '../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { COMMAND_ENTRY_SIZE } from '../../../protocol/mlx5/gen/command-entry.gen.ts';
import {
  ARM_CQ_OFFSET,
  ARM_EQ_OFFSET,
  COMMAND_ADDRESS_OFFSET,
  COMMAND_DOORBELL_OFFSET,
  COMMAND_ENTRIES,
  DOORBELL_BYTES,
  DOORBELL_OFFSET,
  EQ_CONSUMER_OFFSET,
  FIRST_UAR,
  HEALTH_COUNTER_OFFSET,
  HEALTH_OFFSET,
  INITIALIZING_OFFSET,
  MSIX_PBA_OFFSET,
  TIMER_OFFSET,
  UAR_PAGE_BYTES,
} from '../../../protocol/mlx5/gen/constants.gen.ts';
import { HEALTH_BUFFER_SIZE } from '../../../protocol/mlx5/gen/health-buffer.gen.ts';
import { InterfaceState } from '../../../protocol/mlx5/gen/values.gen.ts';
import { NO_OBJECT } from '../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';

import type { FunctionPort } from '../../host.ts';

import { UndividedFunction } from '../shared/undivided-function.ts';
import type { CommandQueue } from './commands/command-queue.ts';
import { FIRMWARE_MAJOR, FIRMWARE_MINOR, FIRMWARE_SUBMINOR } from './hca/firmware-version.ts';
import type { Hca } from './hca/hca.ts';
import type { QueuePairs } from './queue-pairs.ts';
import { CompletionDoorbells } from './queues/completion-doorbells.ts';

const DWORD_BYTES = 4;
const BITS_PER_BYTE = 8;
const FIRMWARE_OFFSET = 0;
const REVISION_OFFSET = 4;
const COMMAND_REVISION = 5;
/** Entries of the command queue, and bytes of each, as 2^n. */
const LOG_COMMANDS = Math.log2(COMMAND_ENTRIES);
const LOG_COMMAND_BYTES = Math.log2(COMMAND_ENTRY_SIZE);
const COMMAND_PAGE_MASK = 0xfffff000;
const INTERFACE_MASK = 0x700;
const INTERFACE_SHIFT = 8;
/** Software may reset the function by the state of the interface. */
const RESET_SUPPORTED = 2 ** 30;
/** The health counter moves once in this time, in ns: several times between two looks. */
const HEALTH_PERIOD_NS = 100_000_000;
const HEALTH_COUNTER_MASK = 0xffffff;
const EQ_NUMBER_SHIFT = 24;
const QPN_SHIFT = 8;
/** Half of a doorbell register: software uses the two in turns. */
const DOORBELL_HALF_BYTES = DOORBELL_BYTES / 2;
const EQ_INDEX_MASK = 0xffffff;

export class Mlx5Function extends UndividedFunction implements FunctionPort {
  /**
   * Doorbells for a queue that the page does not have, and stores to pages that are not in use: a
   * driver that recovers from a failure still rings for what it had before.
   */
  strayDoorbells = 0;
  readonly #hca: Hca;
  readonly #queuePairs: QueuePairs;
  readonly #commands: CommandQueue;
  readonly #completionDoorbells: CompletionDoorbells;
  /** Address of the command queue as software has written it, with the state of the interface. */
  #addressHigh = 0;
  #addressLow = 0;

  constructor(underlying: UnderlyingFunction, hca: Hca, commands: CommandQueue, queuePairs: QueuePairs) {
    super(underlying, hca);
    this.#hca = hca;
    this.#queuePairs = queuePairs;
    this.#commands = commands;
    this.#completionDoorbells = new CompletionDoorbells(hca.completionQueues);
  }

  /** Drivers read single bytes of the health buffer. */
  readRegister(offset: number, sizeBytes: number): number {
    this.underlying.dma.loans.end();
    const within = offset % DWORD_BYTES;
    this.readHigh = sizeBytes > DWORD_BYTES ? this.#load(offset + DWORD_BYTES) : 0;
    return this.#load(offset - within) >>> (within * BITS_PER_BYTE);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    const faults = this.underlying.faults.duringWrite(sizeBytes, low, high);
    if (sizeBytes < DWORD_BYTES || offset % DWORD_BYTES !== 0)
      faults.report(FaultKind.REGISTER_WIDTH, NO_OBJECT, offset);
    else if (offset >= FIRST_UAR * UAR_PAGE_BYTES) {
      if (!this.#rings(offset, sizeBytes, swapBytes(low), swapBytes(high))) this.strayDoorbells++;
    } else {
      this.underlying.dma.loans.end();
      this.#writeSegment(offset, swapBytes(low));
      if (sizeBytes > DWORD_BYTES) this.#writeSegment(offset + DWORD_BYTES, swapBytes(high));
    }
    faults.endAccess();
  }

  /** There is no second BAR that takes stores. */
  writeCollect(): void {}

  protected override resetDevice(): void {
    this.#commands.reset();
    this.#hca.reset();
    this.#completionDoorbells.reset();
    this.#addressHigh = 0;
    this.#addressLow = 0;
  }

  /** A dword in the byte order of the guest. */
  #load(offset: number): number {
    const { pending } = this.underlying.msix;
    const word = (offset - MSIX_PBA_OFFSET) / DWORD_BYTES;
    return word >= 0 && word < pending.length ? pending[word] : swapBytes(this.#read(offset));
  }

  /** Registers that are not listed read as 0: time-outs, and what drivers skip. */
  #read(offset: number): number {
    switch (offset) {
      case FIRMWARE_OFFSET:
        return FIRMWARE_MINOR * 2 ** 16 + FIRMWARE_MAJOR;
      case REVISION_OFFSET:
        return COMMAND_REVISION * 2 ** 16 + FIRMWARE_SUBMINOR;
      case COMMAND_ADDRESS_OFFSET:
        return this.#addressHigh;
      case COMMAND_ADDRESS_OFFSET + DWORD_BYTES:
        return this.#addressLow | (LOG_COMMANDS << 4) | LOG_COMMAND_BYTES;
      case COMMAND_DOORBELL_OFFSET:
        return this.#commands.waiting;
      case TIMER_OFFSET:
        return highDword(this.#hca.clock.now());
      case TIMER_OFFSET + DWORD_BYTES:
        return lowDword(this.#hca.clock.now());
      case HEALTH_COUNTER_OFFSET:
        return Math.floor(this.#hca.clock.now() / HEALTH_PERIOD_NS) & HEALTH_COUNTER_MASK;
      case INITIALIZING_OFFSET:
        return RESET_SUPPORTED;
      default:
        return offset >= HEALTH_OFFSET && offset < HEALTH_OFFSET + HEALTH_BUFFER_SIZE
          ? this.#hca.health.read(offset - HEALTH_OFFSET)
          : 0;
    }
  }

  #writeSegment(offset: number, value: number): void {
    switch (offset) {
      case COMMAND_ADDRESS_OFFSET:
        this.#addressHigh = value;
        break;
      case COMMAND_ADDRESS_OFFSET + DWORD_BYTES:
        this.#writeAddressLow(value);
        break;
      case COMMAND_DOORBELL_OFFSET:
        this.#commands.ring(value);
        break;
      default:
        this.underlying.faults.report(FaultKind.REGISTER_RESERVED, NO_OBJECT, offset);
    }
  }

  /**
   * The lower half of the address has the state of the interface, too. A driver that resets the
   * function, or that stops it at once, waits until it reads that the interface is off.
   */
  #writeAddressLow(value: number): void {
    const state = (value & INTERFACE_MASK) >>> INTERFACE_SHIFT;
    if (state !== InterfaceState.FULL_DRIVER) {
      this.reset('software');
      this.#addressLow = InterfaceState.DISABLED << INTERFACE_SHIFT;
      return;
    }
    this.#addressLow = (value & COMMAND_PAGE_MASK) >>> 0;
    this.#commands.place(joinDwords(this.#addressLow, this.#addressHigh));
  }

  /** A store to UAR pages. Returns false when it is stray. */
  #rings(offset: number, sizeBytes: number, first: number, second: number): boolean {
    const isTaken = this.#writeUar(offset, first);
    return sizeBytes > DWORD_BYTES ? this.#writeUar(offset + DWORD_BYTES, second) && isTaken : isTaken;
  }

  /** A dword for a UAR page; one that is not in use takes none. */
  #writeUar(offset: number, value: number): boolean {
    const uar = Math.floor(offset / UAR_PAGE_BYTES);
    const at = offset % UAR_PAGE_BYTES;
    if (!this.#hca.uars.has(uar)) return false;
    if (at >= DOORBELL_OFFSET) return this.#writeDoorbell(uar, at % DOORBELL_HALF_BYTES, value);
    switch (at) {
      case ARM_EQ_OFFSET:
      case EQ_CONSUMER_OFFSET:
        return this.#writeEventQueue(uar, value, at === ARM_EQ_OFFSET);
      case ARM_CQ_OFFSET:
      case ARM_CQ_OFFSET + DWORD_BYTES:
        return this.#completionDoorbells.store(uar, at - ARM_CQ_OFFSET, value);
      default:
        this.underlying.faults.report(FaultKind.REGISTER_RESERVED, NO_OBJECT, offset);
        return true;
    }
  }

  /**
   * A doorbell is the first 8 bytes of a request; the second dword has the QPN. All registers of a
   * page act alike.
   */
  #writeDoorbell(uar: number, at: number, value: number): boolean {
    return at !== DWORD_BYTES || this.#queuePairs.ring(uar, value >>> QPN_SHIFT);
  }

  /** Software has taken entries of an EQ whose UAR page it is. */
  #writeEventQueue(uar: number, value: number, arms: boolean): boolean {
    const queue = this.#hca.events.get(value >>> EQ_NUMBER_SHIFT);
    if (queue?.plan.uar !== uar) return false;
    queue.setConsumerIndex(value & EQ_INDEX_MASK);
    if (arms) queue.arm();
    return true;
  }
}
