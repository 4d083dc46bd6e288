// SPDX-License-Identifier: Apache-2.0
/**
 * An mlx5 device: a front end that an unmodified current driver of another vendor binds. So far it
 * has what the core driver needs to start: initialising segment, command queue, pages,
 * capabilities, user access regions and event queues. Hosts drive it as they drive `Adapter`.
 */
import type { VectorNotes } from '../../hca/function/msix.ts';
import { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { AdapterClock, AdapterPort, HostPort } from '../../host.ts';
import { CommandQueue } from './commands/command-queue.ts';
import { Hca } from './hca/hca.ts';
import { Mlx5Function } from './mlx5-function.ts';

export class Mlx5Adapter implements AdapterPort, VectorNotes {
  readonly underlying: UnderlyingFunction;
  readonly hca: Hca;
  readonly commands: CommandQueue;
  readonly functions: readonly [Mlx5Function];
  #vectorsWait = false;

  constructor(clock: AdapterClock, host: HostPort) {
    this.underlying = new UnderlyingFunction(0, clock, host, this);
    this.hca = new Hca(this.underlying);
    this.commands = new CommandQueue(this.hca);
    this.functions = [new Mlx5Function(this.underlying, this.hca, this.commands, clock)];
  }

  run(budget: number): boolean {
    const done = this.commands.serve(budget);
    if (this.#vectorsWait) this.#vectorsWait = this.underlying.msix.flush();
    return done === budget;
  }

  /** A vector waits to be sent. */
  noteVector(): void {
    this.#vectorsWait = true;
  }
}
