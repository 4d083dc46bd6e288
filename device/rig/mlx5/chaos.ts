// SPDX-License-Identifier: Apache-2.0
/**
 * Chaos over the data path of two mlx5 devices: connections of RC, UC, UD and XRC, some with an
 * SRQ. Called by tests and `npm run simulate -- chaos`.
 */
import { EventType, QpService } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import type { Mlx5Adapter } from '../../personality/mlx5/mlx5-adapter.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import { type ChaosEvent, Connection, findFault, linkOf, PersonalityChaos } from '../fixtures/personality-chaos.ts';
import { makeFabricMachine } from '../machine/fabric-machine.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { Mlx5End, Mlx5SharedEntries } from './chaos-end.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { Mlx5Driver } from './driver/mlx5-driver.ts';
import { mlx5Node } from './driver/mlx5-fabric.ts';

export class Mlx5Chaos extends PersonalityChaos<Mlx5End, Mlx5SharedEntries> {
  readonly devices: readonly Mlx5Adapter[];
  protected readonly machine: InProcessMachine;
  protected readonly shared: readonly Mlx5SharedEntries[];
  readonly #fixtures: readonly DataFixture[];

  constructor(seed: number) {
    super(seed);
    const { machine, built } = makeFabricMachine(
      {
        adapters: [mlx5Node('m', 1), mlx5Node('n', 2)],
        switches: [],
        links: [{ ports: ['m:1', 'n:1'], link: linkOf(seed) }],
        subnet: 'fixed',
      },
      { seed },
    );
    this.machine = machine;
    this.devices = built.adapters as Mlx5Adapter[];
    machine.onStep = () => this.checkRequesters();
    this.#fixtures = this.devices.map((device, index) => new DataFixture(new Mlx5Driver(machine, index, device)));
    const [near, far] = this.#fixtures;
    this.shared = [SharedForm.POOL, SharedForm.XRC].map((form) => new Mlx5SharedEntries(far, form));
    const [pool, xrc] = this.shared;
    const connect = (service: ConstructorParameters<typeof Mlx5End>[1], shared?: Mlx5SharedEntries) =>
      new Connection(new Mlx5End(near, service), new Mlx5End(far, service, shared));
    this.begin(
      connect(QpService.RC),
      connect(QpService.RC, pool),
      connect(QpService.RC, pool),
      connect(QpService.UC),
      connect(QpService.UD),
      new Connection(
        new Mlx5End(near, QpService.XRC, undefined, 'initiator'),
        new Mlx5End(far, QpService.XRC, xrc, 'target'),
      ),
    );
  }

  protected *queuePairs(): Iterable<QueuePair> {
    for (const { hca } of this.devices) for (const { qp } of hca.queuePairs.values()) yield qp;
  }

  protected command(connection: Connection<Mlx5End>, end: Mlx5End): void {
    switch (this.random.below(20)) {
      case 0:
        end.fail();
        connection.failed = true;
        return;
      case 1:
        return end.qp.setup.cq.arm();
      case 2:
      case 3: {
        // Work in flight may still cause the event of the previous limit.
        this.machine.runUntilIdle();
        this.takeEvents();
        const shared = this.random.pick(this.shared);
        shared.limit = this.drawLimit();
        shared.queue.arm(shared.limit);
        return;
      }
      default:
        return this.pass();
    }
  }

  protected *readEvents(): Iterable<ChaosEvent> {
    for (const fixture of this.#fixtures)
      for (const { type, number } of fixture.takeEvents())
        yield {
          kind: type === EventType.LAST_WQE ? 'last entry' : type === EventType.SRQ_LIMIT ? 'limit' : 'other',
          number,
        };
  }
}

/** Runs one seed. Describes what is wrong. */
export function runMlx5Chaos(seed: number): string | undefined {
  return findFault(() => new Mlx5Chaos(seed));
}
