// SPDX-License-Identifier: Apache-2.0
/**
 * The fabric of a lone adapter: what its ports are plugged into (docs/FABRIC.md). `switch`: into a
 * switch with the built-in subnet manager. `cable`: into each other in pairs, with fixed LIDs.
 * `none`: nothing. The command line chooses; device/process/host/topology.ts makes the topology.
 */
export type LoneFabric = 'switch' | 'cable' | 'none';
export const loneFabrics: readonly LoneFabric[] = ['switch', 'cable', 'none'];

/** Name of the only adapter of a process when none is given. */
export const LONE_NAME = 'a';
