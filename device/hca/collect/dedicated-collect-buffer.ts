// SPDX-License-Identifier: Apache-2.0
/**
 * A dedicated collect buffer of one function: it takes management commands, one at a time, while
 * software holds its lock (US 8,484,392 par. 49, 87-90). It is no buffer of the pool, so no send
 * command can occupy it. The collect unit passes it the stores to its page.
 */
import { CANCEL_OFFSET, DATA_BYTES, KICK_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultLog } from '../function/fault-log.ts';
import { isCancel } from './geometry.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';

export class DedicatedCollectBuffer {
  /** Software holds the lock. */
  locked = false;
  readonly #buffer = new PhysicalCollectBuffer(0);
  readonly #faults: FaultLog;
  readonly #kick: (buffer: DedicatedCollectBuffer) => void;

  /** `kick`: called with a complete command. The buffer takes no other one until `release`. */
  constructor(faults: FaultLog, kick: (buffer: DedicatedCollectBuffer) => void) {
    this.#faults = faults;
    this.#kick = kick;
  }

  /** FREE, COLLECTING, or KICKED while its command waits or is executed. */
  get state(): PcbState {
    return this.#buffer.state;
  }

  /** The bytes of the command. */
  get view(): DataView {
    return this.#buffer.view;
  }

  /** Length of the command, once its first 8 bytes are there. */
  get collectLength(): number {
    return this.#buffer.collectLength;
  }

  /** Drops the command and releases the lock. */
  reset(): void {
    this.locked = false;
    this.release();
  }

  /** Frees the buffer for the next command. */
  release(): void {
    this.#buffer.state = PcbState.FREE;
  }

  /** Takes an aligned store at `inPage` of `page`, which is at `offset` of the BAR. */
  write(page: number, inPage: number, offset: number, sizeBytes: number, low: number, high: number): void {
    const buffer = this.#buffer;
    if (inPage === CANCEL_OFFSET && sizeBytes === 8 && isCancel(high)) {
      if (buffer.state === PcbState.COLLECTING) this.release();
      return;
    }
    if (inPage === KICK_OFFSET && sizeBytes === 8 && buffer.state <= PcbState.COLLECTING) return this.#kickExplicitly();
    // The buffer of an executing command accepts no other one: software holds the lock until the
    // response.
    if (inPage >= DATA_BYTES || buffer.state > PcbState.COLLECTING)
      return this.#faults.reportPage(FaultKind.COLLECT_RESERVED, page, offset);
    if (buffer.state === PcbState.FREE) buffer.open();
    buffer.store(inPage, sizeBytes, low, high);
    if (!buffer.lengthKnown) return;
    if (!buffer.lengthValid) {
      this.#faults.reportPage(FaultKind.COLLECT_BAD_LENGTH, page, buffer.collectLength);
      this.release();
    } else if (buffer.whole) this.#kickNow();
  }

  /** As in the other pages: bytes that have not arrived are 0, and the checksum judges. */
  #kickExplicitly(): void {
    if (this.#buffer.state === PcbState.FREE) return;
    if (!this.#buffer.identified) return this.release();
    this.#buffer.clearMissing();
    this.#kickNow();
  }

  #kickNow(): void {
    this.#buffer.state = PcbState.KICKED;
    this.#kick(this);
  }
}
