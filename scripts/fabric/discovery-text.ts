// SPDX-License-Identifier: Apache-2.0
/**
 * Turns the output of `ibnetdiscover`, and a fabric report, into sorted texts that can be compared.
 * Pure.
 */
import type { FabricReport } from '../../device/process/reports/fabric-report.ts';

export interface Discovery {
  /** `switch GUID ports "description"`. */
  readonly nodes: string[];
  /** `GUID:PORT - GUID:PORT width speed`, the lower end first. */
  readonly links: string[];
  /** `GUID:PORT lid N`, for all ends of paths; port 0 of switches. */
  readonly lids: string[];
}

const NODE = /^(Switch|Ca)\t(\d+) "[SH]-([0-9a-f]{16})"\s+# "(.*?)"(?: \w+ port 0 lid (\d+))?/;
const SWITCH_PORT = /^\[(\d+)\]\t"[SH]-([0-9a-f]{16})"\[(\d+)\].*?# ".*" lid \d+ (\S+)$/;
const ADAPTER_PORT =
  /^\[(\d+)\]\([0-9a-f]+\) \t"[SH]-([0-9a-f]{16})"\[(\d+)\].*?# lid (\d+) lmc \d+ ".*" lid \d+ (\S+)$/;

/** The fabric that `ibnetdiscover` found. */
export function readDiscovery(text: string): Discovery {
  const nodes: string[] = [];
  const links = new Set<string>();
  const lids: string[] = [];
  let guid = '';
  for (const line of text.split('\n')) {
    const node = NODE.exec(line);
    if (node !== null) {
      const [, type, ports, nodeGuid, description, lid] = node;
      guid = nodeGuid as string;
      nodes.push(`${type === 'Ca' ? 'adapter' : 'switch'} ${guid} ${ports} "${description}"`);
      if (lid !== undefined) lids.push(`${guid}:0 lid ${lid}`);
      continue;
    }
    const [, number, peer, peerNumber, rate] = SWITCH_PORT.exec(line) ?? [];
    if (rate !== undefined) links.add(linkText(`${guid}:${number}`, `${peer}:${peerNumber}`, rate));
    const [, port, other, otherNumber, lid, speed] = ADAPTER_PORT.exec(line) ?? [];
    if (speed === undefined) continue;
    links.add(linkText(`${guid}:${port}`, `${other}:${otherNumber}`, speed));
    lids.push(`${guid}:${port} lid ${lid}`);
  }
  return { nodes: nodes.sort(), links: [...links].sort(), lids: lids.sort() };
}

/** The fabric that it should find; ports of this process only. */
export function expectDiscovery({ nodes }: FabricReport): Discovery {
  const guids = new Map(nodes.map(({ name, guid }) => [name, guid]));
  const links = new Set<string>();
  const lids: string[] = [];
  for (const { guid, ports } of nodes) {
    for (const { number, lid, link } of ports) {
      const isUp = link !== undefined && link.state !== 'DOWN' && link.peer !== undefined;
      if (lid !== undefined && (isUp || number === 0)) lids.push(`${guid}:${number} lid ${lid}`);
      if (!isUp || link?.peer === undefined) continue;
      const colon = link.peer.lastIndexOf(':');
      const peer = `${guids.get(link.peer.slice(0, colon))}${link.peer.slice(colon)}`;
      links.add(linkText(`${guid}:${number}`, peer, `${link.width}${link.speed}`));
    }
  }
  return {
    nodes: nodes
      .map(({ type, guid, description, ports }) => {
        const count = ports.filter(({ number }) => number > 0).length;
        return `${type} ${guid} ${count} "${description}"`;
      })
      .sort(),
    links: [...links].sort(),
    lids: lids.sort(),
  };
}

function linkText(end: string, other: string, rate: string): string {
  const [low, high] = [end, other].sort();
  return `${low} - ${high} ${rate.replace('X', 'x')}`;
}
