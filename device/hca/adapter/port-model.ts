// SPDX-License-Identifier: Apache-2.0
/**
 * The ports that the functions of an adapter see (docs/FABRIC.md). `shared`: all functions are one
 * channel adapter and share its ports. `vswitch`: each function is a channel adapter with ports
 * of its own, behind one embedded switch for each external port. Called by the constructor of
 * `Adapter`.
 */
import { DEVICE_ID_PF, DEVICE_ID_VF } from '../../../protocol/layout/gen/constants.gen.ts';
import { Cable } from '../../fabric/link/cable.ts';
import { type Joint, joinPorts } from '../../fabric/link/joint.ts';
import type { PortLinkOptions } from '../../fabric/link/link-options.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { Port, parseGuid, portGuid } from '../../fabric/port/port.ts';
import { defaultSwitchOptions, Switch } from '../../fabric/switch/switch.ts';
import type { AdapterClock } from '../../host.ts';
import { embeddedSwitchGuid, functionGuid } from './embedded-guids.ts';
import { type AdapterOptions, getPortLids } from './options.ts';

/** Port of an embedded switch that leads out of the adapter. */
export const UPLINK = 1;

/** A channel adapter of the subnet: GUIDs, device, text and ports. */
export interface ChannelIdentity {
  readonly nodeGuid: Uint8Array;
  /** GUID of the board: that of the adapter. */
  readonly systemImageGuid: Uint8Array;
  readonly deviceId: number;
  readonly description: string;
  readonly ports: readonly Port[];
}

export interface PortModel {
  /** One for all functions, or one for each. */
  readonly channels: readonly ChannelIdentity[];
  /** Ports of all channel adapters; those of one follow each other. */
  readonly ports: readonly Port[];
  /** By number of the external port; none in the shared model. */
  readonly switches: readonly Switch[];
  /** Ends of the links that leave the adapter, by port number. */
  readonly uplinks: readonly LinkEnd[];
  /** Links between two of the uplinks. */
  readonly joints: readonly Joint[];
}

/** Makes the ports, and joins the external ones as the options say: 1 with 2, 3 with 4. */
export function createPortModel(options: AdapterOptions, clock: AdapterClock): PortModel {
  const model = options.portModel === 'vswitch' ? makeEmbedded(options, clock) : makeShared(options);
  const { uplinks } = model;
  const joints: Joint[] = [];
  for (let first = 0; first + 1 < uplinks.length; first += 2) {
    const joint = joinPorts(uplinks[first], uplinks[first + 1], withSeed(options.portLink, first));
    if (joint !== undefined) joints.push(joint);
  }
  return { ...model, joints };
}

/** The same kind of link, whose faults are drawn apart. */
function withSeed(link: PortLinkOptions, distance: number): PortLinkOptions {
  return link.kind === 'faulty' ? { ...link, seed: link.seed + distance } : link;
}

function makeShared(options: AdapterOptions): Omit<PortModel, 'joints'> {
  const nodeGuid = parseGuid(options.nodeGuid);
  const ports = makePorts(nodeGuid, options);
  const channel = {
    nodeGuid,
    systemImageGuid: nodeGuid,
    deviceId: DEVICE_ID_PF,
    description: describe(options),
    ports,
  };
  return { channels: [channel], ports, switches: [], uplinks: ports };
}

function makeEmbedded(options: AdapterOptions, clock: AdapterClock): Omit<PortModel, 'joints'> {
  const systemImageGuid = parseGuid(options.nodeGuid);
  const channels = Array.from({ length: options.functionCount }, (_, number): ChannelIdentity => {
    const nodeGuid = functionGuid(options.nodeGuid, number);
    const isPhysical = number === 0;
    return {
      nodeGuid,
      systemImageGuid,
      deviceId: isPhysical ? DEVICE_ID_PF : DEVICE_ID_VF,
      description: describe(options, isPhysical ? '' : `/${number}`),
      ports: makeOwnPorts(nodeGuid, options, number),
    };
  });
  const switches = getPortLids(options).map((_, index) => makeSwitch(options, clock, index + 1, systemImageGuid));
  for (const { ports } of channels)
    for (const port of ports) new Cable(port, switches[port.number - 1].ports[UPLINK + port.owner]);
  return {
    channels,
    ports: channels.flatMap(({ ports }) => ports),
    switches,
    uplinks: switches.map(({ ports }) => ports[UPLINK - 1]),
  };
}

function makePorts(nodeGuid: Uint8Array, options: AdapterOptions): readonly Port[] {
  const { portQueuePackets, virtualLanes } = options;
  return getPortLids(options).map(
    (lid, index) => new Port(index + 1, portGuid(nodeGuid, index + 1), lid, portQueuePackets, virtualLanes),
  );
}

/** A subnet manager gives these ports their LIDs and makes them active. */
function makeOwnPorts(nodeGuid: Uint8Array, options: AdapterOptions, functionNumber: number): readonly Port[] {
  const ports = makePorts(nodeGuid, options);
  for (const port of ports) {
    port.owner = functionNumber;
    port.index = functionNumber * ports.length + port.number - 1;
    port.lid = 0;
    port.selfActivating = false;
  }
  return ports;
}

/** The text of a node; `part` names it as topologies do: `/1`, `/s1`. */
function describe({ nodeDescription = 'vuhca' }: AdapterOptions, part = ''): string {
  return `${nodeDescription}${part}`;
}

function makeSwitch(options: AdapterOptions, clock: AdapterClock, number: number, systemImageGuid: Uint8Array): Switch {
  const { nodeGuid, functionCount, virtualLanes } = options;
  const description = describe(options, `/s${number}`);
  const guid = embeddedSwitchGuid(nodeGuid, number);
  const own = { ports: functionCount + 1, nodeGuid: guid, description, virtualLanes, systemImageGuid };
  return new Switch({ ...defaultSwitchOptions, ...own }, clock);
}
