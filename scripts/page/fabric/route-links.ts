// SPDX-License-Identifier: Apache-2.0
/** The nodes and links of a way, as the picture marks them. Pure. */
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import type { FabricModel } from './fabric-model.ts';

/** Names of nodes, and ids of the links between them. */
export function linksOfRoute({ hops }: RouteReport, { links }: FabricModel): string[] {
  const ends = new Set(hops.flatMap(({ node, out }) => (out === undefined ? [] : [`${node}:${out}`])));
  return [
    ...hops.map(({ node }) => node),
    ...links.filter(({ sides }) => sides.some(({ name }) => ends.has(name))).map(({ id }) => id),
  ];
}
