// SPDX-License-Identifier: Apache-2.0
/**
 * A fabric in simulated time in place of a live process: the parts that commands of the control
 * socket use, without sockets and guests. Tests of those commands and of their clients use it.
 */
import type { PumpReport } from '../../../protocol/vfio-user/index.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import { ControlCommands } from '../../process/control/control-commands.ts';
import type { ControlCommand } from '../../process/control/control-server.ts';
import { type AdapterProcess, isOwn, isPersonality } from '../../process/host/adapter-process.ts';
import type { BuiltFabric } from '../../topology/build-fabric.ts';
import { listChannels } from '../../topology/named-nodes.ts';
import type { InProcessMachine } from '../machine/machine.ts';

/** A machine, its fabric, and the names of both kinds of nodes. */
export interface NamedFabric {
  readonly machine: InProcessMachine;
  readonly built: BuiltFabric;
  readonly adapterNames: readonly string[];
  readonly switchNames: readonly string[];
}

/** A pump as its report has it before it has done anything. */
export const PUMP_REPORT: PumpReport = {
  ...{ spinNs: 0, isCrowded: false, longSpins: { found: 0, missed: 0 } },
  ...{ passes: 0, waits: 0, sleeps: 0 },
};

/** The part of a process that its commands use. */
function makeServedFabric({ machine, built, adapterNames, switchNames }: NamedFabric): AdapterProcess {
  let first = 0;
  const served = built.adapters.map((core, index) => {
    const count = core instanceof Adapter ? core.functions.length : 1;
    const functions = machine.adapter.functions.slice(first, first + count);
    const hosts = machine.hosts.slice(first, first + count).map((host) => ({
      readMemory: host.readMemory.bind(host),
      attached: true,
      blockedTooLong: 0,
      counters: { registerReads: 1, registerWrites: 2, collectWrites: 3, pioWrites: 0 },
      context: {
        socketPath: `/${adapterNames[index]}`,
        config: { inD0: true },
        memory: { regions: [] },
        counters: { requests: 9, attaches: 1, refusedClients: 0, lostConnections: 0, exceptions: 0 },
      },
    }));
    first += count;
    return { name: adapterNames[index], core, hosts, functions } as unknown as AdapterProcess['served'][number];
  });
  const switches = built.switches.map((core, index) => ({ name: switchNames[index], core }));
  const nodes = [
    ...served.flatMap(({ name, core }) => listChannels(name, core)),
    ...switches.map(({ name, core }) => ({ name, mads: core.mads })),
  ];
  const process = {
    ...{ served, switches, nodes, managers: built.managers, joints: built.joints, socketLinks: [] },
    ...{ adapters: served.filter(isOwn), personalities: served.filter(isPersonality) },
    ...{ clock: machine.clock, seam: machine.adapter, pump: { wake: () => {}, report: PUMP_REPORT } },
  };
  return process as unknown as AdapterProcess;
}

/** The commands of such a process, for a `ControlServer`. */
export function makeFabricCommands(fabric: NamedFabric): ReadonlyMap<string, ControlCommand> {
  return new ControlCommands(makeServedFabric(fabric), 42, () => {}).table;
}
