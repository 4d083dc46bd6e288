// SPDX-License-Identifier: Apache-2.0
/**
 * Planted bugs in a driver's handling of completions and events; `planted-bugs.ts` describes each.
 * docs/HAZARDS.md has the rules that they break (hazards 27 to 30, 34 and 35).
 */
import {
  type CompletionEntry,
  decodeCompletionEntry,
  newCompletionEntry,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { decodeEventEntry, type EventEntry, newEventEntry } from '../../../protocol/layout/gen/event-entry.gen.ts';
import { DriverCompletionQueue } from '../driver/completion-queue.ts';
import { EventPoller } from '../driver/event-poller.ts';
import { DriverEventQueue } from '../driver/event-queue.ts';
import { OutstandingWork } from '../driver/outstanding-work.ts';

/** A consumer count ahead of any producer count: the device finds no missed completion. */
const AHEAD = 0x4000_0000;

/** `body-before-sequence`. */
export class BodyFirstQueue extends DriverCompletionQueue {
  override poll(): CompletionEntry | undefined {
    const entry = decodeCompletionEntry(this.buffer.slot(this.consumed), 0, newCompletionEntry());
    if (!this.ready) return undefined;
    this.consumed = (this.consumed + 1) >>> 0;
    this.giveBack();
    return entry;
  }
}

/** `cq-consumer-early`. */
export class EarlyConsumerQueue extends DriverCompletionQueue {
  override poll(): CompletionEntry | undefined {
    if (!this.ready) return undefined;
    const slot = this.buffer.slot(this.consumed);
    this.consumed = (this.consumed + 1) >>> 0;
    this.giveBack();
    return decodeCompletionEntry(slot, 0, newCompletionEntry());
  }
}

/** `eq-consumer-early`. */
export class EarlyConsumerEvents extends DriverEventQueue {
  override walk(): EventEntry[] {
    const slots: DataView[] = [];
    while (this.ready) {
      slots.push(this.buffer.slot(this.consumed));
      this.consumed = (this.consumed + 1) >>> 0;
    }
    if (slots.length > 0) this.giveBack();
    return slots.map((slot) => decodeEventEntry(slot, 0, newEventEntry()));
  }
}

/** `no-recheck-after-arm`. */
export class NoRecheckPoller extends EventPoller {
  protected override handle(queue: DriverCompletionQueue): void {
    this.take(queue);
    queue.notify({ consumed: (queue.consumed + AHEAD) >>> 0 });
  }
}

/**
 * `pending-cleared-late`. It arms, then polls again, which would suffice; but a completion before
 * EQ pending is cleared posts no event.
 */
export class LateClearPoller extends EventPoller {
  protected override handle(queue: DriverCompletionQueue): void {
    const consumed = (queue.consumed + AHEAD) >>> 0;
    queue.notify({ clearPending: false, consumed });
    this.take(queue);
    queue.notify({ consumed });
  }
}

/** `primary-after-scan`. */
export class PrimaryLastPoller extends EventPoller {
  override poll(): number {
    const summary = this.events.summary as DataView;
    if (summary.getUint8(0) === 0) return 0;
    for (let index = 1; index < summary.byteLength; index++) summary.setUint8(index, 0);
    const served = this.serve();
    summary.setUint8(0, 0);
    return served;
  }
}

/** `secondary-after-scan`. It reads the event queue only when a CQ's summary byte is set. */
export class SecondaryLastPoller extends EventPoller {
  override poll(): number {
    const summary = this.events.summary as DataView;
    if (summary.getUint8(0) === 0) return 0;
    summary.setUint8(0, 0);
    let isSet = false;
    for (let index = 1; index < summary.byteLength; index++) isSet ||= summary.getUint8(index) !== 0;
    const served = isSet ? this.serve() : 0;
    for (let index = 1; index < summary.byteLength; index++) summary.setUint8(index, 0);
    return served;
  }
}

/** `no-deadman`. */
export class NoDeadmanPoller extends EventPoller {
  override deadman(): number {
    return 0;
  }
}

/** `stale-event`. */
export class TrustingPoller extends EventPoller {
  override forget(): void {}
}

/** `matched-by-order`. */
export class OrderedWork<T> extends OutstandingWork<T> {
  override take(): T | undefined {
    const [first] = this.work;
    if (first === undefined) return undefined;
    this.work.delete(first[0]);
    return first[1];
  }
}
