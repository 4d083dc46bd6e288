// SPDX-License-Identifier: Apache-2.0
/**
 * Topologies by rule (docs/TOPOLOGY.md): a star, a ring, and a fat tree of two levels. A rule says
 * how many switches and ports for adapters there are; the caller attaches adapters to those ports.
 * scripts/cli reads the rule from topology files.
 */

/** Switches and trunks of a generated topology, and the ports that adapters get, in order. */
export interface GeneratedFabric {
  readonly switches: readonly { readonly name: string; readonly ports: number }[];
  readonly trunks: readonly (readonly [string, string])[];
  readonly places: readonly string[];
}

/** Parameters of each rule with their defaults. */
export const generators = {
  /** One switch. */
  star: { adapters: 2 },
  /** Switches in a circle. */
  ring: { switches: 3, adaptersPerSwitch: 1, trunks: 1 },
  /** Leaf switches with adapters; each leaf has trunks to each spine. */
  'fat-tree': { leaves: 2, spines: 2, adaptersPerLeaf: 2, trunks: 1 },
} as const;

export type GeneratorName = keyof typeof generators;
type Parameters = Readonly<Record<string, number>>;

/** Generates a topology. Parameters that are missing have their defaults. */
export function generate(rule: GeneratorName, given: Parameters): GeneratedFabric {
  const all: Parameters = { ...generators[rule], ...given };
  if (rule === 'star') return makeStar(all);
  return rule === 'ring' ? makeRing(all) : makeFatTree(all);
}

function makeStar({ adapters }: Parameters): GeneratedFabric {
  return {
    switches: [{ name: 's1', ports: Math.max(2, adapters) }],
    trunks: [],
    places: range(adapters).map((place) => `s1:${place}`),
  };
}

/** The ports of adapters come first, then the trunks to the next and from the previous switch. */
function makeRing({ switches, adaptersPerSwitch, trunks }: Parameters): GeneratedFabric {
  const next = (index: number): number => (index === switches ? 1 : index + 1);
  // Two switches have one neighbour, and one switch has none.
  const ways = switches < 2 ? 0 : switches === 2 ? 1 : 2;
  const joined = switches < 3 ? range(switches - 1) : range(switches);
  return {
    switches: range(switches).map((index) => ({
      name: `s${index}`,
      ports: Math.max(2, adaptersPerSwitch + ways * trunks),
    })),
    trunks: joined.flatMap((index) =>
      range(trunks).map((trunk) => {
        const back = adaptersPerSwitch + (switches > 2 ? trunks : 0) + trunk;
        return [`s${index}:${adaptersPerSwitch + trunk}`, `s${next(index)}:${back}`] as const;
      }),
    ),
    places: range(switches).flatMap((index) => range(adaptersPerSwitch).map((place) => `s${index}:${place}`)),
  };
}

function makeFatTree({ leaves, spines, adaptersPerLeaf, trunks }: Parameters): GeneratedFabric {
  return {
    switches: [
      ...range(leaves).map((leaf) => ({ name: `leaf${leaf}`, ports: Math.max(2, adaptersPerLeaf + spines * trunks) })),
      ...range(spines).map((spine) => ({ name: `spine${spine}`, ports: Math.max(2, leaves * trunks) })),
    ],
    trunks: range(leaves).flatMap((leaf) =>
      range(spines).flatMap((spine) =>
        range(trunks).map((trunk) => {
          const up = adaptersPerLeaf + (spine - 1) * trunks + trunk;
          return [`leaf${leaf}:${up}`, `spine${spine}:${(leaf - 1) * trunks + trunk}`] as const;
        }),
      ),
    ),
    places: range(leaves).flatMap((leaf) => range(adaptersPerLeaf).map((place) => `leaf${leaf}:${place}`)),
  };
}

/** 1 to `last`. */
function range(last: number): number[] {
  return Array.from({ length: Math.max(0, last) }, (_, index) => index + 1);
}
