// SPDX-License-Identifier: Apache-2.0
/**
 * Draws a topology: switches, adapters with their LIDs, links with ports, rates, faults and delays.
 * `vuhca topology --picture` writes it.
 */
import type { AdapterPlan, LinkPlan, Topology } from '../../../device/process/host/topology.ts';
import { splitPort } from '../../../device/topology/fabric-plan.ts';
import { isEmbedding, portLidsOf } from '../../../device/topology/node-kinds.ts';
import { drawGraph } from '../../picture/draw-graph.ts';
import type { Graph, GraphLink, GraphNode, GraphPort } from '../../picture/graph.ts';
import { linkWords } from './link-text.ts';
import { countOf, describeControl, describeProperties, describeRate, endsOf } from './topology-text.ts';

export function drawTopology(topology: Topology): Promise<string> {
  return drawGraph(graphOf(topology));
}

/** The graph of a topology. */
export function graphOf(topology: Topology): Graph {
  const { adapters, switches, links, subnet } = topology;
  const isAddressed = subnet === 'fixed';
  const nodes = [
    ...switches.map(
      ({ name, ports }): GraphNode => ({
        ...{ id: name, kind: 'switch', title: name },
        lines: [`${ports} ports`],
        ports: listPorts(name, links, (port) => port),
      }),
    ),
    ...adapters.map((adapter) => describeAdapter(adapter, links, isAddressed)),
    ...links.flatMap((link, index) => ('ports' in link ? [] : [describeOutside(link, index)])),
  ];
  return {
    title: countNodes(topology),
    notes: [
      `The subnet is ${describeControl(topology)}.`,
      isAddressed
        ? 'LIDs stand beside the ports.'
        : 'The subnet manager gives LIDs; `vuhca fabric --picture` shows them.',
    ],
    nodes,
    links: links.map(describeLink),
  };
}

function countNodes({ adapters, switches, links }: Topology): string {
  const counts = [
    [switches.length, 'switch', 'switches'],
    [adapters.length, 'adapter', 'adapters'],
    [links.length, 'link', 'links'],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, one, several]) => countOf(count, one, several))
    .join(', ');
}

function describeAdapter(adapter: AdapterPlan, links: readonly LinkPlan[], isAddressed: boolean): GraphNode {
  const { name, personality } = adapter;
  const lids = portLidsOf(adapter);
  const label = (port: string): string => (isAddressed ? `${port}: LID ${lids[Number(port) - 1]}` : port);
  const embedded = isEmbedding(adapter) ? [`${adapter.options.functionCount} behind switches`] : [];
  return {
    ...{ id: name, kind: personality === undefined ? 'adapter' : 'personality', title: name },
    lines: personality === undefined ? embedded : [personality],
    ports: listPorts(name, links, label),
  };
}

/** The ports of a node that links name, in order. */
function listPorts(node: string, links: readonly LinkPlan[], label: (port: string) => string): GraphPort[] {
  const numbers = links
    .flatMap((link) => ('ports' in link ? link.ports : [link.port]))
    .map(splitPort)
    .filter(([name]) => name === node)
    .map(([, port]) => port)
    .sort((left, right) => Number(left) - Number(right));
  return numbers.map((port) => ({ id: `${node}:${port}`, label: label(port) }));
}

function describeOutside(link: LinkPlan, index: number): GraphNode {
  const id = `outside ${index}`;
  const [, address] = endsOf(link);
  return { id, kind: 'outside', title: address, lines: [], ports: [{ id, label: '' }] };
}

function describeLink(link: LinkPlan, index: number): GraphLink {
  const [from, to] = endsOf(link);
  const rate = describeRate(link);
  const description = `${from} - ${to}: ${[rate, describeProperties(link)].filter(Boolean).join('; ')}`;
  if (!('ports' in link)) return { ends: [from, `outside ${index}`], kind: 'socket', lines: [], description };
  const isImpaired = link.link.kind === 'faulty';
  const words = link.link.kind === 'faulty' ? linkWords(link.link) : [];
  return { ends: link.ports, kind: isImpaired ? 'impaired' : 'cable', lines: [rate, ...words], description };
}
