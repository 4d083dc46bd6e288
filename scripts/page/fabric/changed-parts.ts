// SPDX-License-Identifier: Apache-2.0
/**
 * The nodes and links of a picture that differ between two moments: in state, wiring or address,
 * not in counters, which differ everywhere. Pure; compare-view.tsx marks them.
 */
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { type FabricModel, type FabricPort, listTroubles, nodeOfEnd } from './fabric-model.ts';

/** Names of nodes and ids of links of `now`. */
export function findChangedParts(before: ViewState, now: ViewState, { links }: FabricModel): Set<string> {
  const [old, present] = [before, now].map(describePorts);
  const ends = new Set([...old.keys(), ...present.keys()].filter((end) => old.get(end) !== present.get(end)));
  const nodes = [...ends].map(nodeOfEnd);
  const ofLinks = links.filter(({ sides }) => sides.some(({ name }) => ends.has(name))).map(({ id }) => id);
  return new Set([...nodes, ...ofLinks]);
}

/** State of each port, as a text. */
function describePorts({ fabric }: ViewState): Map<string, string> {
  return new Map(
    fabric.nodes.flatMap(({ name, ports }) => ports.map((port) => [`${name}:${port.number}`, describePort(port)])),
  );
}

function describePort(port: FabricPort): string {
  const { lid, managerLid, link } = port;
  const names = listTroubles(port).map(([name]) => name);
  return JSON.stringify([lid, managerLid, link?.state, link?.width, link?.speed, link?.peer, names]);
}
