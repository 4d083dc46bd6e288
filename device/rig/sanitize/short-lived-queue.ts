// SPDX-License-Identifier: Apache-2.0
/**
 * A CQ of the sanitizer's driver that is created, used once and destroyed, perhaps with its event
 * still unread: an event about a destroyed CQ must be ignored. Used by `SystemUnderTest`.
 */
import { ManagementOpcode, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../driver/completion-queue.ts';
import type { EventPoller } from '../driver/event-poller.ts';
import type { OutstandingWork } from '../driver/outstanding-work.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import type { Work } from './receiver.ts';

const SUMMARY_INDEX = 3;

/** The CQ and the QP that uses it. */
export class ShortLivedQueue {
  readonly queue: DriverCompletionQueue;
  readonly #fixture: AdapterFixture;
  readonly #poller: EventPoller;
  readonly #work: OutstandingWork<Work>;
  readonly #qp: DriverQueuePair;

  constructor(fixture: AdapterFixture, poller: EventPoller, work: OutstandingWork<Work>) {
    this.#fixture = fixture;
    this.#poller = poller;
    this.#work = work;
    this.queue = fixture.driver.createCompletionQueue({ eventQueue: poller.events, summaryIndex: SUMMARY_INDEX });
    this.#qp = fixture.createQueuePair({ sendCq: this.queue, strideLog2: 6 });
    poller.add(this.queue);
    this.queue.notify();
  }

  /** Posts a NOP, whose completion posts an event. */
  post(): void {
    const { qpn, sendTail: queueSequence } = this.#qp;
    this.#work.add({ qpn, receive: 0, queueSequence }, { message: -1 });
    this.#qp.post({ header: { opcode: SendOpcode.NOP } }, 'doorbell');
  }

  /** Destroys the QP, then the CQ. */
  destroy(): void {
    this.#qp.destroy();
    this.#poller.forget(this.queue);
    const { management } = this.#fixture.driver;
    management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: this.queue.cqn });
  }
}
