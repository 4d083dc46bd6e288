// SPDX-License-Identifier: Apache-2.0
/**
 * Several adapters of one process on one clock, run as one: hosts, pump, recorder and replay see a single adapter with the functions of all, one adapter's
 * behind the other's. What links carry between its adapters stays inside, so a recording of the whole is complete.
 */
import type { AdapterPort, FunctionPort } from '../host.ts';
import type { Port } from '../port/port.ts';

/** An adapter as the fabric knows it. */
export interface FabricNode extends AdapterPort {
  readonly ports: readonly Port[];
}

export class Fabric implements AdapterPort {
  readonly nodes: readonly FabricNode[];
  readonly functions: readonly FunctionPort[];
  /** By node: there is something to do. */
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

  /** Runs every adapter once with its share of the budget; true while one has more to do. */
  run(budget: number): boolean {
    const { nodes } = this;
    const share = Math.max(1, Math.floor(budget / nodes.length));
    for (let index = 0; index < nodes.length; index++) {
      const more = nodes[index].run(share);
      // A link calls back while the adapter moves packets itself: what it could do of that it has done.
      this.#awake[index] = more ? 1 : 0;
    }
    return this.#awake.includes(1);
  }
}
