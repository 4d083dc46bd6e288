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

/** The nodes and links of a tree. */
export function planFatTree({ levels, adapters, width, up = width }: FatTree): ManagedFabricPlan {
  return levels === 2 ? planTwoLevels(adapters / width, up, width) : planThreeLevels(adapters, width);
}

/** The rule of topology files. */
function planTwoLevels(leaves: number, spines: number, adaptersPerLeaf: number): ManagedFabricPlan {
  const { switches, trunks, places } = generate('fat-tree', { leaves, spines, adaptersPerLeaf });
  const names = new Map(switches.map(({ name }, index) => [name, `s${index}`]));
  const nodeOf = (port: string): string => names.get(port.split(':')[0] as string) as string;
  return {
    switches: switches.map(({ ports }) => ports),
    adapters: places.length,
    links: [
      ...places.map((place, at): Link => [nodeOf(place), `a${at}`]),
      ...trunks.map(([low, high]): Link => [nodeOf(low), nodeOf(high)]),
    ],
  };
}

/**
 * Pods of `width` leaves below as many switches, each of which has a link to `width` switches of
 * the top; those have one to each pod.
 */
function planThreeLevels(adapters: number, width: number): ManagedFabricPlan {
  const leaves = adapters / width;
  const leafLinks = range(adapters).map((at): Link => [`s${Math.floor(at / width)}`, `a${at}`]);
  const pods = leaves / width;
  const middleOf = (pod: number, index: number): string => `s${leaves + pod * width + index}`;
  const low = range(leaves).flatMap((leaf) =>
    range(width).map((index): Link => [`s${leaf}`, middleOf(Math.floor(leaf / width), index)]),
  );
  const high = range(pods).flatMap((pod) =>
    range(width).flatMap((index) =>
      range(width).map((core): Link => [middleOf(pod, index), `s${2 * leaves + index * width + core}`]),
    ),
  );
  const switches = [...range(2 * leaves).map(() => 2 * width), ...range(width * width).map(() => Math.max(2, pods))];
  return { switches, adapters, links: [...leafLinks, ...low, ...high] };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
