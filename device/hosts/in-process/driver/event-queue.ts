// SPDX-License-Identifier: Apache-2.0
/** The driver's end of an event queue: walks entries by their sequence word and gives them back through the register. */
import { EQ_CONSUMER_SIZE, encodeEqConsumer } from '../../../../protocol/layout/gen/eq-consumer.gen.ts';
import {
  decodeEventEntry,
  type EventEntry,
  getEventEntrySequence,
  newEventEntry,
} from '../../../../protocol/layout/gen/event-entry.gen.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { QueueBuffer } from './queue-buffer.ts';

/** An event queue of the driver. */
export class DriverEventQueue {
  readonly eqn: number;
  readonly vector: number;
  readonly buffer: QueueBuffer;
  /** The primary summary byte and behind it the secondary ones, if the queue has them. */
  readonly summary: DataView | undefined;
  /** Running counts of entries taken, and of those of which the device knows. */
  consumed = 0;
  returned = 0;
  protected readonly access: HardwareAccess;
  readonly #doorbell = new DataView(new ArrayBuffer(EQ_CONSUMER_SIZE));

  constructor(access: HardwareAccess, eqn: number, vector: number, buffer: QueueBuffer, summary?: DataView) {
    this.access = access;
    this.eqn = eqn;
    this.vector = vector;
    this.buffer = buffer;
    this.summary = summary;
  }

  /** Whether the next entry is there. */
  get ready(): boolean {
    return getEventEntrySequence(this.buffer.slot(this.consumed), 0) === (this.consumed + 1) >>> 0;
  }

  /** Takes all entries there are and gives them back (unless told not to). */
  walk(giveBack = true): EventEntry[] {
    const entries: EventEntry[] = [];
    while (this.ready) {
      entries.push(decodeEventEntry(this.buffer.slot(this.consumed), 0, newEventEntry()));
      this.consumed = (this.consumed + 1) >>> 0;
    }
    if (giveBack && entries.length > 0) this.giveBack();
    return entries;
  }

  /** Waits for at least one entry and walks the queue. */
  take(what = `an event on EQ ${this.eqn}`): EventEntry[] {
    this.access.waitFor(() => this.ready, what);
    return this.walk();
  }

  /** Tells the device how far software has read. */
  giveBack(consumed = this.consumed): void {
    encodeEqConsumer(this.#doorbell, 0, { eqn: this.eqn, consumed });
    this.access.writeRegister(
      CSR.EQ_CONSUMER,
      EQ_CONSUMER_SIZE,
      this.#doorbell.getUint32(0, true),
      this.#doorbell.getUint32(4, true),
    );
    this.returned = consumed;
  }
}
