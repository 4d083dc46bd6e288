// SPDX-License-Identifier: Apache-2.0
/** Joins the two ports of an adapter as its options say. */

import { Cable } from '../fabric/cable.ts';
import { FaultyLink } from '../fabric/faulty-link.ts';
import type { PortLinkOptions } from '../fabric/link-options.ts';
import type { Port } from '../port/port.ts';
import { Random } from '../random.ts';

export function joinPorts(first: Port, second: Port, options: PortLinkOptions): void {
  if (options.kind === 'cable') new Cable(first, second);
  else if (options.kind === 'faulty') new FaultyLink(first, second, options, new Random(options.seed));
}
