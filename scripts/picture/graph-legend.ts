// SPDX-License-Identifier: Apache-2.0
/** The legend of a graph: the kinds of its nodes and links, in rows. Called by draw-graph.ts. */
import { COLOURS } from './colours.ts';
import { type Graph, type LinkKind, linkWords, type NodeKind, nodeWords } from './graph.ts';
import { type Attributes, element } from './svg.ts';
import { escapeXml, measureText } from './text.ts';

const FONT_SIZE = 12;
const ROW_HEIGHT = 20;
const SWATCH = { width: 30, height: 14 };
const GAP = 7;
const BETWEEN = 20;
const STROKE = 1.5;
const LOAD = 'the wider, the more of the link is used';

interface Styles {
  readonly nodes: Readonly<Record<NodeKind, Attributes>>;
  readonly links: Readonly<Record<LinkKind, Attributes>>;
}

interface Item {
  readonly words: string;
  readonly draw: (x: number, y: number) => string;
}

/** Its elements, and its height. */
export function drawLegend(
  graph: Graph,
  { x, y, width }: { readonly x: number; readonly y: number; readonly width: number },
  styles: Styles,
): { readonly elements: string[]; readonly height: number } {
  const elements: string[] = [];
  let [column, row] = [0, 0];
  for (const { words, draw } of listItems(graph, styles)) {
    const room = SWATCH.width + GAP + measureText(words, FONT_SIZE);
    if (column > 0 && column + room > width) [column, row] = [0, row + 1];
    const [left, top] = [x + column, y + row * ROW_HEIGHT];
    const text = { x: left + SWATCH.width + GAP, y: top + 11.5, 'font-size': FONT_SIZE, fill: COLOURS.text };
    elements.push(element('g', { class: 'legend' }, draw(left, top) + element('text', text, escapeXml(words))));
    column += room + BETWEEN;
  }
  return { elements, height: (row + 1) * ROW_HEIGHT };
}

function listItems({ nodes, links }: Graph, styles: Styles): Item[] {
  const nodeKinds = (Object.keys(nodeWords) as NodeKind[]).filter((kind) => nodes.some((node) => node.kind === kind));
  const linkKinds = (Object.keys(linkWords) as LinkKind[]).filter((kind) => links.some((link) => link.kind === kind));
  const line = (style: Attributes, width: number) => (x: number, y: number) =>
    element('path', { d: `M${x} ${y + SWATCH.height / 2}h${SWATCH.width}`, 'stroke-width': width, ...style });
  return [
    ...nodeKinds.map((kind) => ({
      words: nodeWords[kind],
      draw: (x: number, y: number) =>
        element('rect', { x, y, ...SWATCH, ...styles.nodes[kind], 'stroke-width': STROKE }),
    })),
    ...linkKinds.map((kind) => ({ words: linkWords[kind], draw: line(styles.links[kind], STROKE) })),
    ...(links.some(({ used }) => used !== undefined) ? [{ words: LOAD, draw: line({ stroke: COLOURS.text }, 4) }] : []),
  ];
}
