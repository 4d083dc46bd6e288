// SPDX-License-Identifier: Apache-2.0
/**
 * MSI-X vectors of one function. Units request vectors; they are sent once per pass, after every memory write of the pass has landed. A vector
 * the host cannot send now (masked, MSI-X off, bus master off) stays pending and shows in the pending bit array.
 */
import { VECTOR_COUNT } from '../../protocol/layout/gen/constants.gen.ts';
import type { HostPort } from '../host.ts';
import { Step, type Timeline } from '../observe/trace/timeline.ts';

export class MsixVectors {
  /** Pending bit array, as the guest reads it. */
  readonly pending = new Uint32Array(VECTOR_COUNT / 32);
  /** Messages sent, per vector. */
  readonly sent = new Uint32Array(VECTOR_COUNT);
  /** Set while the host wants to know. */
  timeline: Timeline | undefined = undefined;
  readonly #host: HostPort;
  readonly #functionNumber: number;
  #busMaster = false;

  constructor(host: HostPort, functionNumber: number) {
    this.#host = host;
    this.#functionNumber = functionNumber;
  }

  /** Asks for the vector's message; repeated requests before it is sent are one. */
  request(vector: number): void {
    this.pending[vector >>> 5] |= 1 << (vector & 31);
  }

  /** Sends what can be sent. */
  flush(): void {
    if (!this.#busMaster) return;
    for (let word = 0; word < this.pending.length; word++) {
      if (this.pending[word] === 0) continue;
      for (let bit = 0; bit < 32; bit++) if ((this.pending[word] >>> bit) & 1) this.#send(word, bit);
    }
  }

  /** A message is a memory write of the function: without bus mastering it waits. */
  setBusMaster(on: boolean): void {
    this.#busMaster = on;
  }

  reset(): void {
    this.pending.fill(0);
  }

  #send(word: number, bit: number): void {
    const vector = word * 32 + bit;
    if (!this.#host.raiseVector(vector)) return;
    this.pending[word] &= ~(1 << bit);
    this.sent[vector]++;
    this.timeline?.note(Step.INTERRUPT, this.#functionNumber, vector);
  }
}
