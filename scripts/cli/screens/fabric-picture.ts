// SPDX-License-Identifier: Apache-2.0
/**
 * Draws the subnet of a running process: nodes with LIDs and subnet managers, links with state,
 * width, speed, load and errors. Load is the traffic that crossed a link between two reports.
 * `vuhca fabric --picture` writes it.
 */
import type {
  FabricLinkReport,
  FabricNodeReport,
  FabricPortReport,
  FabricReport,
} from '../../../device/process/reports/fabric-report.ts';
import { drawGraph } from '../../picture/draw-graph.ts';
import type { Graph, GraphLink, GraphNode } from '../../picture/graph.ts';
import { gigabitsOf } from '../../picture/link-rate.ts';
import { countOf } from '../topology/topology-text.ts';
import { describeManager, words } from './fabric-screen.ts';
import { BAD } from './screen-text.ts';

const BITS = 8;
const NS_PER_SECOND = 1e9;
const PER_CENT = 100;
const RATE_UNITS = [
  ['Gb/s', 1],
  ['Mb/s', 1e-3],
  ['kb/s', 1e-6],
] as const;
/** Value of `peer` for a port of another process. */
const ELSEWHERE = 'elsewhere';

/** A port with its link, and what it had sent at the first report. */
interface Plugged {
  readonly id: string;
  readonly link: FabricLinkReport;
  readonly sentBefore: number;
}

export function drawFabric(before: FabricReport, now: FabricReport): Promise<string> {
  return drawGraph(fabricGraph(before, now));
}

/** The graph of the subnet as the second report has it. */
export function fabricGraph(before: FabricReport, now: FabricReport): Graph {
  const seconds = ((now.timeNs ?? 0) - (before.timeNs ?? 0)) / NS_PER_SECOND;
  const { nodes } = now;
  const plugged = listPlugged(before, now);
  const joined = new Set(plugged.map(({ id }) => id));
  const links = [...plugged.values()].filter(({ id, link }) => isFirstEnd(id, link, joined));
  const away = links.filter(({ link }) => !joined.has(link.peer as string));
  return {
    title: countPorts(now),
    notes: [
      `Subnet manager: ${describeManager(nodes).join(', ')}.`,
      `Load is that of ${seconds.toFixed(1)} s, in parts of the signalling rate; links without a load were idle.`,
    ],
    nodes: [
      ...nodes.map((node) => describeNode(node, nodes, joined)),
      ...away.map(({ id }): GraphNode => {
        const port = { id: `${ELSEWHERE} ${id}`, label: '' };
        return { id: port.id, kind: 'outside', title: ELSEWHERE, lines: [], ports: [port] };
      }),
    ],
    links: links.map((end) => {
      const other = plugged.find(({ id }) => id === end.link.peer);
      return describeLink(end, other, seconds);
    }),
  };
}

function listPlugged(before: FabricReport, { nodes }: FabricReport): Plugged[] {
  const sent = new Map(
    before.nodes.flatMap(({ name, ports }) =>
      ports.map(({ number, link }): [string, number] => [`${name}:${number}`, link?.sentBytes ?? 0]),
    ),
  );
  return nodes.flatMap(({ name, ports }) =>
    ports.flatMap(({ number, link }) => {
      const id: string = `${name}:${number}`;
      return link?.peer === undefined ? [] : [{ id, link, sentBefore: sent.get(id) ?? link.sentBytes }];
    }),
  );
}

/** A link is drawn from the first of its ends; a port of another process has no other one. */
function isFirstEnd(id: string, { peer = '' }: FabricLinkReport, joined: ReadonlySet<string>): boolean {
  return !joined.has(peer) || [...joined].indexOf(id) < [...joined].indexOf(peer);
}

function countPorts({ nodes }: FabricReport): string {
  const links = nodes.flatMap(({ ports }) => ports.flatMap(({ link }) => (link?.peer === undefined ? [] : [link])));
  const active = links.filter(({ state }) => state === 'ACTIVE').length;
  const count = (kind: string): number => nodes.filter(({ type }) => type === kind).length;
  const parts = [countOf(count('switch'), 'switch', 'switches'), countOf(count('adapter'), 'adapter', 'adapters')];
  return [...parts, `${active} of ${links.length} plugged ports active`].join(', ');
}

function describeNode(
  { name, type, description, ports }: FabricNodeReport,
  nodes: readonly FabricNodeReport[],
  joined: ReadonlySet<string>,
): GraphNode {
  const isJoined = ({ number }: FabricPortReport): boolean => joined.has(`${name}:${number}`);
  const own = ports.find(({ number }) => number === 0);
  const free = ports.filter((port) => port.number > 0 && !isJoined(port)).length;
  return {
    ...{ id: name, kind: type, title: name },
    lines: [
      ...(description === name ? [] : [description]),
      ...(own === undefined ? [] : [describeLid(own)]),
      ...ports.filter(({ isManager }) => isManager).map((port) => describeMastery(port, nodes)),
      ...(type === 'switch' && free > 0 ? [countOf(free, 'free port', 'free ports')] : []),
    ],
    ports: ports.filter(isJoined).map((port) => ({ id: `${name}:${port.number}`, label: labelPort(port) })),
  };
}

function labelPort(port: FabricPortReport): string {
  return port.lid === undefined ? `${port.number}` : `${port.number}: ${describeLid(port)}`;
}

function describeLid({ lid = 0 }: FabricPortReport): string {
  return lid === 0 ? 'no LID' : `LID ${lid}`;
}

/** A manager is master when the ports of some node were told its LID. */
function describeMastery({ lid = 0, number }: FabricPortReport, nodes: readonly FabricNodeReport[]): string {
  const isMaster = nodes.some(({ ports }) => ports.some(({ managerLid }) => lid > 0 && managerLid === lid));
  return `${isMaster ? 'master SM' : 'standby SM'}${number === 0 ? '' : ` at port ${number}`}`;
}

function describeLink(end: Plugged, other: Plugged | undefined, seconds: number): GraphLink {
  const { state, width, speed } = end.link;
  const isDown = state === 'DOWN';
  const rate = gigabitsOf(width, speed);
  const states = [...new Set([end, ...(other === undefined ? [] : [other])].map(({ link }) => link.state))];
  const lines = [
    ...(isDown ? [] : [`${width} ${speed}`]),
    ...(states.length === 1 && state === 'ACTIVE' ? [] : [states.join(', ')]),
    ...[end, other].flatMap((one) => (one === undefined ? [] : describeErrors(one, isDown))),
  ];
  const loads = [end, other].map((one) => (one === undefined ? 0 : loadOf(one, seconds)));
  const [there, back] = loads.map((gigabits) => describeLoad(gigabits, rate));
  const peer = other?.id ?? `${ELSEWHERE} ${end.id}`;
  const used = rate === 0 ? 0 : Math.max(...loads) / rate;
  return {
    ends: [end.id, peer],
    kind: isDown ? 'down' : other === undefined ? 'socket' : 'cable',
    ...{ lines, there, back },
    ...(used > 0 ? { used } : {}),
    description: `${end.id} - ${end.link.peer}: ${[...lines, there, back].filter((one) => one !== undefined).join('; ')}`,
  };
}

/** Gbit/s that the port has sent. */
function loadOf({ link, sentBefore }: Plugged, seconds: number): number {
  return seconds > 0 ? ((link.sentBytes - sentBefore) * BITS) / seconds / NS_PER_SECOND : 0;
}

/** `1.2 Gb/s, 3 %`; undefined for an idle direction. */
function describeLoad(gigabits: number, rate: number): string | undefined {
  if (rate === 0 || gigabits <= 0) return undefined;
  const [unit, size] = RATE_UNITS.find(([, least]) => gigabits >= least) ?? ['kb/s', 1e-6];
  return `${short(gigabits / size)} ${unit}, ${short((PER_CENT * gigabits) / rate)} %`;
}

function short(value: number): string {
  return `${Number(value.toPrecision(2))}`;
}

/** Errors that a port has counted; for a link that is down, the reason. */
function describeErrors({ id, link }: Plugged, isDown: boolean): string[] {
  const counts = Object.entries(link.errors).map(([name, count]) => `${BAD}${count} ${words(name)} at ${id}`);
  return isDown ? [`${id} ${words(link.physicalState.toLowerCase())}`, ...counts] : counts;
}
