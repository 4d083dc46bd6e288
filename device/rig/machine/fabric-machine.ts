// SPDX-License-Identifier: Apache-2.0
/** Machines with the fabric of a plan in place of one adapter, recorded or not. */
import type { AdapterClock, HostPort } from '../../host.ts';
import { Recorder } from '../../hosts/recording.ts';
import { Replay, type ReplayResult } from '../../hosts/replay.ts';
import { type BuiltFabric, buildFabric } from '../../topology/build-fabric.ts';
import type { FabricPlan } from '../../topology/fabric-plan.ts';
import { InProcessMachine, type MachineOptions } from './machine.ts';

/** A machine, and the fabric that was built in it. */
interface FabricMachine {
  readonly machine: InProcessMachine;
  readonly built: BuiltFabric;
}

/** Builds a plan whose adapters have one function each, unless `options` say otherwise. */
export function makeFabricMachine(plan: FabricPlan, options: Omit<MachineOptions, 'build'> = {}): FabricMachine {
  let built!: BuiltFabric;
  const build = (_: unknown, clock: AdapterClock, hosts: HostPort[]) => {
    built = buildFabric(plan, clock, hosts);
    return built.fabric;
  };
  const machine = new InProcessMachine({ functionCount: plan.adapters.length, ...options, build });
  return { machine, built };
}

/** A fabric with its recording. */
export class RecordedFabric implements FabricMachine {
  readonly machine: InProcessMachine;
  readonly built: BuiltFabric;
  readonly #pieces: Uint8Array[] = [];

  constructor(plan: FabricPlan, options: Omit<MachineOptions, 'build' | 'record'> = {}) {
    const record = (_: unknown, count: number): Recorder =>
      new Recorder(plan, count, (bytes) => this.#pieces.push(bytes.slice()));
    ({ machine: this.machine, built: this.built } = makeFabricMachine(plan, { ...options, record }));
  }

  /** LIDs of the first ports. */
  get lids(): number[] {
    return this.built.adapters.map(({ ports: [port] }) => port.lid);
  }

  /** Everything so far. */
  takeRecording(): Uint8Array {
    this.machine.recorder?.flush();
    return Buffer.concat(this.#pieces);
  }

  /** Replays everything so far. */
  replay(): ReplayResult {
    return new Replay(this.takeRecording(), () => {
      throw new Error('A recording of a fabric brings its plan.');
    }).run();
  }
}
