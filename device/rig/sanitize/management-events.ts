// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands of the sanitizer's driver, each of which posts an event. Checks that the
 * events arrive once and in order. Called by `SystemUnderTest`.
 */
import { getManagementCommandSequence } from '../../../protocol/layout/gen/management-command.gen.ts';
import { eventTypeName, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverEventQueue } from '../driver/event-queue.ts';
import type { AdapterFixture } from '../fixtures/adapter-fixture.ts';

const ENTRIES_LOG2 = 1;

/** The commands and their event queue. */
export class ManagementEvents {
  /** A processor is using the management channel. */
  busy = false;
  readonly #fixture: AdapterFixture;
  readonly #note: (what: string, sequence: number) => void;
  readonly #events: DriverEventQueue;
  readonly #requested: number[] = [];
  #requestCount = 0;

  /** `note` adds a line to the trace for each event. */
  constructor(fixture: AdapterFixture, vector: number, note: (what: string, sequence: number) => void) {
    this.#fixture = fixture;
    this.#note = note;
    this.#events = fixture.driver.createEventQueue({ entriesLog2: ENTRIES_LOG2, vector });
  }

  /** Submits a command that posts an event, if the event queue has room for it. */
  request(): void {
    const events = this.#events;
    if (this.busy || this.#requestCount - events.returned >= events.buffer.entries) return;
    this.busy = true;
    const { management } = this.#fixture.driver;
    const bytes = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER, notify: 1, eventQueue: events.eqn });
    this.#requested.push(getManagementCommandSequence(new DataView(bytes.buffer), 0));
    this.#requestCount++;
    management.submit(bytes, 'a query');
    this.busy = false;
  }

  /** Takes the events and checks their order. */
  check(): void {
    for (const { objectNumber, eventType } of this.#events.walk()) {
      const requested = this.#requested.shift();
      if (requested !== objectNumber)
        throw new Error(`${eventTypeName(eventType)} ${objectNumber} came, where command ${requested} was next`);
      this.#note('management event', objectNumber);
    }
  }

  /** At the end of the run: checks that no event is missing. */
  close(): void {
    this.check();
    if (this.#requested.length > 0) throw new Error(`${this.#requested.length} management events never came`);
  }
}
