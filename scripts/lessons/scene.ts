// SPDX-License-Identifier: Apache-2.0
/**
 * Scenes: the sources of lessons. A scene plays a seeded session in the in-process rig, which is
 * recorded; conditions on the replayed session determine its stops, from which its sentences take
 * their numbers. `make-lesson.ts` does both.
 */
import type { Fabric, FabricNode } from '../../device/fabric/link/fabric.ts';
import { Switch } from '../../device/fabric/switch/switch.ts';
import { Adapter } from '../../device/hca/adapter/adapter.ts';
import { type AdapterOptions, defaultAdapterOptions } from '../../device/hca/adapter/options.ts';
import type { RecordedFabric } from '../../device/rig/machine/fabric-machine.ts';
import type { FabricPlan, VuhcaNode } from '../../device/topology/fabric-plan.ts';
import type { LessonName, LessonPart } from '../cli/view/lesson.ts';

/** The replayed session after some of its steps. */
export class Seen {
  readonly timeNs: number;
  /** The session ends here. */
  readonly isLast: boolean;
  readonly #plan: FabricPlan;
  readonly #nodes: readonly FabricNode[];

  constructor(plan: FabricPlan, fabric: Fabric, timeNs: number, isLast: boolean) {
    this.#plan = plan;
    this.#nodes = fabric.nodes;
    this.timeNs = timeNs;
    this.isLast = isLast;
  }

  /** The adapter of this name. */
  adapter(name: string): Adapter {
    const adapters = this.#nodes.filter((node) => node instanceof Adapter);
    return adapters[this.#plan.adapters.findIndex((node) => node.name === name)];
  }

  /** The switch of this name. */
  switch(name: string): Switch {
    const switches = this.#nodes.filter((node) => node instanceof Switch);
    return switches[this.#plan.switches.findIndex((node) => node.name === name)];
  }
}

/** A stop before its step is known. */
export interface SceneStop {
  readonly title: string;
  readonly adapter: string;
  readonly part: LessonPart;
  /** The queue pair whose messages are shown. */
  readonly queuePair?: (seen: Seen) => number;
  /** Condition of its place: after the first step, from the previous stop on, at which it holds. */
  readonly when: (seen: Seen) => boolean;
  /** Its sentences, with numbers of that moment. */
  readonly says: (seen: Seen) => readonly string[];
  readonly source: string;
}

export interface Scene {
  readonly name: LessonName;
  readonly seed: number;
  /** Units of work per step of the adapters: the fewer, the finer is the time of the lesson. */
  readonly budget: number;
  readonly plan: FabricPlan;
  /** Plays the session: it is recorded. Throws when it does not match the lesson. */
  readonly play: (stage: RecordedFabric) => void;
  /** Its stops in order; new ones for each search, because conditions may remember. */
  readonly makeStops: () => readonly SceneStop[];
}

/** An adapter of a plan. Its number gives it GUID and LIDs of its own. */
export function planAdapter(name: string, number: number, options: Partial<AdapterOptions> = {}): VuhcaNode {
  const nodeGuid = (0x0056_5548_4341n * 0x1_0000n + BigInt(number) * 16n).toString(16).padStart(16, '0');
  const portLids = [1 + 2 * number, 2 + 2 * number] as const;
  return { name, options: { ...defaultAdapterOptions, ...options, nodeGuid, portLids } };
}

/** A number with its noun: `1 doorbell`, `2 doorbells`, `no doorbell`. */
export function counted(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count > 1 ? 's' : ''}`;
}

/** A plan of adapters whose own two ports are cabled to each other. */
export function planAlone(...adapters: readonly VuhcaNode[]): FabricPlan {
  return { adapters, switches: [], links: [], subnet: 'fixed' };
}
