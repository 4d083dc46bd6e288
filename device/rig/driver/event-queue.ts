// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of an event queue: reads EQEs by their sequence word, and returns them by the
 * consumer register (docs/PROGRAMMING.md).
 */
import { EQ_CONSUMER_SIZE, encodeEqConsumer } from '../../../protocol/layout/gen/eq-consumer.gen.ts';
import {
  decodeEventEntry,
  type EventEntry,
  getEventEntrySequence,
  newEventEntry,
} from '../../../protocol/layout/gen/event-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import type { HardwareAccess } from './hardware-access.ts';
import type { DriverQueueBuffer } from './queue-buffer.ts';

/** An event queue. */
export class DriverEventQueue {
  readonly eqn: number;
  readonly vector: number;
  readonly buffer: DriverQueueBuffer;
  /** Primary summary byte and behind it the secondary ones; undefined if it has none. */
  readonly summary: DataView | undefined;
  /** Running counts: EQEs taken, and EQEs returned to the device. */
  consumed = 0;
  returned = 0;
  protected readonly access: HardwareAccess;
  readonly #doorbell = new DataView(new ArrayBuffer(EQ_CONSUMER_SIZE));

  constructor(access: HardwareAccess, eqn: number, vector: number, buffer: DriverQueueBuffer, summary?: DataView) {
    this.access = access;
    this.eqn = eqn;
    this.vector = vector;
    this.buffer = buffer;
    this.summary = summary;
  }

  /** The next EQE is valid. */
  get ready(): boolean {
    return getEventEntrySequence(this.buffer.slot(this.consumed), 0) === (this.consumed + 1) >>> 0;
  }

  /** Takes all valid EQEs; returns them to the device unless `giveBack` is false. */
  walk(giveBack = true): EventEntry[] {
    const entries: EventEntry[] = [];
    while (this.ready) {
      entries.push(decodeEventEntry(this.buffer.slot(this.consumed), 0, newEventEntry()));
      this.consumed = (this.consumed + 1) >>> 0;
    }
    if (giveBack && entries.length > 0) this.giveBack();
    return entries;
  }

  /** Waits for at least one EQE and takes all. */
  take(what = `an event on EQ ${this.eqn}`): EventEntry[] {
    this.access.waitFor(() => this.ready, what);
    return this.walk();
  }

  /** Writes the consumer count to the device. */
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
