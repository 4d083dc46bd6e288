// SPDX-License-Identifier: Apache-2.0
/**
 * Two functions of the personality mlx5, of two devices or of one, behind one switch with the
 * built-in subnet manager, recorded, with a driver for each function; for tests of fabrics.
 */
import { defaultAdapterOptions } from '../../../hca/adapter/options.ts';
import type { Mlx5Adapter } from '../../../personality/mlx5/mlx5-adapter.ts';
import { defaultMlx5Options } from '../../../personality/mlx5/options.ts';
import { makeTwoFunctions } from '../../../topology/device-functions.ts';
import { defaultSwitchNode, type FabricPlan, type PersonalityNode } from '../../../topology/fabric-plan.ts';
import { RecordedFabric } from '../../machine/fabric-machine.ts';
import { Mlx5Driver } from './mlx5-driver.ts';

export function mlx5Node(name: string, place: number): PersonalityNode {
  const nodeGuid = `00565548434160${place}0`;
  const portLids = [2 * place + 1, 2 * place + 2] as const;
  return { name, personality: 'mlx5', options: { ...defaultMlx5Options, nodeGuid, portLids } };
}

const cable = { kind: 'cable' } as const;

/** Devices m and n, and our own adapter v, at one switch. */
const plan: FabricPlan = {
  adapters: [mlx5Node('m', 1), { name: 'v', options: defaultAdapterOptions }, mlx5Node('n', 2)],
  switches: [{ ...defaultSwitchNode, name: 's', ports: 4 }],
  links: [
    { ports: ['m:1', 's:1'], link: cable },
    { ports: ['v:1', 's:2'], link: cable },
    { ports: ['n:1', 's:3'], link: cable },
  ],
  subnet: 'managed',
};

/** The two functions of a device at one switch. */
export const twoFunctionPlan: FabricPlan = {
  adapters: makeTwoFunctions(mlx5Node('c', 1)),
  switches: [{ ...defaultSwitchNode, name: 's', ports: 4 }],
  links: [
    { ports: ['c:1', 's:1'], link: cable },
    { ports: ['c/1:1', 's:2'], link: cable },
  ],
  subnet: 'managed',
};

/** A function with its driver. */
export interface Mlx5End {
  readonly device: Mlx5Adapter;
  readonly driver: Mlx5Driver;
}

export class Mlx5Fabric extends RecordedFabric {
  readonly m: Mlx5End;
  readonly n: Mlx5End;

  /** `m` and `n` are the first and the last adapter of the plan. */
  constructor(built = plan) {
    super(built);
    this.m = this.#end(0);
    this.n = this.#end(built.adapters.length - 1);
  }

  /** Runs until the port of a function is active. */
  awaitActive({ device }: Mlx5End): void {
    this.machine.runUntil(() => device.ports[0].active, 'an active port');
  }

  #end(index: number): Mlx5End {
    const device = this.built.adapters[index] as Mlx5Adapter;
    return { device, driver: new Mlx5Driver(this.machine, index, device) };
  }
}
