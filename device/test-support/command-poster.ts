// SPDX-License-Identifier: Apache-2.0
/**
 * A QP whose commands reach the device by collect buffer, doorbell, both or neither, in any order
 * and repeatedly; each must complete once and in order (docs/HAZARDS.md, hazards 9 to 12;
 * docs/DOCUMENTS.md decision 6). Used by the tests of scheduler and doorbells.
 */
import { PAGE_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import { SEND_COMMAND_SEQUENCE_MASK } from '../../protocol/layout/gen/send-command.gen.ts';
import { CompletionOpcode, CompletionStatus, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { Random } from '../random.ts';
import type { AdapterFixture } from './adapter-fixture.ts';

const QUEUE_LOG2 = 5;
/** A collect page that all QPs use at times. */
const SHARED_PAGE = 40 * PAGE_BYTES;
/** A request that does nothing. */
export const NOP = { header: { opcode: SendOpcode.NOP } };

/** The QP, the copies of its commands, and the check of its completions. */
export class CommandPoster {
  readonly qp: DriverQueuePair;
  completed = 0;
  posted = 0;
  readonly #random: Random;
  readonly #copies: Uint8Array[] = [];

  constructor(fixture: AdapterFixture) {
    const sendCq = fixture.createCompletionQueue({ entriesLog2: QUEUE_LOG2 + 1 });
    this.qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: QUEUE_LOG2 });
    this.#random = fixture.random;
  }

  get room(): number {
    return (1 << QUEUE_LOG2) - (this.posted - this.completed);
  }

  /** Posts up to 4 commands; each copy is written in order or not, once, twice, or not at all. */
  post(): void {
    const random = this.#random;
    const count = Math.min(this.room, random.between(1, 4));
    const fresh: Uint8Array[] = [];
    for (let index = 0; index < count; index++) {
      const copy = this.qp.fill(NOP).slice();
      this.qp.advanceSendTail();
      this.posted++;
      fresh.push(copy);
      this.#copies[this.posted % 64] = copy;
    }
    if (random.oneIn(3)) random.shuffle(fresh);
    for (const copy of fresh) {
      if (random.oneIn(4)) continue;
      this.qp.collect(copy, {}, random.oneIn(4) ? SHARED_PAGE : this.qp.parts.page);
      if (random.oneIn(4)) this.qp.collect(copy);
    }
    if (random.oneIn(2)) this.#disturb();
  }

  /** Repeats an old copy, and rings with a random sequence number: neither may have an effect. */
  #disturb(): void {
    const random = this.#random;
    const old = this.#copies[random.below(64)];
    if (old !== undefined) this.qp.collect(old);
    this.qp.ring(random.below(0x10000), random.pick(['doorbell', 'register']));
  }

  /** Takes completions. Describes the first that is not the next one; undefined if none. */
  reap(): string | undefined {
    for (const entry of this.qp.parts.sendCq.drain()) {
      const expected = this.completed & SEND_COMMAND_SEQUENCE_MASK;
      if (entry.queueSequence !== expected) return `completion ${entry.queueSequence}, expected ${expected}`;
      if (
        entry.status !== CompletionStatus.SUCCESS ||
        entry.opcode !== CompletionOpcode.NOP ||
        entry.qpn !== this.qp.qpn
      ) {
        return `completion ${JSON.stringify(entry)}`;
      }
      this.completed++;
    }
    return undefined;
  }
}
