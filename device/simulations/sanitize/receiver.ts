// SPDX-License-Identifier: Apache-2.0
/** One receive queue of the sanitizer's driver: keeps entries posted, as many as its CQ has room to report, and hands what arrives to the oracle. */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import type { OutstandingWork } from '../../hosts/in-process/driver/outstanding-work.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import type { AdapterFixture, Buffer } from '../../test-support/adapter-fixture.ts';
import type { Messages } from './messages.ts';

/** Work of which a completion tells. */
export type Work = { readonly message: number } | { readonly receiver: Receiver; readonly buffer: Buffer };

const BUFFER_BYTES = 2048;

export class Receiver {
  readonly qp: DriverQueuePair;
  /** Messages on their way here; each has a receive entry. */
  expected = 0;
  readonly #fixture: AdapterFixture;
  readonly #work: OutstandingWork<Work>;
  readonly #messages: Messages;
  readonly #headerBytes: number;
  readonly #free: Buffer[];
  #posted = 0;

  /** `headerBytes`: what stands in a buffer before the message. */
  constructor(
    fixture: AdapterFixture,
    qp: DriverQueuePair,
    work: OutstandingWork<Work>,
    messages: Messages,
    headerBytes: number,
  ) {
    this.#fixture = fixture;
    this.qp = qp;
    this.#work = work;
    this.#messages = messages;
    this.#headerBytes = headerBytes;
    this.#free = Array.from({ length: qp.parts.receiveCq.buffer.entries }, () => fixture.createBuffer(BUFFER_BYTES));
  }

  /** There is an entry for one more message. */
  get hasRoom(): boolean {
    return this.#posted > this.expected;
  }

  replenish(): void {
    const { receiveCq } = this.qp.parts;
    while (this.#posted - receiveCq.returned < receiveCq.buffer.entries) {
      const buffer = this.#free.shift();
      if (buffer === undefined) return;
      const name = { qpn: this.qp.qpn, receive: 1, queueSequence: this.qp.receiveTail };
      this.#work.add(name, { receiver: this, buffer });
      this.qp.postReceive([this.#fixture.sge(buffer)]);
      this.#posted++;
    }
  }

  arrive(buffer: Buffer, { byteLength }: CompletionEntry): void {
    this.#messages.arrive(buffer.bytes.subarray(this.#headerBytes, byteLength));
    this.#free.push(buffer);
  }
}
