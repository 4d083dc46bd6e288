// SPDX-License-Identifier: Apache-2.0
/**
 * A shared receive queue (IBTA 10.2.9): entries for all QPs that name it, and an event when few are
 * left. Commands give it to the HCA, arm it and query it; the transport takes its entries.
 */
import { FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { encodeSrqContext, type SrqContext } from '../../../../protocol/mthca/gen/srq-context.gen.ts';
import { ContextStatus, EventKind } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { SharedReceiveSource } from '../../../hca/queues/receive-source.ts';
import { SharedReceiveRing } from '../../shared/shared-receive-ring.ts';
import type { DoorbellRecords } from '../memory/doorbell-records.ts';
import type { MemoryRegions } from '../memory/memory-regions.ts';
import { QueueBuffer, REQUEST_UNIT_BYTES } from '../memory/queue-buffer.ts';
import { receiveFormat } from './receive-segments.ts';

/** Parts of the device that an SRQ needs. */
interface SharedReceiveParts {
  readonly regions: MemoryRegions;
  readonly records: DoorbellRecords;
  /** Reports an event of the SRQ. */
  postEvent(kind: EventKind, srqn: number): void;
}

export class MthcaSharedReceiveQueue implements FaultSubject, SharedReceiveSource {
  readonly number: number;
  readonly faultObject = FaultObject.SRQ;
  readonly context: SrqContext;
  readonly ring: SharedReceiveRing;
  /** QPs that receive from it. */
  references = 0;
  readonly #parts: SharedReceiveParts;

  /** Takes over the context, which is checked. */
  constructor(number: number, context: Readonly<SrqContext>, parts: SharedReceiveParts) {
    this.number = number;
    this.context = { ...context, srqn: number, state: ContextStatus.OK, limit: 0, counter: 0, entryCount: 0 };
    this.#parts = parts;
    const { key, pd, base, logEntries, stride, uar, record } = context;
    const place = {
      memory: new QueueBuffer(parts.regions, key, pd, base),
      offset: 0,
      entries: 2 ** logEntries,
      strideBytes: REQUEST_UNIT_BYTES * 2 ** stride,
      counter: parts.records.counterAt(uar, record),
    };
    this.ring = new SharedReceiveRing(place, receiveFormat, () => this.#fail());
  }

  /** Sets the limit; 0 disarms it. An event that is due already comes at once. */
  arm(limit: number): void {
    this.context.limit = limit;
    this.checkLimit();
  }

  checkLimit(): void {
    if (!this.ring.isBelow(this.context.limit, this)) return;
    this.context.limit = 0;
    this.#parts.postEvent(EventKind.SRQ_LIMIT, this.number);
  }

  /** Writes the context as a query shows it. */
  encode(view: DataView): void {
    const { ring } = this;
    ring.refresh(this);
    encodeSrqContext(view, 0, { ...this.context, entryCount: ring.known, counter: ring.taken });
  }

  #fail(): void {
    this.context.state = ContextStatus.WRITE_FAILURE;
    this.#parts.postEvent(EventKind.SRQ_FATAL, this.number);
  }
}
