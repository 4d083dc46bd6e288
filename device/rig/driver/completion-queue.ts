// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of a completion queue: polls CQEs by their sequence word, returns them by the
 * consumer count in the record, requests events (IBTA 11.4.2; docs/PROGRAMMING.md).
 */
import {
  type CompletionEntry,
  decodeCompletionEntry,
  getCompletionEntrySequence,
  newCompletionEntry,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  COMPLETION_QUEUE_RECORD_SIZE,
  setCompletionQueueRecordConsumed,
} from '../../../protocol/layout/gen/completion-queue-record.gen.ts';
import { NOTIFY_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import { CQ_NOTIFY_SIZE, encodeCqNotify } from '../../../protocol/layout/gen/cq-notify.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { DriverQueueBuffer } from './queue-buffer.ts';

/** A request for an event. */
interface NotifyRequest {
  readonly solicitedOnly?: boolean;
  readonly clearPending?: boolean;
  /** Only clears EQ pending. */
  readonly clearOnly?: boolean;
  /** Byte offset of the collect page to write to; the register is used without it. */
  readonly page?: number;
  /** Consumer count in place of the real one. */
  readonly consumed?: number;
}

/** A completion queue. */
export class DriverCompletionQueue {
  readonly cqn: number;
  /** Replaced by a resize. */
  buffer: DriverQueueBuffer;
  readonly recordAddress: number;
  /** Running counts: CQEs taken, and CQEs returned to the device. */
  consumed = 0;
  returned = 0;
  readonly #access: HardwareAccess;
  readonly #doorbell = new DataView(new ArrayBuffer(CQ_NOTIFY_SIZE));

  constructor(access: HardwareAccess, cqn: number, buffer: DriverQueueBuffer, recordAddress: number) {
    this.#access = access;
    this.cqn = cqn;
    this.buffer = buffer;
    this.recordAddress = recordAddress;
  }

  /** The next CQE is valid. */
  get ready(): boolean {
    return getCompletionEntrySequence(this.buffer.slot(this.consumed), 0) === (this.consumed + 1) >>> 0;
  }

  /** Takes the next CQE; undefined if there is none. `giveBack` false does not return it. */
  poll(giveBack = true): CompletionEntry | undefined {
    if (!this.ready) return undefined;
    const entry = decodeCompletionEntry(this.buffer.slot(this.consumed), 0, newCompletionEntry());
    this.consumed = (this.consumed + 1) >>> 0;
    if (giveBack) this.giveBack();
    return entry;
  }

  /** Takes all valid CQEs. */
  drain(): CompletionEntry[] {
    const entries: CompletionEntry[] = [];
    for (let entry = this.poll(); entry !== undefined; entry = this.poll()) entries.push(entry);
    return entries;
  }

  /** Waits for one CQE and takes it. */
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

  /** Requests one event. */
  notify(request: NotifyRequest = {}): void {
    encodeCqNotify(this.#doorbell, 0, {
      cqn: this.cqn,
      solicitedOnly: Number(request.solicitedOnly ?? false),
      clearPending: Number(request.clearPending ?? true),
      clearOnly: Number(request.clearOnly ?? false),
      consumed: request.consumed ?? this.consumed,
    });
    const low = this.#doorbell.getUint32(0, true);
    const high = this.#doorbell.getUint32(4, true);
    if (request.page === undefined) this.#access.writeRegister(CSR.CQ_NOTIFY, 8, low, high);
    else this.#access.writeCollect(request.page + NOTIFY_OFFSET, 8, low, high);
  }
}
