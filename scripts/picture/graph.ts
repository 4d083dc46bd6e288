// SPDX-License-Identifier: Apache-2.0
/**
 * Graphs of nodes with numbered ports and of links between them, as plain data, which topology.ts
 * and fabric pictures of scripts/cli describe and draw-graph.ts draws.
 */

export type NodeKind = 'switch' | 'adapter' | 'personality' | 'outside';
export type LinkKind = 'cable' | 'impaired' | 'socket' | 'down';

export interface GraphPort {
  /** Unique in the graph. */
  readonly id: string;
  /** Stands inside the box, at the end of the link. */
  readonly label: string;
}

export interface GraphNode {
  readonly id: string;
  readonly kind: NodeKind;
  readonly title: string;
  /** Further lines of the box. */
  readonly lines: readonly string[];
  /** Ports with a link. */
  readonly ports: readonly GraphPort[];
  /** The least size of the box. */
  readonly least?: { readonly width: number; readonly height: number };
}

export interface GraphLink {
  /** Ids of ports. */
  readonly ends: readonly [string, string];
  readonly kind: LinkKind;
  /** Lines of text on the link. */
  readonly lines: readonly string[];
  /** What goes from the first end to the second, and back: each gets an arrow. */
  readonly there?: string | undefined;
  readonly back?: string | undefined;
  /** How much of the link is used, 0 to 1: the width of its line. */
  readonly used?: number;
  /** The link as one line of text, for tooltips and readers without the picture. */
  readonly description: string;
}

export interface Graph {
  readonly title: string;
  /** Sentences below the title. */
  readonly notes: readonly string[];
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
}

/** Words of the legend. */
export const nodeWords: Readonly<Record<NodeKind, string>> = {
  switch: 'switch',
  adapter: 'adapter',
  personality: 'adapter of a personality',
  outside: 'another process',
};
export const linkWords: Readonly<Record<LinkKind, string>> = {
  cable: 'cable',
  impaired: 'link with faults, delay or a rate of its own',
  socket: 'link to another process',
  down: 'link that is down',
};
