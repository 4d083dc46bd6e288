// SPDX-License-Identifier: Apache-2.0
/**
 * MSI-X vectors of one function. Units request vectors; the adapter sends them once per pass, after
 * every memory write of the pass (IPCOM000126453D par. 3), or each at once. A vector that the host
 * cannot send now (masked, MSI-X off, bus master off) stays pending and shows in the pending bit
 * array.
 */
import { VECTOR_COUNT } from '../../../protocol/layout/gen/constants.gen.ts';
import type { HostPort } from '../../host.ts';
import { Step, type TimelineOwner } from './timeline.ts';
import { InterruptWait } from './timeline-values.ts';

/** Takes note that a vector waits to be sent: `MsixVectors.flush` then has work. */
export interface VectorNotes {
  noteVector(): void;
}

export class MsixVectors {
  /** Pending bit array in the form that the guest reads. */
  readonly pending = new Uint32Array(VECTOR_COUNT / 32);
  /** Messages sent, per vector. */
  readonly sent = new Uint32Array(VECTOR_COUNT);
  readonly #host: HostPort;
  readonly #owner: TimelineOwner;
  readonly #notes: VectorNotes;
  #busMaster = false;
  /** Pending vectors whose wait the timeline has. */
  readonly #noted = new Uint32Array(VECTOR_COUNT / 32);
  /** Each request is a message of its own, sent at once; for comparisons. */
  separate = false;

  constructor(host: HostPort, owner: TimelineOwner, notes: VectorNotes) {
    this.#host = host;
    this.#owner = owner;
    this.#notes = notes;
  }

  /** Requests the message of a vector. Repeated requests before it is sent count as one. */
  request(vector: number): void {
    this.pending[vector >>> 5] |= 1 << (vector & 31);
    this.#noted[vector >>> 5] &= ~(1 << (vector & 31));
    if (this.separate && this.#busMaster) this.#send(vector >>> 5, vector & 31);
    this.#notes.noteVector();
  }

  /** Sends the pending vectors that the host accepts. Returns true when some stay pending. */
  flush(): boolean {
    let left = 0;
    for (let word = 0; word < this.pending.length; word++) {
      if (this.pending[word] === 0) continue;
      if (this.#busMaster)
        for (let bit = 0; bit < 32; bit++) if ((this.pending[word] >>> bit) & 1) this.#send(word, bit);
      left |= this.pending[word];
      if (this.#owner.timeline !== undefined) this.#noteWaits(word);
    }
    return left !== 0;
  }

  /** Notes once for each request that it cannot be sent yet. */
  #noteWaits(word: number): void {
    const owner = this.#owner;
    const reason = this.#busMaster ? InterruptWait.MASKED : InterruptWait.NO_BUS_MASTER;
    const waits = this.pending[word] & ~this.#noted[word];
    for (let bit = 0; bit < 32; bit++)
      if ((waits >>> bit) & 1) owner.timeline?.note(Step.INTERRUPT_WAIT, owner.number, word * 32 + bit, reason);
    this.#noted[word] = this.pending[word];
  }

  /** A message is a memory write of the function: it waits while bus mastering is off. */
  setBusMaster(on: boolean): void {
    this.#busMaster = on;
  }

  reset(): void {
    this.pending.fill(0);
    this.#noted.fill(0);
  }

  #send(word: number, bit: number): void {
    const vector = word * 32 + bit;
    if (!this.#host.raiseVector(vector)) return;
    this.pending[word] &= ~(1 << bit);
    this.sent[vector]++;
    this.#owner.timeline?.note(Step.INTERRUPT, this.#owner.number, vector);
  }
}
