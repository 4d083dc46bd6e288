// SPDX-License-Identifier: Apache-2.0
/**
 * The screen of `vuhca fabric`: the subnet manager, then a table of nodes and ports. Unplugged
 * ports of a switch are counted, not listed. Pure.
 */
import type {
  FabricLinkReport,
  FabricNodeReport,
  FabricPortReport,
  FabricReport,
} from '../../../device/process/reports/fabric-report.ts';
import type { ManagerReport } from '../../../device/process/reports/manager-report.ts';
import { table } from '../../console/table.ts';
import { BAD, bad, line } from './screen-text.ts';

const HEADINGS = ['node', 'port', 'lid', 'state', 'width', 'speed', 'peer', 'sent', 'received', 'errors'];
const LEFT = [0, 3, 4, 5, 6, 9];

/** The report as lines of text. */
export function renderFabric({ nodes, managers = [] }: FabricReport): string {
  const links = nodes.flatMap(({ ports }) => ports.flatMap(({ link }) => (link?.peer === undefined ? [] : [link])));
  const down = links.filter(({ state }) => state === 'DOWN').length;
  const counts = [
    `${nodes.filter(({ type }) => type === 'adapter').length} adapters`,
    `${nodes.filter(({ type }) => type === 'switch').length} switches`,
    `${links.length - down} of ${links.length} plugged ports up`,
  ];
  const built = managers.map((manager) => line('built-in', describeBuiltIn(nodes, manager)));
  const head = [line('manager', describeManager(nodes)), ...built, line('subnet', counts)];
  return `${head.join('\n')}\n\n${table([HEADINGS, ...nodes.flatMap(describeNode)], LEFT)}`;
}

/** Ports with an address of their own and a link: a subnet manager tells them of itself. */
function endsOf(nodes: readonly FabricNodeReport[]): FabricPortReport[] {
  return nodes.flatMap(({ ports }) => ports.filter((port) => port.lid !== undefined && !isUnplugged(port)));
}

/** The master as the ports know it, and the other managers. */
export function describeManager(nodes: readonly FabricNodeReport[]): string[] {
  const ends = endsOf(nodes);
  const lids = [...new Set(ends.map(({ managerLid }) => managerLid ?? 0))].filter((lid) => lid > 0);
  const standby = nodes.flatMap(({ name, ports }) =>
    ports.flatMap(({ number, isManager, lid = 0 }) => (isManager && !lids.includes(lid) ? [nameOf(name, number)] : [])),
  );
  const told = ends.filter(({ managerLid }) => lids.includes(managerLid ?? 0)).length;
  const masters = lids.map((lid) => `${findName(nodes, lid)} at LID ${lid}`);
  if (masters.length === 0) masters.push('none: no port has been told of one');
  if (masters.length > 1) masters[0] = `${BAD}${masters.length} masters: ${masters[0]}`;
  return [
    ...masters,
    ...(lids.length === 0 ? [] : [`master of ${told} of ${ends.length} ports`]),
    ...standby.map((name) => `standby ${name}`),
  ];
}

/** A subnet manager of the process: its state, its sweeps, and warnings. */
function describeBuiltIn(nodes: readonly FabricNodeReport[], manager: ManagerReport): string[] {
  const { guid, state, priority, heavySweeps, lightSweeps, problems, duplicates } = manager;
  const home = nodes.find(({ ports }) => ports.some((port) => port.guid === guid && port.lid !== undefined));
  const port = home?.ports.find((one) => one.guid === guid && one.lid !== undefined);
  return [
    `${home === undefined || port === undefined ? guid : nameOf(home.name, port.number)} ${state}`,
    `priority ${priority}`,
    `${heavySweeps} sweeps`,
    `${lightSweeps} looks`,
    ...Object.entries(problems).map(([name, count]) => bad(count, words(name))),
    ...duplicates.map((each) => `${BAD}node GUID ${each} twice`),
  ];
}

function findName(nodes: readonly FabricNodeReport[], lid: number): string {
  for (const { name, ports } of nodes) {
    const port = ports.find((one) => one.lid === lid);
    if (port !== undefined) return nameOf(name, port.number);
  }
  return 'elsewhere';
}

function nameOf(name: string, portNumber: number): string {
  return portNumber === 0 ? name : `${name}:${portNumber}`;
}

function isUnplugged({ link }: FabricPortReport): boolean {
  return link !== undefined && link.peer === undefined;
}

function describeNode({ name, type, ports }: FabricNodeReport): (string | number)[][] {
  const shown = ports.filter((port) => !isUnplugged(port));
  // The second port of an adapter is left out when it has no link.
  const unplugged = type === 'adapter' && shown.length > 0 ? 0 : ports.length - shown.length;
  const rows = shown.map((port, index) => [index === 0 ? name : '', ...describePort(port)]);
  if (unplugged > 0) rows.push([shown.length === 0 ? name : '', '', '', `${unplugged} unplugged`, ...EMPTY]);
  return rows;
}

const EMPTY = ['', '', '', '', '', ''];

function describePort({ number, lid, link }: FabricPortReport): (string | number)[] {
  const address = lid === undefined ? '' : lid === 0 ? '-' : lid;
  return [number, address, ...(link === undefined ? ['', ...EMPTY] : describeLink(link))];
}

function describeLink({ state, physicalState, width, speed, peer = '', sent, received, errors }: FabricLinkReport) {
  const isUp = state !== 'DOWN';
  const shownState = isUp ? state : `${state} (${physicalState.toLowerCase().replaceAll('_', ' ')})`;
  const counts = Object.entries(errors).map(([name, count]) => `${count} ${words(name)}`);
  return [shownState, isUp ? width : '', isUp ? speed : '', peer, sent, received, counts.join(', ')];
}

/** `vl15Dropped` as `vl15 dropped`. */
export function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
