// SPDX-License-Identifier: Apache-2.0
/**
 * Assignment of LIDs (IBTA 14.4.3). A port keeps the LID that this manager gave it, or else the one
 * it was found with. Where two ports have the same one, the later port gets the lowest LID that is
 * free. Ports of adapters have 2^LMC LIDs in a row, the first of them a multiple of that (IBTA
 * 7.11.1); the management port of a switch has one.
 */
import { MULTICAST_LID_BASE } from '../../../../protocol/infiniband/addresses.ts';
import type { Guid } from '../guid.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';

/** LMC of a port where ports of adapters have `lmc`. */
export function lmcOf({ node }: SubnetPort, lmc: number): number {
  return node.isSwitch ? 0 : lmc;
}

export class LidAssignment {
  /** Base LIDs given out, also to ports that are absent now. */
  readonly #lids = new Map<Guid, number>();
  /** Ports that did not get the LID they were found with, and ports without a LID: none is free. */
  clashes = 0;
  homeless = 0;

  /** Base LID of every end port; none where all are used up. */
  assign(subnet: Subnet, lmc = 0): Map<SubnetPort, number> {
    const result = new Map<SubnetPort, number>();
    const used = new Set<number>();
    const give = (port: SubnetPort, lid: number) => {
      result.set(port, lid);
      for (const each of range(port, lid, lmc)) used.add(each);
      this.#lids.set(port.guid, lid);
    };
    const newcomers: SubnetPort[] = [];
    for (const port of subnet.endPorts) {
      const own = this.#lids.get(port.guid);
      if (own !== undefined && isFree(port, own, lmc, used)) give(port, own);
      else newcomers.push(port);
    }
    const wanting: SubnetPort[] = [];
    for (const port of newcomers) {
      if (isFree(port, port.lid, lmc, used)) give(port, port.lid);
      else wanting.push(port);
    }
    // LIDs of absent ports, as if they had as many as the others.
    const kept = [...this.#lids.values()].flatMap((lid) => Array.from({ length: 1 << lmc }, (_, index) => lid + index));
    const reserved = new Set([...used, ...kept]);
    this.homeless = 0;
    // LIDs are only taken from here on, so each search goes on where the last one ended.
    const from = new Map<number, number>();
    for (const port of wanting) {
      if (port.lid !== 0) this.clashes++;
      const count = 1 << lmcOf(port, lmc);
      const unreserved = firstFree(port, lmc, reserved, from.get(count));
      from.set(count, unreserved ?? MULTICAST_LID_BASE);
      const lid = unreserved ?? firstFree(port, lmc, used);
      if (lid === undefined) {
        this.homeless++;
        continue;
      }
      for (const each of range(port, lid, lmc)) reserved.add(each);
      give(port, lid);
    }
    return result;
  }
}

/** The LIDs of a port with a base LID. */
function range(port: SubnetPort, lid: number, lmc: number): number[] {
  return Array.from({ length: 1 << lmcOf(port, lmc) }, (_, index) => lid + index);
}

/** True when the port may have this base LID. */
function isFree(port: SubnetPort, lid: number, lmc: number, used: ReadonlySet<number>): boolean {
  const count = 1 << lmcOf(port, lmc);
  if (lid === 0 || lid % count !== 0 || lid + count > MULTICAST_LID_BASE) return false;
  for (let index = 0; index < count; index++) if (used.has(lid + index)) return false;
  return true;
}

/** The lowest base LID that the port may have, from `start` on. */
function firstFree(
  port: SubnetPort,
  lmc: number,
  used: ReadonlySet<number>,
  start = 1 << lmcOf(port, lmc),
): number | undefined {
  const count = 1 << lmcOf(port, lmc);
  for (let lid = start; lid < MULTICAST_LID_BASE; lid += count) if (isFree(port, lid, lmc, used)) return lid;
  return undefined;
}
