// SPDX-License-Identifier: Apache-2.0
/**
 * Messages of 64 bytes between two RC queue pairs of an mthca device in this process; see
 * messages.ts. Called by personality-worker.ts.
 */
import { DataFixture, type FixtureQueuePair } from '../../device/rig/mthca/driver/data-fixture.ts';
import type { SendWork } from '../../device/rig/mthca/driver/data-queue-pair.ts';
import { QpService, WorkOpcode } from '../../protocol/mthca/gen/values.gen.ts';
import { BATCH, MESSAGE_BYTES, type MessageKind, type Messages } from './messages.ts';

export class MthcaMessages implements Messages {
  readonly #fixture = new DataFixture();
  readonly #from: FixtureQueuePair;
  readonly #to: FixtureQueuePair;
  readonly #work: SendWork;
  readonly #kind: MessageKind;
  readonly #target: ReturnType<DataFixture['memory']>;

  constructor(kind: MessageKind) {
    const fixture = this.#fixture;
    fixture.driver.machine.onStep = () => {};
    [this.#from, this.#to] = fixture.connect(QpService.RC);
    const pieces = [fixture.memory(MESSAGE_BYTES)];
    this.#target = fixture.memory(MESSAGE_BYTES);
    this.#kind = kind;
    this.#work =
      kind === 'send'
        ? { opcode: WorkOpcode.SEND, pieces }
        : { opcode: WorkOpcode.RDMA_WRITE, pieces, remote: this.#target };
  }

  post(): void {
    for (let index = 0; index < BATCH; index++) {
      if (this.#kind === 'send') this.#to.postReceive(this.#target);
      this.#from.write(this.#work);
    }
  }

  ring(): void {
    this.#from.ring();
  }

  run(): void {
    this.#fixture.run();
  }

  take(): void {
    const received = this.#kind === 'send' ? BATCH : 0;
    if (this.#from.take().length !== BATCH || this.#to.take().length !== received)
      throw new Error('a completion is missing');
  }
}
