// SPDX-License-Identifier: Apache-2.0
/**
 * Place of the payload of the packet that arrives: in its ring, or still in the memory of its
 * sender, on loan. Responder and completer copy it from there to the memory of their guest.
 */
import type { WordBlock } from '../../host.ts';
import type { PacketRing } from './packet-ring.ts';

const NO_LOAN = new Uint8Array(0);

export class ArrivedPayload {
  block: WordBlock;
  /** Offset of the payload in the block. */
  offset = 0;
  readonly #loan: { bytes: Uint8Array; readonly words: Int32Array } = { bytes: NO_LOAN, words: new Int32Array(0) };

  constructor() {
    this.block = this.#loan;
  }

  /** Finds the payload of the oldest packet of `ring`, at `offset` unless it is on loan. */
  locate(ring: PacketRing, offset: number): this {
    const loan = ring.viewOldestLoan();
    this.#loan.bytes = loan ?? NO_LOAN;
    this.block = loan === undefined ? ring : this.#loan;
    this.offset = loan === undefined ? offset : 0;
    return this;
  }
}
