// SPDX-License-Identifier: Apache-2.0
/**
 * Payload of one adapter that packets hold on loan: it stays in guest memory until its packet is
 * placed (docs/ARCHITECTURE.md, Decisions). The packets wait at ports of the adapter, or at
 * switches on their way. The adapter ends all of its loans, by copies, before software or a host
 * may use the memory for something else.
 */

/** Something that holds packets. */
export interface LoanHolder {
  /** Copies the payloads that this book has on loan here, and strikes them out. */
  takeLoans(book: LoanBook): void;
}

export class LoanBook {
  /** Payloads on loan. */
  count = 0;
  /** Places of payloads since there were none. */
  readonly #holders: LoanHolder[] = [];
  #used = 0;

  /** `holder` takes a payload on loan. */
  enter(holder: LoanHolder): void {
    if (this.count++ === 0) this.#used = 0;
    for (let index = 0; index < this.#used; index++) if (this.#holders[index] === holder) return;
    this.#holders[this.#used++] = holder;
  }

  /** A payload is placed, or has been copied. */
  strike(): void {
    this.count--;
  }

  /** Ends all loans. */
  end(): void {
    for (let index = 0; this.count > 0; index++) this.#holders[index].takeLoans(this);
  }
}
