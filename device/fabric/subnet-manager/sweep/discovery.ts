// SPDX-License-Identifier: Apache-2.0
/**
 * A sweep of the subnet by directed routes (IBTA 14.4.2): from the manager's own node outwards, one
 * hop at a time. Nodes and ports are told apart by their GUIDs. The result is a `Subnet` with what
 * the agents answered.
 */
import { MAX_HOPS } from '../../../../protocol/infiniband/mad/directed-route.ts';
import {
  getNodeInfoLocalPort,
  getNodeInfoNodeType,
  getNodeInfoPartitionCapacity,
  getNodeInfoPortCount,
  NODE_INFO_NODE_GUID_OFFSET,
  NODE_INFO_PORT_GUID_OFFSET,
  NODE_INFO_SIZE,
} from '../../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { P_KEY_TABLE_P_KEY_COUNT } from '../../../../protocol/infiniband/mad/gen/p-key-table.gen.ts';
import {
  getSwitchInfoPartitionEnforcementCapacity,
  SWITCH_INFO_SIZE,
} from '../../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import { MadStatus, NodeType, PortState, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { readGuid } from '../guid.ts';
import { get, type SmpAnswer, type SmpJob, type SmpRequest } from '../smp-client.ts';
import { type DirectedPath, join, Subnet, SubnetNode, SubnetPort } from '../subnet.ts';

const KEYS_PER_BLOCK = P_KEY_TABLE_P_KEY_COUNT;
/** The upper half of the modifier of a P_Key table is the port of a switch. */
export const PORT_SHIFT = 16;

/** A place to look at: behind `from`, or the manager's own node. */
interface Probe {
  readonly path: DirectedPath;
  readonly from: SubnetPort | undefined;
}

/** Looks at all nodes that can be reached. `before`: the subnet of the last sweep. */
export function* discover(before: Subnet): SmpJob<Subnet> {
  const subnet = new Subnet();
  let probes: Probe[] = [{ path: [], from: undefined }];
  while (probes.length > 0) {
    const answers = yield probes.map(({ path }) => get(path, SubnetAttribute.NODE_INFO));
    const fresh: SubnetPort[] = [];
    for (const [index, probe] of probes.entries()) meet(subnet, probe, answers[index], fresh);
    yield* readNodes(subnet, fresh);
    probes = fresh.flatMap(probesFrom);
  }
  keepSilentPorts(before, subnet);
  cutFalseLinks(subnet);
  yield* readTables(subnet);
  return subnet;
}

/** A link at a port that is down belongs to another switch with the same GUID. */
function cutFalseLinks(subnet: Subnet): void {
  for (const node of subnet.nodes.values()) {
    for (const port of node.linkedPorts) {
      if (port.isUp || port.peer === undefined) continue;
      subnet.duplicates.push(node.guid);
      port.peer.peer = undefined;
      port.peer = undefined;
    }
  }
}

/** Records the node that answered; a port that is met for the first time goes to `fresh`. */
function meet(subnet: Subnet, { path, from }: Probe, answer: SmpAnswer, fresh: SubnetPort[]): void {
  if (answer.status !== MadStatus.SUCCESS) {
    subnet.silent++;
    return;
  }
  const { view } = answer;
  const guid = readGuid(view, NODE_INFO_NODE_GUID_OFFSET);
  const number = getNodeInfoLocalPort(view, 0);
  let node = subnet.nodes.get(guid);
  if (node === undefined) {
    const nodeInfo = answer.data.slice(0, NODE_INFO_SIZE);
    node = new SubnetNode(guid, getNodeInfoNodeType(view, 0), getNodeInfoPortCount(view, 0), nodeInfo);
    subnet.nodes.set(guid, node);
  }
  const isNew = node.ports[number] === undefined;
  if (isNew) addPorts(node, number, readGuid(view, NODE_INFO_PORT_GUID_OFFSET), path);
  const port = node.ports[number];
  if (from === undefined) subnet.ownPort = node.isSwitch ? node.ports[0] : port;
  if (isNew) fresh.push(port);
  if (from === undefined) return;
  // No cable joins a port to itself: the other end is a port of another node with the same GUID.
  if (port === undefined || port === from || isTaken(port, from)) subnet.duplicates.push(guid);
  else join(from, port);
}

/** A port with another neighbour already is one of two nodes with the same GUID. */
function isTaken(port: SubnetPort, from: SubnetPort): boolean {
  const other = port.peer ?? from.peer;
  return other !== undefined && port.peer !== from;
}

/** All ports of a switch, or one port of a channel adapter. */
function addPorts(node: SubnetNode, number: number, guid: string, path: DirectedPath): void {
  if (!node.isSwitch) {
    node.ports[number] = new SubnetPort(node, number, guid, path);
    return;
  }
  for (let index = 0; index <= node.portCount; index++) node.ports[index] = new SubnetPort(node, index, guid, path);
}

/** Description, SwitchInfo and PortInfo of the nodes that were met through these ports. */
function* readNodes(subnet: Subnet, fresh: readonly SubnetPort[]): SmpJob {
  const requests: SmpRequest[] = [];
  const takers: ((answer: SmpAnswer) => void)[] = [];
  const ask = (request: SmpRequest, take: (answer: SmpAnswer) => void) => {
    requests.push(request);
    takers.push(take);
  };
  for (const { node, path, number } of fresh) {
    ask(get(path, SubnetAttribute.NODE_DESCRIPTION), ({ data }) => {
      node.description = data;
    });
    if (node.type === NodeType.SWITCH) {
      ask(get(path, SubnetAttribute.SWITCH_INFO), ({ data }) => {
        node.switchInfo = data.slice(0, SWITCH_INFO_SIZE);
      });
    }
    for (const port of node.isSwitch ? node.ports : [node.ports[number]])
      ask(get(path, SubnetAttribute.PORT_INFO, port.number), ({ data }) => port.info.set(data));
  }
  const answers = yield requests;
  for (const [index, answer] of answers.entries()) {
    if (answer.status === MadStatus.SUCCESS) takers[index](answer);
    else subnet.silent++;
  }
}

/** Probes of the links of a node that was met through `port`. */
function probesFrom(port: SubnetPort): Probe[] {
  const { node, path } = port;
  if (path.length === MAX_HOPS) return [];
  if (!node.isSwitch) return path.length === 0 && port.isUp ? [{ path: [port.number], from: port }] : [];
  return node.ports
    .filter((each) => each.number !== 0 && each.isUp && each.peer === undefined)
    .map((each) => ({ path: [...path, each.number], from: each }));
}

/** P_Keys and GUIDs of the ports. */
function* readTables(subnet: Subnet): SmpJob {
  const requests: SmpRequest[] = [];
  const places: ((answer: SmpAnswer) => void)[] = [];
  for (const node of subnet.nodes.values()) {
    for (const port of node.knownPorts.filter(({ isSilent }) => !isSilent)) {
      for (let block = 0; block < keyBlocks(port); block++) {
        const modifier = (node.isSwitch ? port.number << PORT_SHIFT : 0) | block;
        requests.push(get(port.path, SubnetAttribute.P_KEY_TABLE, modifier));
        places.push(({ data }) => port.pKeys.set(block, data));
      }
      if (!port.isEndPort) continue;
      requests.push(get(port.path, SubnetAttribute.GUID_INFO));
      places.push(({ data }) => port.guids.set(0, data));
    }
  }
  const answers = yield requests;
  for (const [index, answer] of answers.entries()) {
    if (answer.status === MadStatus.SUCCESS) places[index](answer);
    else subnet.silent++;
  }
}

/** Blocks of the P_Key table of a port; external ports of a switch have one for enforcement. */
export function keyBlocks(port: SubnetPort): number {
  const { node } = port;
  const capacity = port.isEndPort
    ? getNodeInfoPartitionCapacity(viewOf(node.nodeInfo), 0)
    : port.peer === undefined || port.peer.node.isSwitch
      ? 0
      : getSwitchInfoPartitionEnforcementCapacity(viewOf(node.switchInfo), 0);
  return Math.ceil(capacity / KEYS_PER_BLOCK);
}

/**
 * Takes adapters over from the last sweep that answer no request although their links stand, with
 * all that was known of them: on a busy machine the software of a guest, which answers for QP0 of a
 * stock driver, may take seconds. A link that is still ACTIVE has not gone down since the manager
 * made it so (IBTA 14.4.4): what was behind it is still there, and keeps its routes and its LID.
 * The next sweep asks again.
 */
function keepSilentPorts(before: Subnet, subnet: Subnet): void {
  for (const node of subnet.switches) {
    for (const port of node.knownPorts) {
      const known = before.nodes.get(node.guid)?.ports[port.number]?.peer;
      if (known === undefined || known.node.isSwitch || port.state !== PortState.ACTIVE) continue;
      if (port.peer === undefined) revive(subnet, port, known);
      else if (port.peer.state === PortState.NO_CHANGE && port.peer.guid === known.guid) restore(port.peer, known);
    }
  }
}

/** Puts a port that did not answer behind `from`. */
function revive(subnet: Subnet, from: SubnetPort, known: SubnetPort): void {
  const { guid, type, portCount, nodeInfo, description } = known.node;
  let node = subnet.nodes.get(guid);
  if (node?.ports[known.number] !== undefined) return;
  if (node === undefined) {
    node = new SubnetNode(guid, type, portCount, nodeInfo);
    node.description = description;
    subnet.nodes.set(guid, node);
  }
  const port = new SubnetPort(node, known.number, known.guid, [...from.path, from.number]);
  node.ports[known.number] = port;
  restore(port, known);
  join(from, port);
}

/** Everything that was read from the port or written to it. */
function restore(port: SubnetPort, known: SubnetPort): void {
  port.isSilent = true;
  port.info.set(known.info);
  for (const table of ['pKeys', 'guids', 'vlMaps', 'arbitration'] as const)
    for (const [number, block] of known[table]) port[table].set(number, block);
}
