// SPDX-License-Identifier: Apache-2.0
/**
 * Several adapters of one process on one clock, run as one (docs/TOPOLOGY.md). Hosts, pump,
 * recorder and replay see a single adapter with the functions of all, in the order of the adapters.
 * Packets between its adapters stay inside, so a recording of the whole is complete.
 */
import type { AdapterPort, FunctionPort } from '../../host.ts';
import type { LinkEnd } from '../port/link.ts';
import type { Joint } from './joint.ts';
import { makeLinkChange } from './link-changes.ts';

/** An adapter as the fabric sees it. */
export interface FabricNode extends AdapterPort {
  readonly ports: readonly LinkEnd[];
  /** Nodes that it runs itself; work at their ports is its own. */
  readonly inner?: readonly FabricNode[];
}

/** The adapters as one `AdapterPort`. */
export class Fabric implements AdapterPort {
  readonly functions: readonly FunctionPort[];
  /** Nodes in their order; undefined where one has left. */
  readonly #places: (FabricNode | undefined)[] = [];
  /** 1 for each place whose node has work to do. */
  #awake = new Uint8Array(0);

  readonly #findJoint: (port: string) => Joint | undefined;

  /** `find`: the joint at a port of that name; without it no link can be changed. */
  constructor(nodes: readonly FabricNode[], find: (port: string) => Joint | undefined = () => undefined) {
    this.#findJoint = find;
    for (const node of nodes) this.add(node);
    this.functions = nodes.flatMap((node) => node.functions);
  }

  get nodes(): readonly FabricNode[] {
    return this.#places.filter((node) => node !== undefined);
  }

  /** Runs a further node from the next pass on. One that comes later has no functions. */
  add(node: FabricNode): void {
    const free = this.#places.indexOf(undefined);
    const place = free < 0 ? this.#places.length : free;
    this.#places[place] = node;
    if (free < 0) this.#awake = Uint8Array.from([...this.#awake, 1]);
    for (const port of portsOf(node)) {
      port.onWork = () => {
        this.#awake[place] = 1;
      };
    }
  }

  /** A node leaves, between two passes. Its ports have no link by then. */
  remove(node: FabricNode): void {
    const place = this.#places.indexOf(node);
    if (place < 0) return;
    this.#places[place] = undefined;
    this.#awake[place] = 0;
    for (const port of portsOf(node)) port.onWork = undefined;
  }

  /** See `AdapterPort`: the latest of all nodes. */
  get pollUntilNs(): number {
    let untilNs = 0;
    for (const node of this.#places) untilNs = Math.max(untilNs, node?.pollUntilNs ?? 0);
    return untilNs;
  }

  rest(): boolean {
    const places = this.#places;
    let more = false;
    for (let place = 0; place < places.length; place++) {
      if (places[place]?.rest?.() !== true) continue;
      this.#awake[place] = 1;
      more = true;
    }
    return more;
  }

  changeLink(words: Uint8Array): void {
    makeLinkChange(words, this.#findJoint);
  }

  /**
   * Runs every adapter once with an equal part of the budget. Returns true while one has more work.
   */
  run(budget: number): boolean {
    const places = this.#places;
    const share = Math.max(1, Math.floor(budget / places.length));
    for (let place = 0; place < places.length; place++) {
      const more = places[place]?.run(share) === true;
      // A link calls back while the adapter itself moves packets; that work is done by now.
      this.#awake[place] = more ? 1 : 0;
    }
    return this.#awake.includes(1);
  }
}

/** The ports of a node and of those inside it. */
function portsOf({ ports, inner = [] }: FabricNode): readonly LinkEnd[] {
  return [...ports, ...inner.flatMap(portsOf)];
}
