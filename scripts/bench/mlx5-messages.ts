// SPDX-License-Identifier: Apache-2.0
/**
 * Messages of 64 bytes between two RC queue pairs of an mlx5 device in this process, by a driver
 * that allocates nothing: requests and receives are written beforehand, and posting moves counters
 * and rings. Called by personality-worker.ts and allocation-worker.ts.
 */
import { COUNTER_MASK } from '../../device/personality/shared/receive-queue.ts';
import { DataFixture } from '../../device/rig/mlx5/driver/data-fixture.ts';
import { Mlx5Driver, makeMlx5Machine } from '../../device/rig/mlx5/driver/mlx5-driver.ts';
import type { Mlx5DriverQueuePair } from '../../device/rig/mlx5/driver/queue-pair.ts';
import { swapBytes } from '../../protocol/layout/dwords.ts';
import { DOORBELL_OFFSET, UAR_PAGE_BYTES } from '../../protocol/mlx5/gen/constants.gen.ts';
import { CQ_RECORD_SIZE, setCqRecordConsumerIndex } from '../../protocol/mlx5/gen/cq-record.gen.ts';
import { getCqeOwner } from '../../protocol/mlx5/gen/cqe.gen.ts';
import {
  DOORBELL_RECORD_SIZE,
  setDoorbellRecordReceiveCounter,
  setDoorbellRecordSendCounter,
} from '../../protocol/mlx5/gen/doorbell-record.gen.ts';
import { QpService, SendOpcode } from '../../protocol/mlx5/gen/values.gen.ts';
import { BATCH, MESSAGE_BYTES, type MessageKind, type Messages } from './messages.ts';

const INDEX_MASK = 0xffffff;
const DOORBELL_BYTES = 8;
const QPN_SHIFT = 8;

export class Mlx5Messages implements Messages {
  readonly #fixture: DataFixture;
  readonly #doorbell: number;
  readonly #qpn: number;
  readonly #sends: DataView;
  readonly #receives: DataView;
  readonly #sent: CompletionWatch;
  /** Undefined when the other end completes nothing. */
  readonly #received: CompletionWatch | undefined;
  #count = 0;

  constructor(kind: MessageKind, memoryBase?: number) {
    const fixture = new DataFixture(new Mlx5Driver(makeMlx5Machine(memoryBase === undefined ? {} : { memoryBase })));
    this.#fixture = fixture;
    const { machine, memory } = fixture.driver;
    machine.onStep = () => {};
    const [from, to] = fixture.connect(QpService.RC);
    const [source, target] = [fixture.memory(MESSAGE_BYTES), fixture.memory(MESSAGE_BYTES)];
    for (let index = 0; index < BATCH; index++) {
      if (kind === 'send') {
        from.write({ opcode: SendOpcode.SEND, pieces: [source] });
        to.postReceive(target);
      } else from.write({ opcode: SendOpcode.WRITE, pieces: [source], remote: target });
    }
    this.#doorbell = from.setup.uar * UAR_PAGE_BYTES + DOORBELL_OFFSET;
    this.#qpn = swapBytes((from.number << QPN_SHIFT) >>> 0);
    this.#sends = memory.view(from.record, DOORBELL_RECORD_SIZE);
    this.#receives = memory.view(to.record, DOORBELL_RECORD_SIZE);
    this.#sent = new CompletionWatch(fixture, from);
    this.#received = kind === 'send' ? new CompletionWatch(fixture, to) : undefined;
  }

  post(): void {
    this.#count = (this.#count + BATCH) & COUNTER_MASK;
    setDoorbellRecordReceiveCounter(this.#receives, 0, this.#count);
    setDoorbellRecordSendCounter(this.#sends, 0, this.#count);
  }

  ring(): void {
    this.#fixture.driver.port.writeRegister(this.#doorbell, DOORBELL_BYTES, 0, this.#qpn);
  }

  run(): void {
    this.#fixture.driver.machine.runUntilIdle();
  }

  take(): void {
    this.#sent.take(BATCH);
    this.#received?.take(BATCH);
  }
}

/** Takes completions of a CQ. */
class CompletionWatch {
  readonly #slots: readonly DataView[];
  readonly #record: DataView;
  #consumed = 0;

  constructor({ driver }: DataFixture, { setup: { cq } }: Mlx5DriverQueuePair) {
    this.#slots = Array.from({ length: cq.entries }, (_, index) => cq.slot(index));
    this.#record = driver.memory.view(cq.record, CQ_RECORD_SIZE);
  }

  /** Takes `count` entries; throws when one is missing. */
  take(count: number): void {
    const last = this.#consumed + count - 1;
    const turn = Math.floor(last / this.#slots.length) & 1;
    if (getCqeOwner(this.#slots[last % this.#slots.length], 0) !== turn)
      throw new Error(`completion ${last} is missing`);
    // A multiple of two turns of the ring.
    this.#consumed = (last + 1) & INDEX_MASK;
    setCqRecordConsumerIndex(this.#record, 0, this.#consumed);
  }
}
