// SPDX-License-Identifier: Apache-2.0
/**
 * Assignment of LIDs (InfiniBand specification, 14.4.3). A port keeps the LID that this manager
 * gave it, or else the one it was found with. Where two ports have the same one, the later port
 * gets the lowest LID that is free.
 */
import { isUnicastLid, MULTICAST_LID_BASE } from '../../protocol/infiniband/addresses.ts';
import type { Guid } from './guid.ts';
import type { Subnet, SubnetPort } from './subnet.ts';

export class LidAssignment {
  /** LIDs given out, also to ports that are absent now. */
  readonly #lids = new Map<Guid, number>();
  /** Ports that did not get the LID they were found with. */
  clashes = 0;

  /** LID of every end port; none where all are used up. */
  assign(subnet: Subnet): Map<SubnetPort, number> {
    const result = new Map<SubnetPort, number>();
    const used = new Set<number>();
    const give = (port: SubnetPort, lid: number) => {
      result.set(port, lid);
      used.add(lid);
      this.#lids.set(port.guid, lid);
    };
    const newcomers: SubnetPort[] = [];
    for (const port of subnet.endPorts) {
      const own = this.#lids.get(port.guid);
      if (own !== undefined && !used.has(own)) give(port, own);
      else newcomers.push(port);
    }
    const homeless: SubnetPort[] = [];
    for (const port of newcomers) {
      if (isUnicastLid(port.lid) && !used.has(port.lid)) give(port, port.lid);
      else homeless.push(port);
    }
    const reserved = new Set([...used, ...this.#lids.values()]);
    for (const port of homeless) {
      if (port.lid !== 0) this.clashes++;
      const lid = firstFree(reserved) ?? firstFree(used);
      if (lid === undefined) continue;
      reserved.add(lid);
      give(port, lid);
    }
    return result;
  }
}

function firstFree(used: ReadonlySet<number>): number | undefined {
  for (let lid = 1; lid < MULTICAST_LID_BASE; lid++) if (!used.has(lid)) return lid;
  return undefined;
}
