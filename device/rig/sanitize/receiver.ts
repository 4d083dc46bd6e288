// SPDX-License-Identifier: Apache-2.0
/**
 * A receive queue of the sanitizer's driver: keeps as many entries posted as its CQ has room for
 * completions, and hands arrived messages to the oracle. Used by `Traffic`.
 */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import type { OutstandingWork } from '../driver/outstanding-work.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { AdapterFixture, Buffer } from '../fixtures/adapter-fixture.ts';
import type { Messages } from './messages.ts';

/** Outstanding work: a send by its message number (-1: a NOP), or a receive entry. */
export type Work = { readonly message: number } | { readonly receiver: Receiver; readonly buffer: Buffer };

const BUFFER_BYTES = 2048;

/** The receive queue of a QP. */
export class Receiver {
  readonly qp: DriverQueuePair;
  /** Messages sent here so far; each has a receive entry. */
  expected = 0;
  readonly #fixture: AdapterFixture;
  readonly #work: OutstandingWork<Work>;
  readonly #messages: Messages;
  readonly #headerBytes: number;
  readonly #free: Buffer[];
  #posted = 0;

  /** `headerBytes`: bytes before the message in a buffer, such as the GRH area of a datagram. */
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

  /** True if a receive entry is free for one more message. */
  get hasRoom(): boolean {
    return this.#posted > this.expected;
  }

  /** Posts entries while the CQ has room for their completions. */
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

  /** Hands a completed entry's message to the oracle. */
  arrive(buffer: Buffer, { byteLength }: CompletionEntry): void {
    this.#messages.arrive(buffer.bytes.subarray(this.#headerBytes, byteLength));
    this.#free.push(buffer);
  }
}
