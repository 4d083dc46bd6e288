// SPDX-License-Identifier: Apache-2.0
/**
 * GUIDs of what an adapter with embedded switches shows to the subnet (docs/FABRIC.md): they follow
 * from its node GUID, so that a subnet knows it again. The port model gives them, and the checks of
 * topologies keep them apart from those of other nodes.
 */
import { guidBytes } from '../../fabric/port/port.ts';

/** The GUIDs of a function: node, and up to three ports. */
const GUIDS_OF_FUNCTION = 4n;
/** Switches have this bit, so a subnet manager at one yields to those of adapters (FABRIC.md). */
const SWITCH_BIT = 1n << 39n;
/** The GUIDs of an embedded switch: node and ports. */
const GUIDS_OF_SWITCH = 64n;

/** GUIDs from the node GUID on that functions and their ports may have. */
export function countFunctionGuids(functionCount: number): number {
  return functionCount * Number(GUIDS_OF_FUNCTION);
}

/** Node GUID of a function; the physical function has that of the adapter. */
export function functionGuid(nodeGuid: string, functionNumber: number): Uint8Array {
  return guidBytes(BigInt(`0x${nodeGuid}`) + BigInt(functionNumber) * GUIDS_OF_FUNCTION);
}

/** Node GUID of the embedded switch behind an external port. */
export function embeddedSwitchGuid(nodeGuid: string, portNumber: number): Uint8Array {
  const first = BigInt(`0x${nodeGuid}`) ^ SWITCH_BIT;
  return guidBytes(first + BigInt(portNumber - 1) * GUIDS_OF_SWITCH);
}
