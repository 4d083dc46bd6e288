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
} from '../../../../protocol/layout/gen/receive-entry.gen.ts';
import { encodeSge, SGE_SIZE, type Sge } from '../../../../protocol/layout/gen/sge.gen.ts';
import {
  encodeSrqAttributes,
  newSrqAttributes,
  SRQ_ATTRIBUTES_SIZE,
} from '../../../../protocol/layout/gen/srq-attributes.gen.ts';
import { SRQ_RECORD_SIZE, setSrqRecordTail } from '../../../../protocol/layout/gen/srq-record.gen.ts';
import { ManagementOpcode, SrqMask } from '../../../../protocol/layout/gen/values.gen.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { ManagementChannel } from './management-channel.ts';
import type { QueueBuffer } from './queue-buffer.ts';

/** Writes a receive WQE into the slot of entry `number`. */
export function fillReceiveSlot(
  buffer: QueueBuffer,
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
  readonly #buffer: QueueBuffer;
  readonly #recordAddress: number;

  constructor(
    access: HardwareAccess,
    management: ManagementChannel,
    srqn: number,
    buffer: QueueBuffer,
    recordAddress: number,
  ) {
    this.#access = access;
    this.#management = management;
    this.srqn = srqn;
    this.#buffer = buffer;
    this.#recordAddress = recordAddress;
  }

  postReceive(sges: readonly Sge[], entry: Partial<ReceiveEntry> = {}): void {
    fillReceiveSlot(this.#buffer, this.tail, sges, entry);
    this.tail = (this.tail + 1) & RECEIVE_ENTRY_SEQUENCE_MASK;
    setSrqRecordTail(this.#access.view(this.#recordAddress, SRQ_RECORD_SIZE), 0, this.tail);
  }

  /** Sets the limit below which the device posts one event; 0: none. */
  setLimit(limit: number): void {
    const payload = new Uint8Array(SRQ_ATTRIBUTES_SIZE);
    encodeSrqAttributes(new DataView(payload.buffer), 0, {
      ...newSrqAttributes(),
      attributeMask: SrqMask.LIMIT,
      limit,
    });
    this.#management.perform({ opcode: ManagementOpcode.MODIFY_SRQ, objectNumber: this.srqn, payload });
  }

  destroy(): void {
    this.#management.perform({ opcode: ManagementOpcode.DESTROY_SRQ, objectNumber: this.srqn });
  }
}
