// SPDX-License-Identifier: Apache-2.0
/**
 * Isolation of processes on the two functions of an mlx5 device, cabled to each other
 * (docs/verbs/PERSONALITIES.md): victims exchange messages while a hostile process on each function
 * acts or does nothing. Called by tests and by `npm run simulate -- isolation`.
 */
import { FaultKind, FaultObject, faultKindName, faultObjectName } from '../../../protocol/layout/gen/values.gen.ts';
import { QueueStatus } from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Mlx5Adapter } from '../../personality/mlx5/mlx5-adapter.ts';
import { Random } from '../../random.ts';
import { joinFunctions, makeTwoFunctions } from '../../topology/device-functions.ts';
import { findHeldUnits, PersonalityIsolation } from '../fixtures/personality-isolation.ts';
import { makeFabricMachine } from '../machine/fabric-machine.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { Mlx5Driver } from './driver/mlx5-driver.ts';
import { mlx5Node } from './driver/mlx5-fabric.ts';
import { Mlx5HostileProcess } from './hostile-process.ts';
import { Mlx5Victims } from './victims.ts';

/** Large, because the mailboxes of commands are never reused, even in long runs. */
const MEMORY_BYTES = 64 * 1024 * 1024;

/** One run: victims, and hostile software that may be idle. */
export class Mlx5Isolation extends PersonalityIsolation {
  readonly devices: readonly Mlx5Adapter[];
  readonly victims: Mlx5Victims;
  readonly hostile: Mlx5HostileProcess;
  protected readonly machine: InProcessMachine;
  /** Faults that devices have reported of objects of victims. */
  readonly #faults: string[] = [];
  /** Objects of each device before those of the hostile processes. */
  readonly #counts: readonly string[];

  constructor(seed: number) {
    super();
    const nodes = makeTwoFunctions(mlx5Node('m', 1));
    const links = joinFunctions(nodes, []);
    const { machine, built } = makeFabricMachine(
      { adapters: nodes, switches: [], links, subnet: 'fixed' },
      { seed, memoryBytes: MEMORY_BYTES },
    );
    this.machine = machine;
    this.devices = built.adapters as Mlx5Adapter[];
    const fixtures = this.devices.map((device, index) => new DataFixture(new Mlx5Driver(machine, index, device)));
    this.victims = new Mlx5Victims(fixtures);
    this.#counts = this.#count();
    this.hostile = new Mlx5HostileProcess(fixtures, new Random(seed), this.victims);
    for (const device of this.devices) this.#watchFaults(device);
  }

  /** Faults that hostile processes have caused. */
  get faults(): number {
    return this.devices.reduce((sum, { underlying }) => sum + underlying.faults.counts.reduce((a, b) => a + b, 0), 0);
  }

  /** Doorbells that no queue of their page accepted. */
  get strayDoorbells(): number {
    return this.devices.reduce((sum, { functions: [one] }) => sum + one.strayDoorbells, 0);
  }

  override round(acts: number): string | undefined {
    this.victims.hold();
    return super.round(acts);
  }

  protected takeEvents(): string | undefined {
    return this.victims.takeEvents() ?? this.#faults[0] ?? this.#findFailedQueue();
  }

  protected findLeftovers(): string[] {
    const wrong = this.takeEvents();
    const left = wrong === undefined ? [] : [wrong];
    for (const device of this.devices) left.push(...findHeldUnits(device));
    for (const [index, counts] of this.#count().entries())
      if (counts !== this.#counts[index])
        left.push(`device ${index} has objects ${counts} in the place of ${this.#counts[index]}`);
    return left;
  }

  #count(): string[] {
    return this.devices.map(({ hca }) => JSON.stringify(hca.objectCounts));
  }

  #findFailedQueue(): string | undefined {
    for (const { hca } of this.devices)
      for (const { number, status, lost } of hca.events.values())
        if (status !== QueueStatus.OK || lost > 0) return `EQ ${number} has status ${status} and has lost ${lost}`;
    return undefined;
  }

  /** Notes the faults of objects of victims. */
  #watchFaults({ underlying, ports: [{ lid }] }: Mlx5Adapter): void {
    const { faults } = underlying;
    const report = faults.reportNumber.bind(faults);
    faults.reportNumber = (kind, objectKind, object, address) => {
      report(kind, objectKind, object, address);
      // A datagram of another process, which the QP has refused.
      if (kind === FaultKind.QKEY_VIOLATION) return;
      if (this.victims.owns(lid, objectKind, object) || objectKind === FaultObject.EQ)
        this.#faults.push(`fault ${faultKindName(kind)} of ${faultObjectName(objectKind)} ${object} at LID ${lid}`);
    };
  }
}
