// SPDX-License-Identifier: Apache-2.0
/**
 * Posted writes of one function on their way from the bus (US 9,069,485 par. 67, 74, 84;
 * docs/DOCUMENTS.md decision 31): to the units, or behind those that a blocked bus holds. By the
 * model `pcie` a write that cannot be taken blocks every access behind it. The PCIe function calls
 * it.
 */
import { DOORBELL_OFFSET, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import type { DoorbellUnit } from '../scheduler/doorbell-unit.ts';
import type { CollectWrite } from '../scheduler/held-writes.ts';

/** Stands for the offset of a held write to SEND_DOORBELL. */
export const HELD_DOORBELL = -1;

export class PostedBus {
  readonly #doorbells: DoorbellUnit;
  /** The model is `pcie`. */
  readonly #isStrict: boolean;
  readonly #take: CollectWrite;

  constructor(doorbells: DoorbellUnit, isStrict: boolean, take: CollectWrite) {
    this.#doorbells = doorbells;
    this.#isStrict = isStrict;
    this.#take = take;
  }

  /** False while a posted write blocks all that is behind it, reads too. */
  get takesAccess(): boolean {
    const { stalled, held, inbound } = this.#doorbells;
    return !this.#isStrict || (!stalled && held.count === 0 && inbound.takesPosted);
  }

  /**
   * Carries a write to the collect BAR. An explicit doorbell has its own place on the open bus. A
   * host makes writes although the bus is blocked when one message has several, or when it has
   * waited too long.
   */
  write(offset: number, sizeBytes: number, low: number, high: number): void {
    const { held, stalled } = this.#doorbells;
    const isBlocked = this.#isStrict
      ? !this.takesAccess
      : (held.count > 0 || stalled) && offset % PAGE_BYTES !== DOORBELL_OFFSET;
    if (isBlocked) this.hold(offset, sizeBytes, low, high);
    else this.#take(offset, sizeBytes, low, high);
  }

  /** Holds a write behind all that waits on the bus. */
  hold(offset: number, sizeBytes: number, low: number, high: number): void {
    const { held, inbound } = this.#doorbells;
    if (!held.hold(inbound.arrived, offset, sizeBytes, low, high)) this.#doorbells.lose();
  }
}
