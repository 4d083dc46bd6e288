// SPDX-License-Identifier: Apache-2.0
/**
 * Several adapters of one process on one clock, run as one (docs/TOPOLOGY.md). Hosts, pump,
 * recorder and replay see a single adapter with the functions of all, in the order of the adapters.
 * Packets between its adapters stay inside; those of other processes come through `linkPorts`. So a
 * recording of the whole is complete.
 */
import type { AdapterPort, FunctionPort, LinkPort } from '../../host.ts';
import type { LinkEnd } from '../port/link.ts';
import type { ChangeableLink } from './joint.ts';
import { makeLinkChange } from './link-changes.ts';
import { WakingFunction } from './waking-function.ts';

/** Passes in a row that may leave out nodes without known work. */
const PARTIAL_MAX = 4;

/** An adapter as the fabric sees it. */
export interface FabricNode extends AdapterPort {
  readonly ports: readonly LinkEnd[];
  /** Nodes that it runs itself; work at their ports is its own. */
  readonly inner?: readonly FabricNode[];
  /**
   * Takes the place of a `run` that nothing has asked for. Returns false when there may be work, so
   * that `run` has to be called. A node without it always may have some.
   */
  skip?(): boolean;
}

/** The links of a fabric, as its host uses them. */
export interface FabricLinks {
  /** Those to other processes. */
  readonly streams?: readonly LinkPort[];
  /** The link at a port of that name; without it no link can be changed. */
  find?(port: string): ChangeableLink | undefined;
}

/** The adapters as one `AdapterPort`. */
export class Fabric implements AdapterPort {
  readonly functions: readonly FunctionPort[];
  readonly linkPorts: readonly LinkPort[];
  /** Nodes in their order; undefined where one has left. */
  readonly #places: (FabricNode | undefined)[] = [];
  /** 1 for each place whose node has work to do. */
  #awake = new Uint8Array(0);
  /** 1 for each place whose node has run in this pass. */
  #ran = new Uint8Array(0);
  /** Passes since all nodes have run. */
  #partial = 0;
  readonly #findLink: (port: string) => ChangeableLink | undefined;

  constructor(nodes: readonly FabricNode[], { streams = [], find = () => undefined }: FabricLinks = {}) {
    this.linkPorts = streams;
    this.#findLink = find;
    for (const node of nodes) this.add(node);
    this.functions = nodes.flatMap(({ functions }, place) =>
      functions.map((port) => new WakingFunction(port, () => this.#wake(place))),
    );
  }

  get nodes(): readonly FabricNode[] {
    return this.#places.filter((node) => node !== undefined);
  }

  /** Runs a further node from the next pass on. One that comes later has no functions. */
  add(node: FabricNode): void {
    const free = this.#places.indexOf(undefined);
    const place = free < 0 ? this.#places.length : free;
    this.#places[place] = node;
    if (free < 0) {
      this.#awake = Uint8Array.from([...this.#awake, 1]);
      this.#ran = new Uint8Array(place + 1);
    }
    for (const port of portsOf(node)) port.onWork = () => this.#wake(place);
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
    makeLinkChange(words, this.#findLink);
  }

  /**
   * Runs nodes once, each with an equal part of the budget. Returns true while one has more work.
   * Those that are known to have work come first: a message need not wait for the nodes that it
   * does not pass. The others run before the pump may wait, because they may have work of which
   * nothing has told, like alarms, and once in a few passes in any case.
   */
  run(budget: number): boolean {
    const share = Math.max(1, Math.floor(budget / this.#places.length));
    this.#ran.fill(0);
    if (this.#partial < PARTIAL_MAX && this.#runWhere(this.#awake, 1, share)) {
      this.#partial++;
      return true;
    }
    this.#partial = 0;
    return this.#runWhere(this.#ran, 0, share);
  }

  /** Runs the nodes whose flag has the value, in their order. */
  #runWhere(flags: Uint8Array, value: number, share: number): boolean {
    const places = this.#places;
    for (let place = 0; place < places.length; place++) {
      if (flags[place] !== value) continue;
      const node = places[place];
      if (this.#awake[place] === 0 && node?.skip?.() === true) continue;
      const more = node?.run(share) === true;
      // A link calls back while the node itself moves packets; that work is done by now.
      this.#awake[place] = more ? 1 : 0;
      this.#ran[place] = 1;
    }
    return this.#awake.includes(1);
  }

  #wake(place: number): void {
    this.#awake[place] = 1;
  }
}

/** The ports of a node and of those inside it. */
function portsOf({ ports, inner = [] }: FabricNode): readonly LinkEnd[] {
  return [...ports, ...inner.flatMap(portsOf)];
}
