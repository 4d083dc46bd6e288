// SPDX-License-Identifier: Apache-2.0
/**
 * Tells the adapters of a fabric of packets that its switches and the links between them lose
 * (docs/TOPOLOGY.md), so that a story finds those of its message wherever they were lost. A packet
 * is told to the adapters that have its source or its destination LID, as far as they are observed.
 * Adapters with embedded switches and `buildFabric` plug it in.
 */
import { isLidOfPort } from '../../../protocol/infiniband/addresses.ts';
import { getLrhDlid, getLrhSlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import type { LossObserver } from '../port/packet-loss.ts';
import type { Port } from '../port/port.ts';
import type { Switch } from './switch.ts';

/** Lets the ports of `switches` tell their losses to `adapters`. */
export function observeSwitches(
  switches: readonly Switch[],
  adapters: readonly { readonly ports: readonly Port[] }[],
): void {
  const observer: LossObserver = (view, offset, lengthBytes, loss) => {
    for (const { ports } of adapters) {
      const [first] = ports;
      if (first?.lossObserver === undefined) continue;
      const slid = getLrhSlid(view, offset);
      const dlid = getLrhDlid(view, offset);
      if (ports.some(({ lid, lmc }) => isLidOfPort(slid, lid, lmc) || isLidOfPort(dlid, lid, lmc)))
        first.lossObserver(view, offset, lengthBytes, loss);
    }
  };
  for (const { ports } of switches) for (const port of ports) port.lossObserver = observer;
}
