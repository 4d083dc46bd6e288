// SPDX-License-Identifier: Apache-2.0
/**
 * The subnet as this process has it, as plain data: nodes, ports, LIDs, links, states, errors and
 * the master subnet manager. `vuhca fabric` shows it; the control server reports it.
 */
import {
  LinkSpeed,
  LinkWidth,
  NodeType,
  PortCapability,
  portPhysicalStateName,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { portStateName } from '../../../protocol/layout/gen/values.gen.ts';
import { isSwitch } from '../../fabric/agents/managed-node.ts';
import type { EndPort } from '../../fabric/port/end-port.ts';
import type { Link, LinkEnd } from '../../fabric/port/link.ts';
import { dropCauseNames } from '../../fabric/switch/drop-causes.ts';
import { SwitchPort } from '../../fabric/switch/switch-port.ts';
import type { NamedNode } from '../../topology/named-nodes.ts';
import type { ManagerReport } from './manager-report.ts';

export interface FabricPortReport {
  /** 0: the management port of a switch. */
  readonly number: number;
  readonly guid: string;
  /** Of an end of paths; 0 while it has none. External ports of a switch have no LID. */
  readonly lid?: number;
  /** LID of the master subnet manager, as the port was told; 0: none. */
  readonly managerLid?: number;
  /** Software at the port says that it is a subnet manager. */
  readonly isManager?: boolean;
  readonly link?: FabricLinkReport;
}

export interface FabricLinkReport {
  readonly state: string;
  readonly physicalState: string;
  readonly width: string;
  readonly speed: string;
  /** `NAME:PORT` of the other end; `elsewhere` for a port of another process; absent: unplugged. */
  readonly peer?: string;
  /** Packets. */
  readonly sent: number;
  readonly received: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Counters of errors that are not 0. */
  readonly errors: Readonly<Record<string, number>>;
  /** Packets that the port of a switch has dropped, by cause; only causes that occurred. */
  readonly drops?: Readonly<Record<string, number>>;
}

export interface FabricNodeReport {
  readonly name: string;
  readonly type: 'adapter' | 'switch';
  readonly guid: string;
  readonly description: string;
  readonly ports: readonly FabricPortReport[];
}

export interface FabricReport {
  /** Time of the process. */
  readonly timeNs?: number;
  readonly nodes: readonly FabricNodeReport[];
  /** The subnet managers of this process. */
  readonly managers?: readonly ManagerReport[];
}

const WIDTHS: Readonly<Record<number, string>> = {
  [LinkWidth.WIDTH_1X]: '1x',
  [LinkWidth.WIDTH_2X]: '2x',
  [LinkWidth.WIDTH_4X]: '4x',
  [LinkWidth.WIDTH_8X]: '8x',
  [LinkWidth.WIDTH_12X]: '12x',
};
const SPEEDS: Readonly<Record<number, string>> = {
  [LinkSpeed.SDR]: 'SDR',
  [LinkSpeed.DDR]: 'DDR',
  [LinkSpeed.QDR]: 'QDR',
};
/** Counters that count packets, not errors. */
const NO_ERRORS: readonly string[] = ['receivedPackets', 'receivedBytes', 'receivedMulticast'];

export function reportFabric(nodes: readonly NamedNode[]): FabricReport {
  const ends = new Map<Link, { readonly name: string; readonly end: LinkEnd }[]>();
  for (const { name, mads } of nodes) {
    for (const end of mads.node.ports) {
      if (end.link === undefined) continue;
      const known = ends.get(end.link);
      const one = { name: `${name}:${end.number}`, end };
      if (known === undefined) ends.set(end.link, [one]);
      else known.push(one);
    }
  }
  const findPeer = (end: LinkEnd): string | undefined => {
    if (end.link === undefined) return undefined;
    return ends.get(end.link)?.find((other) => other.end !== end)?.name ?? 'elsewhere';
  };
  return { nodes: nodes.map((node) => reportNode(node, findPeer)) };
}

function reportNode(
  { name, mads: { node } }: NamedNode,
  findPeer: (end: LinkEnd) => string | undefined,
): FabricNodeReport {
  const isRelay = isSwitch(node);
  const management = isRelay ? [{ number: 0, ...reportEndPort(node.endPorts[0]) }] : [];
  const external = node.ports.map((end, index) => ({
    number: end.number,
    guid: formatGuid(end.guid),
    ...(isRelay ? {} : reportEndPort(node.endPorts[index])),
    link: reportLink(end, findPeer(end)),
  }));
  return {
    name,
    type: node.nodeType === NodeType.SWITCH ? 'switch' : 'adapter',
    guid: formatGuid(node.nodeGuid),
    description: new TextDecoder().decode(node.description).replace(/\0.*$/s, ''),
    ports: [...management, ...external],
  };
}

function reportEndPort({ guid, lid, smLid, subnet }: EndPort) {
  const isManager = (subnet.capabilityMask & PortCapability.IS_SM) !== 0;
  return { guid: formatGuid(guid), lid, managerLid: smLid, isManager };
}

function reportLink(end: LinkEnd, peer: string | undefined): FabricLinkReport {
  const { linkWidthActive, linkSpeedActive } = end.settings;
  return {
    state: portStateName(end.state),
    physicalState: portPhysicalStateName(end.physicalState),
    width: WIDTHS[linkWidthActive] ?? `${linkWidthActive}`,
    speed: SPEEDS[linkSpeedActive] ?? `${linkSpeedActive}`,
    ...(peer === undefined ? {} : { peer }),
    sent: end.transmitPackets,
    received: end.receivePackets,
    sentBytes: end.transmitQueues.transmittedBytes,
    receivedBytes: end.counters.receivedBytes,
    errors: findErrors(end.counters),
    ...(end instanceof SwitchPort ? { drops: reportDrops(end) } : {}),
  };
}

function findErrors(counters: LinkEnd['counters']): Record<string, number> {
  const errors: Record<string, number> = {};
  for (const name in counters) {
    const count: unknown = counters[name as keyof typeof counters];
    if (typeof count === 'number' && count > 0 && !NO_ERRORS.includes(name)) errors[name] = count;
  }
  return errors;
}

function reportDrops({ drops }: SwitchPort): Record<string, number> {
  const found: Record<string, number> = {};
  for (let cause = 0; cause < drops.length; cause++) if (drops[cause] > 0) found[dropCauseNames[cause]] = drops[cause];
  return found;
}

function formatGuid(guid: Uint8Array): string {
  return Buffer.from(guid).toString('hex');
}
