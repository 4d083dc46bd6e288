// SPDX-License-Identifier: Apache-2.0
/**
 * Several adapters of one process on one clock, run as one (docs/TOPOLOGY.md). Hosts, pump,
 * recorder and replay see a single adapter with the functions of all, in the order of the adapters.
 * Packets between its adapters stay inside, so a recording of the whole is complete.
 */
import type { AdapterPort, FunctionPort } from '../host.ts';
import type { LinkEnd } from '../port/link.ts';

/** An adapter as the fabric sees it. */
export interface FabricNode extends AdapterPort {
  readonly ports: readonly LinkEnd[];
}

/** The adapters as one `AdapterPort`. */
export class Fabric implements AdapterPort {
  readonly nodes: readonly FabricNode[];
  readonly functions: readonly FunctionPort[];
  /** 1 for each node that has work to do. */
  readonly #awake: Uint8Array;

  constructor(nodes: readonly FabricNode[]) {
    this.nodes = nodes;
    this.functions = nodes.flatMap((node) => node.functions);
    this.#awake = new Uint8Array(nodes.length);
    for (const [index, node] of nodes.entries()) {
      for (const port of node.ports) {
        port.onWork = () => {
          this.#awake[index] = 1;
        };
      }
    }
  }

  /**
   * Runs every adapter once with an equal part of the budget. Returns true while one has more work.
   */
  run(budget: number): boolean {
    const { nodes } = this;
    const share = Math.max(1, Math.floor(budget / nodes.length));
    for (let index = 0; index < nodes.length; index++) {
      const more = nodes[index].run(share);
      // A link calls back while the adapter itself moves packets; that work is done by now.
      this.#awake[index] = more ? 1 : 0;
    }
    return this.#awake.includes(1);
  }
}
