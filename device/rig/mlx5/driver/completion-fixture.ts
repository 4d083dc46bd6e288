// SPDX-License-Identifier: Apache-2.0
/**
 * A running mlx5 device with completion queues, an EQ for their events and one for errors. Tests
 * post entries as the data path does. Tests of completion queues use it.
 */
import { getCompletionEqeCqn } from '../../../../protocol/mlx5/gen/completion-eqe.gen.ts';
import { type Cqc, encodeCqc, newCqc } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import { setCqeByteCount } from '../../../../protocol/mlx5/gen/cqe.gen.ts';
import {
  MODIFY_CQ_IN_CQ_CONTEXT_OFFSET,
  MODIFY_CQ_IN_SIZE,
  setModifyCqInCqn,
  setModifyCqInModifyFieldSelectResizeFieldSelect,
} from '../../../../protocol/mlx5/gen/modify-cq-in.gen.ts';
import { CommandOpcode, EventType } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { Mlx5CompletionQueue } from '../../../personality/mlx5/queues/completion-queue.ts';
import type { EventQueue } from '../../../personality/mlx5/queues/event-queue.ts';
import { type CompletionQueueShape, Mlx5DriverCompletionQueue } from './completion-queue.ts';
import { type DriverEventQueue, Mlx5Driver, makeMlx5Machine } from './mlx5-driver.ts';

/** Vector of completion events; others go to vector 0. */
export const COMPLETION_VECTOR = 1;
/** Offset of the data of an event. */
const DATA_OFFSET = 0x20;

export class CompletionFixture {
  readonly driver: Mlx5Driver;
  readonly errors: DriverEventQueue;
  readonly events: DriverEventQueue;
  readonly #queues = new Map<number, Mlx5DriverCompletionQueue>();

  constructor({ logEvents = 4, seed = 1 } = {}) {
    this.driver = new Mlx5Driver(makeMlx5Machine({ seed }));
    this.driver.start();
    const uar = this.driver.allocateUar();
    this.errors = this.driver.createEventQueue(uar, 1n << BigInt(EventType.CQ_ERROR));
    this.events = this.driver.createEventQueue(uar, 0n, logEvents, COMPLETION_VECTOR);
  }

  create(shape: CompletionQueueShape = { logCqSize: 3 }, events = this.events): Mlx5DriverCompletionQueue {
    const cq = new Mlx5DriverCompletionQueue(this.driver, events, shape);
    this.#queues.set(cq.number, cq);
    return cq;
  }

  /** The queue in the device. */
  deviceQueue(cq: Mlx5DriverCompletionQueue): Mlx5CompletionQueue {
    return this.driver.device.hca.completionQueues.get(cq.number) as Mlx5CompletionQueue;
  }

  deviceEvents(queue = this.events): EventQueue {
    return this.driver.device.hca.events.get(queue.number) as EventQueue;
  }

  /** Posts an entry whose byte count is `value`. */
  post(cq: Mlx5DriverCompletionQueue, value: number, solicited = false): boolean {
    const queue = this.deviceQueue(cq);
    setCqeByteCount(queue.begin(), 0, value);
    const isPosted = queue.post(solicited);
    this.driver.machine.runUntilIdle();
    return isPosted;
  }

  /** Takes the completion events, tells the device, and arms the EQ. Returns their CQNs. */
  takeEvents(queue = this.events): number[] {
    const numbers = this.peekEvents(queue);
    this.driver.arm(queue);
    this.driver.machine.runUntilIdle();
    return numbers;
  }

  /** Takes the completion events without telling the device. */
  peekEvents(queue = this.events): number[] {
    return this.driver.takeEvents(queue).map(({ data }) => {
      const number = getCompletionEqeCqn(data, -DATA_OFFSET);
      this.#queues.get(number)?.noteEvent();
      return number;
    });
  }

  /** Changes the fields of a CQ that `mask` selects. */
  modify(cq: Mlx5DriverCompletionQueue, mask: number, context: Partial<Cqc>): void {
    this.driver.expect(CommandOpcode.MODIFY_CQ, {
      inputBytes: MODIFY_CQ_IN_SIZE,
      fill: (view) => {
        setModifyCqInCqn(view, 0, cq.number);
        setModifyCqInModifyFieldSelectResizeFieldSelect(view, 0, mask);
        encodeCqc(view, MODIFY_CQ_IN_CQ_CONTEXT_OFFSET, { ...newCqc(), ...context });
      },
    });
  }

  /** Interrupts of a vector so far. */
  interrupts(vector = COMPLETION_VECTOR): number {
    return this.driver.machine.hostAt(0).raised[vector] ?? 0;
  }
}
