// SPDX-License-Identifier: Apache-2.0
/**
 * A process on an mlx5 device, as the Linux driver sets it up: with a UAR page and a protection
 * domain of its own. Used for victims and for hostile processes.
 */
import type { Mkc } from '../../../protocol/mlx5/gen/mkc.gen.ts';
import { CommandOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { ProcessMemory } from '../fixtures/personality-victims.ts';
import type { Piece } from '../machine/personality-driver.ts';
import { Mlx5DriverCompletionQueue } from './driver/completion-queue.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import type { Mlx5DriverQueuePair, QueuePairSetup } from './driver/queue-pair.ts';

const LOG_CQ_ENTRIES = 6;
const NUMBER_AT = 8;

export class Mlx5Process implements ProcessMemory {
  readonly fixture: DataFixture;
  readonly uar: number;
  readonly pd: number;

  constructor(fixture: DataFixture) {
    const { driver } = fixture;
    this.fixture = fixture;
    this.uar = driver.allocateUar();
    this.pd = driver.expect(CommandOpcode.ALLOC_PD).getUint32(NUMBER_AT);
  }

  memory(byteCount: number, attributes: Partial<Mkc> = {}): Piece {
    return this.fixture.memory(byteCount, { pd: this.pd, ...attributes });
  }

  bytes(piece: Piece): Uint8Array {
    return this.fixture.bytes(piece);
  }

  completionQueue(logCqSize = LOG_CQ_ENTRIES): Mlx5DriverCompletionQueue {
    const { driver, completions } = this.fixture;
    return new Mlx5DriverCompletionQueue(driver, { ...completions, uar: this.uar }, { logCqSize });
  }

  /** A queue pair in RESET. */
  queuePair(setup: Partial<QueuePairSetup> = {}): Mlx5DriverQueuePair {
    const { uar, pd } = this;
    return this.fixture.queuePair({ uar, pd, ...setup, cq: setup.cq ?? this.completionQueue() });
  }

  /** Destroys an object, or gives a number back. */
  give(opcode: number, number: number): void {
    this.fixture.driver.expect(opcode, { fill: (view) => view.setUint32(NUMBER_AT, number) });
  }
}
