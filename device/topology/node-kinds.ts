// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters of any kind as the plan of a fabric sees them: functions, ports and lanes, mistakes in
 * their options, and the adapter itself. `buildFabric` and the checks of plans call it.
 */

import type { FabricNode } from '../fabric/link/fabric.ts';
import type { PortLinkOptions } from '../fabric/link/link-options.ts';
import { Adapter } from '../hca/adapter/adapter.ts';
import { findOptionError, getPortLids } from '../hca/adapter/options.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import { Mlx5Adapter } from '../personality/mlx5/mlx5-adapter.ts';
import { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import { findPersonalityOptionError } from '../personality/shared/options.ts';
import type { AdapterNode, VuhcaNode } from './fabric-plan.ts';
import { type PersonalityAdapter, personalities } from './personalities.ts';

/** An adapter of any kind. */
export type AnyAdapter = Adapter | PersonalityAdapter;

/** A device of a personality has one function and one data VL. */
const PERSONALITY_FUNCTIONS = 1;
const PERSONALITY_VIRTUAL_LANES = 1;

/** True for adapters among the nodes of a fabric. */
export function isAdapter(node: FabricNode): node is AnyAdapter {
  return node instanceof Adapter || node instanceof MthcaAdapter || node instanceof Mlx5Adapter;
}

export function functionCountOf(node: AdapterNode): number {
  return node.personality === undefined ? node.options.functionCount : PERSONALITY_FUNCTIONS;
}

/** Base LIDs of the ports by the options. */
export function portLidsOf(node: AdapterNode): number[] {
  return node.personality === undefined
    ? getPortLids(node.options)
    : node.options.portLids.slice(0, node.options.portCount);
}

export function virtualLanesOf(node: AdapterNode): number {
  return node.personality === undefined ? node.options.virtualLanes : PERSONALITY_VIRTUAL_LANES;
}

/** True for an adapter that has switches inside. */
export function isEmbedding(node: AdapterNode): node is VuhcaNode {
  return node.personality === undefined && node.options.portModel === 'vswitch';
}

/** One sentence about the first option that is out of range, or undefined. */
export function findNodeError(node: AdapterNode): string | undefined {
  const { personality, options } = node;
  if (personality === undefined) return findOptionError(options);
  const names = Object.keys(personalities);
  // A recording may be damaged.
  if (!names.includes(personality)) return `personality is ${personality}; it must be ${names.join(' or ')}`;
  return findPersonalityOptionError(options, personalities[personality].portCounts);
}

/** `hosts`: one for each function. */
export function makeAdapter(
  node: AdapterNode,
  portLink: PortLinkOptions,
  clock: AdapterClock,
  hosts: readonly HostPort[],
): AnyAdapter {
  return node.personality === undefined
    ? new Adapter({ ...node.options, portLink }, clock, hosts)
    : personalities[node.personality].make({ ...node.options, portLink }, clock, hosts[0]);
}
