// SPDX-License-Identifier: Apache-2.0
/** The topologies that the judges see. Each leaves ports for hosts of the door. */
import type { FabricShape } from './local-fabric.ts';

/** Switches in a circle, with adapters at each. */
export function ring(switches: number, adapters: number): FabricShape {
  const numbers = range(switches);
  return {
    switches: numbers.map((index) => ({ name: `s${index}`, ports: adapters + 4 })),
    trunks: numbers.map((index) => [`s${index}:1`, `s${(index % switches) + 1}:2`] as const),
    places: numbers.flatMap((index) => range(adapters).map((place) => `s${index}:${place + 2}`)),
  };
}

/** Leaf switches with adapters; each leaf has a trunk to each spine. */
export function fatTree(leaves: number, spines: number, adapters: number): FabricShape {
  return {
    switches: [
      ...range(leaves).map((leaf) => ({ name: `leaf${leaf}`, ports: spines + adapters + 2 })),
      ...range(spines).map((spine) => ({ name: `spine${spine}`, ports: leaves })),
    ],
    trunks: range(leaves).flatMap((leaf) =>
      range(spines).map((spine) => [`leaf${leaf}:${spine}`, `spine${spine}:${leaf}`] as const),
    ),
    places: range(leaves).flatMap((leaf) => range(adapters).map((place) => `leaf${leaf}:${spines + place}`)),
  };
}

/** One switch. */
export function star(adapters: number): FabricShape {
  return {
    switches: [{ name: 's1', ports: adapters + 4 }],
    trunks: [],
    places: range(adapters).map((place) => `s1:${place}`),
  };
}

/** 1 to `last`. */
function range(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
