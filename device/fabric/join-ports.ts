// SPDX-License-Identifier: Apache-2.0
/** Joins the two ports of an adapter as its options say. */
import type { Port } from '../port/port.ts';
import { Random } from '../random.ts';
import { Cable } from './cable.ts';
import { FaultyLink } from './faulty-link.ts';
import type { PortLinkOptions } from './link-options.ts';

export function joinPorts(first: Port, second: Port, options: PortLinkOptions): void {
  if (options.kind === 'cable') new Cable(first, second);
  else if (options.kind === 'faulty') new FaultyLink(first, second, options, new Random(options.seed));
}
