// SPDX-License-Identifier: Apache-2.0
/**
 * A transmit virtual lane: its virtual kick list (FIFO of kicked commands) and its credits (US8484392: TVL, execution and completion credits).
 * An execution credit is held from launch until the last packet is handed to the port, a completion credit until the command has completed; each is
 * released exactly once. Invariant: credits used = commands launched and not yet handed over, or not yet completed.
 */
import { PcbState, type PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { AdapterFunction } from '../pci/function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

const SEQUENCE_MASK = 0xffff;

export class Lane {
  readonly executionCredits: number;
  readonly completionCredits: number;
  executionCreditsUsed = 0;
  completionCreditsUsed = 0;
  launches = 0;
  readonly #list: (PhysicalCollectBuffer | undefined)[];
  #head = 0;
  #length = 0;

  /** `capacity`: as many commands as there are buffers to hold them, so that the list never overflows. */
  constructor(capacity: number, executionCredits: number, completionCredits: number) {
    this.#list = new Array<PhysicalCollectBuffer | undefined>(capacity).fill(undefined);
    this.executionCredits = executionCredits;
    this.completionCredits = completionCredits;
  }

  /** Commands in the virtual kick list. */
  get length(): number {
    return this.#length;
  }

  /** The list takes another command of `qp`; it is as long as there are buffers. */
  hasRoom(_qp: QueuePair, _dedicated: boolean): boolean {
    return this.#length < this.#list.length;
  }

  /** Takes the command that `qp` expects next into the virtual kick list. */
  admit(qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    buffer.state = PcbState.KICKED;
    buffer.queuePair = qp;
    buffer.epoch = qp.epoch;
    qp.nextSequence = (qp.nextSequence + 1) & SEQUENCE_MASK;
    qp.inFlight++;
    this.#list[(this.#head + this.#length++) % this.#list.length] = buffer;
  }

  /** The next command that could be launched: there is one, and both credits are available. */
  peek(): PhysicalCollectBuffer | undefined {
    if (this.#length === 0) return undefined;
    if (this.executionCreditsUsed >= this.executionCredits) return undefined;
    if (this.completionCreditsUsed >= this.completionCredits) return undefined;
    return this.#list[this.#head];
  }

  /** Takes what `peek` returned off the list without launching it. */
  discard(): PhysicalCollectBuffer {
    const buffer = this.#list[this.#head] as PhysicalCollectBuffer;
    this.#list[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#list.length;
    this.#length--;
    return buffer;
  }

  /** Launches what `peek` returned: it leaves the list and takes both credits. */
  launch(): PhysicalCollectBuffer {
    const buffer = this.discard();
    this.executionCreditsUsed++;
    this.completionCreditsUsed++;
    this.launches++;
    buffer.state = PcbState.LAUNCHED;
    return buffer;
  }

  releaseExecutionCredit(): void {
    this.executionCreditsUsed--;
  }

  releaseCompletionCredit(): void {
    this.completionCreditsUsed--;
  }

  /** Drops the commands of a function that is being reset; the order of the others stays. */
  drop(owner: AdapterFunction): void {
    const kept = this.#length;
    for (let position = 0; position < kept; position++) {
      const buffer = this.discard();
      if (buffer.queuePair?.owner === owner) buffer.home?.release(buffer);
      else this.#list[(this.#head + this.#length++) % this.#list.length] = buffer;
    }
  }
}
