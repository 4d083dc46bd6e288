// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of a completion queue for tests: takes entries, arms the queue, and gives it a
 * new buffer.
 */
import { type Completion, decodeCompletion, newCompletion } from '../../../../protocol/mthca/gen/completion.gen.ts';
import { CQ_DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { encodeCqContext, newCqContext } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import { encodeCqDoorbell } from '../../../../protocol/mthca/gen/cq-doorbell.gen.ts';
import { encodeCqResizing, newCqResizing } from '../../../../protocol/mthca/gen/cq-resizing.gen.ts';
import { getErrorCompletionSyndrome } from '../../../../protocol/mthca/gen/error-completion.gen.ts';
import { CommandOpcode, CqDoorbellCommand } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { MthcaDriver } from './mthca-driver.ts';
import { PD } from './profile.ts';

const ENTRY_BYTES = 32;
const OWNED_BY_HARDWARE = 0x80;
const FIRST_ERROR = 0xfe;
const EQN = 2;

/** An entry as software reads it. `syndrome`: 0 when the work request succeeded. */
export interface TakenCompletion extends Completion {
  readonly syndrome: number;
}

export class MthcaDriverCompletionQueue {
  readonly number: number;
  readonly uar: number;
  entries: number;
  readonly #driver: MthcaDriver;
  readonly #record: number;
  /** Guest address of the ring. */
  address = 0;
  #consumed = 0;
  #sequence = 1;

  /** `record`: doorbell record of the consumer index. */
  constructor(driver: MthcaDriver, number: number, logEntries: number, uar: number, record: number) {
    this.#driver = driver;
    this.number = number;
    this.uar = uar;
    this.entries = 2 ** logEntries;
    this.#record = record;
    const key = this.#allocate(logEntries);
    driver.setRecord(uar, record, 0);
    const bytes = new Uint8Array(0x40);
    const context = { logEntries, completionEqn: EQN, pd: PD, uar, key, consumerRecord: record, armRecord: record + 1 };
    encodeCqContext(new DataView(bytes.buffer), 0, { ...newCqContext(), ...context });
    driver.expect(CommandOpcode.SW2HW_CQ, { input: bytes, modifier: number });
  }

  /** The entries that are valid; the device learns that they are taken. */
  take(): TakenCompletion[] {
    const found: TakenCompletion[] = [];
    for (;;) {
      const at = this.address + (this.#consumed % this.entries) * ENTRY_BYTES;
      const view = this.#driver.memory.view(at, ENTRY_BYTES);
      if (view.getUint8(ENTRY_BYTES - 1) & OWNED_BY_HARDWARE) return found;
      const entry = decodeCompletion(view, 0, newCompletion());
      const syndrome = entry.opcode >= FIRST_ERROR ? getErrorCompletionSyndrome(view, 0) : 0;
      found.push({ ...entry, syndrome });
      view.setUint8(ENTRY_BYTES - 1, OWNED_BY_HARDWARE);
      this.#consumed++;
      this.#driver.setRecord(this.uar, this.#record, this.#consumed);
    }
  }

  /** Asks for an event for the next entry. */
  arm(command: number = CqDoorbellCommand.NOTIFY): void {
    const view = new DataView(new ArrayBuffer(8));
    const sequence = this.#sequence++ & 3;
    encodeCqDoorbell(view, 0, { sequence, command, cqn: this.number, consumerIndex: this.#consumed });
    const offset = this.uar * UAR_PAGE_BYTES + CQ_DOORBELL_OFFSET;
    this.#driver.port.writeCollect(offset, 8, view.getInt32(0, true), view.getInt32(4, true));
  }

  /** Moves to another buffer, as a driver does: it copies the entries that it has not taken. */
  resize(logEntries: number): void {
    const [old, oldEntries] = [this.address, this.entries];
    const key = this.#allocate(logEntries);
    const bytes = new Uint8Array(0x40);
    encodeCqResizing(new DataView(bytes.buffer), 0, { ...newCqResizing(), key, logEntries });
    this.#driver.expect(CommandOpcode.RESIZE_CQ, { input: bytes, modifier: this.number });
    this.entries = 2 ** logEntries;
    for (let index = this.#consumed; index < this.#consumed + oldEntries; index++) {
      const from = this.#driver.bytes(old + (index % oldEntries) * ENTRY_BYTES, ENTRY_BYTES);
      if (from[ENTRY_BYTES - 1] & OWNED_BY_HARDWARE) break;
      this.#driver.bytes(this.address + (index % this.entries) * ENTRY_BYTES, ENTRY_BYTES).set(from);
    }
  }

  /** A buffer of entries that the device may write; returns its key. */
  #allocate(logEntries: number): number {
    const sizeBytes = Math.max(0x1000, ENTRY_BYTES * 2 ** logEntries);
    this.address = this.#driver.allocate(sizeBytes);
    const buffer = this.#driver.bytes(this.address, sizeBytes);
    for (let at = ENTRY_BYTES - 1; at < sizeBytes; at += ENTRY_BYTES) buffer[at] = OWNED_BY_HARDWARE;
    return this.#driver.createRegion(this.address, sizeBytes);
  }
}
