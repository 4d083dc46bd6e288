// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters of any kind as the plan of a fabric sees them: functions, ports and lanes, mistakes in
 * their options, and the adapter itself. `buildFabric` and the checks of plans call it.
 */

import type { PortLinkOptions } from '../fabric/link/link-options.ts';
import { Adapter } from '../hca/adapter/adapter.ts';
import { findOptionError, getPortLids } from '../hca/adapter/options.ts';
import type { AdapterClock, HostPort } from '../host.ts';
import { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import { findMthcaOptionError } from '../personality/mthca/options.ts';
import type { AdapterNode, VuhcaNode } from './fabric-plan.ts';

/** An adapter of any kind. */
export type AnyAdapter = Adapter | MthcaAdapter;

/** A device of the personality mthca has one function and one data VL. */
const MTHCA_FUNCTIONS = 1;
const MTHCA_VIRTUAL_LANES = 1;

export function functionCountOf(node: AdapterNode): number {
  return node.personality === 'mthca' ? MTHCA_FUNCTIONS : node.options.functionCount;
}

/** Base LIDs of the ports by the options. */
export function portLidsOf(node: AdapterNode): number[] {
  return node.personality === 'mthca'
    ? node.options.portLids.slice(0, node.options.portCount)
    : getPortLids(node.options);
}

export function virtualLanesOf(node: AdapterNode): number {
  return node.personality === 'mthca' ? MTHCA_VIRTUAL_LANES : node.options.virtualLanes;
}

/** True for an adapter that has switches inside. */
export function isEmbedding(node: AdapterNode): node is VuhcaNode {
  return node.personality === undefined && node.options.portModel === 'vswitch';
}

/** One sentence about the first option that is out of range, or undefined. */
export function findNodeError(node: AdapterNode): string | undefined {
  return node.personality === 'mthca' ? findMthcaOptionError(node.options) : findOptionError(node.options);
}

/** `hosts`: one for each function. */
export function makeAdapter(
  node: AdapterNode,
  portLink: PortLinkOptions,
  clock: AdapterClock,
  hosts: readonly HostPort[],
): AnyAdapter {
  return node.personality === 'mthca'
    ? new MthcaAdapter({ ...node.options, portLink }, clock, hosts[0])
    : new Adapter({ ...node.options, portLink }, clock, hosts);
}
