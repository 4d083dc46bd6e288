// SPDX-License-Identifier: Apache-2.0
/**
 * Topologies by rule (docs/TOPOLOGY.md): a star, a ring, and a fat tree of two or three levels. A
 * rule says how many switches and ports for adapters there are; the caller attaches adapters to
 * those ports. scripts/cli reads the rule from topology files.
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
  /**
   * Leaf switches with adapters; each leaf has trunks to each spine. On three levels such a tree is
   * a pod, of which there are several, and each spine of a pod has trunks to as many cores: the
   * first one to the same cores as the first ones of other pods, and so on.
   */
  'fat-tree': { levels: 2, pods: 2, leaves: 2, spines: 2, coresPerSpine: 2, adaptersPerLeaf: 2, trunks: 1 },
} as const;

/** Parameters of a fat tree that only three levels have. */
const THIRD_LEVEL = ['pods', 'coresPerSpine'];

export type GeneratorName = keyof typeof generators;
type Parameters = Readonly<Record<string, number>>;

/** Returns a sentence about parameters that do not fit each other, or undefined. */
export function findGeneratorError(given: Parameters): string | undefined {
  const { levels = generators['fat-tree'].levels } = given;
  if (levels !== 2 && levels !== 3) return `levels is ${levels}; it must be 2 or 3`;
  const needless = THIRD_LEVEL.find((name) => levels === 2 && given[name] !== undefined);
  return needless && `${needless} is a parameter of three levels; levels must be 3`;
}

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

/** Ports of adapters come first, then trunks down, then trunks up. */
function makeFatTree(all: Parameters): GeneratedFabric {
  const { leaves, spines, adaptersPerLeaf, trunks } = all;
  const [pods, cores] = all.levels === 2 ? [1, 0] : [all.pods, all.coresPerSpine];
  const leafNames = range(pods * leaves).map((leaf) => `leaf${leaf}`);
  const sizes = [
    ...leafNames.map((name) => [name, adaptersPerLeaf + spines * trunks] as const),
    ...range(pods * spines).map((spine) => [`spine${spine}`, (leaves + cores) * trunks] as const),
    ...range(spines * cores).map((core) => [`core${core}`, pods * trunks] as const),
  ];
  const podLinks = (pod: number) =>
    range(leaves).flatMap((leaf) =>
      range(spines).flatMap((spine) => {
        const low = { name: `leaf${(pod - 1) * leaves + leaf}`, before: adaptersPerLeaf + (spine - 1) * trunks };
        return joinBy(trunks, low, { name: `spine${(pod - 1) * spines + spine}`, before: (leaf - 1) * trunks });
      }),
    );
  const coreLinks = (pod: number) =>
    range(spines).flatMap((spine) =>
      range(cores).flatMap((core) => {
        const low = { name: `spine${(pod - 1) * spines + spine}`, before: (leaves + core - 1) * trunks };
        return joinBy(trunks, low, { name: `core${(spine - 1) * cores + core}`, before: (pod - 1) * trunks });
      }),
    );
  return {
    switches: sizes.map(([name, ports]) => ({ name, ports: Math.max(2, ports) })),
    trunks: [...range(pods).flatMap(podLinks), ...range(pods).flatMap(coreLinks)],
    places: leafNames.flatMap((name) => range(adaptersPerLeaf).map((place) => `${name}:${place}`)),
  };
}

/** A switch, and the number of its ports before those of its trunks to another one. */
interface TrunkEnd {
  readonly name: string;
  readonly before: number;
}

function joinBy(trunks: number, low: TrunkEnd, high: TrunkEnd): (readonly [string, string])[] {
  return range(trunks).map((trunk) => [`${low.name}:${low.before + trunk}`, `${high.name}:${high.before + trunk}`]);
}

/** 1 to `last`. */
function range(last: number): number[] {
  return Array.from({ length: Math.max(0, last) }, (_, index) => index + 1);
}
