// SPDX-License-Identifier: Apache-2.0
/**
 * Weighted turns of the inputs of a switch at one port of exit (start-time fair queueing; Goyal,
 * Vin, Cheng, 1996; docs/FABRIC.md). Each account has bytes served, divided by its weight. Of the
 * inputs that wait, the one with the smallest account is next. An adapter gives such turns to the
 * uplink of its embedded switch. Output queues ask, input gates charge.
 */

/** Whose account pays for an input port, and the weights of the accounts. */
export interface InputWeights {
  /** Several ports may share an account. */
  accountOf(inputPort: number): number;
  weightOf(account: number): number;
}

/**
 * The most by which an account may be behind the one served last: an output queue of the longest
 * packets. An input catches up on turns that it missed between two passes. It saves up none while
 * it is idle.
 */
const LAG_BYTES = 16 * 4300;

export class InputTurns {
  readonly #weights: InputWeights;
  readonly #served: Float64Array;
  #clock = 0;

  constructor(weights: InputWeights, accounts: number) {
    this.#weights = weights;
    this.#served = new Float64Array(accounts);
  }

  /** True when the first input port has had less service than the second one. */
  isBehind(first: number, second: number): boolean {
    return this.#served[this.#catchUp(first)] < this.#served[this.#catchUp(second)];
  }

  /** Charges an input port for a packet. */
  charge(inputPort: number, lengthBytes: number): void {
    const account = this.#catchUp(inputPort);
    if (this.#served[account] > this.#clock) this.#clock = this.#served[account];
    this.#served[account] += lengthBytes / this.#weights.weightOf(account);
  }

  /** Raises the account of an input port to its minimum; returns its number. */
  #catchUp(inputPort: number): number {
    const account = this.#weights.accountOf(inputPort);
    const least = this.#clock - LAG_BYTES;
    if (this.#served[account] < least) this.#served[account] = least;
    return account;
  }
}
