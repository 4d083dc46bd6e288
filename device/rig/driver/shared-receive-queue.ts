// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of a shared receive queue (IBTA 10.2.9): fills slots, advances the tail, sets
 * the limit. Created by `Driver`.
 */
import {
  encodeReceiveEntry,
  RECEIVE_ENTRY_SEQUENCE_MASK,
  RECEIVE_ENTRY_SIZE,
  type ReceiveEntry,
} from '../../../protocol/layout/gen/receive-entry.gen.ts';
import { encodeSge, SGE_SIZE, type Sge } from '../../../protocol/layout/gen/sge.gen.ts';
import { SRQ_RECORD_SIZE, setSrqRecordTail } from '../../../protocol/layout/gen/srq-record.gen.ts';
import { ManagementOpcode, ManagementStatus, SrqMask } from '../../../protocol/layout/gen/values.gen.ts';
import type { GuestAllocator } from './guest-allocator.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { ManagementChannel, ManagementResult } from './management-channel.ts';
import { srqPayload } from './payloads.ts';
import { DriverQueueBuffer } from './queue-buffer.ts';
import { memoryOf } from './queue-fields.ts';

/** Writes a receive WQE into the slot of entry `number`. */
export function fillReceiveSlot(
  buffer: DriverQueueBuffer,
  number: number,
  sges: readonly Sge[],
  entry: Partial<ReceiveEntry> = {},
): void {
  const slot = buffer.slot(number);
  encodeReceiveEntry(slot, 0, { sgeCount: sges.length, sequence: number, ...entry });
  sges.forEach((sge, index) => {
    encodeSge(slot, RECEIVE_ENTRY_SIZE + index * SGE_SIZE, sge);
  });
}

/** A shared receive queue. */
export class DriverSharedReceiveQueue {
  readonly srqn: number;
  tail = 0;
  readonly #access: HardwareAccess;
  readonly #management: ManagementChannel;
  /** The slots; a resize replaces them. */
  buffer: DriverQueueBuffer;
  readonly #recordAddress: number;

  constructor(
    access: HardwareAccess,
    management: ManagementChannel,
    srqn: number,
    buffer: DriverQueueBuffer,
    recordAddress: number,
  ) {
    this.#access = access;
    this.#management = management;
    this.srqn = srqn;
    this.buffer = buffer;
    this.#recordAddress = recordAddress;
  }

  postReceive(sges: readonly Sge[], entry: Partial<ReceiveEntry> = {}): void {
    fillReceiveSlot(this.buffer, this.tail, sges, entry);
    this.tail = (this.tail + 1) & RECEIVE_ENTRY_SEQUENCE_MASK;
    setSrqRecordTail(this.#access.view(this.#recordAddress, SRQ_RECORD_SIZE), 0, this.tail);
  }

  /** Moves to a ring of another size, with the WQEs that are posted. */
  resize(allocator: GuestAllocator, entriesLog2: number): ManagementResult {
    const { strideLog2, paged } = this.buffer;
    const buffer = DriverQueueBuffer.allocate(this.#access, allocator, entriesLog2, strideLog2, paged);
    const payload = srqPayload({ ...memoryOf(buffer), attributeMask: SrqMask.RESIZE });
    const result = this.#management.execute({ opcode: ManagementOpcode.MODIFY_SRQ, objectNumber: this.srqn, payload });
    if (result.status === ManagementStatus.OK) this.buffer = buffer;
    return result;
  }

  /** Sets the limit below which the device posts one event; 0: none. */
  setLimit(limit: number): void {
    const payload = srqPayload({ attributeMask: SrqMask.LIMIT, limit });
    this.#management.perform({ opcode: ManagementOpcode.MODIFY_SRQ, objectNumber: this.srqn, payload });
  }

  destroy(): void {
    this.#management.perform({ opcode: ManagementOpcode.DESTROY_SRQ, objectNumber: this.srqn });
  }
}
