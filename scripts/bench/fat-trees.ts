// SPDX-License-Identifier: Apache-2.0
/**
 * Fat trees of two and three levels. At each switch below the top as many links lead up as down,
 * where the 36 ports of a switch suffice for that. Pure. Called by fabric-size.ts.
 */
import type { ManagedFabricPlan } from '../../device/rig/fixtures/managed-fabric.ts';
import { generate } from '../../device/topology/generate.ts';

/** A fat tree by its numbers. */
export interface FatTree {
  readonly levels: 2 | 3;
  readonly adapters: number;
  /** Adapters at each leaf. */
  readonly width: number;
  /** Switches above each leaf; as many as adapters when absent. */
  readonly up?: number;
}

/** Those that are measured. */
export const TREES: readonly FatTree[] = [
  { levels: 2, adapters: 64, width: 8 },
  { levels: 3, adapters: 64, width: 4 },
  { levels: 2, adapters: 256, width: 16 },
  { levels: 3, adapters: 256, width: 8 },
  { levels: 2, adapters: 1024, width: 32, up: 4 },
  { levels: 3, adapters: 1024, width: 8 },
];

type Link = readonly [string, string];

/** The nodes and links of a tree, by the rule of topology files. */
export function planFatTree({ levels, adapters, width, up = width }: FatTree): ManagedFabricPlan {
  const leaves = adapters / width;
  const { switches, trunks, places } = generate(
    'fat-tree',
    levels === 2
      ? { leaves, spines: up, adaptersPerLeaf: width }
      : { levels, pods: leaves / width, leaves: width, spines: width, coresPerSpine: width, adaptersPerLeaf: width },
  );
  const names = new Map(switches.map(({ name }, index) => [name, `s${index}`]));
  const nodeOf = (port: string): string => names.get(port.split(':')[0] as string) as string;
  return {
    switches: switches.map(({ ports }) => ports),
    adapters,
    links: [
      ...places.map((place, at): Link => [nodeOf(place), `a${at}`]),
      ...trunks.map(([low, high]): Link => [nodeOf(low), nodeOf(high)]),
    ],
  };
}
