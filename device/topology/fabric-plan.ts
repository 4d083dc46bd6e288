// SPDX-License-Identifier: Apache-2.0
/**
 * The plan of a fabric: adapters and switches by name, and the links between their ports
 * (docs/TOPOLOGY.md). It is plain data, so recordings hold it. A port is written `NAME:NUMBER`.
 * `build-fabric.ts` builds it, `fabric-errors.ts` checks it.
 */

import type { PortLinkOptions, StreamLinkOptions } from '../fabric/link/link-options.ts';
import type { SubnetManagerOptions } from '../fabric/subnet-manager/options.ts';
import type { AdapterOptions } from '../hca/adapter/options.ts';
import type { PersonalityOptions } from '../personality/shared/options.ts';
import type { PersonalityName } from './personalities.ts';

/** An adapter with the front end of this project. */
export interface VuhcaNode {
  readonly name: string;
  readonly personality?: undefined;
  /** Its functions are one node. */
  readonly functionOf?: undefined;
  readonly options: AdapterOptions;
}

/** A function of a device of a personality (docs/verbs/PERSONALITIES.md); most have only one. */
export interface PersonalityNode {
  readonly name: string;
  readonly personality: PersonalityName;
  /** The node of function 0 of its device, in another function (`device-functions.ts`). */
  readonly functionOf?: string;
  readonly options: PersonalityOptions;
}

/** An adapter of any kind. `node-kinds.ts` tells what they have in common. */
export type AdapterNode = VuhcaNode | PersonalityNode;

export interface SwitchNode {
  readonly name: string;
  /** Number of external ports. */
  readonly ports: number;
  /** 16 hexadecimal digits; the GUIDs of the ports follow it. */
  readonly nodeGuid: string;
  /** Data VLs of each port. */
  readonly virtualLanes: number;
  /** Packets that the output queue of each VL holds. */
  readonly queuePackets: number;
}

export const defaultSwitchNode: Omit<SwitchNode, 'name' | 'ports'> = {
  nodeGuid: '0056554853570000',
  virtualLanes: 1,
  queuePackets: 16,
};

/** Widths of a link by name, and their bits in PortInfo (IBTA 14.2.5.6). */
export const linkWidths: Readonly<Record<string, number>> = { '1x': 1, '2x': 16, '4x': 2, '8x': 4, '12x': 8 };
/** Speeds of a link by name, and their bits in PortInfo. */
export const linkSpeeds: Readonly<Record<string, number>> = { SDR: 1, DDR: 2, QDR: 4 };

/** A link between two ports of this process. */
export interface LocalLinkPlan {
  readonly ports: readonly [string, string];
  readonly link: PortLinkOptions;
  /** The only width and speed at which the link trains; the best of both ends when absent. */
  readonly width?: string;
  readonly speed?: string;
}

/** This process's end of a link to another one. Its address and key are the host's. */
export interface StreamLinkPlan {
  readonly port: string;
  readonly link?: Partial<StreamLinkOptions>;
}

/**
 * Ways in which ports get LIDs and become active. `managed`: built-in subnet managers do it, one
 * for each separate part of the fabric (`manager-places.ts`). `external`: ports wait for a subnet
 * manager. `fixed`: ports of adapters have the LIDs of their options and are active as soon as
 * their links come up.
 */
export type SubnetControl = 'managed' | 'external' | 'fixed';

export interface FabricPlan {
  readonly adapters: readonly AdapterNode[];
  readonly switches: readonly SwitchNode[];
  readonly links: readonly LocalLinkPlan[];
  readonly streams?: readonly StreamLinkPlan[];
  readonly subnet: SubnetControl;
  /** Options of the built-in subnet managers. */
  readonly manager?: Partial<SubnetManagerOptions>;
}

/** Node and number of a port name; a missing part is empty. */
export function splitPort(port: string): readonly [node: string, number: string] {
  const colon = port.lastIndexOf(':');
  return colon < 0 ? [port, ''] : [port.slice(0, colon), port.slice(colon + 1)];
}
