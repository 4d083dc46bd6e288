// SPDX-License-Identifier: Apache-2.0
/**
 * The nodes of a subnet by name (docs/FABRIC.md): channel adapters, switches, and the embedded
 * switches of adapters. A live process and a replay of its recording name them alike.
 */
import type { MadInterface } from '../fabric/agents/mad-interface.ts';
import type { Switch } from '../fabric/switch/switch.ts';
import { Adapter } from '../hca/adapter/adapter.ts';
import type { AnyAdapter } from './node-kinds.ts';

/** A node of a subnet, by its name in the topology. */
export interface NamedNode {
  readonly name: string;
  readonly mads: MadInterface;
}

/** An adapter by its name in the topology. */
export interface NamedAdapter<Core extends AnyAdapter = AnyAdapter> {
  readonly name: string;
  readonly core: Core;
}

/** A switch by its name in the topology. */
export interface NamedSwitch {
  readonly name: string;
  readonly core: Switch;
}

/** All nodes of adapters and switches; the embedded switches come last. */
export function listNodes(adapters: readonly NamedAdapter[], switches: readonly NamedSwitch[]): NamedNode[] {
  return [
    ...adapters.flatMap(({ name, core }) => listChannels(name, core)),
    ...switches.map(({ name, core }) => ({ name, mads: core.mads })),
    ...adapters.flatMap(({ name, core }) => listEmbedded(name, core)),
  ];
}

/**
 * The channel adapters of an adapter, by name: one with the adapter's name, or with embedded
 * switches one for each function, `NAME/FUNCTION` for the virtual ones.
 */
export function listChannels(name: string, core: AnyAdapter): readonly NamedNode[] {
  if (!(core instanceof Adapter)) return [{ name, mads: core.mads }];
  const { functions, inner } = core;
  const own = inner.length === 0 ? functions.slice(0, 1) : functions;
  return own.map(({ mads }, number) => ({ name: number === 0 ? name : `${name}/${number}`, mads }));
}

/** The embedded switches of an adapter, `NAME/s1` and `NAME/s2`. */
function listEmbedded(name: string, { inner }: AnyAdapter): readonly NamedNode[] {
  return inner.map(({ mads }, index) => ({ name: `${name}/s${index + 1}`, mads }));
}
