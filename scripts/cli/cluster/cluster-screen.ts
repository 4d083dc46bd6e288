// SPDX-License-Identifier: Apache-2.0
/** The list of a cluster as text. Pure: a report in, lines out. Called by cluster-action.ts. */
import type { ClusterReport, NodeReport } from '../cluster-client/cluster-protocol.ts';

const GAP = '  ';

/** A table of the nodes, then free places, then where to look further. */
export function renderCluster(report: ClusterReport): string {
  const { name, nodes, free, failure, control, log, pid, devicePid } = report;
  const head = ['NODE', 'STATE', 'ADDRESS', 'LID', 'GUID', 'PORT', 'ADAPTER'];
  const rows = nodes.map((node) => [node.name, node.state, node.address, ...portOf(node), node.personality]);
  const places = free.map((one) => [one.name, one.state, '', ...portOf(one), '']);
  return [
    `cluster ${name}: process ${pid}, adapters in process ${devicePid}`,
    ...(failure === undefined ? [] : [failure]),
    '',
    ...align([head, ...rows, ...places]),
    ...[...nodes, ...free].filter(({ why }) => why !== undefined).map(({ name, why }) => `${name}: ${why}`),
    '',
    ...[...nodes, ...free].map((one) => `socket of ${one.name}: ${one.sockets.join(' ')}`),
    `control socket: ${control}`,
    `log: ${log}`,
    '',
  ].join('\n');
}

function portOf({ lid, guid, portState }: Pick<NodeReport, 'lid' | 'guid' | 'portState'>): string[] {
  return [lid === undefined ? '-' : String(lid), guid ?? '-', portState ?? '-'];
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join(GAP)
      .trimEnd(),
  );
}
