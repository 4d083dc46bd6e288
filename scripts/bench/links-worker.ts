// SPDX-License-Identifier: Apache-2.0
/**
 * The other end of a link of the benchmark of links, in a process of its own: floods, or sends back
 * what arrives. links.ts starts it, and says what to do by messages; an order without packets is
 * answered with the processor time so far.
 */
import { LinkEndLoop } from './link-end.ts';
import { type LinkOrder, linkKey } from './links.ts';
import { processorNs } from './statistics.ts';

let end: LinkEndLoop | undefined;
process.on('message', async (order: LinkOrder) => {
  if ('endpoint' in order) {
    end?.stop();
    const key = order.encrypted ? { key: linkKey } : {};
    end = new LinkEndLoop(2, { role: 'connect', endpoint: order.endpoint, ...key }, order.load);
    await end.start();
  } else {
    if (end === undefined) return;
    if (order.packets === 0) process.send?.(processorNs());
    end.echoes = order.echoes;
    end.send(order.packets);
  }
});
process.on('disconnect', () => process.exit());
