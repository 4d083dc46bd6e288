// SPDX-License-Identifier: Apache-2.0
/**
 * Options of an mthca device, fixed when it is built (docs/PERSONALITIES.md). They are plain data,
 * as those of `Adapter` are.
 */
import type { PortLinkOptions } from '../../fabric/link-options.ts';

export interface MthcaOptions {
  /** 1: MT25204; 2: MT25208 without attached memory. */
  readonly portCount: 1 | 2;
  /** EUI-64 of the node as 16 hex digits; port GUIDs follow it. */
  readonly nodeGuid: string;
  /** Base LIDs of the ports before a subnet manager gives others. */
  readonly portLids: readonly [number, number];
  /** Packets a port holds until the link takes them. */
  readonly portQueuePackets: number;
  /** The link between the two ports until another link is plugged in. */
  readonly portLink: PortLinkOptions;
}

export const defaultMthcaOptions: MthcaOptions = {
  portCount: 2,
  nodeGuid: '0056554843415000',
  portLids: [1, 2],
  portQueuePackets: 64,
  portLink: { kind: 'cable' },
};
