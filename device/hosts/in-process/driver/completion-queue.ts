// SPDX-License-Identifier: Apache-2.0
/** The driver's end of a completion queue: polls entries by their sequence word, gives them back in the record, asks for events. */
import {
  type CompletionEntry,
  decodeCompletionEntry,
  getCompletionEntrySequence,
  newCompletionEntry,
} from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  COMPLETION_QUEUE_RECORD_SIZE,
  setCompletionQueueRecordConsumed,
} from '../../../../protocol/layout/gen/completion-queue-record.gen.ts';
import { NOTIFY_OFFSET } from '../../../../protocol/layout/gen/constants.gen.ts';
import { CQ_NOTIFY_SIZE, encodeCqNotify } from '../../../../protocol/layout/gen/cq-notify.gen.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { QueueBuffer } from './queue-buffer.ts';

/** How a notification is asked for. */
export interface NotifyRequest {
  readonly solicitedOnly?: boolean;
  readonly clearPending?: boolean;
  /** Collect page to write to; without it the register is used. */
  readonly page?: number;
  /** Consumer count to give instead of the real one. */
  readonly consumed?: number;
}

/** A completion queue of the driver. */
export class DriverCompletionQueue {
  readonly cqn: number;
  /** Another one after a resize. */
  buffer: QueueBuffer;
  readonly recordAddress: number;
  /** Running counts of entries taken, and of those of which the device can know. */
  consumed = 0;
  returned = 0;
  readonly #access: HardwareAccess;
  readonly #doorbell = new DataView(new ArrayBuffer(CQ_NOTIFY_SIZE));

  constructor(access: HardwareAccess, cqn: number, buffer: QueueBuffer, recordAddress: number) {
    this.#access = access;
    this.cqn = cqn;
    this.buffer = buffer;
    this.recordAddress = recordAddress;
  }

  /** Whether the next entry is there. */
  get ready(): boolean {
    return getCompletionEntrySequence(this.buffer.slot(this.consumed), 0) === (this.consumed + 1) >>> 0;
  }

  /** Takes the next entry, or undefined. `giveBack` false leaves the device thinking the entry is still in use. */
  poll(giveBack = true): CompletionEntry | undefined {
    if (!this.ready) return undefined;
    const entry = decodeCompletionEntry(this.buffer.slot(this.consumed), 0, newCompletionEntry());
    this.consumed = (this.consumed + 1) >>> 0;
    if (giveBack) this.giveBack();
    return entry;
  }

  /** Takes all entries there are. */
  drain(): CompletionEntry[] {
    const entries: CompletionEntry[] = [];
    for (let entry = this.poll(); entry !== undefined; entry = this.poll()) entries.push(entry);
    return entries;
  }

  /** Waits for one entry and takes it. */
  take(what = `a completion on CQ ${this.cqn}`): CompletionEntry {
    this.#access.waitFor(() => this.ready, what);
    return this.poll() as CompletionEntry;
  }

  /** Writes the consumer count into the record. */
  giveBack(): void {
    const record = this.#access.view(this.recordAddress, COMPLETION_QUEUE_RECORD_SIZE);
    setCompletionQueueRecordConsumed(record, 0, this.consumed);
    this.returned = this.consumed;
  }

  /** Asks for one event. */
  notify(request: NotifyRequest = {}): void {
    encodeCqNotify(this.#doorbell, 0, {
      cqn: this.cqn,
      solicitedOnly: Number(request.solicitedOnly ?? false),
      clearPending: Number(request.clearPending ?? true),
      consumed: request.consumed ?? this.consumed,
    });
    const low = this.#doorbell.getUint32(0, true);
    const high = this.#doorbell.getUint32(4, true);
    if (request.page === undefined) this.#access.writeRegister(CSR.CQ_NOTIFY, 8, low, high);
    else this.#access.writeCollect(request.page + NOTIFY_OFFSET, 8, low, high);
  }
}
