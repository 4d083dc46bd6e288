// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbells that arm CQs: a register of 8 bytes in each UAR page. Software stores it whole, or the
 * dword of the index first and that of the CQN behind it. `Mlx5Function` passes stores on.
 */
import { BAR_BYTES, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { CQ_DOORBELL_SIZE, decodeCqDoorbell, newCqDoorbell } from '../../../../protocol/mlx5/gen/cq-doorbell.gen.ts';
import { CqArm } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { Mlx5CompletionQueue } from './completion-queue.ts';

const DWORD_BYTES = 4;

export class CompletionDoorbells {
  readonly #queues: { get(number: number): Mlx5CompletionQueue | undefined };
  /** By page: the dword that came first. */
  readonly #first = new Uint32Array(BAR_BYTES / UAR_PAGE_BYTES);
  readonly #view = new DataView(new ArrayBuffer(CQ_DOORBELL_SIZE));
  readonly #doorbell = newCqDoorbell();

  constructor(queues: { get(number: number): Mlx5CompletionQueue | undefined }) {
    this.#queues = queues;
  }

  reset(): void {
    this.#first.fill(0);
  }

  /**
   * Stores a dword at `offset` of the register of a page: 0, or 4. Returns false for a doorbell
   * that names no CQ of its page, or asks for nothing that there is.
   */
  store(uar: number, offset: number, value: number): boolean {
    if (offset !== 0) return this.#ring(uar, value);
    this.#first[uar] = value;
    return true;
  }

  #ring(uar: number, second: number): boolean {
    this.#view.setUint32(0, this.#first[uar]);
    this.#view.setUint32(DWORD_BYTES, second);
    const { sequence, command, consumerIndex, cqn } = decodeCqDoorbell(this.#view, 0, this.#doorbell);
    const queue = this.#queues.get(cqn);
    if (queue?.context.uarPage !== uar || command > CqArm.SOLICITED) return false;
    queue.requestNotify(command === CqArm.SOLICITED, sequence, consumerIndex);
    return true;
  }
}
