// SPDX-License-Identifier: Apache-2.0
/** Management commands of the sanitizer's driver that post an event each: they come once and in order. */
import { getManagementCommandSequence } from '../../../protocol/layout/gen/management-command.gen.ts';
import { eventTypeName, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverEventQueue } from '../../hosts/in-process/driver/event-queue.ts';
import type { AdapterFixture } from '../../test-support/adapter-fixture.ts';

const ENTRIES_LOG2 = 1;

export class ManagementEvents {
  /** A processor is at the management queue. */
  busy = false;
  readonly #fixture: AdapterFixture;
  readonly #note: (what: string, sequence: number) => void;
  readonly #events: DriverEventQueue;
  readonly #asked: number[] = [];
  #askedCount = 0;

  /** `note` adds a line to the trace for each event. */
  constructor(fixture: AdapterFixture, vector: number, note: (what: string, sequence: number) => void) {
    this.#fixture = fixture;
    this.#note = note;
    this.#events = fixture.driver.createEventQueue({ entriesLog2: ENTRIES_LOG2, vector });
  }

  /** A command that posts an event; no more of them than the event queue has room for. */
  ask(): void {
    const events = this.#events;
    if (this.busy || this.#askedCount - events.returned >= events.buffer.entries) return;
    this.busy = true;
    const { management } = this.#fixture.driver;
    const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER, notify: 1, eventQueue: events.eqn });
    this.#asked.push(getManagementCommandSequence(new DataView(bytes.buffer), 0));
    this.#askedCount++;
    management.submit(bytes, 'a query');
    this.busy = false;
  }

  check(): void {
    for (const { objectNumber, eventType } of this.#events.walk()) {
      const asked = this.#asked.shift();
      if (asked !== objectNumber)
        throw new Error(`${eventTypeName(eventType)} ${objectNumber} came, where command ${asked} was next`);
      this.#note('management event', objectNumber);
    }
  }

  /** At the end: none is owed. */
  close(): void {
    this.check();
    if (this.#asked.length > 0) throw new Error(`${this.#asked.length} management events never came`);
  }
}
