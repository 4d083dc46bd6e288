// SPDX-License-Identifier: Apache-2.0
/**
 * Places of the built-in subnet managers of a fabric: one in each part that no link of this process
 * joins to another part, at port 0 of its first switch, or at the first port of a part without a
 * switch (IBTA 14.4: a subnet has one master). The two ports of an adapter are parts of their own:
 * an adapter does not relay. `buildFabric` installs the managers.
 */
import { type AdapterNode, type FabricPlan, splitPort } from './fabric-plan.ts';
import { isEmbedding, portLidsOf } from './node-kinds.ts';

/** Names of ports, `NAME:NUMBER`; `NAME:0` is the management port of a switch. */
export function managerPlaces(plan: Omit<FabricPlan, 'subnet'>): readonly string[] {
  const parts = new Parts();
  for (const { name, ports } of plan.switches)
    for (let number = 1; number <= ports; number++) parts.join(`${name}:0`, `${name}:${number}`);
  const linked = new Set<string>(plan.streams?.map(({ port }) => port));
  const cable = (first: string, second: string) => {
    parts.join(first, second);
    linked.add(first).add(second);
  };
  for (const { ports } of plan.links) cable(...ports);
  for (const node of plan.adapters) {
    const { name, options } = node;
    const isPaired = options.portLink.kind !== 'none' && portLidsOf(node).length > 1;
    if (isAlone(plan, name) && isPaired) cable(`${name}:1`, `${name}:2`);
  }
  for (const port of plan.adapters.flatMap(embeddedUplinks)) parts.join(`${embeddedAt(port)}:0`, port);
  const embedded = plan.adapters.flatMap(embeddedUplinks).map((port) => `${embeddedAt(port)}:0`);
  const homes = [...plan.switches.map(({ name }) => `${name}:0`), ...embedded];
  const ends = plan.adapters.flatMap(({ name }) => [`${name}:1`, `${name}:2`]).filter((port) => linked.has(port));
  const seen = new Set<string>();
  return [...homes, ...ends].filter((port) => {
    const part = parts.of(port);
    if (seen.has(part)) return false;
    seen.add(part);
    return true;
  });
}

/** The external ports of an adapter with an embedded switch behind each (`NAME/s1`). */
function embeddedUplinks(node: AdapterNode): readonly string[] {
  return isEmbedding(node) ? [`${node.name}:1`, `${node.name}:2`] : [];
}

function embeddedAt(port: string): string {
  return splitPort(port).join('/s');
}

/** True when no link names a port of the adapter: its ports are joined by its own options. */
export function isAlone({ links, streams = [] }: Pick<FabricPlan, 'links' | 'streams'>, name: string): boolean {
  const linked = [...links.flatMap(({ ports }) => ports), ...streams.map(({ port }) => port)];
  return !linked.some((port) => splitPort(port)[0] === name);
}

/** Parts of a graph, each named by one of its members. */
class Parts {
  readonly #above = new Map<string, string>();

  of(member: string): string {
    let name = member;
    for (let next = this.#above.get(name); next !== undefined; next = this.#above.get(name)) name = next;
    return name;
  }

  join(first: string, second: string): void {
    const [one, other] = [this.of(first), this.of(second)];
    if (one !== other) this.#above.set(other, one);
  }
}
